"""Advancing a checkout: other gits at the same moment, and crashes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitagent.errors import Busy, LostRace
from gitagent.git import advance as module
from gitagent.git.advance import Advanced, look, settle
from gitagent.git.repository import discover
from tests.support.landing import MAIN, Landing, snapshot
from tests.support.waiting import wait_for, wait_for_file

AGES_AGO = 1_767_603_600


@pytest.fixture
def case(tmp_path):
    return Landing(
        tmp_path / "repo",
        {
            "a": "1\n",
            "gone": "1\n",
            "other": "1\n",
            "deep/er/file": "1\n",
            ".gitignore": "*.o\n",
        },
        {"a": "2\n", "gone": None, "new/file": "new\n", "run.sh*": "#!/bin/sh\n"},
    )


def meanwhile(monkeypatch, tmp_path, script):
    """Run ``script`` in the guard's place first, once; the real guard follows."""
    folder, real = tmp_path / "guards", module.data_path("hooks/advance")
    folder.mkdir()
    hook = folder / "reference-transaction"
    hook.write_text(
        f"#!/bin/sh\nif ! [ -e {folder}/done ]; then\n"
        f'touch {folder}/done; cd "$GIT_WORK_TREE"\n{script}\nfi\n'
        f'exec {real}/reference-transaction "$@"\n'
    )
    hook.chmod(0o755)
    monkeypatch.setattr(module, "data_path", lambda _: folder)


SCRUB = "unset GIT_INDEX_FILE GIT_REFLOG_ACTION; git -c core.hooksPath=/dev/null"


@pytest.mark.parametrize("dirty", [False, True])
def test_a_person_who_switches_branches_in_the_same_moment_keeps_them(
    case, tmp_path, monkeypatch, dirty
):
    """ORIG_HEAD is written before the files, so that is where this guard strikes."""
    case.repo.git("branch", "topic")
    if dirty:
        case.repo.write("other", "edited\n")
        case.repo.git("add", "other")
    meanwhile(monkeypatch, tmp_path, f"{SCRUB} symbolic-ref HEAD refs/heads/topic")

    result = case.advance()

    assert Advanced() == result
    assert case.new == case.repo.ref(MAIN)
    assert case.old == case.repo.ref("refs/heads/topic")
    assert (["M  other"] if dirty else []) == case.repo.status()


def test_a_person_who_commits_in_the_same_moment_wins(case, tmp_path, monkeypatch):
    mine = case.repo.git("commit-tree", "-p", case.old, "-m", "mine", "HEAD^{tree}")
    meanwhile(monkeypatch, tmp_path, f"{SCRUB} update-ref {MAIN} {mine}")

    with pytest.raises(LostRace):
        case.advance()

    assert mine == case.repo.head()
    assert [] == case.repo.status()


def test_a_branch_checked_out_after_the_look_is_brought_along(case, monkeypatch):
    case.repo.git("switch", "-q", "-c", "topic")
    real = module.refs.update

    def switch_then_update(*args):
        case.repo.git("switch", "-q", "main")
        real(*args)

    monkeypatch.setattr(module.refs, "update", switch_then_update)

    assert Advanced(case.repo.path) == case.advance()
    assert [] == case.repo.status()


USER = """
import pathlib, subprocess, sys
top, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
for number in range(count):
    (top / f"user-{number}").write_text("mine")
    for command in (
        ["add", f"user-{number}"],
        ["commit", "-q", "-m", f"user {number}"],
        ["status", "--short"],
    ):
        for _ in range(200):
            done = subprocess.run(["git", *command], cwd=top, capture_output=True)
            if done.returncode == 0:
                break
        else:
            sys.exit(f"{command} did not go through: {done}")
"""


def test_beside_a_person_who_commits_all_the_time_nothing_is_lost(case):
    commits, landings = 40, 12
    user = subprocess.Popen(
        [sys.executable, "-c", USER, str(case.repo.path), str(commits)]
    )
    landed = []
    while len(landed) < landings:
        case.old = case.repo.oid(MAIN)
        number = len(landed)
        new = case.land({f"landing-{number}": "x\n", "a": f"{number}\n"})
        try:
            if isinstance(case.advance(new), Advanced):
                landed.append(new)
        except (LostRace, Busy):
            assert user.poll() in {None, 0}

    assert 0 == user.wait(60)
    for commit in landed:
        assert 0 == case.repo.ask("merge-base", "--is-ancestor", commit, MAIN)
    for commit in case.repo.log("%H"):
        # No commit of the person's takes back what another one or a landing brought.
        gone = case.repo.git("diff-tree", "--diff-filter=D", "--name-only", commit)
        assert "" == gone.removeprefix(commit).strip().replace("gone", "")
    assert [] == case.repo.status()
    assert commits + landings <= len(case.repo.log("%H", "--no-merges"))
    case.repo.fsck()


# --- crashes


DAEMON = """
import pathlib, sys
from gitagent.git import advance
from gitagent.git.repository import discover
guards, repo, *move = sys.argv[1:]
advance.data_path = lambda _: pathlib.Path(guards)
advance.advance(discover(pathlib.Path(repo)), "refs/heads/main", *move, "land")
"""


def daemon(case, guards):
    return subprocess.Popen(
        [
            sys.executable,
            "-P",
            "-c",
            DAEMON,
            guards,
            case.repo.path,
            case.old,
            case.new,
        ],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )


