"""Whether operations rest on what they cite: the seeded hundred, each rule alone."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from gitagent.core import memory
from gitagent.core.memory import From, Item, Kind, Source, Status
from gitagent.core.question import Answer
from gitagent.core.remembering import Op, Operation
from gitagent.core.submission import SubmissionState
from gitagent.core.task import TaskState
from gitagent.daemon import tasks
from gitagent.git.objects import Objects
from gitagent.git.repository import discover
from gitagent.memory import sources
from gitagent.memory.evidence import Examined, examine, resolve
from gitagent.memory.sources import Found, look_up
from tests.memory import seeded_repo
from tests.memory.seeded_repo import Seeded
from tests.support import ledger
from tests.support.repos import Repo

NOW = "2026-12-01T12:00:00Z"
STORE = "parcel/store.py"


@dataclass(frozen=True)
class Holding:
    """A shelf with nothing but items."""

    items: dict[str, Item] = field(default_factory=dict)


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Seeded:
    return seeded_repo.make(tmp_path_factory.mktemp("seeded") / "repo")


@pytest.fixture
def objects(seeded: Seeded) -> Iterator[Objects]:
    with seeded.found.objects() as opened:
        yield opened


@pytest.fixture
def asked(seeded: Seeded, objects: Objects) -> "Asked":
    return Asked(seeded, objects)


@dataclass
class Asked:
    """Asks what becomes of an operation; what is not said is as a good one has it."""

    seeded: Seeded
    objects: Objects

    def source(self, text: str) -> Source | str:
        named = text.format_map(self.seeded.names)
        return resolve(self.seeded.found, self.objects, self.seeded.target, named)

    def examined(
        self, operation: Operation, items: tuple[Item, ...] = (), **how: Any
    ) -> Examined:
        return examine(
            self.seeded.found,
            self.objects,
            self.seeded.target,
            Holding({item.slug: item for item in items}),
            operation,
            **({"now": NOW} | how),
        )

    def add(self, items: tuple[Item, ...] = (), **said: Any) -> Examined:
        how = {x: said.pop(x) for x in HOW if x in said}
        return self.examined(self.good(**said), items, **how)

    def good(self, **said: Any) -> Operation:
        op = Operation(
            op=Op.ADD,
            slug="pool",
            kind="fact",
            line="POOL_SIZE is 12",
            sources=(f"{self.seeded.target}:{STORE}:7-7",),
        )
        return replace(op, **said)


HOW = ("strict", "verify", "work", "failed", "limit")


def item(slug: str = "pool", **said: Any) -> Item:
    made = Item(
        slug=slug,
        kind=Kind.FACT,
        line=f"what {slug} says",
        updated="2026-11-01T12:00:00Z",
        sources=(Source(From.RECEIPT, "a" * 40, quote="passed"),),
        blob="b" * 40,
    )
    return replace(made, **said)


def interval(good: int, of: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    z, share = 1.96, good / of
    middle = share + z * z / (2 * of)
    half = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - half) / (1 + z * z / of), (middle + half) / (1 + z * z / of)


# --- the seeded hundred


def test_no_operation_with_a_source_that_dangles_is_admitted(asked: Asked):
    dangling = asked.seeded.operations("dangling")
    found = [asked.examined(each, strict=True) for each in dangling]
    of_a_person = [asked.examined(each) for each in dangling]

    assert 25 == len(dangling)
    assert [] == [x.ruled.operation.slug for x in found if x.ruled.admitted]
    assert [] == [x.ruled.operation.slug for x in of_a_person if x.ruled.admitted]
    assert 23 <= len({x.ruled.reason for x in found}), "each failure has its sentence"
    assert all("does not resolve: " in x.ruled.reason for x in found)


def test_supported_operations_are_told_from_unsupported_ones(asked: Asked):
    right = [
        asked.examined(x, strict=True) for x in asked.seeded.operations("supported")
    ]
    wrong = [
        asked.examined(x, strict=True) for x in asked.seeded.operations("unsupported")
    ]
    good = sum(x.ruled.admitted for x in right)
    false = sum(x.ruled.admitted for x in wrong)
    wrongly = [x for x in right if not x.ruled.admitted]
    wrongly += [x for x in wrong if x.ruled.admitted]
    for name, of in (("precision", good + false), ("recall", len(right))):
        low, high = interval(good, of)
        share = f"{good}/{of} = {good / of:.3f} (95 %: {low:.3f} to {high:.3f})"
        print(f"{name} {share}")  # noqa: T201 - what the set measures
    for each in wrongly:
        print(f"wrongly: {each.ruled.operation.line}")  # noqa: T201

    assert (50, 25) == (len(right), len(wrong))
    assert good / (good + false) >= 0.95
    assert good / len(right) >= 0.9


def test_what_is_admitted_names_an_object_that_is_there(asked: Asked):
    found = [
        asked.examined(x, strict=True) for x in asked.seeded.operations("supported")
    ]
    named = {oid for x in found if x.ruled.admitted for oid in x.ruled.evidence}

    assert all(x.ruled.evidence for x in found if x.ruled.admitted)
    assert {"blob", "commit"} == {asked.objects.kind(oid) for oid in named}


# --- lines


def test_lines_are_quoted_whole_from_the_commit_that_is_named(asked: Asked):
    found = asked.source("{target}:parcel/store.py:7-8")

    quote = "POOL_SIZE = 12\nSTATEMENT_TIMEOUT_MS = 4000"

    assert Source(From.LINES, asked.seeded.target, STORE, 7, 8, quote) == found


@pytest.mark.parametrize(
    "name", ["main", "HEAD", "refs/heads/main", "HEAD~0", "{short}"]
)
def test_any_name_of_a_commit_is_kept_as_its_full_id(asked: Asked, name: str):
    name = name.replace("{short}", asked.seeded.target[:10])
    found = asked.source(f"{name}:parcel/store.py:7-7")

    assert isinstance(found, Source)
    assert asked.seeded.target == found.oid


def test_a_path_may_hold_colons_spaces_and_letters_of_any_script(asked: Asked):
    found = asked.source("{target}:docs/zürich: depot notes.md:1-1")

    assert isinstance(found, Source)
    assert ("docs/zürich: depot notes.md", "# The depot in Zürich") == (
        found.name,
        found.quote,
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "0123456789abcdef0123456789abcdef01234567:a:1-1",
            "there is no commit 01234567",
        ),
        ("nothing-so-called:a:1-1", "there is no commit nothing-so-called"),
        ("-x:a:1-1", "there is no commit -x"),
        ("main^{{/Add}}:a:1-1", "there is no commit main^{/Add}"),
        ("{blob}:a:1-1", "there is no commit"),
        ("{side}:parcel/store.py:7-7", "is not part of the target's history"),
        ("{rejected}:parcel/store.py:7-7", "is not part of the target's history"),
        (
            "main:parcel/stores.py:7-7",
            "has no parcel/stores.py; did you mean parcel/store",
        ),
        ("main:store.py:7-7", "has no store.py; did you mean parcel/store.py?"),
        ("main:quite/elsewhere:7-7", "has no quite/elsewhere"),
        ("main:parcel:1-1", "parcel is a folder"),
        ("main:parcel/db.py:1-1", "parcel/db.py is a symbolic link"),
        ("main:docs/logo.png:1-1", "docs/logo.png is no text"),
        ("main:parcel/carriers/ups.py:5-400", "has 14 lines at commit"),
        ("main:parcel/store.py:1-50", "1,200 are the most: cite fewer lines"),
        ("main:parcel/store.py:9-10", "its lines are blank"),
        ("main:.agent/memory/pool.md:1-1", "an item cannot rest on another item"),
        ("main:.agent/landings/2026/11/s.md:1-1", "is its submitter's word"),
        ("main:parcel/store.py:8-7", "its lines end before they begin: 8-7"),
        ("parcel/store.py line 7", "a source is COMMIT:PATH:FIRST-LAST"),
        ("receipt:{blob}", "is no receipt"),
        ("receipt:{forged}", "is no receipt that the lander has stored"),
        ("receipt:89abcdef0123456789abcdef0123456789abcdef", "there is no receipt"),
        ("receipt:refs/heads/main:parcel/store.py", "there is no receipt"),
        ("receipt:zzz", "there is no receipt zzz"),
        ("landing:s-000000000000", "there is no submission s-000000000000"),
        ("landing:../x", "../x names no submission"),
        ("landing:{rejected_id}", "is rejected, and has not landed"),
        ("decision:ghost:1", "there is no record of a task ghost"),
        ("decision:../x:1", "there is no record of a task ../x"),
        ("decision:retry-work:2", "people gave 1 answer to task retry-work"),
    ],
)
def test_what_does_not_resolve_says_why(asked: Asked, text: str, why: str):
    found = asked.source(text)

    assert isinstance(found, str)
    assert why in found


def test_carriage_returns_are_no_part_of_a_line(tmp_path: Path):
    repo = Repo.make(tmp_path / "repo", {"a.txt": b"one\r\ntwo\r\nthree"})

    assert "two\nthree" == told(repo, "main:a.txt:2-3")


def test_a_file_with_a_nul_is_no_text(tmp_path: Path):
    repo = Repo.make(tmp_path / "repo", {"a.bin": b"one\ntwo\0\n"})

    assert "a.bin is no text" in told(repo, "main:a.bin:1-1")


def test_work_that_landed_squashed_is_cited_as_its_landing(tmp_path: Path):
    repo = Repo.make(tmp_path / "repo", {"a.txt": "one\ntwo\n"})
    early = repo.commit_at(
        "refs/heads/work", {"b.txt": "red\ngreen\n"}, parents=(repo.head(),)
    )
    tip = repo.commit_at("refs/heads/work", {"c.txt": "blue\n"})
    other = repo.commit_at("refs/heads/main", {"a.txt": "two\n"})
    files = {"b.txt": "black\nred\ngreen\n", "c.txt": "pink\n"}
    message = f"Land it\n\nGitagent-Submission: s-1\nGitagent-Tip: {tip}"
    landed = repo.commit_at("refs/heads/main", files, message)
    found = [
        source(repo, f"{early}:b.txt:1-2"),
        source(repo, f"{tip}:b.txt:2-2"),
        source(repo, f"{tip}:c.txt:1-1"),
    ]

    landed_as = f"commit {tip[:12]} landed as {landed[:12]}, and"

    assert other != landed
    assert [
        Source(From.LINES, landed, "b.txt", 2, 3, "red\ngreen"),
        Source(From.LINES, landed, "b.txt", 3, 3, "green"),
        f"{landed_as} c.txt does not have these lines there",
    ] == found


def source(repo: Repo, text: str) -> Source | str:
    found = discover(repo.path)
    with found.objects() as objects:
        return resolve(found, objects, repo.oid("refs/heads/main"), text)


def told(repo: Repo, text: str) -> str:
    found = source(repo, text)
    return found if isinstance(found, str) else found.quote


# --- records


def test_a_receipt_says_what_ran_and_how_it_ended(asked: Asked):
    found = asked.source("receipt:{receipt}")
    short = asked.source(f"receipt:{asked.seeded.names['receipt'][:10]}")

    assert isinstance(found, Source)
    assert found == short == asked.source("receipt:{place}")
    assert asked.seeded.names["receipt"] == found.oid
    first, second, *_, last = found.quote.split("\n")
    assert "check tests passed, exit code 0, 1.5 s" == first
    assert "command: make test" == second
    assert "42 passed in 1.2 s" == last


def test_a_receipt_without_its_own_output_is_none(tmp_path: Path):
    repo = Repo.make(tmp_path / "repo", {"a": "1\n"})
    stored = ledger.receipt(repo, b"passed\n")
    ref, _, path = stored.place.partition(":")
    repo.commit_at(ref, {path.replace(".json", ".log"): "failed\n"})

    assert "is not the one that it names" in told(repo, f"receipt:{stored.place}")


def test_a_submission_on_its_way_is_no_landing_yet(tmp_path: Path):
    repo = Repo.make(tmp_path / "repo", {"a": "1\n"})
    made = ledger.submission(repo, repo.head())
    ledger.moved(repo, made, SubmissionState.CHECKING, commit=repo.head())

    assert f"submission {made.id} is checking, and has not landed" == told(
        repo, f"landing:{made.id}"
    )


def test_a_landing_says_what_landed_and_what_it_changed(asked: Asked):
    found = asked.source("landing:{landed_id}")

    assert isinstance(found, Source)
    assert asked.seeded.names["landed"] == found.oid
    assert found.quote.startswith("Work on retries\n")
    assert "changed parcel/retry.py" in found.quote.split("\n")


def test_a_landing_on_another_branch_is_none(asked: Asked):
    landed = resolve(
        asked.seeded.found,
        asked.objects,
        asked.seeded.names["root"],
        f"landing:{asked.seeded.names['landed_id']}",
    )

    assert "is not part of the target's history" in str(landed)


def test_a_decision_is_a_persons_answer_with_its_reason(asked: Asked):
    found = asked.source("decision:retry-work:1")

    assert isinstance(found, Source)
    assert "commit" == asked.objects.kind(found.oid)
    assert [
        "Which jitter is to be used?",
        "full jitter",
        "equal jitter leaves bursts that carriers complained about",
    ] == found.quote.split("\n")


def test_a_decision_is_the_record_in_which_it_stood_first(tmp_path: Path):
    repo = Repo.make(tmp_path / "repo", {"a": "1\n"})
    answers = (Answer("a?", "yes", "Ada <a@b>"), Answer("b?", "no", "Ada <a@b>"))
    first = ledger.task(repo, "ask", TaskState.QUESTION, answers=answers[:1])
    later = tasks.write(
        discover(repo.path), first, replace(first, answers=answers), "answered: 2"
    )
    found = [source(repo, f"decision:ask:{number}") for number in (1, 2)]

    assert [later.oid] == [x.oid for x in found[1:] if isinstance(x, Source)]
    assert isinstance(found[0], Source)
    assert found[0].oid in repo.git("rev-list", first.oid).split()


# --- each rule of the examination


def test_a_good_operation_gives_the_item_with_its_quote(asked: Asked):
    found = asked.add(strict=True, work="tune", limit=1)

    assert found.ruled.admitted
    assert found.ruled.reason.startswith("It rests on parcel/store.py:7-7 at ")
    assert (asked.seeded.names["blob"],) == found.ruled.evidence
    assert found.item is not None
    assert ("POOL_SIZE = 12", "tune", NOW, Status.ACTIVE) == (
        found.item.sources[0].quote,
        found.item.work,
        found.item.updated,
        found.item.status,
    )
    assert () == memory.problems(found.item)


def test_failed_work_teaches_nothing(asked: Asked):
    found = asked.add(failed="its check tests failed")

    assert (False, None) == (found.ruled.admitted, found.item)
    assert (
        "The work that it comes from has not passed: its check tests failed."
        == found.ruled.reason
    )


GONE = item("gone", status=Status.WITHDRAWN, because="It was wrong.")
TWO = (item("one", disputes=("two",)), item("two", disputes=("one",)))


@pytest.mark.parametrize(
    ("said", "items", "why"),
    [
        ({"kind": "rumour"}, (), 'There is no kind "rumour"; there are decision, fact'),
        ({"kind": ""}, (), 'There is no kind ""'),
        ({"slug": "No Such"}, (), "an id is lower case"),
        ({"line": "x" * 161}, (), "Its line has 161 characters, and 160 are the most."),
        ({"kind": "decision"}, (), "its body has to give the reasons"),
        ({"sources": ()}, (), "It has no source."),
        ({"sources": ("a:b:1-1",) * 9}, (), "It has 9 sources, and 8 are the most."),
        ({"supersedes": ("ghost",)}, (), 'There is no item "ghost"'),
        (
            {"supersedes": ("gone",)},
            (GONE,),
            "Gone is withdrawn already: It was wrong.",
        ),
        ({"op": Op.UPDATE, "slug": "pol"}, (item(),), "did you mean pool?"),
        ({"op": Op.UPDATE, "slug": "gone"}, (GONE,), "Gone is withdrawn already"),
        (
            {"op": Op.UPDATE, "of": "c" * 40},
            (item(),),
            "says something else by now: it is bb",
        ),
        ({"op": Op.UPDATE, "kind": "rumour"}, (item(),), 'There is no kind "rumour"'),
        ({"op": Op.UPDATE, "sources": ()}, (item(),), "It has no source."),
        ({"op": Op.WITHDRAW, "because": ""}, (item(),), "does not say why"),
        ({"op": Op.WITHDRAW, "slug": "gone"}, (GONE,), "Gone is withdrawn already"),
        ({"op": Op.DISPUTE, "against": ""}, (item(),), 'There is no item ""'),
        (
            {"op": Op.DISPUTE, "against": "pool"},
            (item(),),
            "Pool cannot dispute itself.",
        ),
        (
            {"op": Op.DISPUTE, "slug": "one", "against": "two"},
            TWO,
            "dispute each other already",
        ),
        (
            {"op": Op.DECIDE, "against": "gone"},
            (item(), GONE),
            "Gone is withdrawn already",
        ),
        (
            {"op": Op.DECIDE, "against": "one"},
            (item(), *TWO),
            "do not dispute each other",
        ),
        (
            {"op": Op.DECIDE, "slug": "one", "against": "two"},
            TWO,
            "does not say why two goes",
        ),
        (
            {},
            (item("other", line="pool_size  is 12."),),
            "Other says that already; update",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_whoever_asks(
    asked: Asked, said: dict[str, Any], items: tuple[Item, ...], why: str
):
    found = asked.add(items, **said)

    assert not found.ruled.admitted
    assert None is found.item
    assert why in found.ruled.reason


def test_every_source_that_does_not_resolve_is_named_at_once(asked: Asked):
    good = f"{asked.seeded.target}:{STORE}:7-7"
    found = asked.add(sources=("main:a:1-1", good, "main:b:1-1"))

    assert 2 == found.ruled.reason.count("does not resolve")
    assert () == found.ruled.evidence


def test_the_same_again_changes_nothing(asked: Asked):
    first = asked.add().item
    assert first is not None
    again = [asked.add((first,)), asked.add((first,), op=Op.UPDATE)]

    assert ["Pool says that already, so there is nothing to change."] * 2 == [
        each.ruled.reason for each in again
    ]


def test_another_content_under_the_same_name_is_for_the_executor(asked: Asked):
    found = asked.add((item(),))

    assert found.ruled.admitted
    assert found.item is not None
    assert "POOL_SIZE is 12" == found.item.line


def test_what_was_taken_away_an_agent_does_not_bring_back(asked: Asked):
    old = item("pool", status=Status.WITHDRAWN, because="Not ours.")
    same = item("other", line="POOL_SIZE is 12", status=Status.SUPERSEDED)
    found = [asked.add((each,), strict=True) for each in (old, same)]

    assert [
        "Pool said that, and is withdrawn: Not ours.",
        "Other said that, and is superseded.",
    ] == [each.ruled.reason for each in found]
    assert all(asked.add((each,)).ruled.admitted for each in (old, same))


def test_what_quotes_do_not_support_is_refused_of_agents_and_told_to_people(
    asked: Asked,
):
    agent = asked.add(line="POOL_SIZE is 48", strict=True)
    person = asked.add(line="POOL_SIZE is 48")
    good = asked.add()

    assert 'It is not supported: no line that it cites has "48".' == agent.ruled.reason
    assert not agent.ruled.admitted
    assert person.ruled.admitted
    assert 'it is not supported: no line that it cites has "48"' == person.warning
    assert "" == good.warning


def test_numbers_of_the_citation_itself_support_nothing(asked: Asked):
    found = asked.add(
        line="POOL_SIZE is 7",
        sources=(f"{asked.seeded.target}:{STORE}:7-7",),
        strict=True,
    )

    assert not found.ruled.admitted


def test_the_body_has_to_be_supported_too(asked: Asked):
    found = asked.add(body="It was 24 until March.", strict=True)

    assert 'It is not supported: no line that it cites has "24".' == found.ruled.reason


def test_an_update_keeps_what_it_does_not_name(asked: Asked):
    old = item(kind=Kind.LESSON, verify="true", status=Status.DISPUTED, disputes=("x",))
    op = {"op": Op.UPDATE, "kind": "", "of": old.blob}
    found = asked.add((old,), verify=lambda *_: "", **op).item

    assert found is not None
    assert (Kind.LESSON, "POOL_SIZE is 12", "true", Status.DISPUTED, ("x",), "") == (
        found.kind,
        found.line,
        found.verify,
        found.status,
        found.disputes,
        found.blob,
    )
    assert STORE == found.sources[0].name


def test_what_is_withdrawn_keeps_its_line_and_sources_and_says_why(asked: Asked):
    old = item(body="Reasons.", verify="false")
    found = asked.add((old,), op=Op.WITHDRAW, because="POOL_SIZE is 12", strict=True)

    assert found.ruled.admitted
    assert replace(
        old,
        status=Status.WITHDRAWN,
        because="POOL_SIZE is 12",
        body="",
        updated=NOW,
    ) == (found.item)


def test_a_person_may_withdraw_without_a_source_and_an_agent_may_not(asked: Asked):
    said = {"op": Op.WITHDRAW, "because": "Nobody needs it.", "sources": ()}
    person = asked.add((item(),), **said)
    agent = asked.add((item(),), strict=True, **said)

    assert "Nobody needs it." == person.ruled.reason
    assert person.ruled.admitted
    assert "It has no source." == agent.ruled.reason


def test_the_reason_of_an_agents_withdrawal_has_to_be_borne_out(asked: Asked):
    because = "The gateway of the depot closes at 16:30"
    found = asked.add((item(),), op=Op.WITHDRAW, because=because, strict=True)

    assert found.ruled.reason.startswith("Its reason is not borne out: ")


def test_the_line_of_an_item_is_no_evidence_against_it(asked: Asked):
    items = (item(line="Migrate the depot first"), item("other"))
    because = "Migrate the depot first"
    gone = asked.add(items, op=Op.WITHDRAW, because=because, strict=True)
    clash = asked.add(
        items, op=Op.DISPUTE, against="other", because=because, strict=True
    )

    for found in (gone, clash):
        assert (
            "Its reason is not borne out: it says nothing that the item does not say."
        ) == found.ruled.reason


def test_a_dispute_changes_two_items_and_gives_none(asked: Asked):
    items = (item(), item("other"))
    said = {"op": Op.DISPUTE, "against": "other"}
    person = asked.add(items, sources=(), **said)
    agent = asked.add(items, because="POOL_SIZE is 12", strict=True, **said)

    assert [(True, None)] * 2 == [(x.ruled.admitted, x.item) for x in (person, agent)]


def test_an_agent_disputes_nothing_without_a_source(asked: Asked):
    items = (item(), item("other"))
    found = asked.add(items, op=Op.DISPUTE, against="other", sources=(), strict=True)

    assert "It has no source." == found.ruled.reason


def test_a_huge_blob_is_no_receipt_and_is_not_read(asked: Asked, monkeypatch):
    monkeypatch.setattr(sources, "_RECEIPT", 10)
    found = asked.source("receipt:{receipt}")

    assert isinstance(found, str)
    assert found.endswith(" is no receipt")


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (1, "It rests on decision push#1."),
        (2, "It is not supported: "),
        (3, "It is not supported: "),
        (4, "It rests on decision push#4."),
    ],
)
def test_what_an_agent_asks_is_evidence_as_far_as_a_person_has_said_so(
    asked: Asked, number: int, reason: str
):
    told = [
        Answer(question, answer, seeded_repo.PERSON, NOW)
        for question, answer in (
            ("Should every worker push to the trunk?", "yes"),
            ("Should every worker push to the trunk?", "No, they should not."),
            ("Every worker pushes to the trunk. Which colour is nice?", "red"),
            ("Where does a worker push to?", "to the trunk"),
        )
    ]
    if asked.objects.ref("refs/gitagent/tasks/push") is None:
        ledger.task(asked.seeded.repo, "push", TaskState.DONE, answers=tuple(told))
    source = f"decision:push:{number}"
    line = "A worker pushes to the trunk"
    found = asked.add(line=line, sources=(source,), strict=True)

    assert found.ruled.reason.startswith(reason)


def test_what_a_submitter_calls_a_landing_is_no_evidence(asked: Asked):
    source = f"landing:{asked.seeded.names['landed_id']}"
    found = look_up(asked.seeded.found, asked.objects, asked.seeded.target, source)

    assert isinstance(found, Found)
    assert found.source.quote == f"Work on retries\n{found.proof}"


def test_which_of_two_items_stays_is_for_a_person(asked: Asked):
    said = {"slug": "one", "against": "two", "because": "measured", "sources": ()}
    person = asked.add(TWO, op=Op.DECIDE, **said)
    agent = asked.add(TWO, op=Op.DECIDE, strict=True, **said)

    assert (True, None) == (person.ruled.admitted, person.item)
    assert "Which of two items stays is for a person to decide." == agent.ruled.reason


def test_no_more_items_count_than_the_limit(asked: Asked):
    items = (item("one"), item("two"), GONE)
    said = {"limit": 2}
    full = asked.add(items, **said)
    room = asked.add(items, supersedes=("one",), **said)
    more = asked.add(items, limit=3)
    update = asked.add((item(), *items), op=Op.UPDATE, **said)

    assert "2 items count already, and 2 are the most" in full.ruled.reason
    assert [True] * 3 == [x.ruled.admitted for x in (room, more, update)]


def test_a_command_has_to_pass_on_the_targets_tree(asked: Asked):
    ran: list[tuple[str, str]] = []

    def passes(command: str, tree: str) -> str:
        ran.append((command, tree))
        return ""

    op = replace(asked.good(), verify="make pool")
    good = asked.examined(op, verify=passes)
    bad = asked.examined(op, verify=lambda *_: "it ended with 1")
    unrun = asked.examined(op)

    assert good.ruled.admitted
    assert [("make pool", asked.seeded.names["tree"])] == ran
    assert "Its command does not pass: it ended with 1." == bad.ruled.reason
    assert "Its command has to be run, and was not." == unrun.ruled.reason


def test_a_command_is_not_run_for_what_is_refused_anyway(asked: Asked):
    def never(*_: str) -> str:
        raise AssertionError

    op = replace(asked.good(line="POOL_SIZE is 48"), verify="make pool")

    assert not asked.examined(op, verify=never, strict=True).ruled.admitted
