"""The memory for a person's commands, with a daemon and without one.

Whatever is written goes through the memory's executor, in the person's name; whatever
is read comes from the shelf of the target's commit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gitagent.core.layout import HEADS
from gitagent.core.memory import From, Item, Source, written
from gitagent.core.remembering import Operation, Ruling
from gitagent.core.settings import Settings
from gitagent.daemon import remembered
from gitagent.daemon.target import SettingsInForce
from gitagent.errors import UserError
from gitagent.files import clean, memoryfile
from gitagent.files.fields import nearest
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.memory.evidence import Verify, resolve
from gitagent.memory.lines import find, lines_of
from gitagent.memory.shelf import Shelf, Shelves


@dataclass(frozen=True, slots=True)
class Held:
    """The memory as the target has it."""

    target: str  # ref
    settings: Settings
    shelf: Shelf


@dataclass(frozen=True, slots=True)
class Cited:
    """What a source of an item says."""

    source: Source
    text: str = ""  # where it is cited, as Git has it
    problem: str = ""  # why it does not say what is quoted, a sentence; "": it does
    now: str = ""  # how the target differs from it, a sentence; "": it does not


def held(repo: Repository, objects: Objects) -> Held:
    """Return the memory. Raises UserError where there is no target or no settings."""
    target, commit, settings = _target(repo, objects)
    return Held(target, settings, Shelves(repo).at(objects, commit))


def shelf(repo: Repository, objects: Objects) -> Shelf:
    """Return what the memory holds; its settings, slow to read, are not looked at.

    Raises UserError where there is no target.
    """
    _, commit = remembered.target(repo, objects, objects.refs(HEADS))
    return Shelves(repo).at(objects, commit)


def _target(repo: Repository, objects: Objects) -> tuple[str, str, Settings]:
    target, commit = remembered.target(repo, objects, objects.refs(HEADS))
    settings = SettingsInForce().require(objects, commit)
    return target, commit, settings


def change(
    repo: Repository, operations: Sequence[Operation], verify: Verify | None = None
) -> Ruling:
    """Carry out operations in the name of who calls; return what became of each.

    ``verify`` runs a command on a tree in place of the sandbox.

    Raises:
        UserError: there is no target, Git does not know the person, or something of
            theirs is in the way: nothing was changed.
        Busy, LostRace: others are at work on the target all the time.
    """
    # Loading these takes longer than all that a reader does.
    from gitagent.daemon.verifying import Verifier  # noqa: PLC0415
    from gitagent.git.identity import author  # noqa: PLC0415
    from gitagent.memory.executor import Origin, execute  # noqa: PLC0415

    with repo.objects() as objects:
        target, _, settings = _target(repo, objects)
        return execute(
            repo,
            objects,
            Shelves(repo),
            target,
            operations,
            Origin(author(repo)),
            limit=settings.memory.limit,
            verify=verify or Verifier(repo, settings),
        )


def require(shelf: Shelf, slug: str) -> Item:
    """Return an item of any status. Raises UserError if there is none, or it is odd."""
    if found := shelf.items.get(slug):
        return found
    for refusal in shelf.refused:
        if refusal.path == memoryfile.path_of(slug):
            raise UserError(refusal.reason.rstrip("."))
    near = nearest(slug, shelf.items)
    mend = f"did you mean {near}?" if near else "see: gitagent memory list --all"
    raise UserError(f'there is no item "{clean.sentence(slug, 80)}"', mend)


def evidence(
    repo: Repository, objects: Objects, shelf: Shelf, item: Item
) -> tuple[Cited, ...]:
    """Return what the sources of an item say where they are cited, and by now."""
    return tuple(_cited(repo, objects, shelf.commit, each) for each in item.sources)


def _cited(repo: Repository, objects: Objects, commit: str, source: Source) -> Cited:
    found = resolve(repo, objects, commit, written(source))
    if isinstance(found, str):
        return Cited(source, problem=f"It does not resolve: {found}.")
    if found.quote != source.quote:
        return Cited(source, found.quote, "The item quotes something else.")
    now = _now(objects, commit, source) if source.kind is From.LINES else ""
    return Cited(source, found.quote, now=now)


def _now(objects: Objects, commit: str, source: Source) -> str:
    """Say how the target differs from what is cited."""
    entry = objects.path(commit, source.name)
    lines = None if entry is None else _lines(objects, entry.oid)
    if lines is None:
        return "The target has no such text any more."
    first = find(lines, source.quote, source.first)
    if not first:
        return "The target does not say so any more."
    last = first + source.last - source.first
    return (
        "" if first == source.first else f"The target has it in lines {first}-{last}."
    )


def _lines(objects: Objects, oid: str) -> list[str] | None:
    return lines_of(objects, oid) if objects.kind(oid) == "blob" else None
