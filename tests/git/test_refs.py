"""git.refs: git's own compare-and-swap, and what is said when it is lost."""

import os
import signal
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest

from gitagent.errors import Busy, GitError, LostRace, UserError
from gitagent.git.command import Git
from gitagent.git.refs import ANY, RefUpdate, swift, update, update_each
from tests.support.repos import Repo

MAIN = "refs/heads/main"
ONE = "refs/gitagent/tasks/one"
TWO = "refs/gitagent/tasks/two"


@pytest.fixture(params=["a process each", "a process that stays"])
def git(request, repo):
    found = Git(repo.common_dir)
    with swift(found) if request.param.endswith("stays") else nullcontext():
        yield found


@pytest.fixture
def commits(repo):
    return [repo.head(), *(repo.commit({"f": str(n)}, branch="work") for n in range(3))]


def test_a_ref_is_made_moved_and_deleted(repo, git, commits):
    update(git, [RefUpdate(ONE, commits[0], None)], "make")

    assert commits[0] == repo.ref(ONE)

    update(git, [RefUpdate(ONE, commits[1], commits[0])], "move")

    assert commits[1] == repo.ref(ONE)

    update(git, [RefUpdate(ONE, None, commits[1])], "delete")

    assert repo.ref(ONE) is None


@pytest.mark.parametrize(
    "stale",
    [
        RefUpdate(ONE, "{2}", None),
        RefUpdate(ONE, "{2}", "{0}"),
        RefUpdate(ONE, None, "{0}"),
        RefUpdate(ONE, None, None),
        RefUpdate(ONE, "{0}", "{0}"),
        RefUpdate(TWO, "{2}", "{0}"),
        RefUpdate(TWO, None, "{0}"),
        RefUpdate(TWO, "{0}", "{0}"),
    ],
)
def test_a_stale_old_value_loses_and_nothing_moves(repo, git, commits, stale):
    update(git, [RefUpdate(ONE, commits[1], None)], "make")
    before = repo.refs()
    new, old = (x and x.format(*commits) for x in (stale.new, stale.old))
    both = [
        RefUpdate("refs/gitagent/tasks/a", commits[0], None),
        RefUpdate(stale.ref, new, old),
        RefUpdate("refs/gitagent/tasks/z", commits[0], None),
    ]

    with pytest.raises(LostRace) as caught:
        update(git, both, "stale")

    assert before == repo.refs()
    assert stale.ref in caught.value.message


def test_verifying_moves_nothing(repo, git, commits):
    before = repo.refs()

    update(
        git,
        [RefUpdate(MAIN, commits[0], commits[0]), RefUpdate(ONE, None, None)],
        "look",
    )

    assert before == repo.refs()


def test_any_old_value_is_taken_when_the_caller_says_so(repo, git, commits):
    for commit in commits[:2]:
        update(git, [RefUpdate(ONE, commit, ANY)], "pin")

        assert commit == repo.ref(ONE)

    for _ in range(2):
        update(git, [RefUpdate(ONE, None, ANY)], "drop")

        assert repo.ref(ONE) is None


def test_nothing_to_do_is_no_process(tmp_path):
    update(Git(tmp_path / "nowhere"), [], "nothing")


def test_many_refs_move_together(repo, git, commits):
    names = [f"refs/gitagent/tasks/t{number}" for number in range(300)]

    update(git, [RefUpdate(name, commits[0], None) for name in names], "many")

    assert dict.fromkeys(names, commits[0]) == repo.refs("refs/gitagent/")


def test_compare_and_swap_must_be_gits_own(repo, git, commits):
    """Of two real writers exactly one wins, every time."""
    del commits
    outcomes = []
    for number in range(5):
        old = repo.ref(ONE)
        news = [
            repo.commit_at("refs/heads/x", {"f": f"{number}{x}"}, parents=())
            for x in "ab"
        ]
        start = threading.Barrier(2)

        def write(new, old=old, start=start):
            start.wait()
            try:
                update(git, [RefUpdate(ONE, new, old)], "race")
            except LostRace:
                outcomes.append("lost")
            else:
                outcomes.append(new)

        threads = [threading.Thread(target=write, args=(new,)) for new in news]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert repo.ref(ONE) in outcomes[-2:]
        assert 1 == outcomes[-2:].count("lost")


def test_stale_ref_locks_are_named_with_their_age(repo, git, commits):
    """A lock of a dead git is not waited for without end."""
    lock = repo.common_dir / f"{MAIN}.lock"
    lock.touch()

    with pytest.raises(Busy) as caught:
        update(git, [RefUpdate(MAIN, commits[1], commits[0])], "land", wait_s=0.1)

    assert str(lock) in caught.value.message
    assert commits[0] == repo.ref(MAIN)
    assert lock.exists()


def test_a_lock_that_goes_away_is_waited_for(repo, git, commits):
    lock = repo.common_dir / f"{MAIN}.lock"
    lock.touch()
    freed = threading.Timer(0.3, lock.unlink)
    freed.start()

    update(git, [RefUpdate(MAIN, commits[1], commits[0])], "land")

    freed.join()
    assert commits[1] == repo.ref(MAIN)


def test_a_lock_on_the_packed_refs_is_busy_too(repo, git, commits):
    repo.git("pack-refs", "--all")
    lock = repo.common_dir / "packed-refs.lock"
    lock.touch()

    with pytest.raises(Busy) as caught:
        update(
            git, [RefUpdate("refs/heads/work", None, commits[-1])], "drop", wait_s=0.1
        )

    assert str(lock) in caught.value.message


