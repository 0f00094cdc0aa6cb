"""Chapters as Git: an annotated tag, the carried state that it names, and a bundle.

The bundle holds the target, the tag and every record, so that an empty repository
becomes the same again. What is there already is never overwritten by one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gitagent.core import chapter
from gitagent.core.chapter import Carried
from gitagent.core.layout import CHAPTER_TAGS, HEADS
from gitagent.errors import GitError, LostRace, UserError
from gitagent.git import bundle, records, tags
from gitagent.git.bundle import Bundle
from gitagent.git.codec import Sign
from gitagent.git.objects import Objects
from gitagent.git.refs import RefUpdate, update
from gitagent.git.repository import Repository
from gitagent.git.tags import Tag
from gitagent.git.text import Person
from gitagent.host import place

RECORDS: Final = "refs/gitagent/"

_AT_ONCE: Final = 1000  # refs made by one process


@dataclass(frozen=True, slots=True)
class Chapter:
    """One that was closed."""

    name: str
    tag: Tag | None  # None: its ref is no annotated tag of a commit
    state: Carried | None  # None: the file cannot be read
    problem: str = ""  # why not, a clause


@dataclass(frozen=True, slots=True)
class Brought:
    """A bundle of a chapter."""

    bundle: Bundle
    name: str  # of the chapter
    target: str  # full ref
    commit: str  # that it is at

    @property
    def records(self) -> dict[str, str]:
        """The records by ref."""
        refs = self.bundle.refs.items()
        return {ref: oid for ref, oid in refs if ref.startswith(RECORDS)}


def default_place(repo: Repository, name: str) -> Path:
    """Return where a chapter's bundle lies if nobody says otherwise."""
    return place.state_dir(repo.common_dir) / "chapters" / f"{name}.bundle"


def closed(repo: Repository, objects: Objects) -> list[Chapter]:
    """Return the chapters, the newest first."""
    found = []
    for ref, oid in objects.refs(CHAPTER_TAGS).items():
        name = ref.removeprefix(CHAPTER_TAGS)
        tag = tags.read(repo, oid)
        if tag is None:
            found.append(Chapter(name, None, None, "it is no annotated tag"))
            continue
        state, problem = carried(objects, tag.commit, name)
        found.append(Chapter(name, tag, state, problem))
    return sorted(
        found, key=lambda each: (each.tag.tagger.when if each.tag else 0, each.name)
    )[::-1]


def carried(objects: Objects, commit: str, name: str) -> tuple[Carried | None, str]:
    """Return the state that a chapter has carried over, or why it cannot be read."""
    try:
        entry = objects.path(commit, chapter.path_of(name))
        if entry is None:
            return None, f"there is no {chapter.path_of(name)}"
        return chapter.load(objects.blob(entry.oid)), ""
    except GitError as error:
        return None, error.message
    except ValueError as error:
        return None, f"{chapter.path_of(name)}: {error}"


def kept_by(repo: Repository, target: str, name: str) -> str | None:
    """Return the commit on the target that brought a chapter's state, or None."""
    done = repo.git.run(
        *("rev-list", "--max-count=1", "--first-parent", target),
        *("--", chapter.path_of(name)),
    )
    return done.text or None


def tag(
    repo: Repository,
    objects: Objects,
    name: str,
    commit: str,
    by: Person,
    sign: Sign | None,
) -> bool:
    """Make the tag of a chapter on a commit; whether it was not there yet.

    Raises:
        UserError: another tag has that name, or it cannot be signed.
    """
    ref = chapter.tag_of(name)
    there = objects.ref(ref)
    if there is None:
        message = f"Chapter {name}\n"
        short = ref.removeprefix("refs/tags/")
        made = tags.write(repo, short, commit, message, by, sign)
        try:
            update(repo.git, [RefUpdate(ref, made, None)], f"gitagent: close {name}")
        except LostRace:
            there = objects.ref(ref)
        else:
            return True
    known = tags.read(repo, there) if there else None
    if known is None or known.commit != commit:
        raise UserError(
            f"there is a tag chapter/{name} already, of something else",
            "choose another name",
        )
    return False


def pack(repo: Repository, name: str, target: str, to: Path) -> None:
    """Write the bundle of a chapter; see `bundle.create`."""
    if (repo.common_dir / "shallow").exists():
        raise UserError(
            "this clone is shallow, so a bundle of it could not be restored",
            "run: git fetch --unshallow",
        )
    bundle.create(repo, [target, chapter.tag_of(name)], [RECORDS], to)


def is_of(path: Path, name: str, oid: str) -> bool:
    """Whether a file is the bundle of a chapter, whose tag is the object ``oid``."""
    try:
        found = bundle.read(path)
        damaged = bool(bundle.damage(found))
    except UserError:
        return False
    return found.refs.get(chapter.tag_of(name)) == oid and not damaged


def bring(repo: Repository, path: Path) -> Brought:
    """Take over the objects of a bundle; no ref moves.

    Raises:
        UserError: it is no bundle of a chapter, it is damaged, or it cannot be taken
            over here.
    """
    found = bundle.read(path)
    heads = [ref for ref in found.refs if ref.startswith(HEADS)]
    names = [ref for ref in found.refs if ref.startswith(CHAPTER_TAGS)]
    if len(heads) != 1 or len(names) != 1:
        raise UserError(
            f"{path} is no bundle of a chapter", "make one: gitagent chapter close"
        )
    bundle.fetch(repo, found, found.refs)
    name = names[0].removeprefix(CHAPTER_TAGS)
    return Brought(found, name, heads[0], found.refs[heads[0]])


def require_known(objects: Objects, brought: Brought) -> None:
    """Raise UserError if a newer release wrote one of the records."""
    for found in records.read_all(objects, brought.records).values():
        if isinstance(found, records.NewerRecord):
            raise found


def create_all(repo: Repository, wanted: Mapping[str, str], message: str) -> None:
    """Create refs that are not there; of those that are none moves.

    Raises:
        LostRace: one has come to be there meanwhile; others may have been made.
    """
    new = [RefUpdate(ref, oid, None) for ref, oid in sorted(wanted.items())]
    for first in range(0, len(new), _AT_ONCE):
        update(repo.git, new[first : first + _AT_ONCE], message)
