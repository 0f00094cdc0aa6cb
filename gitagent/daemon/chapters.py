"""A chapter is closed: what goes on is committed, tagged, and bundled with all records.

Each step is looked for before it is taken, so a call that was cut short is made whole
by the same call.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gitagent.core import chapter
from gitagent.core.chapter import HANDOFF_BYTES, Carried, OpenTask
from gitagent.core.ident import id_problem
from gitagent.core.layout import AUTOMATIONS
from gitagent.core.settings import Settings
from gitagent.core.submission import SubmissionState
from gitagent.core.task import SETTLED, TaskState
from gitagent.daemon.approving import sign_with
from gitagent.daemon.overview import Overview, overview
from gitagent.daemon.target import SettingsInForce
from gitagent.errors import ConfigError, UserError
from gitagent.git import trust
from gitagent.git.codec import Sign
from gitagent.git.identity import author
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.git.signing import configured_key, signer, verify
from gitagent.git.tree import folder
from gitagent.host import clock
from gitagent.memory import chapters, executor
from gitagent.memory.chapters import Chapter
from gitagent.memory.shelf import Shelves

_PROBE: Final = b"Would this key be believed?\n"


@dataclass(frozen=True, slots=True)
class Closed:
    """A chapter that is closed."""

    name: str
    commit: str  # that brought its state
    tag: str  # object
    signed: bool
    bundle: Path
    state: Carried
    new: bool  # False: all of it was there already


def close(
    repo: Repository,
    name: str,
    *,
    handoff: bytes | None = None,
    to: Path | None = None,
    now: bool = False,
    key: Path | None = None,
) -> Closed:
    """Close a chapter; one that is closed stays as it is.

    ``handoff`` is text for whoever goes on, kept byte for byte. ``to`` is where the
    bundle goes, ``now``: also while something runs. The tag is signed with ``key``,
    `lander.signing_key` or Git's own, if there is one; where decisions have to be
    signed there has to be one, since no clone would believe the chapter.

    Raises:
        ConfigError: the name cannot be one, or the handoff is too large.
        UserError: something runs, another chapter has that name, there is no target,
            nobody would believe it, or the bundle cannot be written.
    """
    if problem := id_problem(name):
        raise ConfigError(f'a chapter cannot be called "{name}": {problem}')
    if handoff is not None and len(handoff) > HANDOFF_BYTES:
        raise ConfigError(
            f"the handoff has {len(handoff):,} bytes, and {HANDOFF_BYTES:,} are the"
            " most"
        )
    seen = overview(repo)
    with repo.objects() as objects:
        settings = SettingsInForce().require(objects, seen.commit)
        sign = _signer(repo, settings, key)
        _require_believed(repo, objects, settings, seen.commit, sign)
        commit = _kept(repo, objects, seen, name)
        begun = commit is not None
        if commit is None:
            if busy := [*_busy(seen)] if not now else []:
                raise UserError(
                    f"something runs that the chapter would cut: {', '.join(busy[:5])}",
                    "wait until it has ended, or say --now",
                )
            commit = _keep(repo, objects, seen, name, handoff or b"")
        state = _state(objects, commit, name)
        if begun and handoff is not None and handoff != state.handoff:
            raise UserError(
                f"the chapter {name} was closed with another handoff",
                "choose another name",
            )
        tagged = chapters.tag(repo, objects, name, commit, author(repo), sign)
    with repo.objects() as objects:  # the tag may lie in what an older one has not seen
        found = next(x for x in chapters.closed(repo, objects) if x.name == name)
    if found.tag is None:
        raise UserError(f"the chapter {name} has no tag that can be read")
    place = (to or chapters.default_place(repo, name)).absolute()
    there = chapters.is_of(place, name, found.tag.oid)
    if not there:
        if to is not None and place.exists():
            raise UserError(f"{place} is there already", "choose another place: --to")
        chapters.pack(repo, name, seen.target, place)
    new = not (begun and there and not tagged)
    signed = bool(found.tag.signature)
    return Closed(name, commit, found.tag.oid, signed, place, state, new)


def closed(repo: Repository) -> list[tuple[Chapter, Path | None]]:
    """Return the chapters, newest first, with the bundle if it is in its place."""
    with repo.objects() as objects:
        found = chapters.closed(repo, objects)
    places = [chapters.default_place(repo, each.name) for each in found]
    return [
        (each, place if place.is_file() else None)
        for each, place in zip(found, places, strict=True)
    ]


def _busy(seen: Overview) -> Iterator[str]:
    """Yield what runs, in words."""
    for task in seen.tasks.values():
        if task.state is TaskState.RUNNING:
            yield f"attempt {task.attempt} of {task.id}"
    for submission in seen.submissions.values():
        if submission.state is SubmissionState.CHECKING:
            yield f"the checks of {submission.id}"


def _kept(repo: Repository, objects: Objects, seen: Overview, name: str) -> str | None:
    """Return the commit that a call before has made; None: there is none."""
    if objects.path(seen.commit, chapter.path_of(name)) is None:
        if objects.ref(chapter.tag_of(name)) is None:
            return None
        raise UserError(
            f"there is a tag chapter/{name} already, of something else",
            "choose another name",
        )
    return chapters.kept_by(repo, seen.commit, name)


def _keep(
    repo: Repository, objects: Objects, seen: Overview, name: str, handoff: bytes
) -> str:
    """Commit the state that is carried over; return the commit."""
    shelf = Shelves(repo).at(objects, seen.commit)
    tasks = [
        OpenTask(each.id, each.title)
        for each in seen.files.values()
        if (known := seen.tasks.get(each.id)) is None
        or known.state not in SETTLED
        or known.blob != each.blob
    ]
    entries = folder(objects, seen.commit, AUTOMATIONS)
    state = chapter.carried(
        name,
        clock.stamp(),
        seen.commit,
        shelf.items.values(),
        tasks,
        chapter.automations_in(AUTOMATIONS + entry.name for entry in entries),
        handoff,
    )
    files = {chapter.path_of(name): chapter.dump(state)}
    by = author(repo)
    ruling = executor.keep(
        repo, objects, seen.target, files, by, f"Close the chapter {name}"
    )
    return ruling.commit


def _state(objects: Objects, commit: str, name: str) -> Carried:
    state, problem = chapters.carried(objects, commit, name)
    if state is None:
        raise UserError(f"the chapter {name} cannot be read: {problem}")
    return state


def _signer(repo: Repository, settings: Settings, key: Path | None) -> Sign | None:
    """Return what signs the tag. Raises UserError where nobody would believe it."""
    if key is None and settings.lander.signing_key:
        return signer(settings.lander.signing_key)
    if found := sign_with(repo, settings, key, "chapters"):
        return found
    own = configured_key(repo)
    return signer(own) if own else None


def _require_believed(
    repo: Repository,
    objects: Objects,
    settings: Settings,
    commit: str,
    sign: Sign | None,
) -> None:
    """Raise UserError if no clone would believe what ``sign`` has signed."""
    who = trust.signers(objects, settings.trust.allowed_signers, commit)
    why = who.problem
    if not why and who.blob and sign is not None:
        allowed = objects.blob(who.blob)
        why = verify(_PROBE, sign(_PROBE), allowed, author(repo).email)
    if why:
        raise UserError(
            f"nobody would believe this chapter: {why}",
            "sign it with a key that trust.allowed_signers names: --key FILE",
        )
