"""Hygiene of checks: real bubblewrap, real processes."""

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gitagent.core.candidate import Candidate
from gitagent.core.receipt import Receipt, Result
from gitagent.core.settings import Check, Lander, Sandbox, SandboxMode
from gitagent.git.checkout import Pool
from gitagent.host import kin
from gitagent.host.engine import LocalEngine
from gitagent.host.process import Cancel
from gitagent.lander.run import KEEP, run_check
from tests.support.lander import ENVIRONMENT, Bench, bench
from tests.support.waiting import wait_for, wait_for_file

FILES = {"src/a.txt": "a\n", "run*": "#!/bin/sh\n", ".gitignore": "*.o\ncache/\n"}


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path / "repo", FILES) as each:
        yield each


@pytest.fixture
def pool(made: Bench, tmp_path: Path) -> Pool:
    return Pool(made.repository, tmp_path / "checkouts")


@pytest.fixture
def candidate(made: Bench) -> Candidate:
    return made.prepare(made.submit(made.offer({"new.txt": "new\n"})))


@pytest.fixture
def outside(made: Bench, tmp_path: Path) -> Path:
    """A folder of the test that its checks can write."""
    folder = tmp_path / "outside"
    folder.mkdir()
    sandbox = Sandbox(write=(str(folder),))
    made.settings = replace(made.settings, sandbox=sandbox)
    return folder


def ran(
    made: Bench,
    pool: Pool,
    candidate: Candidate,
    script: str,
    cancel: Cancel | None = None,
    **fields: object,
) -> tuple[Receipt, bytes] | None:
    """Run one check as the daemon does."""
    check = Check("tests", script, **fields)  # type: ignore[arg-type]
    return run_check(
        made.repository,
        LocalEngine(),
        pool,
        made.settings,
        made.start(candidate, check),
        ENVIRONMENT,
        cancel or Cancel(),
    )


def receipt(
    made: Bench, pool: Pool, candidate: Candidate, script: str, **fields: object
) -> Receipt:
    """Run one check and return its receipt."""
    result = ran(made, pool, candidate, script, **fields)  # type: ignore[arg-type]
    assert result is not None
    return result[0]


def output(made: Bench, pool: Pool, candidate: Candidate, script: str) -> str:
    """Run a check that has to pass, and return what it said."""
    result = ran(made, pool, candidate, script)
    assert result is not None
    assert Result.PASSED is result[0].result, result
    return result[1].decode()


# --- what a check is given


def test_a_check_sees_exactly_the_product_tree(made, pool, candidate):
    listed = output(made, pool, candidate, "git ls-files; git status --porcelain")
    found = output(made, pool, candidate, "find . -type f -not -path './.git*'")

    expected = {".agent/config.toml", ".gitignore", "README.md", "new.txt", "run"}
    assert {*expected, "src/a.txt"} == set(listed.split())
    assert {"./new.txt", "./run", "./src/a.txt"} <= set(found.split())
    assert candidate.commit in output(made, pool, candidate, "git rev-parse HEAD")
    head = output(made, pool, candidate, "git log --format=%P -1")
    assert [candidate.base, candidate.tip] == head.split()


def test_a_check_has_a_clean_environment_and_a_fresh_home(
    made, pool, candidate, monkeypatch
):
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent")
    monkeypatch.setenv("SECRET", "token")
    said = output(made, pool, candidate, "env; ls -A ~; echo x > ~/mine; ls -A ~")
    values = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)

    assert not [name for name in values if name.startswith("GIT_")]
    assert "SECRET" not in values
    assert ("true", "tests") == (values["CI"], values["GITAGENT_CHECK"])
    assert said.endswith("mine\n")
    assert "" == output(made, pool, candidate, "ls -A ~")


def test_a_check_can_reach_no_network_and_write_nothing_else(made, pool, candidate):
    objects = made.repo.common_dir / "objects"
    script = (
        f"echo x > {made.repo.path}/README.md; ! echo x > {objects}/hit"
        " && ! echo x > /etc/hit && ! echo x > ../hit"
        " && ! (exec 3<>/dev/tcp/127.0.0.1/1) && grep -c : /proc/net/dev"
    )
    result = ran(made, pool, candidate, f"bash -c '{script}'")
    assert result is not None

    assert Result.PASSED is result[0].result, result[0].tail
    assert result[0].tail.endswith("1")
    assert [] == made.repo.status()


