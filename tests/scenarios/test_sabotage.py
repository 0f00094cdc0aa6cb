"""A submission that wants to land what the target's checks forbid.

Each sabotage breaks the product and tries to get past what says so. It is refused or
without effect: the target stays as it was, and what is honest lands afterwards.
"""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitagent.core.ident import submission_id
from gitagent.core.submission import Submission, SubmissionState
from gitagent.daemon import read
from gitagent.host import clock
from tests.support.cli import call
from tests.support.repos import Content, task_text
from tests.support.stepping import CONFIG, Stepped, pipe
from tests.support.waiting import wait_for

Step = Callable[..., Stepped]

HELD = SubmissionState.HELD
LANDED = SubmissionState.LANDED
QUEUED = SubmissionState.QUEUED
REJECTED = SubmissionState.REJECTED

# --- the project: it is sound while answer.txt says right, and each check can tell

SCRIPT = "sh ci/test.sh"
SCRIPT_OF_TESTS = "sh tests/run.sh"
BASH = f"bash -c {SCRIPT!r}"
MAKE = "make --no-print-directory test"
PYTEST = f"{sys.executable} -B -m pytest -q -p no:cacheprovider"
UNIT = f"PYTHONPATH=. {sys.executable} -B -m unittest discover -q -s tests"

TEST = """\
import unittest
from pathlib import Path


class AnswerTest(unittest.TestCase):
    def test_answer(self):
        self.assertEqual("right\\n", Path("answer.txt").read_text())
"""
FILES: dict[str, Content] = {
    "answer.txt": "right\n",
    "ci/test.sh": "grep -qx right answer.txt || exit 1\necho well\n",
    "ci/other.sh*": "#!/bin/sh\nexec sh ci/test.sh\n",
    "tests/run.sh": "grep -qx right answer.txt || exit 1\n",
    "tests/test_answer.py": TEST,
    "tests/test_fine.py": TEST.replace("answer.txt", "README.md")
    .replace("right", "# kept")
    .replace("Answer", "Fine")
    .replace("answer", "fine"),
    "Makefile": "-include local.mk\ntest:\n\t@grep -qx right answer.txt\n",
    "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-ra"\n',
    "setup/hooks.py": "",
    ".gitignore": "*.o\n/kept/\n",
}
MANY = 30  # tips at once; 500 take 50 s
BREAK = "echo wrong > answer.txt\n"


@dataclass(frozen=True)
class Sabotage:
    """What a worker does beside breaking the product, and the check that it fools."""

    check: str
    script: str
    said: str = ""  # part of the reason


def write(path: str, *lines: str) -> str:
    folder = path.rpartition("/")[0] or "."
    rows = "\n".join(lines)
    return f"mkdir -p {folder}\ncat > {path} <<'END'\n{rows}\nEND\n"