def kill_both(case, phase, ref):
    """Kill the daemon and its git when ``ref`` is in the transaction's ``phase``."""
    folder = case.repo.path.parent / "killer"
    folder.mkdir()
    real = module.data_path("hooks/advance") / "reference-transaction"
    hook = folder / "reference-transaction"
    hook.write_text(f"""#!/bin/sh
refs=$(cat)
printf '%s\\n' "$refs" | {real} "$@" || exit 1
case "$1 $refs" in
"{phase} "*{ref})
    read -r _ _ _ daemon _ < /proc/$PPID/stat
    kill -9 $daemon $PPID
esac
""")
    hook.chmod(0o755)
    assert -9 == daemon(case, folder).wait(60)
    age_locks(case.repo)


def age_locks(repo):
    for lock in repo.common_dir.rglob("*.lock"):
        os.utime(lock, (AGES_AGO, AGES_AGO))


def locks(repo):
    found = repo.common_dir.rglob("*.lock")
    return [each.name for each in found if each.parent.name != "gitagent"]


POINTS = [("prepared", "ORIG_HEAD"), ("prepared", MAIN), ("committed", MAIN)]
BEFORE = POINTS[:2]


@pytest.mark.parametrize("where", POINTS, ids=" ".join)
def test_a_landing_that_was_cut_off_is_completed(case, where):
    case.repo.write("other", "edited\n")
    case.repo.git("add", "other")
    kill_both(case, *where)

    assert isinstance(case.recover(), Advanced)
    assert isinstance(case.recover(), Advanced)
    assert case.new == case.repo.head()
    assert ["M  other"] == case.repo.status()
    assert [] == locks(case.repo)


@pytest.mark.parametrize("where", BEFORE, ids=" ".join)
def test_a_landing_that_was_cut_off_gives_way_to_another(case, where):
    case.repo.write("other", "edited\n")
    case.repo.git("add", "other")
    kill_both(case, *where)
    other = case.land({"a": "3\n", "new/file": "another\n"})

    assert Advanced(case.repo.path) == case.advance(other)
    assert ["M  other"] == case.repo.status()
    assert "another\n" == (case.repo.path / "new/file").read_text()
    assert (case.repo.path / "gone").exists()


@pytest.mark.parametrize("where", POINTS, ids=" ".join)
def test_what_was_cut_off_can_be_settled_alone(case, where):
    before = snapshot(case.repo)
    kill_both(case, *where)

    settle(discover(case.repo.path))
    settle(discover(case.repo.path))

    assert (where in BEFORE) == (before == snapshot(case.repo))
    assert [] == case.repo.status()
    assert [] == locks(case.repo)


@pytest.mark.parametrize("where", BEFORE, ids=" ".join)
def test_what_was_cut_off_is_in_nobodys_way(case, where):
    kill_both(case, *where)

    assert look(discover(case.repo.path), MAIN, case.new) is None
    assert [] == case.repo.status()
    assert [] == locks(case.repo)


def test_before_it_is_mended_a_person_sees_no_reversal(case):
    """A person who removes the lock by hand and goes on loses nothing."""
    kill_both(case, *POINTS[1])
    for lock in case.repo.common_dir.rglob("*.lock"):
        lock.unlink()

    case.repo.write("mine", "mine\n")
    case.repo.git("add", "mine")
    case.repo.git("commit", "-q", "-m", "mine")
    mine = case.repo.head()

    with pytest.raises(LostRace):
        case.recover()
    assert mine == case.repo.head()
    assert [] == case.repo.status()
    assert "mine\n" == case.repo.read("mine")


def test_a_git_killed_while_it_wrote_files_is_completed(case):
    kill_both(case, *POINTS[0])
    case.repo.write("a", "2\n")
    case.repo.write("new/file", "new\n")
    case.repo.write("gone", None)

    assert Advanced(case.repo.path) == case.recover()
    assert [] == case.repo.status()


def test_a_git_killed_while_it_wrote_files_is_taken_back(case):
    before = snapshot(case.repo)
    kill_both(case, *POINTS[0])
    case.repo.write("a", "2\n")
    case.repo.write("new/file", "new\n")
    case.repo.write("gone", None)

    settle(discover(case.repo.path))

    assert before == snapshot(case.repo)


def test_an_older_file_that_is_as_the_landing_wants_it_is_a_persons(case):
    case.repo.write("new/file", "new\n")
    kill_both(case, *POINTS[0])

    settle(discover(case.repo.path))

    assert "new\n" == (case.repo.path / "new/file").read_text()


def test_a_lock_of_a_persons_is_not_taken_for_ours(case):
    kill_both(case, *POINTS[0])
    lock = case.repo.common_dir / "index.lock"
    lock.write_text("")

    with pytest.raises(Busy):
        case.recover()

    assert lock.exists()


def test_young_locks_of_a_dead_git_are_waited_for(case):
    kill_both(case, *POINTS[1])
    (case.repo.common_dir / "HEAD.lock").touch()

    with pytest.raises(Busy):
        case.recover()


def test_a_git_that_outlived_its_daemon_is_waited_for(case, tmp_path, monkeypatch):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    meanwhile(monkeypatch, tmp_path, f"echo >{tmp_path}/there; cat <{fifo} >/dev/null")
    cut_off = daemon(case, tmp_path / "guards")
    wait_for_file(tmp_path / "there")
    cut_off.kill()
    cut_off.wait()

    with pytest.raises(Busy):
        case.recover()
    with pytest.raises(Busy):
        look(discover(case.repo.path), MAIN, case.new)

    fifo.write_text("go")
    wait_for(lambda: case.repo.ref(MAIN) == case.new, case.repo.common_dir)

    def recovered():
        try:
            return case.recover()
        except Busy:
            return None

    assert Advanced() == wait_for(recovered, case.repo.common_dir)
    assert [] == case.repo.status()
    assert [] == locks(case.repo)