def test_a_check_reaches_the_hosts_of_its_list_and_the_receipt_says_so(
    made, pool, candidate
):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = receipt(
            made,
            pool,
            candidate,
            f"curl -sp --noproxy '' -m 0.5 http://localhost:{port}/;"
            " curl -s https://evil.example/; test $? = 56",
            network=(f"localhost:{port}",),
        )

    assert Result.PASSED is found.result, found.tail
    assert f"connected to localhost:{port}" in found.tail
    assert "evil.example:443 is not in `network` of check tests" in found.tail


# --- how it ended


def test_a_check_over_its_memory_is_a_failed_one_that_says_so(made, pool, candidate):
    made.settings = replace(made.settings, sandbox=Sandbox(memory=100))
    script = "x = bytearray(b'x') * (300 << 20); import time; time.sleep(60)"
    found = receipt(made, pool, candidate, f'python3 -c "{script}"')

    assert (Result.FAILED, 137) == (found.result, found.exit_code)
    assert "sandbox.memory = 100 MiB" in found.tail


def test_a_check_that_forks_without_end_is_a_failed_one(made, pool, candidate):
    made.settings = replace(made.settings, sandbox=Sandbox(processes=20))
    script = "i=0; while [ $i -lt 60 ]; do sleep 60 & i=$((i+1)); done; wait"
    found = receipt(made, pool, candidate, script)

    assert Result.FAILED is found.result, found


def test_a_pass_is_a_receipt_with_all_its_facts(made, pool, candidate):
    result = ran(made, pool, candidate, "echo fine; echo bad >&2")
    assert result is not None
    found, said = result

    assert b"fine\nbad\n" == said
    assert "fine\nbad" == found.tail
    assert (Result.PASSED, 0, ()) == (found.result, found.exit_code, found.changed)
    assert (candidate.product, 1) == (found.product, found.run)
    assert (candidate.base, candidate.commit) == (found.base, found.candidate)
    assert ("required", ENVIRONMENT) == (found.sandbox, found.environment)
    assert made.start(candidate, Check("tests", found.command)).key == found.key
    assert 0 < found.seconds < 60


@pytest.mark.parametrize(
    ("script", "result", "code"),
    [
        ("exit 3", Result.FAILED, 3),
        ("kill -9 $$", Result.FAILED, 137),
        ("no-such-command-here", Result.BROKEN, 127),
        ("./src/a.txt", Result.BROKEN, 126),
        ("if then", Result.FAILED, 2),
    ],
)
def test_the_exit_code_decides(made, pool, candidate, script, result, code):
    found = receipt(made, pool, candidate, script)

    assert (result, code) == (found.result, found.exit_code)


def test_without_a_sandbox_the_check_is_broken_and_says_why(
    made, pool, candidate, monkeypatch
):
    class Refusing(LocalEngine):
        def run(self, argv, inside, **options):
            broken = replace(inside, read=(), cwd="/nonexistent")
            return super().run(argv, broken, **options)

    monkeypatch.setattr("tests.lander.test_run.LocalEngine", Refusing)
    result = ran(made, pool, candidate, "true")
    assert result is not None

    assert (Result.BROKEN, None) == (result[0].result, result[0].exit_code)
    assert result[1]


def test_a_check_past_its_time_limit_is_dead_with_all_it_started(
    made, pool, candidate, outside
):
    script = (
        f"(setsid sh -c 'echo $$ > {outside}/child; exec sleep 1000' &)\n"
        f"while [ ! -s {outside}/child ]; do :; done; sleep 1000"
    )
    found = receipt(made, pool, candidate, script, timeout=1)

    assert (Result.TIMEOUT, None) == (found.result, found.exit_code)
    assert [] == sleepers(outside)


def test_a_child_that_holds_the_output_does_not_delay_the_verdict(
    made, pool, candidate, outside
):
    script = f"echo started; exec 3> {outside}/held; setsid sleep 1000 & exit 0"
    found = receipt(made, pool, candidate, script, timeout=60)

    assert Result.PASSED is found.result
    assert found.seconds < 30
    assert [] == sleepers(outside)


def sleepers(folder: Path) -> list[int]:
    """Return the processes that have something of ``folder`` on their command line
    or open."""
    found = []
    for each in kin.table():
        place = Path("/proc", str(each.pid))
        try:
            words = (place / "cmdline").read_bytes()
            files = [str(fd.readlink()) for fd in (place / "fd").iterdir()]
        except OSError:
            continue
        if str(folder).encode() in words or any(
            name.startswith(str(folder)) for name in files
        ):
            found.append(each.pid)
    return found