SABOTAGES = {
    # the settings
    "empties the checks": Sabotage(
        SCRIPT, write(CONFIG, "lander.allow_unchecked = true"), "approve"
    ),
    "changes what a check runs": Sabotage(
        SCRIPT, f"sed -i 's/sh ci.test.sh/true/' {CONFIG}", "approve"
    ),
    "raises a timeout and runs nothing": Sabotage(
        SCRIPT, write(CONFIG, '[[check]]\nname="tests"\nrun="true"\ntimeout=9'), "appr"
    ),
    "deletes the settings": Sabotage(SCRIPT, f"rm {CONFIG}", "approve"),
    "makes the settings a link": Sabotage(
        SCRIPT,
        f"mkdir -p conf; mv {CONFIG} conf/c.toml; ln -s ../conf/c.toml {CONFIG}",
    ),
    "makes the settings a link that reads as settings": Sabotage(
        SCRIPT, f"ln -sf 'lander.allow_unchecked = true' {CONFIG}"
    ),
    "makes the folder of the settings a link": Sabotage(
        SCRIPT, "cp -r .agent conf; rm -r .agent; ln -s conf .agent"
    ),
    "spells the folder in capitals": Sabotage(
        SCRIPT, write(".AGENT/config.toml", "lander.allow_unchecked = true")
    ),
    # what the check starts
    "edits the script": Sabotage(SCRIPT, write("ci/test.sh", "exit 0"), "approve"),
    "makes the script a link": Sabotage(SCRIPT, "ln -sf ../README.md ci/test.sh"),
    "edits a script among the tests": Sabotage(
        SCRIPT_OF_TESTS, write("tests/run.sh", "exit 0"), "approve"
    ),
    "replaces the folder of the script": Sabotage(
        SCRIPT, "mkdir x; echo exit 0 > x/test.sh; rm -r ci; ln -s x ci"
    ),
    "has the script written in another encoding": Sabotage(
        SCRIPT,
        write(".gitattributes", "ci/*.sh working-tree-encoding=UTF-7"),
        "approve",
    ),
    "a Makefile that goes before": Sabotage(
        MAKE, write("GNUmakefile", "test:\n\t@true"), "approve"
    ),
    "a file that the Makefile includes": Sabotage(
        MAKE, write("local.mk", "SHELL = /bin/true"), "approve"
    ),
    "an included file with the same rule": Sabotage(
        MAKE, "sed -i '1d;$a-include more' Makefile\n" + write("more", "test:\n\t@true")
    ),
    "a second rule": Sabotage(
        MAKE, "printf 'test:\\n\\t@true\\n' >> Makefile", "approve"
    ),
    # pytest
    "conftest drops what was collected": Sabotage(
        PYTEST,
        write(
            "conftest.py", "def pytest_collection_modifyitems(items): items[:1] = []"
        ),
        "approve",
    ),
    "conftest runs nothing": Sabotage(
        PYTEST, write("conftest.py", "def pytest_cmdline_main(config): return 0"), "app"
    ),
    "conftest ends the process": Sabotage(
        PYTEST,
        write("tests/conftest.py", "import atexit, os", "atexit.register(os._exit, 0)"),
        "approve",
    ),
    "pytest.ini leaves a test out": Sabotage(
        PYTEST, write("pytest.ini", "[pytest]", "addopts = -k fine"), "approve"
    ),
    "pyproject leaves a test out": Sabotage(
        PYTEST, "sed -i 's/-ra/-k fine/' pyproject.toml\n", "approve"
    ),
    "a plugin named in addopts": Sabotage(
        PYTEST,
        write("evil.py", "def pytest_cmdline_main(config): return 0")
        + "sed -i 's/-ra/-p evil/' pyproject.toml\n",
        "approve",
    ),
    "a test in a folder that pytest passes by": Sabotage(
        PYTEST, "mkdir tests/.off; git mv tests/test_answer.py tests/.off", "deleted"
    ),
    "a test renamed away": Sabotage(
        PYTEST, "git mv tests/test_answer.py tests/answer_cases.py"
    ),
    "a pytest of its own": Sabotage(
        PYTEST, write("pytest.py", "print('9 passed')"), "approve"
    ),
    "a test deleted": Sabotage(PYTEST, "git rm -q tests/test_answer.py", "deleted"),
    "a test that asserts nothing": Sabotage(
        PYTEST, "sed -i s/self.assertEqual/print/ tests/test_answer.py", "fewer"
    ),
    # Python before it runs anything
    "sitecustomize": Sabotage(
        UNIT, write("sitecustomize.py", "import os", "os._exit(0)"), "approve"
    ),
    "usercustomize": Sabotage(
        UNIT, write("usercustomize.py", "import os", "os._exit(0)"), "approve"
    ),
    "a unittest of its own": Sabotage(
        UNIT, write("unittest/__main__.py", "print('OK')"), "approve"
    ),
    # what nothing reads
    "programs in ./bin": Sabotage(
        SCRIPT,
        "".join(
            f"{write(f'{folder}/{name}', '#!/bin/sh', 'exit 0')}chmod +x {folder}/*\n"
            for folder in ("bin", ".bin", "node_modules/.bin")
            for name in ("grep", "sh")
        )
        + write(".envrc", "PATH_add bin", 'export PATH="$PWD/bin:$PATH"')
        + write(".env", "PATH=/workspace/bin:/usr/bin:/bin"),
        "failed twice",
    ),
    "files that set variables elsewhere": Sabotage(
        BASH,
        "".join(
            write(name, "export GIT_DIR=x BASH_ENV=.bashrc ENV=.bashrc; exit 0")
            for name in (".bashrc", ".profile", ".bash_profile", ".env", ".shrc")
        )
        + write(".gitconfig", "[core]", "fsmonitor = 'touch hit'", "hooksPath = hooks")
        + write("hooks/post-checkout", "#!/bin/sh", "touch hit"),
        "failed twice",
    ),
    "rules that ignore everything": Sabotage(
        SCRIPT, "echo '*' > .gitignore; git add -f .gitignore", "failed twice"
    ),
    "drivers and attributes of Git": Sabotage(
        SCRIPT,
        write(
            ".gitattributes",
            "* filter=lfs diff=x merge=ours export-ignore -text ident",
            "answer.txt filter=right smudge=right",
        )
        + write(".lfsconfig", "[lfs]", "url = file:///"),
    ),
}


