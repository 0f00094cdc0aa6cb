"""What happened can be read from a plain clone with plain Git, without gitagent."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.daemon import Daemon
from tests.support.repos import Repo

Start = Callable[..., Daemon]


@pytest.fixture
def mirror(kept: Repo, daemon: Start, tmp_path: Path) -> Repo:
    """Land one task, reject one, and clone all refs to somewhere else."""
    running = daemon(kept)
    kept.add_task("good", "echo checking; echo good > good.txt", title="Do good")
    kept.add_task("wrong", "echo bad > wrong.txt")
    running.wait_task("good", "landed")
    running.wait_task("wrong", "failed")
    running.stop()
    path = tmp_path / "mirror.git"
    kept.git("clone", "-q", "--mirror", str(kept.path), str(path))
    return Repo(path, bare=True)


def test_ten_questions_have_answers(mirror: Repo):
    landing = mirror.log("%H", "--first-parent", "--grep=Gitagent-Submission", "main")[
        0
    ]
    said = dict(mirror.trailers(landing))

    # 1. What landed, and on what?
    assert "good.txt" in mirror.git("diff", "--name-only", f"{landing}^1", landing)
    # 2. Who wrote it, and who landed it?
    (who,) = mirror.log("%an|%cn", "-1", landing)
    assert who == "shell (gitagent)|gitagent"
    # 3. What was asked for, in which words?
    assert "Do good" in mirror.read(".agent/tasks/done/good.md", landing)
    # 4. Which work was submitted?
    assert mirror.oid(f"{landing}^2") == said["Gitagent-Tip"]
    # 5. Which checks ran, on which tree, by which settings?
    assert said["Gitagent-Check"].startswith("tests passed")
    assert "[[check]]" in mirror.git("cat-file", "blob", said["Gitagent-Config"])
    product = said["Gitagent-Checked"]
    without = mirror.git("ls-tree", "-r", landing).splitlines()
    without = [line for line in without if not record(line.split("\t")[1])]
    assert mirror.git("ls-tree", "-r", product).splitlines() == without
    # 6. On what evidence?
    note = mirror.read(f".agent/landings/{year_month(mirror, landing)}.md", landing)
    place = next(x for x in note.split('"') if x.startswith("refs/gitagent/receipts/"))
    receipt = json.loads(mirror.git("show", place))
    assert (receipt["result"], receipt["exit_code"]) == ("passed", 0)
    # 7. What did the check print?
    assert mirror.git("cat-file", "-t", receipt["output"]) == "blob"
    # 8. What became of the task, step by step?
    story = mirror.log("%s", "--first-parent", "refs/gitagent/tasks/good")
    assert story[0].startswith("landed as ")
    # 9. What did the worker print?
    logs = [
        step
        for step in mirror.log("%H", "--first-parent", "refs/gitagent/tasks/good")
        if "log" in mirror.git("ls-tree", "--name-only", step).splitlines()
    ]
    assert "checking" in mirror.read("log", logs[0])
    # 10. Why did the other one not land?
    wrong = json.loads(mirror.read("record-v1.json", "refs/gitagent/tasks/wrong"))
    assert "tests failed twice" in wrong["reason"]


def record(path: str) -> bool:
    return path.startswith((".agent/tasks/", ".agent/landings/", ".agent/memory/"))


def year_month(repo: Repo, landing: str) -> str:
    (path,) = repo.paths(landing, ".agent/landings")
    return path.removeprefix(".agent/landings/").removesuffix(".md")
