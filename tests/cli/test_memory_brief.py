"""gitagent memory brief, and gitagent task handoff."""

import re
from pathlib import Path

import pytest

from gitagent.core.exposure import Exposure, Received, Way
from gitagent.core.ident import submission_id
from gitagent.core.memory import From, Item, Kind, Source, Status
from gitagent.core.remembering import Filed, Ruling
from gitagent.core.submission import CheckLine, SubmissionState
from gitagent.core.task import Attempt, Outcome, TaskState
from gitagent.files import memoryfile
from gitagent.git.repository import discover
from gitagent.git.rulings import append
from gitagent.host.clock import stamp
from tests.support import ledger
from tests.support.cli import call
from tests.support.repos import Repo

_TASK = """\
+++
paths = ["src/**"]
+++

# Mend the login

It forgets people.
"""
_OIDS = re.compile(r"^\[\S+?@([0-9a-f]{12})", re.MULTILINE)


def _remember(repo: Repo, *items: Item) -> None:
    """Put items onto the target, with the ruling that says so."""
    files = {f".agent/memory/{e.slug}.md": memoryfile.dump(e) for e in items}
    commit = repo.commit_at("refs/heads/main", files, "Remember")
    filed = tuple(
        Filed(each.slug, repo.oid(f"{commit}:.agent/memory/{each.slug}.md"))
        for each in items
    )
    found = discover(repo.path)
    with found.objects(fast=True) as objects:
        append(found, objects, Ruling(stamp(), "A <a@x>", commit=commit, files=filed))


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """A target with items, a landing, a task that was rejected and one that waits."""
    made = Repo.make(
        tmp_path_factory.mktemp("repo"), {"src/a.py": "one\ntwo\n", "b.py": "three\n"}
    )
    call(made, "init", "--no-check")
    _set_rate(made, "0.0")
    base = made.head()

    def item(slug: str, path: str, kind: Kind = Kind.FACT, **more: object) -> Item:
        source = Source(From.LINES, base, path, 1, 1, "one" if "a" in path else "three")
        usual = {"updated": "2026-02-01T00:00:00Z", "sources": (source,)}
        return Item(slug, kind, f"what {slug} says", **(usual | more))

    gone = {"status": Status.WITHDRAWN, "because": "it was wrong"}
    _remember(
        made,
        item("login", "src/a.py", Kind.LESSON),
        item("other", "b.py", Kind.DECISION, body="Because it is short."),
        item("gone", "b.py", **gone),
    )
    made.commit_at(
        "refs/heads/main",
        {
            "src/c.py": "c\n",
            ".agent/tasks/fix.md": _TASK,
            ".agent/tasks/next.md": _TASK,
        },
        "Add c\n\nWords.\n\nGitagent-Submission: s-0123456789ab",
    )
    made.git("reset", "-q", "--hard")
    tip = made.commit({"src/a.py": "mended\n"}, "Mend it", branch="agent/fix")
    blob = made.oid("HEAD:.agent/tasks/fix.md")
    attempt = Attempt(
        1,
        blob,
        made.head(),
        stamp(),
        ended=stamp(),
        outcome=Outcome.OK,
        tip=tip,
        summary="Every test passes.",
        memory=Exposure(received=(Received("gone", "b", Way.BRIEF),)),
    )
    submission = ledger.submission(
        made, tip, id=submission_id(tip, "fix", blob), task="fix"
    )
    ledger.moved(
        made,
        submission,
        SubmissionState.REJECTED,
        reason="The check unit failed.",
        checks=(CheckLine("unit", "failed"),),
        output="AssertionError: no cookie",
    )
    ledger.task(
        made,
        "fix",
        TaskState.FAILED,
        title="Mend the login",
        agent="shell",
        attempts=(attempt,),
        attempt=1,
        tip=tip,
        submission=submission.id,
    )
    return made


def test_every_line_of_a_brief_names_an_object_that_is_there(repo):
    text = call(repo, "memory", "brief").out
    found = _OIDS.findall(text)

    assert 4 == len(found)
    for oid in found:
        repo.git("cat-file", "-e", oid)


