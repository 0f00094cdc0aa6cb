"""Setup commands and what is kept of them."""

import socket
from dataclasses import replace

import pytest

from gitagent.core.settings import Sandbox, SandboxMode, Worker
from gitagent.core.task import Outcome
from gitagent.host.place import cache_root
from gitagent.worker import setup
from gitagent.worker.attempt import Stop
from tests.worker.work import Work

COUNT = "echo run; date +%s%N > made; mkdir -p deps; echo 1 > deps/a; ln -s a deps/l"


@pytest.fixture
def prepared(repo):
    repo.commit({".gitignore": "deps\n", "lock": "1\n"})
    return Work(repo, worker=Worker(setup=(COUNT,), setup_key=("lock",)))


def kept(work):
    root = cache_root(work.opened().common_dir) / "setup"
    return sorted(root.iterdir()) if root.exists() else []


def test_setup_runs_once_and_later_worktrees_get_what_it_made(prepared):
    first = prepared.run("cat made; cat deps/l")
    second = prepared.run("cat made; cat deps/l")

    stamp = prepared.log(first).split("\n")[1]

    assert f"run\n{stamp}\n1\n" == prepared.log(first)
    assert f"gitagent: the worktree got what setup had made before\n{stamp}\n1\n" == (
        prepared.log(second)
    )


def test_what_setup_made_is_not_committed(prepared):
    names = r"mkdir 'odd [x]'; touch 'odd [x]/*' 'end ' '#hash' '!not' 'back\slash'"
    prepared.worker = Worker(setup=(COUNT, names), setup_key=("lock",))
    for _ in range(2):
        end = prepared.run("git status --short; echo 1 > b")

        assert Outcome.OK is end.attempt.outcome
        assert [".gitignore", "README.md", "b", "lock"] == prepared.repo.paths(
            end.attempt.tip
        )


def test_nobody_else_can_start_a_program_that_setup_left(prepared):
    """With the setuid bit it would run as the daemon's user."""
    prepared.run("true")

    [cache] = kept(prepared)
    assert 0o700 == cache.parent.stat().st_mode & 0o777


def test_a_changed_key_file_runs_it_again(prepared):
    prepared.run("true")
    prepared.repo.commit({"lock": "2\n"})
    end = prepared.run("true")

    assert "run\n" == prepared.log(end)
    assert 2 == len(kept(prepared))


def test_other_commands_run_again(prepared):
    prepared.run("true")
    prepared.worker = Worker(setup=("echo other",), setup_key=("lock",))
    end = prepared.run("true")

    assert "other\n" == prepared.log(end)


def test_a_worker_cannot_choose_what_later_workers_get(prepared):
    prepared.worker = Worker(setup=("sh ./prepare.sh",), setup_key=("lock",))
    prepared.repo.commit({"prepare.sh": "echo clean > made\n"})
    prepared.number += 1  # its first attempt was elsewhere
    evil = prepared.repo.commit_at(
        "refs/heads/agent/fix",
        {"prepare.sh": "echo poison > made\n"},
        parents=(prepared.repo.head(),),
    )
    prepared.run("cat made", base=evil)

    assert [] == kept(prepared)
    prepared.tip = None
    assert "clean\n" == prepared.log(prepared.run("cat made"))


def test_copied_files_are_no_part_of_what_is_kept(prepared):
    prepared.repo.write("deps.env", "one\n")
    prepared.worker = Worker(
        setup=("cat deps.env > deps.out",), setup_key=("lock",), copy=("deps.env",)
    )
    prepared.run("true")
    prepared.repo.write("deps.env", "two\n")
    end = prepared.run("cat deps.env deps.out")

    assert prepared.log(end).endswith("\ntwo\none\n")
    assert [False] == [(each / "files/deps.env").exists() for each in kept(prepared)]


def test_tracked_files_that_setup_changes_are_put_back(prepared):
    prepared.worker = Worker(setup=("echo 2 > lock; rm README.md; echo x > made",))
    for _ in range(2):
        end = prepared.run("git status --short; cat lock made")

        assert prepared.log(end).endswith("1\nx\n")
        assert not end.changed


def test_a_failing_command_fails_the_attempt_with_its_output(prepared):
    prepared.worker = Worker(setup=("echo fine", "echo broken; exit 4"))
    end = prepared.run("echo never > never")

    assert Outcome.FAILED is end.attempt.outcome
    assert "echo broken; exit 4" in end.attempt.reason
    assert "exit code 4" in end.attempt.reason
    assert "broken" in end.output
    assert None is prepared.branch
    assert [] == kept(prepared)
    assert not (prepared.folder / "tree").exists()


def test_setup_is_confined(prepared, tmp_path):
    marker = tmp_path / "marker"
    prepared.worker = Worker(setup=(f"touch {marker} || true",))
    prepared.run("true")

    assert not marker.exists()


def test_a_stop_ends_setup(prepared):
    stop = Stop()
    stop.order(Outcome.STOPPED)
    end = prepared.run("true", stop=stop)

    assert Outcome.STOPPED is end.attempt.outcome


def test_what_is_kept_is_not_written_by_an_agent(prepared):
    prepared.run("echo poison > made; echo poison > deps/a")
    end = prepared.run("cat made deps/a")

    assert "poison" not in prepared.log(end)


def test_only_the_newest_results_are_kept(prepared, monkeypatch):
    monkeypatch.setattr(setup, "KEPT", 2)
    for number in range(4):
        prepared.worker = Worker(setup=(f"echo {number} > made",))
        prepared.run("true")

    assert 2 == len(kept(prepared))


def test_a_kept_result_that_does_not_fit_makes_setup_run(prepared):
    prepared.worker = Worker(setup=("mkdir -p out; echo 1 > out/a",))
    prepared.run("true")
    base = prepared.repo.commit_at(
        "refs/heads/agent/fix",
        {"out@": "/nowhere"},
        parents=(prepared.repo.head(),),
    )
    end = prepared.run("true", base=base)

    assert Outcome.FAILED is end.attempt.outcome
    assert "etup command" in end.attempt.reason


def test_without_confinement_setup_runs_each_time(prepared):
    prepared.sandbox = Sandbox(mode=SandboxMode.OFF)
    ends = [prepared.run("cat deps/l") for _ in range(2)]

    assert ["run\n1\n"] * 2 == [prepared.log(end) for end in ends]
    assert [] == kept(prepared)


def test_setup_reaches_the_hosts_of_the_sandbox_and_the_log_says_so(work):
    curl = "curl -s --noproxy '' -m 0.5 http://localhost:{} || true"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        work.worker = Worker(setup=(curl.format(port),))
        work.sandbox = Sandbox(network=(f"localhost:{port}",))
        work.agent = replace(work.agent, network=("other.invalid:80",))
        end = work.run(curl.format(1), "curl -s http://other.invalid/ || true")

    assert Outcome.OK is end.attempt.outcome, end
    assert f"gitagent: connected to localhost:{port}\n" in work.log(end)
    assert "not connected: localhost:1 is not in sandbox.network or `network`" in (
        work.log(end)
    )
    assert "not connected: other.invalid:80 cannot be looked up" in work.log(end)


def test_the_prompt_names_the_hosts(work):
    work.sandbox = Sandbox(network=("pypi.org:443",))
    end = work.run('cat "$GITAGENT_PROMPT_FILE"')

    assert "you reach `pypi.org:443`" in work.log(end)
    assert "There is no network" not in work.log(end)
