"""What a check does to what it judges, end to end.

The tree under check says what the check does to it, so one command serves the spoiler
and the candidate after it, which is judged in the same checkout.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitagent.core.submission import SubmissionState
from tests.support.repos import Repo
from tests.support.stepping import Stepped, holders, lines, pipe

Step = Callable[..., Stepped]

LANDED = SubmissionState.LANDED
REJECTED = SubmissionState.REJECTED

# A candidate without a spoiler hashes to exactly its tree, modes and new files too.
CHECK = (
    "if [ -e spoil ]; then . ./spoil; exit 0; fi; "
    'rm "$(git rev-parse --git-dir)/index"; git add -A .; '
    'test "$(git write-tree)" = "$(git rev-parse HEAD^{tree})"'
)

FILES = {
    "src/a.txt": "a\n",
    "src/b.txt": "b\n",
    "run*": "#!/bin/sh\n",
    "link@": "src/a.txt",
    ".gitignore": "*.o\n/build/\n/kept/\n",
}

GIT = 'git_dir="$(git rev-parse --git-dir)"; '

SPOILERS = {
    "edits a tracked file": ("echo x >> src/a.txt", "src/a.txt"),
    "edits it with its times put back": (
        (
            "touch -r src/a.txt /tmp/t; printf 'A\\n' > src/a.txt; "
            "touch -r /tmp/t src/a.txt"
        ),
        "src/a.txt",
    ),
    "deletes a tracked file": ("rm src/a.txt", "src/a.txt"),
    "sets a mode bit": ("chmod +x src/a.txt", "src/a.txt"),
    "clears a mode bit": ("chmod -x run", "run"),
    "turns a link": ("ln -sf src/b.txt link", "link"),
    "adds an unignored file": ("echo x > src/new.txt", "src/new.txt"),
    "adds a file of an odd name": ("echo x > 'sp ace\u00fc'", "sp ace\u00fc"),
    "adds a repository": ("git init -q sub; echo x > sub/f", "sub/"),
    "hides by assume-unchanged": (
        "echo x >> src/a.txt; git update-index --assume-unchanged src/a.txt",
        "src/a.txt",
    ),
    "hides by skip-worktree": (
        "echo x >> src/a.txt; git update-index --skip-worktree src/a.txt",
        "src/a.txt",
    ),
    "hides by a commit of its own": (
        "echo x >> src/a.txt; git -c user.name=x commit -qam x",
        "src/a.txt",
    ),
    "hides by rm --cached": (
        (
            "echo x >> src/a.txt; git rm -q --cached src/a.txt; "
            "echo src/a.txt >> .gitignore; git add .gitignore"
        ),
        "src/a.txt",
    ),
    "hides by info/exclude": (
        f"{GIT} echo '*' >> $git_dir/info/exclude; echo x > new.txt",
        "new.txt",
    ),
    "hides by excludes of its own": (
        (
            "echo '*' > /tmp/all; git config core.excludesFile /tmp/all; "
            "echo x > new.txt"
        ),
        "new.txt",
    ),
    "hides by a filter": (
        (
            f"{GIT} git config filter.f.clean 'git cat-file blob HEAD:%f'; "
            "echo '* filter=f' >> $git_dir/info/attributes; echo x >> src/a.txt"
        ),
        "src/a.txt",
    ),
    "hides by core.fileMode": (
        "git config core.fileMode false; chmod -x run",
        "run",
    ),
    "hides by a new index": (
        f"echo x >> src/a.txt; {GIT} rm $git_dir/index; git add -A",
        "src/a.txt",
    ),
    "moves HEAD": (
        "git -c user.name=x commit -q --allow-empty -m x",
        ".git/HEAD",
    ),
}


def spoiler(script: str) -> dict[str, str]:
    return {"spoil": f"{script}\n"}


@pytest.mark.parametrize("name", SPOILERS)
def test_a_check_that_changes_what_it_judges_is_rejected_with_the_paths(
    name: str, step: Step
):
    script, path = SPOILERS[name]
    made = step(CHECK, files=FILES)
    bad = made.push("1", spoiler(script))
    made.rest()
    good = made.push("2", {"src/a.txt": "another\n", "n.txt": "n\n"})
    made.rest()

    found = made.of(bad)
    assert REJECTED is found.state
    assert "changed what it was to judge" in found.reason
    assert path in found.reason.partition(": ")[2].rstrip(".").split(", ")
    assert LANDED is made.of(good).state, made.of(good).output
    assert [] == made.repo.status()


def test_ignored_output_is_allowed_and_gone_before_the_next_one_caches_aside(
    step: Step, outside: Path
):
    look = f"echo $(ls -d a.o build kept 2>/dev/null). >> {outside}/seen"
    fill = "mkdir -p build kept; echo x > a.o; echo x > build/b; echo x > kept/k"
    check = {"name": "tests", "run": f"{look}; {fill}"}
    made = step(check | {"cache": ["kept"]}, files=FILES)
    tips = []
    for name in ("1", "2"):
        tips.append(made.push(name, {f"{name}.txt": "n\n"}))
        made.rest()

    assert [LANDED, LANDED] == [made.of(tip).state for tip in tips]
    assert [".", "kept."] == lines(outside / "seen")
    assert [] == [path for path in made.repo.paths() if "build" in path]


PLAYS = {
    "branches and tags": "git branch x; git tag y; git switch -q -c z; "
    "git update-ref refs/heads/main $(git rev-parse HEAD); git checkout -q --detach",
    "configuration": "git config core.hooksPath /tmp; git config alias.x '!touch hit'; "
    f"{GIT} echo garbage >> $git_dir/config",
    "hooks": f"{GIT} mkdir -p $git_dir/hooks; for h in post-checkout pre-commit "
    "reference-transaction post-index-change; do printf '#!/bin/sh\\ntouch hit\\n' > "
    "$git_dir/hooks/$h; chmod +x $git_dir/hooks/$h; done",
    "the stash": "echo x >> src/a.txt; git -c user.name=x stash -q; git stash list",
    "index.lock": f"{GIT} touch $git_dir/index.lock $git_dir/HEAD.lock",
    "a push": "git push -q . HEAD:refs/heads/main HEAD:refs/heads/z",
    "worktrees": "git worktree add -q /tmp/w; git worktree add -q ../w2",
    "gc": f"{GIT} git gc -q --prune=now; rm -rf $git_dir/objects/*",
    "the Git directory's end": f"{GIT} rm -rf $git_dir/* ; rm -f .git",
    "a Git directory of its own": f"{GIT} rm -f .git; cp -r $git_dir .git; true",
}


@pytest.mark.parametrize("name", PLAYS)
def test_a_check_that_plays_with_git_leaves_the_repository_alone(name: str, step: Step):
    made = step(CHECK, files=FILES)
    tip = made.push("1", spoiler(f"{PLAYS[name]}; exit 1"))
    before = mine(made.repo)
    made.rest()
    after = mine(made.repo)
    good = made.push("2", {"n.txt": "n\n"})
    made.rest()

    assert REJECTED is made.of(tip).state
    assert before == after
    assert LANDED is made.of(good).state, made.of(good).output
    assert [] == list(made.repo.path.rglob("hit"))
    made.repo.fsck()


def mine(repo: Repo) -> tuple[object, ...]:
    """Return what of the repository belongs to its people."""
    refs = {
        ref: oid
        for ref, oid in repo.refs().items()
        if not ref.startswith("refs/gitagent/")
    }
    config = (repo.common_dir / "config").read_bytes()
    hooks = sorted((repo.common_dir / "hooks").glob("*"))
    worktrees = repo.git("worktree", "list", "--porcelain")
    return refs, config, hooks, worktrees, repo.status(), repo.git("stash", "list")


# --- processes


def test_children_that_hold_the_output_end_with_the_check(step: Step, outside: Path):
    script = (
        f"exec 3>> {outside}/held; (setsid sleep 1000 &); (sleep 1000 &);"
        "nohup sleep 1000 & echo the verdict"
    )
    made = step(script)
    tip = made.push("a", {"n.txt": "n\n"})
    made.rest()

    assert LANDED is made.of(tip).state
    (line,) = made.of(tip).checks
    assert line.seconds < 30
    assert [] == holders(outside / "held")


@pytest.mark.slow
def test_past_its_timeout_it_is_a_failed_try_and_the_whole_tree_is_dead(
    step: Step, outside: Path
):
    pipe(outside, "never")
    script = (
        f"[ -e n.txt ] || exit 0; exec 3>> {outside}/held;"
        f"echo x >> {outside}/tries; trap '' TERM;"
        f"(setsid sleep 1000 &); echo said before; read x < {outside}/never"
    )
    made = step({"name": "tests", "run": script, "timeout": 1})
    tip = made.push("a", {"n.txt": "n\n"})
    made.rest()

    found = made.of(tip)
    assert REJECTED is found.state
    assert "past its 1 s" in found.reason
    assert 2 == found.output.splitlines().count("said before")
    assert 2 == len(lines(outside / "tries"))
    assert [] == holders(outside / "held")


@pytest.mark.slow
def test_a_flood_of_bytes_that_are_no_text_is_kept_up_to_a_limit(step: Step):
    flood = "head -c 50000000 /dev/urandom; printf '\\377\\n\\033[2Jthe end\\n'"
    made = step(f"[ -e n.txt ] || exit 0; {flood}; exit 1")
    tip = made.push("1", {"n.txt": "n\n"})
    made.rest()

    assert REJECTED is made.of(tip).state
    assert 2 == made.of(tip).output.splitlines().count("the end")
    assert "\x1b" not in made.of(tip).output
    assert len(made.of(tip).output) < 20_000
    (line,) = made.of(tip).checks
    log = line.receipt.replace(".json", ".log")
    assert 10_000_000 < int(made.repo.git("cat-file", "-s", log)) < 20_000_000
    made.repo.fsck()


def test_a_check_that_cannot_be_run_is_no_pass_and_says_so(step: Step):
    made = step("[ ! -e n.txt ] || no-such-command-anywhere --now")
    tip = made.push("a", {"n.txt": "n\n"})
    made.rest()

    assert REJECTED is made.of(tip).state
    assert "could not be run (exit 127)" in made.of(tip).reason
    assert "no-such-command-anywhere" in made.of(tip).output


def test_a_check_reads_nothing_that_an_earlier_one_left_in_its_home_or_tmp(
    step: Step, outside: Path
):
    made = step(
        f"ls -A ~ /tmp >> {outside}/seen; echo x > ~/left; echo x > /tmp/left; "
        f"echo $HOME >> {outside}/home"
    )
    for name in ("1", "2"):
        made.push(name, {f"{name}.txt": "n\n"})
        made.rest()

    assert "left" not in (outside / "seen").read_text()
    assert os.environ["HOME"] not in lines(outside / "home")