def test_a_stopped_run_leaves_no_receipt_and_no_process(made, pool, candidate, outside):
    cancel, results = Cancel(), []
    script = f"echo up > {outside}/up; exec 3> {outside}/held; sleep 1000"
    thread = threading.Thread(
        target=lambda: results.append(ran(made, pool, candidate, script, cancel))
    )
    thread.start()
    wait_for_file(outside / "up")
    cancel.set()
    thread.join(30)

    assert [None] == results
    assert [] == sleepers(outside)
    assert {} == made.repo.refs("refs/gitagent/receipts/")
    assert ran(made, pool, candidate, "true", cancel) is None


@pytest.mark.slow
def test_a_flood_of_bytes_is_kept_up_to_the_limit_with_its_end(made, pool, candidate):
    script = "head -c 60000000 /dev/urandom; echo; echo the very end; exit 1"
    result = ran(made, pool, candidate, script)
    assert result is not None
    found, said = result

    assert Result.FAILED is found.result
    assert KEEP < len(said) < KEEP + 65536
    assert 60_000_000 - KEEP - 65536 < found.dropped < 60_000_000
    assert found.tail.endswith("the very end")
    assert len(found.tail) < 4100
    stored = made.repo.path / "said"
    stored.write_bytes(said)


def test_the_tail_holds_nothing_that_a_terminal_obeys(made, pool, candidate):
    script = r"printf '\033[31mred\033[0m \033]0;title\007 \377 \302\205 end\n'; exit 1"
    found = receipt(made, pool, candidate, script)

    assert "red" in found.tail
    assert not {"\x1b", "\x07", "\x85"} & set(found.tail)


# --- a check that changes what it is to judge


@pytest.mark.parametrize(
    ("script", "paths"),
    [
        ("echo x >> src/a.txt", ("src/a.txt",)),
        ("rm src/a.txt", ("src/a.txt",)),
        ("chmod -x run", ("run",)),
        ("chmod +x src/a.txt", ("src/a.txt",)),
        ("echo x > stray.txt", ("stray.txt",)),
        ("ln -sf /etc/passwd src/a.txt", ("src/a.txt",)),
        ("echo x >> src/a.txt; git update-index --assume-unchanged src/a.txt", None),
        ("echo x >> src/a.txt; git update-index --skip-worktree src/a.txt", None),
        ("echo x >> src/a.txt; git -c user.name=x commit -qam x", None),
        ("git rm -q --cached src/a.txt; echo x >> src/a.txt", None),
        ("echo src/ >> .git/info/exclude; echo x >> src/a.txt", None),
        ("echo '*' >> $(git rev-parse --git-dir)/info/exclude; echo x > s.txt", None),
        ("git config core.fileMode false; chmod +x src/a.txt", ("src/a.txt",)),
        ("git config core.excludesFile /dev/stdin; echo x > s.txt", ("s.txt",)),
        ("touch -d @1 x; echo 'b' > src/a.txt; touch -d @1 src/a.txt; rm x", None),
    ],
)
def test_a_check_that_changes_its_checkout_is_no_pass(
    made, pool, candidate, script, paths
):
    found = receipt(made, pool, candidate, f"({script}); exit 0")

    assert Result.CHANGED is found.result, found
    assert (paths or found.changed) == found.changed


def test_a_failure_stays_one_and_names_what_was_changed(made, pool, candidate):
    found = receipt(made, pool, candidate, "echo x >> src/a.txt; exit 1")

    assert Result.FAILED is found.result
    assert ("src/a.txt",) == found.changed


def test_the_verdict_is_told_before_what_is_left_is_removed(made, pool, candidate):
    told = []

    def report(ended):
        [slot] = (tmp for tmp in pool_folder.iterdir() if (tmp / "home").exists())
        told.append((ended, (slot / "home/left").read_text()))

    pool_folder = made.repo.path.parent / "checkouts"
    check = Check("tests", "echo x > ~/left")
    ended = run_check(
        made.repository,
        LocalEngine(),
        pool,
        made.settings,
        made.start(candidate, check),
        ENVIRONMENT,
        Cancel(),
        report,
    )

    assert [(ended, "x\n")] == told
    left = {path.name for path in (pool_folder / "0").iterdir()}
    assert {"lock", "own.git", "tree", "gitfile", "inside.git"} == left
    assert not (pool_folder / "0/inside.git/HEAD").exists()