def test_a_brief_tells_items_landings_and_attempts_and_nothing_withdrawn(repo):
    text = call(repo, "memory", "brief").out

    assert text.index("what other says (reasons: gitagent memory show other)") < (
        text.index("what login says")
    )
    assert "[s-0123456789ab@" in text
    assert "Add c (src/c.py)" in text
    assert "rejected] Mend the login; by shell; the check unit failed; changed" in text
    assert 'It said (a claim): "Every test passes."' in text
    assert "It was told `gone`, which is withdrawn since." in text
    assert "what gone says" not in text
    assert "it was wrong" not in text


def test_a_brief_of_a_task_begins_with_what_its_paths_touch(repo):
    found = call(repo, "memory", "brief", "next", "--json").json

    assert ["login", "other"] == [
        slug for line in found["lines"] for slug in line["items"]
    ]
    assert (
        "src/a.py is of what this is about; of 2026-02-01" == found["lines"][0]["why"]
    )
    assert "next" == found["task"]


def test_the_attempts_of_the_task_itself_are_left_to_its_handoff(repo):
    assert "fix#1@" in call(repo, "memory", "brief", "next").out
    assert "fix#1@" not in call(repo, "memory", "brief", "fix").out


def test_explaining_a_brief_prints_reasons_sources_and_what_is_left_out(repo):
    said = call(repo, "memory", "brief", "next", "--explain")

    assert 0 == said.code
    assert "  because: a decision; of 2026-02-01\n  other is from " in said.out
    assert ":b.py:1-1\n    | three\n" in said.out
    assert "because: one of the newest landings" in said.out
    assert re.search(r"Left out\n  gone +it is withdrawn: it was wrong\n", said.out)


def test_what_the_coin_withholds_is_explained_and_not_told(repo):
    _set_rate(repo, "1.0")
    none = call(repo, "memory", "brief", "next", "--explain")
    _set_rate(repo, "0.5")
    told = [call(repo, "memory", "brief", n, "--json").json for n in ("fix", "next")]
    _set_rate(repo, "0.0")

    assert "The coin withholds recall from this task (memory.withhold)." in none.out
    for each in told:
        items = [slug for line in each["lines"] for slug in line["items"]]
        assert ["login", "other"] == sorted([*items, *each["withheld"]])


def _set_rate(repo: Repo, rate: str) -> None:
    path = ".agent/config.toml"
    text = re.sub("withhold = [0-9.]+", f"withhold = {rate}", repo.read(path))
    repo.commit({path: text})


def test_a_brief_of_a_task_that_nobody_asked_for_is_an_error_of_one_line(repo):
    said = call(repo, "memory", "brief", "nope")

    assert 1 == said.code
    assert 'there is no task and no submission "nope" here' in said.err


def test_nothing_to_tell_is_said(tmp_path: Path):
    empty = Repo.make(tmp_path / "empty", {"a": "a"})
    call(empty, "init", "--no-check")
    said = call(empty, "memory", "brief")

    assert ("", 0) == (said.out, said.code)
    assert "nothing would be told" in said.err


def test_a_handoff_is_told_by_receipts_and_the_diff(repo):
    text = call(repo, "task", "handoff", "fix").out

    assert 'Asked for is "Mend the login"' in text
    assert "1 path: 1 modified.\n- modified src/a.py" in text
    assert "The check unit failed.\n```\nAssertionError" in text
    assert 'It said (a claim): "Every test passes."' in text
    assert "It was told `gone`, which is withdrawn since." in text
    assert "gitagent task retry fix" in text


def test_a_task_that_was_not_tried_has_nothing_to_hand_over(repo):
    ledger.task(repo, "next", TaskState.WAITING)
    said = call(repo, "task", "handoff", "next")

    assert ("", 0) == (said.out, said.code)
    assert "next was not tried yet" in said.err


def test_a_handoff_of_nobody_is_an_error_of_one_line(repo):
    said = call(repo, "task", "handoff", "nope")

    assert 1 == said.code
    assert 'there is no task and no submission "nope" here' in said.err