def of_tasks(made: Stepped) -> dict[str, Submission]:
    """Return what was submitted for each task."""
    return {each.task: each for each in made.submissions if each.task}


def by_worker(made: Stepped, script: str, **how: str) -> Submission:
    """Let a worker do it; return what it submitted."""
    made.repo.add_task("t", f"{script}\ngit add -A -f .\n", **how)
    made.rest()
    return of_tasks(made)["t"]


def goes_on(made: Stepped) -> None:
    """The target is sound, and what is honest lands there."""
    honest = made.push("honest", {"honest.txt": "honest\n"})
    made.rest()

    assert LANDED is made.of(honest).state, made.of(honest)
    assert "right\n" == made.repo.read("answer.txt")
    assert [] == made.repo.status()


@pytest.mark.parametrize(
    "check",
    [SCRIPT, SCRIPT_OF_TESTS, BASH, MAKE, PYTEST, UNIT],
    ids=["a script", "one of tests", "bash", "make", "pytest", "unittest"],
)
def test_what_workers_do_to_be_taken_is_refused(check: str, step: Step):
    tried = {name: each for name, each in SABOTAGES.items() if each.check == check}
    made = step(check, files=FILES, worker={"parallel": 3})
    names = {f"t{number}": name for number, name in enumerate(tried)}
    made.repo.commit(
        {
            f".agent/tasks/{task}.md": task_text(
                f"{BREAK}{tried[name].script}\ngit add -A -f .\n", title=name
            )
            for task, name in names.items()
        },
        "Ask for it",
    )
    made.rest()
    found = {names[task]: each for task, each in of_tasks(made).items()}

    assert tried.keys() == found.keys()
    assert {} == {
        name: (each.state, each.reason)
        for name, each in found.items()
        if each.state not in {HELD, REJECTED}
        or tried[name].said not in (each.reason or "")
    }
    goes_on(made)


# --- names, approvals, records


def test_commands_of_a_task_and_of_a_worker_replace_no_check(step: Step):
    named = [{"name": name, "run": SCRIPT} for name in ("accept-1", "claim-1")]
    made = step(*named, files=FILES)
    claim = '{"status": "done", "commands": ["true"]}'
    script = f"{BREAK}echo '{claim}' > \"$GITAGENT_RETURN_FILE\""
    found = by_worker(made, script, front='accept = ["true"]')

    assert REJECTED is found.state
    assert "accept-1 failed twice" in found.reason
    assert "claim-1 failed twice" in found.reason
    goes_on(made)


@pytest.mark.parametrize(
    "files",
    [
        {CONFIG: "lander.allow_unchecked = true\n"},
        {CONFIG: None},
        {f"{CONFIG}@": "lander.allow_unchecked = true"},
        {CONFIG: None, ".agent@": "conf", "conf/config.toml": ""},
    ],
    ids=["emptied", "deleted", "a link", "a folder that is a link"],
)
def test_a_person_changes_the_settings_with_an_approval_alone(
    files: dict[str, Content], step: Step
):
    made = step(SCRIPT, files=FILES)
    tip = made.push("bad", {"answer.txt": "wrong\n", **files})
    made.rest()

    assert made.of(tip).state in {HELD, REJECTED}
    goes_on(made)