def test_a_stopped_run_is_told_as_none(made, pool, candidate):
    told = []
    cancel = Cancel()
    cancel.set()
    run_check(
        made.repository,
        LocalEngine(),
        pool,
        made.settings,
        made.start(candidate, Check("tests", "true")),
        ENVIRONMENT,
        cancel,
        told.append,
    )

    assert [None] == told


def test_ignored_output_is_allowed_and_gone_before_the_next_run(made, pool, candidate):
    first = receipt(
        made, pool, candidate, "echo x > a.o; mkdir cache; echo x > cache/y"
    )

    assert Result.PASSED is first.result
    assert "" == output(made, pool, candidate, "find . -name '*.o' -o -name cache")


@pytest.mark.parametrize(
    "spoil",
    [
        "echo x >> src/a.txt; git update-index --skip-worktree src/a.txt",
        "git checkout -q -b other; git config core.hooksPath /tmp; git stash",
        "touch .git/index.lock $(git rev-parse --git-dir)/index.lock",
        "rm -rf src; echo gone > src",
        "chmod 000 src",
        "chmod 000 src/a.txt",
        "chmod 511 run src",
        "rm -f .git; echo x > stray",
        "mkdir -p .git/hooks src/.git; echo x > src/.git/HEAD",
        "rm -rf * .gitignore",
    ],
)
def test_the_next_candidate_hashes_to_its_tree_whatever_the_last_check_did(
    made, pool, candidate, spoil
):
    ran(made, pool, candidate, f"{spoil}; exit 1")
    tree = output(
        made,
        pool,
        candidate,
        "rm $(git rev-parse --git-dir)/index; git add -A .; git write-tree; cat src/*",
    )

    assert f"{candidate.product}\na\n" == tree
    modes = output(made, pool, candidate, "stat -c %a src/a.txt run; [ -w src ]")
    assert ["644", "755"] == modes.split()


def test_playing_with_git_leaves_the_repository_alone(made, pool, candidate):
    config = made.repo.common_dir / "config"
    before = made.repo.refs(), config.read_bytes(), hooks(made)
    receipt(
        made,
        pool,
        candidate,
        "git branch x; git tag y; git config a.b c; git update-ref refs/heads/main @;"
        "echo 'touch hit' > $(git rev-parse --git-dir)/hooks/post-checkout; git gc -q;"
        "git stash; git worktree add ../w; git push . HEAD:refs/heads/z; true",
    )

    assert before == (made.repo.refs(), config.read_bytes(), hooks(made))
    made.repo.fsck()


def hooks(made: Bench) -> list[str]:
    folder = made.repo.common_dir / "hooks"
    return sorted(each.name for each in folder.glob("*"))


@pytest.mark.parametrize("branch", ["-x", "\u00fc/\u00df"])
def test_odd_names_and_texts_change_nothing(made, pool, branch):
    tip = made.repo.commit_at(
        f"refs/heads/{branch}",
        {"-x": "1", "a b": "2", "\u00fc\n": "3"},
        "-x\n\nGitagent-Record: init",
        parents=(made.target,),
    )
    candidate = made.prepare(made.submit(tip, branch=f"refs/heads/{branch}"))
    found = receipt(made, pool, candidate, "git status --porcelain; test -f ./-x")

    assert (Result.PASSED, "") == (found.result, found.tail)


# --- slots and caches


