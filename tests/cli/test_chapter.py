"""gitagent chapter and gitagent memory review: what is printed, and the exit codes."""

import shutil
from pathlib import Path

import pytest

from tests.support.cli import call
from tests.support.repos import Repo


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("template") / "repo"


@pytest.fixture
def known(template: Path, tmp_path: Path) -> Repo:
    """Set a repository up, with an item and an open task; the template is made once."""
    if not template.exists():
        made = Repo.make(template, {"README.md": "# a repository\n"})
        call(made, "init", "--no-check")
        made.commit({".agent/tasks/facts.md": "# Facts\n"}, "Ask")
        about = ("--kind", "fact", "--line", "a repository")
        source = ("--source", "main:README.md:1-1")
        call(made, "memory", "add", "begun", *about, *source)
    shutil.copytree(template, tmp_path / "repo", symlinks=True)
    return Repo(tmp_path / "repo")


def changed(repo: Repo) -> str:
    """Change what the item rests on, and review; return the proposal's id."""
    repo.commit({"README.md": "# something else\n"}, "Change")
    return call(repo, "memory", "review", "--json").json["new"][0]["id"]


def test_without_findings_a_review_says_so_and_ends_well(known: Repo):
    answer = call(known, "memory", "review")
    listed = call(known, "memory", "proposals")

    assert (0, "") == (answer.code, answer.out)
    assert "1 item looked at; there is nothing to propose" in answer.err
    assert (0, "", True) == (listed.code, listed.out, "no proposal waits" in listed.err)
    assert {"proposals": 0} == call(known, "status", "--json").json["memory"]


def test_a_proposal_is_told_counted_and_accepted(known: Repo):
    name = changed(known)
    shown, listed = (call(known, "memory", x) for x in ("review", "proposals"))
    status = call(known, "status")
    accepted = call(known, "memory", "accept", name, "--because", "It was wrong.")
    again = call(known, "memory", "accept", name)
    (each,) = call(known, "memory", "proposals", "--all", "--json").json["proposals"]

    assert f"{name}  waiting  withdraw begun" == shown.lines[0]
    assert shown.out == listed.out
    assert (
        "1 proposal about the memory to decide: gitagent memory proposals" in status.out
    )
    assert (0, name, True) == (
        accepted.code,
        accepted.lines[0],
        "begun is withdrawn, by " in accepted.err,
    )
    assert (0, True) == (again.code, "is done" in again.err)
    assert ("accepted", "It was wrong.") == (each["state"], each["because"])
    assert [known.oid("HEAD~1")] == each["evidence"]
    assert "to decide" not in call(known, "status").out


def test_a_rejection_is_told_and_final(known: Repo):
    name = changed(known)
    rejected = call(known, "memory", "reject", name, "--because", "It holds.")
    shown = call(known, "memory", "proposals", "--all").out
    codes = [
        call(known, "memory", *words).code
        for words in (("accept", name), ("reject", name), ("accept", "p-none"))
    ]

    assert (0, True) == (rejected.code, "rejected by Test Person" in rejected.err)
    assert "rejected by Test Person <person@example.org>: It holds." in shown
    assert [1, 2, 1] == codes


def test_a_chapter_is_closed_listed_and_restored(known: Repo, tmp_path: Path):
    handoff, to = tmp_path / "notes.md", tmp_path / "spring.bundle"
    handoff.write_bytes(b"Go on.\r\n")
    words = ("chapter", "close", "spring", "--handoff", str(handoff), "--to", str(to))
    made, again = call(known, *words), call(known, *words)
    (each,) = call(known, "chapter", "list", "--json").json["chapters"]
    listed = call(known, "chapter", "list")
    other = Repo.make(tmp_path / "other")
    restored = call(other, "chapter", "restore", str(to))

    assert (0, str(to)) == (made.code, made.lines[0])
    assert "carried over: 1 item, 1 open task, 0 automations" in made.err
    assert (0, True) == (again.code, "already" in again.err)
    assert (1, ["facts"], None, False) == (
        each["items"],
        each["tasks"],
        each["bundle"],
        each["signed"],
    )
    assert listed.lines[0].startswith(f"spring  {known.head()[:12]}  by Test Person")
    assert (0, "spring") == (restored.code, restored.lines[0])
    assert f"main is at {known.head()[:12]}" in restored.err
    assert known.refs() == other.refs()
    assert 0 == call(other, "verify").code
    assert same(known, other, "memory", "list")
    assert same(known, other, "status", "--json")
    assert known.log() == other.log()


def same(one: Repo, other: Repo, *words: str) -> bool:
    """Whether a command says the same in two places."""
    return call(one, *words).out == call(other, *words).out


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (("close", "Bad Name"), 2, "a chapter cannot be called"),
        (("close", "x", "--handoff", "none"), 2, "does not exist"),
        (("restore", "README.md"), 1, "is no bundle of Git"),
        (("restore", "none"), 2, "does not exist"),
    ],
)
def test_what_cannot_be_is_one_line(repo: Repo, words, code, reason, monkeypatch):
    monkeypatch.chdir(repo.path)
    answer = call(repo, "chapter", *words)

    assert (code, "", 1) == (answer.code, answer.out, len(answer.err.splitlines()))
    assert reason in answer.err


def test_without_chapters_the_list_says_how_to_close_one(known: Repo):
    answer = call(known, "chapter", "list")

    assert (0, "", True) == (answer.code, answer.out, "no chapter" in answer.err)