def approve(made: Stepped, tip: str) -> None:
    done = call(made.repo, "approve", submission_id(tip))

    assert 0 == done.code, done


@pytest.mark.parametrize("known", [1000, 1])
def test_what_stands_on_a_protected_change_brings_it_in_by_no_way(
    known: int, step: Step, monkeypatch: pytest.MonkeyPatch
):
    """Not stacked, not merged, not copied, however long the way between the two is."""
    monkeypatch.setattr(read, "OWN_COMMITS", known)
    made = step(SCRIPT, files=FILES)
    base = made.repo.head()
    change = {".mcp.json": "{}\n"}
    lower = made.push("lower", change)
    middle = made.push("middle", {"m.txt": "m\n"}, on=[lower])
    upper = made.push("upper", {"u.txt": "u\n"}, on=[middle])
    merged = made.push("merged", {"n.txt": "n\n", **change}, on=[base, lower])
    copied = made.push("copied", {"c.txt": "c\n", **change}, on=[base])
    made.rest()

    for tip in (lower, middle, upper, merged, copied):
        assert made.of(tip).state in {HELD, QUEUED}, made.of(tip)
    assert [] == made.repo.paths(under=".mcp.json")
    goes_on(made)


def test_an_approval_is_good_for_nothing_else(step: Step):
    """Nor for what the target makes of it later: see test_approvals."""
    made = step(SCRIPT, files=FILES)
    first = made.push("first", {".mcp.json": "{}\n"})
    other = made.push("other", {".claude/x": "{}\n", "o.txt": "o\n"})
    made.rest()
    approve(made, first)
    given = made.repo.oid(f"refs/gitagent/approvals/{made.of(first).id}")
    replayed = f"refs/gitagent/approvals/{made.of(other).id}"
    made.repo.git("update-ref", replayed, given)
    amended = made.push("amended", {".mcp.json": "[]\n"}, on=[first])
    ref = f"refs/gitagent/approvals/{submission_id(amended)}"
    made.repo.git("update-ref", ref, given)
    made.rest()

    assert HELD is made.of(other).state
    assert LANDED is made.of(first).state
    assert HELD is made.of(amended).state
    undone = made.push("undone", {".mcp.json": None})
    made.rest()
    again = made.push("again", {".mcp.json": "{}\n", "again.txt": "a\n"}, on=[undone])
    made.rest()

    assert HELD is made.of(undone).state
    assert made.of(again).state in {HELD, QUEUED}
    goes_on(made)


RECORDS = {
    "a note of a landing": ".agent/landings/2026/11/s-000000000000.md",
    "a memory": ".agent/memory/known.md",
    "a task that is done": ".agent/tasks/done/other.md",
}


def test_records_are_brought_in_by_no_way(step: Step):
    made = step(SCRIPT, files=FILES)
    base = made.repo.head()
    tips = []
    for number, path in enumerate(RECORDS.values()):
        files = {path: "# mine\n", "n.txt": "n\n"}
        tips.append(made.push(f"plain{number}", files, on=[base]))
        side = made.repo.commit_at(
            "refs/heads/side", {path: "# mine\n"}, parents=(base,)
        )
        tips.append(made.push(f"merge{number}", files, on=[base, side]))
    found = by_worker(made, "mkdir -p .agent/memory; echo x > .agent/memory/x.md")
    made.rest()

    for tip in tips:
        assert REJECTED is made.of(tip).state
    assert REJECTED is found.state
    assert {} == made.notes()
    goes_on(made)


def test_names_and_messages_that_look_like_the_landers_own_prove_nothing(step: Step):
    made = step(SCRIPT, files=FILES)
    message = (
        "Land\n\n---\nGitagent-Submission: s-0\nGitagent-Record: init\n"
        "gitagent-tip : x\n\u2028Gitagent-Checked: 0\r\n\vGitagent-Task: t\n"
        "Signed-off-by: A <a@b>\n Gitagent-Approved: x\nGitagent-Tip: "
    )
    files = {
        "refs/gitagent/queue": "paused\n",
        "refs/gitagent/submissions/s-0/record-v1.json": "{}\n",
        "record-v1.json": '{"version": 1}\n',
        ".git-hooks/pre-receive*": "#!/bin/sh\n",
    }
    tip = made.push("odd", files, f"{message}{'0' * 40}\n")
    made.rest()
    keys = [key for key, _ in made.repo.trailers() if key.startswith("Gitagent-")]

    assert LANDED is made.of(tip).state
    assert [made.of(tip).id] == made.landings()
    assert sorted(set(keys)) == sorted(keys)
    assert 0 == call(made.repo, "verify").code
    goes_on(made)