def test_members_of_a_group_run_side_by_side(made, pool, candidate, outside):
    script = "touch {0}/$GITAGENT_CHECK.up; until [ -e {0}/{1}.up ]; do :; done"
    results: list[Receipt] = []

    def member(name: str, other: str) -> None:
        check = Check(name, script.format(outside, other), timeout=60)
        ended = run_check(
            made.repository,
            LocalEngine(),
            pool,
            made.settings,
            made.start(candidate, check),
            ENVIRONMENT,
            Cancel(),
        )
        assert ended is not None
        results.append(ended[0])

    threads = [
        threading.Thread(target=member, args=names)
        for names in (("one", "two"), ("two", "one"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [Result.PASSED] * 2 == [each.result for each in results]


CACHED = {"cache": ("cache",), "cache_key": ("*.lock",)}


def cached(made: Bench, pool: Pool, candidate: Candidate, script: str) -> Receipt:
    made.settings = replace(
        made.settings,
        check=(Check("tests", script, **CACHED),),  # type: ignore[arg-type]
    )
    return receipt(made, pool, candidate, script, **CACHED)


def candidate_with(made: Bench, n: int, lock: str) -> Candidate:
    files = {"deps.lock": lock, f"f{n}": "x"}
    return made.prepare(made.submit(made.offer(files, branch=f"b{n}")))


def test_a_declared_cache_is_kept_until_its_key_changes(made, pool):
    fill = "test ! -e cache/x && mkdir -p cache && echo 1 > cache/x"
    use = "test -e cache/x"
    first = candidate_with(made, 1, "one")

    assert Result.PASSED is cached(made, pool, first, fill).result
    assert Result.PASSED is cached(made, pool, first, use).result
    made.repo.git("update-ref", "refs/heads/main", first.tip)
    same_key = candidate_with(made, 2, "one")
    assert Result.PASSED is cached(made, pool, same_key, use).result
    other_key = candidate_with(made, 3, "two")
    assert Result.PASSED is cached(made, pool, other_key, fill).result
    assert Result.PASSED is cached(made, pool, other_key, use).result


def test_setup_comes_before_a_check_until_the_declared_caches_are_good(made, pool):
    setup = ("mkdir -p cache; echo 1 > cache/x; echo setup >&2", "test -e cache/x")
    made.settings = replace(made.settings, lander=Lander(setup=setup))
    first = candidate_with(made, 1, "one")
    cold = cached(made, pool, first, "test -e cache/x")
    warm = cached(made, pool, first, "test -e cache/x # again")

    assert (Result.PASSED, "setup") == (cold.result, cold.tail)
    assert (Result.PASSED, "") == (warm.result, warm.tail)


def test_a_setup_that_fails_is_a_check_that_failed(made, pool):
    made.settings = replace(made.settings, lander=Lander(setup=("exit 7", "true")))
    first = candidate_with(made, 1, "one")
    receipt = cached(made, pool, first, "true")

    assert (Result.FAILED, 7) == (receipt.result, receipt.exit_code)


def test_a_cache_is_kept_when_what_filled_it_has_landed_by_squash(made, pool):
    first = candidate_with(made, 1, "one")
    cached(made, pool, first, "mkdir -p cache && echo 1 > cache/x")
    made.repo.commit_at(
        "refs/heads/main",
        {"deps.lock": "one", "f1": "x"},
        f"Land\n\nIt.\n\nGitagent-Tip: {first.tip}\n",
    )
    second = candidate_with(made, 2, "one")

    assert Result.PASSED is cached(made, pool, second, "test -e cache/x").result


def test_what_one_submission_left_in_a_cache_is_nothing_to_another(made, pool):
    """It passes, fills the cache with what it likes, and need not land for that."""
    poison = "mkdir -p cache && echo poison > cache/x"
    cached(made, pool, candidate_with(made, 1, "one"), poison)
    other = candidate_with(made, 2, "one")

    assert Result.PASSED is cached(made, pool, other, "test ! -e cache").result


def test_what_a_failed_run_left_in_a_cache_is_not_kept(made, pool, candidate):
    half = "mkdir -p cache && echo half > cache/x; exit 1"
    cached(made, pool, candidate, half)

    assert Result.PASSED is cached(made, pool, candidate, "test ! -e cache").result


def test_a_cache_of_another_check_survives(made, pool, candidate):
    cached(made, pool, candidate, "mkdir -p cache; echo 1 > cache/x")
    receipt(made, pool, candidate, "true")

    assert Result.PASSED is cached(made, pool, candidate, "test -e cache/x").result


# --- without a sandbox, because a person wrote that down


def test_mode_off_runs_in_the_checkout_and_is_in_the_receipt(made, pool, candidate):
    made.settings = replace(made.settings, sandbox=Sandbox(mode=SandboxMode.OFF))
    found = receipt(
        made,
        pool,
        candidate,
        'git status --porcelain; echo $CI; test -w ~; test -z "$(ls -A ~)"; pwd',
    )

    assert ("off", Result.PASSED) == (found.sandbox, found.result)
    assert found.tail.startswith("true\n")


def test_mode_off_still_notices_changes_and_leaves_no_process(
    made, pool, candidate, tmp_path
):
    made.settings = replace(made.settings, sandbox=Sandbox(mode=SandboxMode.OFF))
    mark = tmp_path / "held"
    script = f"echo x >> src/a.txt; setsid sh -c 'exec 3> {mark}; sleep 1000' & wait_it"
    found = receipt(made, pool, candidate, f"({script}); exit 0", timeout=60)

    assert Result.CHANGED is found.result
    wait_for(lambda: not sleepers(tmp_path / "held"), what="no process is left")
