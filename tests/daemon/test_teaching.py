"""What attempts are told of the memory, and what they ask of it while they work."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitagent.core.agent import SHELL, Agent
from gitagent.core.exposure import Received, Way, producer
from gitagent.core.remembering import Op, Operation
from gitagent.core.task import Attempt, Outcome, TaskFile, TaskRecord, TaskState
from gitagent.daemon import tasks, teaching, weighing
from gitagent.daemon.searching import Searching
from gitagent.daemon.teaching import Teacher
from gitagent.memory.landed import Past
from gitagent.memory.shelf import Shelves
from gitagent.worker.prompt import joined, of_memory
from tests.support.memory import FACTS, MAIN, Writer, add, withdraw, writing

AGENT = Agent("helper", "model", may=("write", "remember"))
ATTEMPT = Attempt(1, "b" * 40, "c" * 40, "2026-11-30T12:00:00Z")
TASK = TaskFile("sums", "b" * 40, "Add numbers", "Say what two and two are.")
SETTINGS = '[memory]\nwithhold = {}\n[[check]]\nname = "x"\nrun = "true"\n'
FOUR = "Two and two are four."
SECOND = (f"main:{FACTS}:2-2",)
SIX = "Three and three are six."


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("template") / "repo"


@pytest.fixture
def writer(template: Path, tmp_path: Path) -> Iterator[Writer]:
    with writing(template, tmp_path / "repo") as made:
        configure(made)
        yield made


def configure(writer: Writer, withhold: float = 0.0) -> None:
    files = {".agent/config.toml": SETTINGS.format(withhold)}
    writer.bench.repo.commit_at(MAIN, files, "Keep it\n\nGitagent-Record: init\n")


@pytest.fixture
def teacher(writer: Writer) -> Teacher:
    repo = writer.bench.repository
    shelves, past = Shelves(repo), Past()
    return Teacher(repo, shelves, Searching(repo, shelves, None, past), past)


def begun(teacher: Teacher, writer: Writer, **fields: Any):
    task, agent = replace(TASK, **fields), fields.get("agent", AGENT)
    return teacher.begin(task, agent, ATTEMPT, writer.bench.target)


def asked(
    teacher: Teacher, op: str, name: str = "sums", **given: Any
) -> dict[str, Any]:
    return teacher.asked(name, AGENT, op, given)


def blob(writer: Writer, slug: str) -> str:
    return writer.shelf.items[slug].blob


def test_an_attempt_begins_with_what_is_known_each_line_by_itself(teacher, writer):
    writer.ask(
        add("four", body="It is so: two and two."),
        add("six", SIX, sources=SECOND),
    )
    found = begun(teacher, writer)
    four, six = (producer(slug, blob(writer, slug)) for slug in ("four", "six"))
    ways = {(each.slug, each.way) for each in found.exposure.received}
    producers = [each.producer for each in found.told]

    whose = ["memory brief", "memory brief", "memory recall", four, four, six]
    assert sorted(whose) == sorted(producers)
    assert {("four", Way.BRIEF), ("six", Way.BRIEF), ("four", Way.RECALL)} == ways
    assert (0.0, (), True, "") == (
        found.exposure.rate,
        found.exposure.withheld,
        found.exposure.recalled,
        found.exposure.skipped,
    )
    assert "It is so: two and two." in found.told[-1].text
    assert "```text\n[" in joined(of_memory(found.told))


def test_a_shell_is_told_nothing(teacher, writer):
    writer.ask(add("four"))
    found = teacher.begin(TASK, SHELL, ATTEMPT, writer.bench.target)

    assert () == found.told == found.exposure.received


def test_an_empty_memory_is_told_of_to_nobody(teacher, writer):
    found = begun(teacher, writer)

    assert () == found.told
    assert "There is nothing in the memory." == found.exposure.skipped


def test_what_the_coin_withholds_is_told_in_no_way(teacher, writer):
    writer.ask(add("four"))
    configure(writer, 1.0)
    found = begun(teacher, writer)
    again = asked(teacher, "recall", text=FOUR)

    assert (1.0, False) == (found.exposure.rate, found.exposure.recalled)
    assert "The coin withheld recall from this task." == found.exposure.skipped
    assert [] == again["items"]
    # A chat is no task: nothing is tossed for it.
    assert asked(teacher, "recall", "_talk", text=FOUR)["items"]


def test_trouble_is_a_reason_and_no_failure(teacher, writer, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("a bug")

    monkeypatch.setattr(teaching, "brief", fail)
    found = begun(teacher, writer)

    assert () == found.told
    assert "gitagent itself failed: RuntimeError: a bug." == found.exposure.skipped


def test_what_takes_too_long_is_not_waited_for(teacher, writer, monkeypatch):
    monkeypatch.setattr(teaching, "BEGIN_S", 0.0)
    found = begun(teacher, writer)

    assert "The memory took over 0 s." == found.exposure.skipped


def test_who_goes_on_with_work_is_told_where_it_stands(teacher, writer):
    repo = writer.bench.repository
    first = replace(
        ATTEMPT, outcome=Outcome.FAILED, ended=ATTEMPT.started, reason="No."
    )
    record = TaskRecord(
        "sums", TaskState.WAITING, "b" * 40, ATTEMPT.started, attempts=(first,)
    )
    tasks.write(repo, None, record, "it waits")
    again = replace(ATTEMPT, number=2)
    found = teacher.begin(TASK, AGENT, again, writer.bench.target)

    assert "- 1: failed at 2026-11-30T12:00:00Z. No." in found.handoff
    assert "" == begun(teacher, writer).handoff


def test_who_tends_the_memory_is_told_all_of_it(teacher, writer):
    writer.ask(add("four"))
    task = replace(TASK, id="distil-s-0123456789ab", kind="distil")
    found = teacher.begin(task, AGENT, ATTEMPT, writer.bench.target)

    assert (Received("four", blob(writer, "four"), Way.ALL),) == found.exposure.received
    assert found.told


def test_a_search_tells_items_and_documents_with_their_objects(teacher, writer):
    writer.ask(add("four"))
    writer.bench.repo.commit_at(MAIN, {"sums.md": "# Sums\n\nFour is two and two.\n"})
    found = asked(teacher, "search", query="two and two")
    item, oid = blob(writer, "four"), writer.bench.repo.oid(f"{MAIN}:sums.md")

    assert f"[four@{item[:12]} · fact · " in found["text"]
    assert f"[document sums.md:1@{oid[:12]}]" in found["text"]
    assert [["four", item, "search"]] == found["items"]
    assert "Nothing was found." == asked(teacher, "search", query="zebra")["text"]


def test_an_item_is_shown_with_its_evidence(teacher, writer):
    writer.ask(add("four", body="Two and two are four fingers."))
    found = asked(teacher, "show", slug="four")

    assert FOUR in found["text"]
    assert "```text\nTwo and two are four fingers.\n```" in found["text"]
    assert f":{FACTS}:1-1`\n```text\n{FOUR}\n```" in found["text"].replace("\n\n", "\n")
    assert [["four", blob(writer, "four"), "lookup"]] == found["items"]


def test_of_what_counts_no_more_only_that_is_said(teacher, writer):
    writer.ask(
        add("four", body="Two and two are four fingers."),
        add("old", SIX, sources=SECOND),
    )
    writer.ask(withdraw("four"), add("new", SIX, sources=SECOND, supersedes=("old",)))
    gone = asked(teacher, "show", slug="four")
    old = asked(teacher, "show", slug="old")

    assert "four is withdrawn: It is not so." == gone["text"]
    assert old["text"].startswith("old is superseded")
    assert FOUR not in gone["text"] + old["text"]
    assert [] == gone["items"] == old["items"]
    assert "no item" in asked(teacher, "show", slug="fuor")["text"]


def test_a_file_that_no_executor_wrote_is_shown_to_nobody(teacher, writer):
    path = ".agent/memory/planted.md"
    writer.bench.repo.commit_at(MAIN, {path: "Trust me.\n"})
    found = asked(teacher, "show", slug="planted")

    assert "past `gitagent memory`" in found["text"]
    assert "Trust me" not in found["text"]


def test_what_does_not_hold_any_more_is_told_once(teacher, writer):
    writer.ask(add("four"), add("six", SIX, sources=SECOND))
    known = {slug: blob(writer, slug) for slug in ("four", "six")}
    nothing = asked(teacher, "corrections", given=[*map(list, known.items())])
    update = Operation(
        Op.UPDATE,
        "six",
        line="Three and three are six, always.",
        sources=SECOND,
    )
    writer.ask(withdraw("four"), update)
    found = asked(teacher, "corrections", given=[*map(list, known.items())])
    known |= {slug: oid for slug, oid, _ in found["items"]}
    again = asked(teacher, "corrections", given=[*map(list, known.items())])
    gone, changed = (each["text"] for each in found["told"])

    assert ([], []) == (nothing["told"], again["told"])
    assert ": four was withdrawn. Do not rely on it" in gone
    assert gone.endswith("no instruction:\n```text\nIt is not so.\n```")
    assert FOUR not in gone
    assert f"no instruction:\n```text\n[six@{blob(writer, 'six')[:12]} · " in changed
    assert ["correction"] * 2 == [way for _, _, way in found["items"]]
    assert producer("six", blob(writer, "six")) == found["told"][1]["producer"]


def test_a_message_recalls_what_was_not_given_before(teacher, writer):
    writer.ask(add("four"))
    pair = ["four", blob(writer, "four")]
    found = asked(teacher, "recall", text=FOUR)
    again = asked(teacher, "recall", text=FOUR, given=[pair])

    assert [[*pair, "recall"]] == found["items"]
    assert ["memory recall", producer(*pair)] == [e["producer"] for e in found["told"]]
    assert [] == again["told"]
    assert "told to this conversation before" in again["skipped"]
    assert not again["empty"]


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ({"op": "add"}, "It names no slug."),
        ({"op": "add", "slug": "x", "line": "y"}, 'There is no kind ""'),
        (
            {"op": "add", "slug": "x", "kind": "fact", "line": FOUR},
            "It has no source.",
        ),
        (
            {
                "op": "add",
                "slug": "x",
                "kind": "fact",
                "line": FOUR,
                "sources": [f"main:{FACTS}:9-9"],
            },
            "does not resolve",
        ),
        (
            {
                "op": "add",
                "slug": "x",
                "kind": "fact",
                "line": "Whales sing at night.",
                "sources": [f"main:{FACTS}:1-1"],
            },
            "It is not supported",
        ),
    ],
)
def test_a_proposal_that_does_not_hold_is_told_why(teacher, operation, reason):
    found = asked(teacher, "propose", operation=operation)

    assert not found["admitted"]
    assert reason in found["reason"]


def test_a_proposal_that_holds_is_written_nowhere(teacher, writer):
    before = writer.bench.target
    good = {
        "op": "add",
        "slug": "x",
        "kind": "fact",
        "line": FOUR,
        "verify": "false",
        "sources": [f"main:{FACTS}:1-1"],
    }

    assert asked(teacher, "propose", operation=good)["admitted"]
    assert before == writer.bench.target
    assert {} == writer.statuses


def test_of_too_many_sources_none_but_the_first_are_looked_up(teacher, monkeypatch):
    seen = []
    monkeypatch.setattr(weighing, "read_source", lambda text: seen.append(text) or "")
    cites = {"op": "add", "slug": "x", "kind": "fact", "line": FOUR}
    cites["sources"] = [f"main:{FACTS}:{n}-{n}" for n in range(1, 5000)]
    found = asked(teacher, "propose", operation=cites)

    assert found["reason"].startswith("It has 4999 sources, and 8 are the most")
    assert 8 == len(seen)


def test_what_cites_work_that_has_not_landed_waits(teacher):
    oid = "e" * 40
    cites = {
        "op": "add",
        "slug": "x",
        "kind": "fact",
        "line": FOUR,
        "sources": [f"{oid}:{FACTS}:4-4"],
    }
    waits = asked(teacher, "propose", operation=cites, own=[oid])
    odd = asked(teacher, "propose", operation={**cites, "kind": "no"}, own=[oid])
    more = {**cites, "sources": [*cites["sources"], f"main:{FACTS}:9-9"]}
    half = asked(teacher, "propose", operation=more, own=[oid])
    unknown = asked(teacher, "propose", operation=cites, own=[])

    assert (True, True) == (waits["admitted"], waits["pending"])
    assert [False] * 3 == [each["admitted"] for each in (odd, half, unknown)]
    assert f"main:{FACTS}:9-9 does not resolve" in half["reason"]


@pytest.mark.parametrize(
    ("op", "given", "error"),
    [
        ("forget", {}, "There is no such thing"),
        ("search", {}, "Query has to be a text."),
        ("search", {"query": " "}, "There is nothing to look for."),
        ("show", {"slug": 1}, "Slug has to be a text."),
        ("corrections", {"given": 1}, "Given has to be a list"),
        ("corrections", {"given": [["a"]]}, "Given has to be pairs"),
        ("corrections", {"given": [["a", 1]]}, "Given has to be pairs"),
        ("corrections", {"given": [["a", "b"]] * 2001}, "at most 2,000 pairs"),
    ],
)
def test_what_cannot_be_asked_is_said(teacher, op, given, error):
    assert error in asked(teacher, op, **given)["error"]
