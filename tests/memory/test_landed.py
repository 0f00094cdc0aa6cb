"""What landed on a target, and what attempts changed."""

import pytest

from gitagent.core.task import Attempt, Outcome, TaskRecord, TaskState
from gitagent.git.repository import discover
from gitagent.memory.landed import Landed, Past, changed, newest
from tests.support.repos import Repo

_MAIN = "refs/heads/main"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return Repo.make(tmp_path_factory.mktemp("repo"), {"a.py": "1\n"})


@pytest.fixture(scope="module")
def landed(repo: Repo) -> list[str]:
    """Commits: one landing, a direct commit, one of the memory, one in two commits."""

    def land(files: dict[str, str], submission: str, title: str, more: str = "") -> str:
        said = f"{title}\n\nWords.\n\nGitagent-Submission: {submission}\n{more}"
        return repo.commit_at(_MAIN, files, said)

    note = ".agent/landings/2026/01/{}.md"
    return [
        land(
            {"src/b.py": "", "a.py": "2\n", note.format("s-1"): "n"},
            "s-1",
            "Add b",
            "Gitagent-Task: add-b\n",
        ),
        repo.commit_at(_MAIN, {"direct.py": "x"}, "Go past the lander"),
        land({".agent/memory/x.md": "x", note.format("s-2"): "n"}, "s-2", "Remember"),
        land({"one.py": "1"}, "s-3", "First of two"),
        land({"two.py": "2", note.format("s-3"): "n"}, "s-3", "Second of two"),
        repo.commit_at(_MAIN, {"later.py": "x"}, "Say Gitagent-Submission: in words"),
    ]


def test_landings_are_told_newest_first_with_their_paths_of_the_product(repo, landed):
    with discover(repo.path).objects() as objects:
        found = newest(objects, landed[-1])

    assert (
        Landed(
            "s-3",
            landed[4],
            "2026-01-05T09:06:00Z",
            "Second of two",
            paths=("one.py", "two.py"),
        ),
        Landed(
            "s-1",
            landed[0],
            "2026-01-05T09:02:00Z",
            "Add b",
            task="add-b",
            paths=("a.py", "src/b.py"),
        ),
    ) == found


def test_a_file_that_became_a_folder_and_what_is_no_record_in_agent_are_told(
    repo, landed
):
    del landed
    branch = "refs/heads/folders"
    old = repo.commit_at(branch, {"x": "1", ".agent/config.toml": "1"})
    files = {"x": None, "x/y": "2", ".agent/config.toml": "2", ".agent/tasks/t.md": "t"}
    new = repo.commit_at(branch, files)
    with discover(repo.path).objects() as objects:
        assert (".agent/config.toml", "x", "x/y") == changed(objects, old, new)


def test_no_more_landings_are_told_than_are_asked_for(repo, landed):
    with discover(repo.path).objects() as objects:
        found = newest(objects, landed[-1], 1)

    assert ["s-3"] == [each.submission for each in found]


def test_landings_are_read_once_for_each_commit(repo, landed):
    past = Past()
    with discover(repo.path).objects() as objects:
        first = past.landings(objects, landed[-1])

    assert first is past.landings(None, landed[-1])  # type: ignore[arg-type]


def _attempt(number: int, base: str, tip: str) -> Attempt:
    return Attempt(
        number,
        "b",
        base,
        "2026-01-01T00:00:00Z",
        ended=f"2026-01-01T00:0{number}:00Z",
        outcome=Outcome.FAILED,
        tip=tip,
    )


def test_the_paths_of_an_attempt_are_those_that_its_work_changed(repo, landed):
    record = TaskRecord(
        "t",
        TaskState.FAILED,
        "b",
        "2026-01-01T00:00:00Z",
        attempts=(
            _attempt(1, landed[0], landed[3]),
            _attempt(2, landed[3], landed[3]),
            _attempt(3, "0" * 40, landed[4]),
        ),
    )
    with discover(repo.path).objects() as objects:
        found = Past().episodes(objects, [record], [])

        assert ("direct.py", "one.py") == changed(objects, landed[0], landed[3])
    assert [(), ("direct.py", "one.py"), ("direct.py", "one.py")] == [
        each.paths for each in found
    ]
