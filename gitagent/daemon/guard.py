"""What is answered to who moves the target past the lander; see ``lander.guard``.

The settings are those of the target's commit as it is, never of what is moved there. A
commit that changes only task files is a way in, and passes. Nothing here is proof: what
gets past a hook is found by the audit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gitagent.core.layout import CONFIG, HEADS
from gitagent.core.settings import Guard
from gitagent.daemon import hooks
from gitagent.daemon.target import SettingsInForce, find_target
from gitagent.errors import GitError
from gitagent.files.settings import peek_guard
from gitagent.git.objects import Objects
from gitagent.git.packet import PushedRef
from gitagent.git.repository import Repository
from gitagent.lander.guard import way_in

# Until a pre-receive hook has said yes, what was pushed lies apart. Source:
# git-receive-pack(1), QUARANTINE ENVIRONMENT.
_QUARANTINE = ("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the one who moves the target is told."""

    refused: bool = False
    lines: tuple[str, ...] = ()


def pushed(
    repo: Repository, moves: tuple[PushedRef, ...], environment: Mapping[str, str]
) -> Answer:
    """Answer a push; ``environment`` is that of its pre-receive hook."""
    names = [name for name in _QUARANTINE if name in environment]
    apart = tuple((name, environment[name]) for name in names)
    there = replace(repo, git=replace(repo.git, more=apart))
    offended = _offended(there, moves)
    if offended is None:
        return Answer()
    name, guard = offended
    way = f"refs/for/{name}"
    if hooks.refs_for_problem(repo) is not None:
        way = f"{HEADS}land/<name>"
    mend = f"git push <remote> HEAD:{way}"
    if guard is Guard.REFUSE:
        no = f"{name} is moved by the lander alone here, and none of this push is taken"
        return Answer(refused=True, lines=(no, f"hand it over instead: {mend}"))
    said = f"this moves {name} past the lander, and its checks are not run"
    return Answer(lines=(said, f"hand the next one over: {mend}"))


def moved(repo: Repository, moves: tuple[PushedRef, ...]) -> Answer:
    """Answer a commit, a merge, a reset made here."""
    offended = _offended(repo, moves)
    if offended is None:
        return Answer()
    name, guard = offended
    mend = "git switch -c BRANCH, commit there, and: gitagent submit"
    if guard is Guard.REFUSE:
        no = f"{name} is moved by the lander alone here"
        return Answer(refused=True, lines=(no, f"work on a branch instead: {mend}"))
    said = f"this moves {name} past the lander, and its checks are not run"
    return Answer(lines=(said, f"work on a branch the next time: {mend}"))


def _offended(
    repo: Repository, moves: tuple[PushedRef, ...]
) -> tuple[str, Guard] | None:
    """Return the target's short name and its guard, if the moves offend one."""
    with repo.objects(fast=True) as objects:
        refs = objects.refs(HEADS)
        target = find_target(objects, refs)
        if target is None or _harmless(objects, target, refs, moves):
            return None
        guard = _guard(objects, refs[target])
        return None if guard is Guard.OFF else (target.removeprefix(HEADS), guard)


def _guard(objects: Objects, commit: str) -> Guard:
    entry = objects.path(commit, CONFIG)
    guard = peek_guard(objects.blob(entry.oid)) if entry is not None else None
    if guard is not None:
        return guard
    settings, _, _ = SettingsInForce().at(objects, commit)
    return settings.lander.guard if settings is not None else Guard.OFF


def _harmless(
    objects: Objects,
    target: str,
    refs: Mapping[str, str],
    moves: tuple[PushedRef, ...],
) -> bool:
    after = dict(refs)
    for move in moves:
        if move.deleted:
            after.pop(move.ref, None)
        else:
            after[move.ref] = move.new
    if target not in after:
        return False
    if after[target] != refs[target]:
        return way_in(objects, refs[target], after[target])
    try:
        # A branch that says it is the target would take the target's place.
        return find_target(objects, after) == target
    except GitError:
        return False
