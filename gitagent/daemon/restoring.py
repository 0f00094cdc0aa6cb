"""A chapter restored: into an empty repository, a clone, or beside a memory of its own.

Refs are only created. Items join through the memory's executor, with its cap, and what
was withdrawn here stays withdrawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gitagent.core import rejoining, reviewing
from gitagent.core.chapter import tag_of
from gitagent.core.layout import HEADS
from gitagent.core.memory import Item
from gitagent.core.proposal import Proposal
from gitagent.core.rejoining import Rejoined
from gitagent.core.remembering import Op, Ruled
from gitagent.core.settings import Settings
from gitagent.daemon.memory import change
from gitagent.daemon.target import SettingsInForce, find_target
from gitagent.errors import UserError
from gitagent.git import tags, trust
from gitagent.git.advance import Blocked, advance
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.git.rulings import read_all
from gitagent.git.signing import verify
from gitagent.host import clock
from gitagent.memory import chapters, proposals
from gitagent.memory.chapters import Brought
from gitagent.memory.shelf import Shelves


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore has done."""

    name: str
    target: str  # full ref; of this repository
    made: str  # commit, if the target was made; "": it was there
    created: int  # refs
    same: int  # refs that were there
    differing: tuple[tuple[str, str, str], ...]  # (ref, here, in the bundle)
    ruled: tuple[Ruled, ...]  # items that were to join
    withdrawn: tuple[str, ...]  # that stay withdrawn here
    proposed: tuple[Proposal, ...]  # to withdraw what the chapter had withdrawn


@dataclass(frozen=True, slots=True)
class _Joining:
    """What the memory that is here has to do with the other one."""

    settings: Settings
    target: str
    rejoined: Rejoined
    here: Mapping[str, Item]
    there: Mapping[str, Item]


def restore(repo: Repository, path: Path) -> Restored:
    """Restore a chapter from its bundle.

    Doing it again is no change; what a call that was cut short lacks is made then.

    Raises:
        UserError: the bundle is damaged, of another repository, signed by nobody who
            may, or written by a newer release; or there would be too many items. No
            ref was moved.
    """
    brought = chapters.bring(repo, path)
    with repo.objects() as objects:  # which sees what was brought
        chapters.require_known(objects, brought)
        refs = objects.refs()
        joining = _joining(repo, objects, refs, brought)
        wanted = brought.records | {tag_of(brought.name): _tag(brought)}
        new = {ref: oid for ref, oid in wanted.items() if ref not in refs}
        differing = [
            (ref, refs[ref], oid)
            for ref, oid in sorted(wanted.items())
            if refs.get(ref, oid) != oid
        ]
        # The target comes last: who sees it finds the records that it rests on.
        chapters.create_all(repo, new, f"gitagent: restore {brought.name}")
        target = joining.target if joining else brought.target
        made = "" if joining else _make_target(repo, objects, brought)
        if joining and refs[target] != brought.commit:
            differing.append((target, refs[target], brought.commit))
        ruled, proposed = _join(repo, objects, joining) if joining else ((), ())
    return Restored(
        brought.name,
        target,
        made,
        len(new) + bool(made),
        sum(refs.get(ref) == oid for ref, oid in wanted.items()),
        tuple(differing),
        ruled,
        joining.rejoined.withdrawn if joining else (),
        proposed,
    )


def _tag(brought: Brought) -> str:
    return brought.bundle.refs[tag_of(brought.name)]


def _joining(
    repo: Repository, objects: Objects, refs: Mapping[str, str], brought: Brought
) -> _Joining | None:
    """Return how the two memories join; None: there is no target here.

    Raises UserError where nothing may be restored at all.
    """
    branches = {ref: oid for ref, oid in refs.items() if ref.startswith(HEADS)}
    target = find_target(objects, branches)
    if target is None:
        if brought.target not in refs:
            return None
        short = brought.target.removeprefix(HEADS)
        if refs[brought.target] == brought.commit:  # settings that name another target
            return None
        raise UserError(
            f"there is a branch {short} here already, and it has no settings",
            "restore into a new repository: git init",
        )
    commit = refs[target]
    settings = SettingsInForce().require(objects, commit)
    short = target.removeprefix(HEADS)
    if objects.merge_base(commit, brought.commit) is None:
        raise UserError(
            f"{brought.bundle.path} is of another repository: it has no commit in"
            f" common with {short}",
            "restore into a new repository: git init",
        )
    _require_signed(repo, objects, settings, commit, brought)
    if commit != brought.commit and objects.ancestor(commit, brought.commit):
        # Its items come with the target's own commits, which only a person moves.
        return _Joining(settings, target, Rejoined(), {}, {})
    seen = {**brought.records, **refs}  # as they will be
    here = Shelves(repo).at(objects, commit, seen).items
    there = Shelves(repo).at(objects, brought.commit, brought.bundle.refs).items
    rejoined = rejoining.rejoin(here, there, _gone(objects, seen))
    limit = settings.memory.limit
    if problem := rejoining.over(here, rejoined, limit):
        raise UserError(
            f"nothing was restored: {problem}", "withdraw some, or raise memory.limit"
        )
    return _Joining(settings, target, rejoined, here, there)


def _require_signed(
    repo: Repository,
    objects: Objects,
    settings: Settings,
    commit: str,
    brought: Brought,
) -> None:
    """Raise UserError unless the chapter is signed, where decisions have to be."""
    who = trust.signers(objects, settings.trust.allowed_signers, commit)
    why = who.problem
    if not why and who.blob:
        tag = tags.read(repo, _tag(brought))
        why = "its tag is none"
        if tag is not None:
            allowed = objects.blob(who.blob)
            why = verify(tag.payload, tag.signature, allowed, tag.tagger.email)
    if why:
        raise UserError(
            f"the chapter {brought.name} is not to be believed here: {why}",
            "close it with a key that trust.allowed_signers names",
        )


def _gone(objects: Objects, refs: Mapping[str, str]) -> frozenset[str]:
    """Return the slugs that the log has withdrawn last, even if their file is gone."""
    last: dict[str, Op] = {}
    for ruling in read_all(objects, refs):
        for ruled in ruling.ruled:
            if ruled.admitted:
                asked = ruled.operation
                last[ruled.slug or asked.slug] = asked.op
                if asked.op is Op.DECIDE:
                    last[asked.against] = Op.WITHDRAW
    return frozenset(slug for slug, op in last.items() if op is Op.WITHDRAW)


def _make_target(repo: Repository, objects: Objects, brought: Brought) -> str:
    """Make the target, and fill a checkout that waits for it; "": it is there."""
    if objects.ref(brought.target) is not None:
        return ""
    message = f"gitagent: restore {brought.name}"
    result = advance(repo, brought.target, None, brought.commit, message)
    if isinstance(result, Blocked):
        raise UserError(result.reason.rstrip("."))
    return brought.commit


def _join(
    repo: Repository, objects: Objects, joining: _Joining
) -> tuple[tuple[Ruled, ...], tuple[Proposal, ...]]:
    """Have the items join; return what became of them, and what is proposed."""
    ruled: tuple[Ruled, ...] = ()
    if joining.rejoined.operations:
        ruling = change(repo, joining.rejoined.operations)
        ruled = ruling.ruled
    now = clock.stamp()
    wanted = [
        reviewing.tombstone(joining.here[slug], joining.there[slug].blob, now)
        for slug in joining.rejoined.tombstones
    ]
    known = objects.refs(proposals.ref_of(""))
    new = [each for each in wanted if proposals.ref_of(each.id) not in known]
    return ruled, tuple(proposals.propose(repo, objects, new))