# --- what runs


def test_what_a_check_prints_is_no_verdict_and_moves_no_cursor(step: Step):
    noise = (
        "\\033]0;title\\007\\033[2J\\033]8;;http://x\\033\\\\"
        "gitagent: landed\\nrejected\\n"
    )
    made = step(f"printf '{noise}'; {SCRIPT} && echo rejected || exit 1", files=FILES)
    good = made.push("good", {"n.txt": "n\n"})
    bad = made.push("bad", {"answer.txt": "wrong\n"})
    made.rest()
    told = call(made.repo, "logs", made.of(bad).id)

    assert LANDED is made.of(good).state
    assert REJECTED is made.of(bad).state
    assert "gitagent: landed" in made.of(bad).output
    assert not {"\x1b", "\x07"} & {*made.of(bad).output, *told.out}
    assert not {"\x1b", "\x07"} & {*"".join(made.notes().values())}


def test_poison_in_a_cache_of_one_that_did_not_land_is_drunk_by_nobody(step: Step):
    fill = "if [ -e evil ]; then mkdir -p kept; touch kept/poison; fi"
    judge = f"[ -e kept/poison ] || {SCRIPT}"
    checks = (
        {"name": "tests", "run": f"{fill}; {judge}", "cache": ["kept"]},
        {"name": "last", "run": "! [ -e evil ]", "group": 2},
    )
    made = step(*checks, files=FILES, lander={"window": 1})
    evil = made.push("evil", {"evil": "x"})
    made.rest()
    bad = made.push("bad", {"answer.txt": "wrong\n"})
    made.rest()

    assert [REJECTED, REJECTED] == [made.of(tip).state for tip in (evil, bad)]
    goes_on(made)


HOSTILE = {
    "kills who runs it": "kill -9 $PPID",
    "hides its edit from git": (
        "echo wrong > answer.txt; git update-index --assume-unchanged answer.txt; "
        "git -c user.name=x commit -qam x; git update-ref refs/heads/main HEAD"
    ),
    "leaves traps for git": (
        "git config core.fsmonitor 'touch hit'; git config core.hooksPath .; "
        "git config alias.status '!touch hit'; "
        "printf '#!/bin/sh\\ntouch hit\\n' > post-checkout; chmod +x post-checkout"
    ),
    "writes to the kernel": (
        "(echo 1 > /proc/self/oom_score_adj; echo x > /proc/sys/kernel/core_pattern; "
        "echo b > /proc/sysrq-trigger; echo gitdir: /tmp > .git) 2>/dev/null; exit 1"
    ),
    "leaves a daemon": "(setsid sh -c 'exec sleep 1000' &); exit 1",
}


def test_what_the_code_under_check_does_stays_with_its_own_verdict(step: Step):
    """Each in short; test_hygiene and tests/lander/test_run have all of them."""
    made = step(f"[ ! -e run.sh ] || sh run.sh || exit 1; {SCRIPT}", files=FILES)
    tips = [
        made.push(f"h{number}", {"run.sh": script + "\n"})
        for number, script in enumerate(HOSTILE.values())
    ]
    made.rest()

    assert [REJECTED] * len(tips) == [made.of(tip).state for tip in tips]
    assert [] == [*made.repo.path.rglob("hit")]
    made.repo.fsck()
    goes_on(made)


# --- the queue


