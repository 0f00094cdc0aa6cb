"""The built-in distiller on a scripted model: what it proposes, what comes of it."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gitagent import data
from gitagent.core.remembering import Ruling
from gitagent.git import rulings
from gitagent.git.repository import discover
from tests.support.builtin import World
from tests.support.provider import Call, Finish, Provider, Say
from tests.support.provider_steps import Asked, Step
from tests.support.repos import Repo

RULES = "A request is tried 3 times before it fails.\nColours are off on a pipe.\n"
LOCKS = "Locks are held 5 s at most."
SCRIPT = "\nscript: teach\n"  # which the model of the distiller follows


@dataclass
class Teaches:
    """A model that looks at a landing and proposes; it cites what it was told."""

    told: str = ""  # at the start
    answers: list[str] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Step:
        if not self.told:
            self.told = asked.text
        self.answers += asked.results
        found = re.search(r"([0-9a-f]{40}:rules\.txt:)(\d+)-\d+`", self.told)
        lines = found[1] if found else ""
        steps = (*self.proposes(lines), Finish("nothing", summary="So."), Say("So."))
        return steps[min(asked.turn, len(steps) - 1)]

    def proposes(self, lines: str) -> tuple[Call, ...]:
        def add(slug: str, line: str, cited: str) -> Call:
            return Call("remember", _add(slug, line, f"{lines}{cited}"))

        return (
            add("locks", LOCKS, "3-3"),
            add("moon", "The moon is made of green cheese.", "1-1"),
            add("tries", "A request is tried 3 times before it fails.", "90-91"),
            add("tries", "A request is tried 3 times before it fails.", "1-1"),
            add("colours", "Colours are off on a pipe.", "70-70"),
            add("colours", "Colours are off on a pipe.", "71-71"),
            Call("remember", {"op": "withdraw", "slug": "old"}),
        )


class Quiet(Teaches):
    """A model that finds nothing worth saying."""

    def proposes(self, _: str) -> tuple[Call, ...]:
        return ()


def _add(slug: str, line: str, source: str) -> dict[str, Any]:
    facts = {"op": "add", "slug": slug, "kind": "fact"}
    return {**facts, "line": line, "sources": [source]}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    written = data.data_path("templates/agents/distiller.md").read_text()
    files = {
        "rules.txt": RULES,
        ".agent/agents/distiller.md": written + SCRIPT,
    }
    with contextlib.ExitStack() as stack:
        provider = stack.enter_context(Provider())
        made = World(Repo.make(tmp_path / "repo", files), provider)
        stack.callback(made.close)
        made.start('[memory]\ndistill = "landings"\n')
        yield made


def taught(world: World, task: str, model: Teaches) -> str:
    """Let a task land; return the task that looked at it."""
    world.provider.script("teach", model)
    said = '{"status": "done", "summary": "I have said how long locks are held."}'
    work = f"echo '{said}' >\"$GITAGENT_RETURN_FILE\"\necho '{task}' >{task}.txt"
    text = f"# Do {task}\n\n```sh\n{work}\necho '{LOCKS}' >>rules.txt\n```\n"
    files = {f".agent/tasks/{task}.md": text}
    world.repo.commit_at("refs/heads/main", files, "Ask\n\nGitagent-Record: task-add\n")
    name = f"distil-{world.landed(task)['submission']}"
    world.daemon.wait_task(name, "done", timeout=120)
    return name


def ruled(world: World, task: str) -> list[Ruling]:
    with discover(world.repo.path).objects() as objects:
        return [each for each in rulings.read_all(objects) if each.task == task]


def test_what_a_model_proposes_is_mended_once_ruled_on_and_landed(world: World) -> None:
    quiet, model = Quiet(), Teaches()
    nothing = taught(world, "quiet", quiet)
    before = world.repo.git("for-each-ref", "refs/gitagent/memory")
    name = taught(world, "work", model)
    world.daemon.until(
        lambda: world.repo.git("ls-tree", "main", ".agent/memory/locks.md"),
        timeout=60,
        what="what was learned lands",
    )
    (made,) = ruled(world, name)
    became = {(x.operation.slug, x.admitted, x.operation.op) for x in made.ruled}
    paths = world.repo.git("ls-tree", "-r", "--name-only", "main", ".agent/memory/")

    # A model that finds nothing worth saying changes nothing.
    assert [] == ruled(world, nothing)
    assert "" == before

    # Another one is told what it can cite, and mends once what does not hold.
    assert "I have said how long locks are held." in model.told
    assert [True, False, False, True, False, False, False] == [
        each.startswith("Kept.") for each in model.answers[:7]
    ]
    assert "Mend it and call remember once more" in model.answers[2]
    assert "It is dropped." in model.answers[5]

    # All of it is on record, and what holds has landed.
    assert {
        ("locks", True, "add"),
        ("tries", True, "add"),
        ("moon", False, "add"),
        ("colours", False, "add"),
        ("old", False, "withdraw"),
    } == became
    assert [".agent/memory/locks.md", ".agent/memory/tries.md"] == paths.split()
