"""What a landing teaches: looked at by a task, ruled on, and landed as one commit."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gitagent.core.distil import task_of
from gitagent.core.memory import Marks, Status
from gitagent.core.remembering import Op, Operation, Ruling
from gitagent.core.task import TaskState
from gitagent.daemon.distilling import material
from gitagent.daemon.rollback import roll_back
from gitagent.git import rulings
from gitagent.git.repository import discover
from gitagent.git.text import Person
from gitagent.memory.executor import Origin, execute
from gitagent.memory.shelf import Shelf, Shelves
from tests.support.cli import call
from tests.support.daemon import Daemon
from tests.support.repos import Repo
from tests.support.stepping import Stepped, config, keep, lines

MAIN = "refs/heads/main"
LOG = "refs/gitagent/memory/operations"
ADA = Origin(Person("Ada", "ada@example.org"))
RULES = """\
A request is tried 3 times before it fails.
The cache is emptied by a restart.
Colours are off on a pipe.
"""
LOCKS = "Locks are held 5 s at most."
CACHE = "The cache is emptied by a restart, and by nothing else."

# What it asks for is a file of operations; HEAD stands for the commit that it is on.
AGENT = """\
+++
backend = "command"
argv = ["sh", "-c", '''
out=$(dirname "$GITAGENT_RETURN_FILE")
{work}
sed "s/HEAD/$(git rev-parse HEAD)/g" >"$out/memory.json" <<'END'
{asks}
END
''']
may = [{may}]
+++
"""

ADD = {
    "op": "add",
    "slug": "locks",
    "kind": "fact",
    "line": LOCKS,
    "sources": ["HEAD:rules.txt:4-4"],
    "verify": "grep -q Locks rules.txt",
}
UPDATE = {
    "op": "update",
    "slug": "cache",
    "line": CACHE,
    "sources": ["HEAD:rules.txt:2-2"],
}
MORE = {
    **UPDATE,
    "slug": "colours",
    "line": "Colours are off on a pipe, always.",
    "sources": ["HEAD:rules.txt:3-3"],
}
UNSUPPORTED = {**ADD, "slug": "moon", "line": "The moon is made of green cheese."}
DANGLING = {**ADD, "slug": "gone", "sources": ["HEAD:rules.txt:90-91"]}
UNTRUE = {
    "op": "add",
    "slug": "tries",
    "kind": "fact",
    "line": "A request is tried 3 times before it fails.",
    "sources": ["HEAD:rules.txt:1-1"],
    "verify": "exit 3",
}
WITHDRAW = {"op": "withdraw", "slug": "colours"}
OWN = {"op": "withdraw", "slug": "cache", "because": "it is not so"}


def agent(asks: Sequence[dict[str, Any]], work: str = "", *may: str) -> str:
    grants = ", ".join(f'"{each}"' for each in ("remember", *may))
    return AGENT.format(asks=json.dumps(asks), work=work, may=grants)


def files(asks: Sequence[dict[str, Any]], own: Sequence[dict[str, Any]] = ()):
    """Return rules, an agent that adds one, and one that looks at what landed."""
    said = '{"status": "done", "summary": "I have said how long locks are held."}'
    work = f"echo '{LOCKS}' >>rules.txt\necho '{said}' >\"$out/return.json\""
    return {
        "rules.txt": RULES,
        ".agent/agents/worker.md": agent(own, work, "write", "shell"),
        ".agent/agents/distiller.md": agent(asks),
    }


@pytest.fixture
def taught(step: Callable[..., Stepped], outside: Path) -> Callable[..., Stepped]:
    """Make a repository whose landings are distilled by an agent that asks for this."""

    def make(*asks: dict[str, Any], own: Sequence[dict[str, Any]] = ()) -> Stepped:
        made = step(
            f"echo ran >>{outside}/runs",
            files=files(asks, own),
            memory={"distill": "landings"},
        )
        add(made.repo, "cache", 2)
        add(made.repo, "colours", 3)
        return made

    return make


def ask(repo: Repo, name: str = "work") -> None:
    text = '+++\nagent = "worker"\n+++\n# Say how long locks are held\n'
    made = {f".agent/tasks/{name}.md": text}
    repo.commit_at(MAIN, made, "Ask\n\nGitagent-Record: task-add\n")


def write(repo: Repo, operation: Operation) -> None:
    """Let a person change the memory."""
    found = discover(repo.path)
    with found.objects() as objects:
        facts = (found, objects, Shelves(found), MAIN, (operation,), ADA)
        made = execute(*facts, limit=150)

    assert made.ruled[0].admitted, made.ruled[0].reason


def add(repo: Repo, slug: str, line: int, op: Op = Op.ADD, said: str = "") -> None:
    """Let a person say what a line of the rules says."""
    said = said or RULES.splitlines()[line - 1]
    source = f"{repo.oid(MAIN)}:rules.txt:{line}-{line}"
    write(repo, Operation(op, slug, "fact", said, sources=(source,)))


def shelf(repo: Repo) -> Shelf:
    found = discover(repo.path)
    with found.objects() as objects:
        return Shelves(found).at(objects, repo.oid(MAIN))


def ruled(repo: Repo, task: str) -> list[Ruling]:
    """Return the rulings on what a task has proposed, oldest first."""
    with discover(repo.path).objects() as objects:
        return [each for each in rulings.read_all(objects) if each.task == task]


def looked(world: Stepped) -> str:
    """Return the task that looks at the landing of ``work``."""
    return task_of(world.task("work").submission or "")


def it_begins_with_all_that_is_known(world: Stepped) -> None:
    work = world.task("work").submission or ""
    commit = world.loop.snapshot.submissions[work].commit
    opened = discover(world.repo.path)
    with opened.objects() as objects:
        told = material(opened, objects, shelf(world.repo), work)
        gone = material(opened, objects, shelf(world.repo), "s-000000000000")
    note, claims, changed, asked, *items = (each.text for each in told)
    assert f"# The note of {work}, commit {commit}" in note
    assert "## Checks" in note
    assert "claims, and no evidence" in claims
    assert "I have said how long locks are held." in claims
    assert f"`{commit}:rules.txt:4-4`\n\n```text\n{LOCKS}\n```" in changed
    assert "- withdraw `cache`: it is not so (no source)" in asked
    assert "# The items of the memory" == items[0]
    assert items[1].startswith("[cache@")
    assert ":rules.txt:2-2`" in items[1]
    assert "memory: cache@" in told[5].producer
    assert ["# The landing s-000000000000\n\nIt cannot be read here any more."] == [
        each.text for each in gone
    ]


def test_what_a_landing_teaches_lands_as_one_commit_and_the_rest_is_seen(
    taught, outside
):
    world = taught(ADD, UPDATE, UNSUPPORTED, DANGLING, UNTRUE, WITHDRAW, own=[OWN])
    ask(world.repo)
    world.rest()
    name = looked(world)
    (made,) = ruled(world.repo, name)
    (own,) = ruled(world.repo, "work")
    landed = world.submissions[-1]
    whole = world.repo.git("show", "--format=%P%n%B", "--name-only", landed.commit)

    # One commit, of the memory alone, which no check was run for.
    assert (name, 1) == (made.task, made.attempt)
    assert (made.submission, made.commit, "landed", True) == (
        *(landed.id, landed.tip, landed.state, landed.remembers),
    )
    assert world.repo.oid(MAIN) == landed.commit
    assert 1 == len(whole.splitlines()[0].split())
    assert [".agent/memory/cache.md", ".agent/memory/locks.md"] == [
        each for each in whole.splitlines() if each.startswith(".agent/")
    ]
    assert "Gitagent-Record" not in whole
    assert "Gitagent-Check: tests passed" in whole
    assert ["ran"] == lines(outside / "runs")

    # Each operation with its reason, wherever one looks.
    reasons = [each.reason for each in made.ruled]
    assert [True, True, False, False, False, False] == [x.admitted for x in made.ruled]
    assert "It is not supported" in reasons[2]
    assert "does not resolve: rules.txt has 4 lines" in reasons[3]
    assert "`exit 3` ends with 3." in reasons[4]
    assert "does not say why" in reasons[5]
    assert f"It is left to {name}, which looks at what was learned." == (
        own.ruled[0].reason
    )
    said = call(world.repo, "memory", "log", "--json").json
    assert [name, "work", None, None] == [each["task"] for each in said["rulings"]]
    assert reasons == [each["reason"] for each in said["rulings"][0]["operations"]]
    assert "landed" == said["rulings"][0]["state"]
    story = call(world.repo, "status", name).out
    log = world.repo.git("log", "--format=%B", LOG)
    for told in (story, log):
        assert all(" ".join(told.split()).count(each) for each in reasons)

    it_begins_with_all_that_is_known(world)

    # What counts, and what does not.
    found = shelf(world.repo)
    assert (LOCKS, CACHE) == (found.items["locks"].line, found.items["cache"].line)
    assert Status.ACTIVE is found.items["colours"].status
    assert name == found.items["locks"].work
    assert 3 == found.count
    assert 2 == len(world.submissions)

    # What a landing taught is suspect when it is rolled back, which teaches nothing.
    opened = discover(world.repo.path)
    with opened.objects() as objects:
        roll_back(opened, objects, "work", "locks are free")
    world.rest()
    marks = shelf(world.repo).marks["locks"]
    assert Marks.SUSPECT in {each.mark for each in marks}
    assert 3 == len(world.submissions)
    assert {"work", name} == world.loop.snapshot.records.keys()


def test_what_somebody_changed_meanwhile_is_ruled_on_again(taught):
    """What is withdrawn while an update of it lands does not come back."""
    world = taught(UPDATE, MORE)
    ask(world.repo)
    world.until(lambda: world.loop.snapshot.submissions and ruled_on(world))
    add(world.repo, "cache", 2, Op.UPDATE, "The cache is emptied by a restart only.")
    write(world.repo, Operation(Op.WITHDRAW, "colours", because="They are on."))
    world.rest()
    first, second = ruled(world.repo, looked(world))
    states = {each.id: each.state for each in world.submissions}
    found = shelf(world.repo)

    assert ["rejected", "landed"] == [states[x.submission] for x in (first, second)]
    assert [True, True] == [each.admitted for each in first.ruled]
    assert [True, False] == [each.admitted for each in second.ruled]
    assert CACHE == found.items["cache"].line
    assert "They are on." == found.items["colours"].because
    assert Status.WITHDRAWN is found.items["colours"].status
    assert () == found.refused


def ruled_on(world: Stepped) -> bool:
    record = world.loop.snapshot.records.get("work")
    return bool(record and record.submission and ruled(world.repo, looked(world)))


def test_what_failed_teaches_nothing(taught):
    world = taught(ADD)
    fails = agent([OWN], "exec 3>&1; trap 'exit 1' EXIT", "write")
    world.direct({".agent/agents/worker.md": fails})
    ask(world.repo)
    world.rest()
    (made,) = ruled(world.repo, "work")

    assert TaskState.FAILED is world.task("work").state
    assert [(False, "The work did not pass: task work is failed.")] == [
        (each.admitted, each.reason) for each in made.ruled
    ]
    assert "" == made.commit
    assert [] == world.submissions


def test_wherever_the_daemon_is_killed_nothing_is_looked_at_or_ruled_on_twice(
    tmp_path: Path,
):
    repo = keep(
        tmp_path / "killed",
        files([ADD]),
        config("true", memory={"distill": "landings"}),
    )
    ask(repo)
    killed = []
    for place in ("distil-added", "memory-ruled", "landing-recorded"):
        daemon = Daemon.start(repo, failpoint=place, wait=False)
        killed.append(daemon.wait_exit())
        daemon.close()
    daemon = Daemon.start(repo)
    daemon.until(
        lambda: repo.git("ls-tree", "main", ".agent/memory/locks.md"),
        timeout=60,
        what="what was learned lands",
    )
    daemon.close()
    subjects = repo.log("%s", "--first-parent", MAIN)

    assert [-9, -9, -9] == killed
    (task,) = {each for each in subjects if each.startswith("Add task distil-")}
    assert 1 == subjects.count(task)
    (made,) = ruled(repo, task.removeprefix("Add task "))
    assert [1, 1] == [
        sum(each.submission == made.submission for each in ruled(repo, name))
        for name in (made.task, "")
    ]
    assert 1 == subjects.count(f"Add locks: {LOCKS}")