@pytest.mark.parametrize("mode", ["batch", "chain"])
def test_a_bad_one_lands_with_its_repair_in_a_batch_and_never_in_a_chain(
    mode: str, step: Step
):
    check = f"[ -e fixed ] || {SCRIPT}"
    made = step(check, files=FILES, lander={"mode": mode, "window": 2})
    base = made.repo.head()
    red = made.push("red", {"answer.txt": "wrong\n"})
    repair = made.push("repair", {"fixed": ""})
    made.rest()
    moves = made.repo.git("reflog", "--format=%H", "refs/heads/main").split()

    assert LANDED is made.of(repair).state
    assert base in moves
    if mode == "chain":
        assert REJECTED is made.of(red).state
        assert "right\n" == made.repo.read("answer.txt")
        return
    for at in moves:
        right = made.repo.read("answer.txt", at) == "right\n"
        assert right or "fixed" in made.repo.paths(at)


@pytest.mark.parametrize("mode", ["batch", "chain"])
def test_nobody_is_blamed_for_one_behind_or_ahead_that_breaks_every_set(
    mode: str, step: Step
):
    """Green alone, red with anything else; and red whatever it is merged with."""
    alone = "[ ! -e jealous ] || [ $(ls | wc -l) -le 10 ]"
    made = step(f"{alone} && {SCRIPT}", files=FILES, lander={"mode": mode, "window": 3})
    before = made.push("before", {"one.txt": "1\n", "two.txt": "2\n"})
    jealous = made.push("jealous", {"jealous": "", "x/y": "y\n"})
    red = made.push("red", {"answer.txt": "wrong\n"})
    after = made.push("after", {"three.txt": "3\n"})
    made.rest()

    assert LANDED is made.of(before).state
    assert REJECTED is made.of(jealous).state
    assert REJECTED is made.of(red).state
    assert LANDED is made.of(after).state
    goes_on(made)


@pytest.mark.parametrize("how", ["a worker", "a branch", "one that is replaced"])
def test_a_part_of_somebodys_work_that_others_hand_over_takes_it_along_nowhere(
    how: str, step: Step, outside: Path
):
    """A commit from the middle of a branch, which is red by itself or withdrawn."""
    pipe(outside, "go")
    once = (
        f"[ -e {outside}/once ] || {{ touch {outside}/once; read x < {outside}/go; }}"
    )
    wait = f"[ ! -e whole ] || {once}"
    made = step(f"{wait}; {SCRIPT}", files=FILES, lander={"window": 1})
    base = made.repo.head()
    files = {"answer.txt": "wrong\n"}
    part = made.repo.commit_at("refs/heads/feature", files, parents=(base,))
    more = {"answer.txt": "right\n", "whole": ""}
    whole = made.push("whole", more, "Whole", on=[part])
    made.until(lambda: made.loop.live.runs)
    second = made.of(whole).created[:19]
    wait_for(lambda: clock.stamp()[:19] > second, timeout=5, what="the next second")
    if how == "a worker":
        made.repo.add_task("t", f"git reset -q --hard {part}")
    else:
        made.repo.git("update-ref", "refs/heads/land/part", part)
    made.until(lambda: len(made.submissions) == 2)
    if how == "one that is replaced":
        made.repo.git("update-ref", "-d", "refs/heads/land/part")
        made.push("part", {"n.txt": "n\n"}, on=[base])
        made.until(lambda: len(made.submissions) == 3)
    for _ in range(3):
        made.loop.turn()
    (outside / "go").write_text("x\n")
    made.rest()

    assert LANDED is made.of(whole).state, made.of(whole)
    assert "right\n" == made.repo.read("answer.txt")


def test_one_that_conflicts_with_everything_delays_nobody(step: Step):
    made = step(SCRIPT, files=FILES)
    everything = dict.fromkeys(("a.txt", "README.md", "Makefile"), "mine\n")
    bad = made.push("bad", {**everything, "answer.txt": "wrong\n"})
    others = [made.push(f"o{n}", {name: "o\n"}) for n, name in enumerate(everything)]
    made.rest()

    assert REJECTED is made.of(bad).state
    assert [LANDED] * 3 == [made.of(tip).state for tip in others]
    goes_on(made)


def imported(made: Stepped, stream: bytes) -> None:
    made.repo.raw("fast-import", "--quiet", "--force", stdin=stream)