def test_a_ref_in_the_way_of_another_is_said_with_both_names(repo, git, commits):
    repo.branch("agent")

    with pytest.raises(UserError) as caught:
        update(git, [RefUpdate("refs/heads/agent/one", commits[0], None)], "work")

    assert "refs/heads/agent/one" in caught.value.message
    assert "refs/heads/agent " in caught.value.message


def test_what_is_no_race_is_no_lost_race(repo, git, commits):
    del commits
    for ref, new in ((ONE, "1" * 40), (MAIN, "1" * 40), ("refs/bad..name", "1" * 40)):
        with pytest.raises(GitError):
            update(git, [RefUpdate(ref, new, repo.ref(ref))], "no such object")


def test_no_reflog_in_bare_hubs(tmp_path):
    """A landing can be undone there too."""
    hub = Repo.make(tmp_path / "hub.git", {"a": "1"}, bare=True)
    old, new = hub.head(), hub.commit({"a": "2"}, branch="work")

    update(Git(hub.path), [RefUpdate(MAIN, new, old)], "gitagent: land\n s-1 späte")

    log = hub.git("log", "-g", "-1", "--format=%gs %gn", MAIN)
    assert "gitagent: land s-1 späte gitagent" == log
    assert old == hub.oid(f"{MAIN}@{{1}}")


def test_a_record_ref_has_no_reflog(repo, git, commits):
    update(git, [RefUpdate(ONE, commits[0], None)], "make")

    assert not (repo.common_dir / "logs" / ONE).exists()


def test_a_symbolic_ref_is_written_through_and_deleted_alone(repo, git, commits):
    repo.git("symbolic-ref", "refs/heads/alias", MAIN)

    update(git, [RefUpdate("refs/heads/alias", commits[1], commits[0])], "move")

    assert commits[1] == repo.ref(MAIN)

    update(git, [RefUpdate("refs/heads/alias", None, commits[1])], "delete")

    assert commits[1] == repo.ref(MAIN)
    assert repo.ref("refs/heads/alias") is None


def test_hooks_on_bare_hub_do_not_veto_a_record(repo, git, commits):
    repo.hook("reference-transaction", "#!/bin/sh\nexit 1\n")

    update(git, [RefUpdate(ONE, commits[0], None)], "make")

    assert commits[0] == repo.ref(ONE)


# --- each for itself


def test_one_that_lost_stops_no_other(repo, git, commits):
    update(git, [RefUpdate(ONE, commits[1], None)], "make")

    a, one, z = update_each(
        git,
        [
            RefUpdate("refs/gitagent/tasks/a", commits[0], None),
            RefUpdate(ONE, commits[2], commits[0]),
            RefUpdate("refs/gitagent/tasks/z", commits[0], None),
        ],
        ["a", "one", "z"],
    )

    assert (None, None) == (a, z)
    assert isinstance(one, LostRace)
    assert ONE in one.message
    assert commits[1] == repo.ref(ONE)
    assert commits[0] == repo.ref("refs/gitagent/tasks/a")
    assert commits[0] == repo.ref("refs/gitagent/tasks/z")


def test_nothing_to_move_is_no_change(repo, git):
    before = repo.refs()

    assert [] == update_each(git, [], [])
    assert before == repo.refs()


# --- the process that stays


def staying():
    """Return the pids of the processes of ours that move refs."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"update-ref" in words:
                found.append(int(pid))
    return found


@pytest.fixture
def stays(repo):
    git = Git(repo.common_dir)
    with swift(git):
        yield git


def test_it_stays_and_goes_at_the_end(repo, commits):
    git = Git(repo.common_dir)
    with swift(git):
        update(git, [RefUpdate(ONE, commits[0], None)], "one")
        pids = staying()
        update(git, [RefUpdate(ONE, commits[1], commits[0])], "two")

        assert 1 == len(pids)
        assert pids == staying()
    assert [] == staying()
    assert commits[1] == repo.ref(ONE)


def test_branches_are_moved_with_a_message_in_the_reflog(repo, stays, commits):
    update(stays, [RefUpdate("refs/heads/new", commits[0], None)], "made here")

    assert [] == staying()
    assert "made here" == repo.git("log", "-g", "--format=%gs", "refs/heads/new")


def test_killed_while_idle_costs_nothing(repo, stays, commits):
    update(stays, [RefUpdate(ONE, commits[0], None)], "one")
    [pid] = staying()
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

    update(stays, [RefUpdate(ONE, commits[1], commits[0])], "two")

    assert commits[1] == repo.ref(ONE)


def test_what_others_move_and_pack_meanwhile_counts(repo, stays, commits):
    update(stays, [RefUpdate(ONE, commits[0], None)], "one")
    repo.git("update-ref", ONE, commits[1])
    repo.git("pack-refs", "--all", "--prune")

    with pytest.raises(LostRace):
        update(stays, [RefUpdate(ONE, commits[2], commits[0])], "two")
    update(stays, [RefUpdate(ONE, commits[2], commits[1])], "three")

    assert commits[2] == repo.ref(ONE)


def test_a_change_of_the_configuration_counts(repo, stays, commits):
    update(stays, [RefUpdate(ONE, commits[0], None)], "one")
    repo.git("config", "core.logAllRefUpdates", "always")

    update(stays, [RefUpdate(ONE, commits[1], commits[0])], "two")

    assert repo.git("reflog", "exists", ONE) == ""


def test_threads_move_refs_beside_each_other(repo, stays, commits):
    names = [f"refs/gitagent/tasks/t{number}" for number in range(24)]

    def move(mine):
        for name in mine:
            update(stays, [RefUpdate(name, commits[0], None)], "make")

    threads = [threading.Thread(target=move, args=(names[n::4],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert set(names) <= set(repo.refs())
