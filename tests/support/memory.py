"""The memory on a real repository, written by its executor."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gitagent.core.remembering import Op, Operation, Ruled, Ruling
from gitagent.files import memoryfile
from gitagent.git.repository import discover
from gitagent.git.text import Person
from gitagent.memory.evidence import Verify
from gitagent.memory.executor import Origin, execute
from gitagent.memory.shelf import Shelf, Shelves
from tests.support.lander import Bench, bench
from tests.support.repos import Repo

MAIN = "refs/heads/main"
ADA = Person("Ada", "ada@example.org")
SAYS = "Two and two are four.\nThree and three are six.\nWater is wet.\n"
FACTS = "facts.txt"


def add(slug: str, line: str = "Two and two are four.", **more: object) -> Operation:
    """Ask for an item that rests on the first line of the facts."""
    given = {"kind": "fact", "sources": (f"main:{FACTS}:1-1",)} | more
    return Operation(Op.ADD, slug, line=line, **given)  # type: ignore[arg-type]


def withdraw(slug: str, because: str = "It is not so.") -> Operation:
    """Ask for a withdrawal."""
    return Operation(Op.WITHDRAW, slug, because=because)


@contextmanager
def writing(template: Path, path: Path) -> Iterator["Writer"]:
    """Make a repository with facts on its target; ``template`` is filled once."""
    if not template.exists():
        with bench(template) as made:
            made.repo.commit_at(MAIN, {FACTS: SAYS}, "State facts")
            made.repo.git("reset", "-q", "--hard")
    shutil.copytree(template, path, symlinks=True)
    repository = discover(path)
    with repository.objects() as objects:
        yield Writer(Bench(Repo(path), repository, objects))


@dataclass(slots=True)
class Writer:
    """A repository with facts on its target, and the memory's executor."""

    bench: Bench
    limit: int = 150
    origin: Origin = field(default_factory=lambda: Origin(ADA))
    shelves: Shelves | None = None

    def __post_init__(self) -> None:
        """Remember shelves over the test."""
        self.shelves = Shelves(self.bench.repository)

    def ask(
        self, *operations: Operation, verify: Verify | None = None, submit: bool = False
    ) -> Ruling:
        """Have operations ruled on."""
        assert self.shelves is not None
        return execute(
            self.bench.repository,
            self.bench.objects,
            self.shelves,
            MAIN,
            operations,
            self.origin,
            limit=self.limit,
            verify=verify,
            submit=submit,
        )

    def one(self, operation: Operation, verify: Verify | None = None) -> Ruled:
        """Have one operation ruled on."""
        (ruled,) = self.ask(operation, verify=verify).ruled
        return ruled

    @property
    def shelf(self) -> Shelf:
        """The shelf of the target as it is now."""
        assert self.shelves is not None
        return self.shelves.at(self.bench.objects, self.bench.target)

    @property
    def statuses(self) -> dict[str, str]:
        """The status of each item."""
        return {slug: str(item.status) for slug, item in self.shelf.items.items()}

    @property
    def refused(self) -> dict[str, str]:
        """Why files are no items, by path."""
        return {each.path: each.reason for each in self.shelf.refused}

    def file(self, slug: str) -> str:
        """Return the text of an item's file on the target."""
        return self.bench.repo.read(memoryfile.path_of(slug), MAIN)