def commit(ref: str, base: str, body: bytes, message: bytes = b"Change\n") -> bytes:
    who = b"Odd <odd@example.org> 1767603600 +0000"
    return b"".join(
        (
            f"commit {ref}\n".encode(),
            b"author %s\ncommitter %s\n" % (who, who),
            b"data %d\n%s\n" % (len(message), message),
            f"from {base}\n".encode(),
            body,
        )
    )


def test_many_tips_at_once_are_taken_and_the_queue_ends(step: Step):
    """All but one are the same work under another date, and that one is red."""
    made = step(SCRIPT, files=FILES)
    base = made.repo.head()
    stream = [
        commit(
            f"refs/heads/land/n{number}",
            base,
            b"M 100644 inline same.txt\ndata 2\nx\n\n",
            b"Change %d\n" % number,
        )
        for number in range(MANY)
    ]
    bad = b"M 100644 inline answer.txt\ndata 6\nwrong\n\n"
    imported(made, b"".join([*stream, commit("refs/heads/land/bad", base, bad)]))
    made.rest()
    states = Counter(each.state for each in made.submissions)

    assert {LANDED: MANY, REJECTED: 1} == states
    assert {} == made.repo.refs("refs/heads/land/n")
    goes_on(made)


def huge_trees(made: Stepped) -> dict[str, str]:
    """Push what is hard to merge, to walk, or to read; return the tips by name."""
    base, repo = made.repo.head(), made.repo
    heads = [repo.commit_at(f"refs/heads/p{n}", {f"p{n}": ""}) for n in range(8)]
    octopus = made.push("octopus", {"o": "o"}, on=[base, *heads])
    empty = b"M 100644 inline %s\ndata 0\n\n"
    many = b"".join(empty % b"many/%d/%d" % divmod(n, 100) for n in range(1000))
    # As long as is taken, and shallow enough for what clears up behind the tests.
    deep = empty % (b"d/" * 400 + (b"n" * 199 + b"/") * 9 + b"x")
    deeper = empty % (b"d/" * 2000 + b"x")
    imported(made, commit("refs/heads/land/many", base, many))
    imported(made, commit("refs/heads/land/deep", base, deep))
    imported(made, commit("refs/heads/land/deeper", base, deeper))
    long = b"Long\n\n" + b"word " * 300_000
    imported(made, commit("refs/heads/land/long", base, empty % b"long", long))
    names = ("many", "deep", "deeper", "long")
    return {name: repo.oid(f"refs/heads/land/{name}") for name in names} | {
        "octopus": octopus,
        "odd": odd_commit(made, base),
        "case": made.push("case", {"READme.md": "x"}),
        "same": made.push("same", {"src/a": "x", "SRC/b": "x"}),
    }


def odd_commit(made: Stepped, base: str) -> str:
    """Push a commit whose people, zone, encoding and message nobody can read."""
    blob = made.repo.git("hash-object", "-w", "--stdin", stdin=b"odd\n")
    made.repo.git("read-tree", base)
    made.repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},odd.txt")
    tree = made.repo.git("write-tree")
    made.repo.git("read-tree", base)
    who = f"author {'A' * 5000} <a\tb> 99999999999999999 +9999\n"
    text = f"tree {tree}\nparent {base}\n{who}committer \x01> 1 -0000\n"
    raw = text.encode() + b"encoding undefined\ngpgsig x\n\n\xff\xfe \x1b[2J\xc3("
    how = ("-t", "commit", "-w", "--literally", "--stdin")
    tip = made.repo.git("hash-object", *how, stdin=raw)
    made.repo.git("update-ref", "refs/heads/land/odd", tip)
    return tip


def test_what_is_huge_deep_or_unreadable_is_judged_and_the_queue_ends(step: Step):
    made = step(SCRIPT, files=FILES)
    tips = huge_trees(made)
    made.rest()
    found = {name: made.of(tip).state for name, tip in tips.items()}

    assert {
        "many": LANDED,
        "deep": LANDED,
        "deeper": REJECTED,
        "long": LANDED,
        "octopus": LANDED,
        "odd": LANDED,
        "case": REJECTED,
        "same": REJECTED,
    } == found
    assert all(len(note) < 100_000 for note in made.notes().values())
    goes_on(made)
