"""What an outside witness says against the records and the target that are here.

Records and target only grow. So whatever was witnessed has to be below what there is
now, and below what was witnessed later, or in the archive.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise

from gitagent.core.layout import ARCHIVE
from gitagent.core.settings import Settings
from gitagent.errors import GitError, UserError
from gitagent.git.archived import Archived
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host.clock import stamp
from gitagent.lander import witness
from gitagent.lander.trail import first_parents
from gitagent.lander.verify import Finding


def compare(repo: Repository, settings: Settings) -> Iterator[Finding]:
    """Yield what the remote's witness says otherwise, then a summary.

    Raises:
        UserError: there is no remote, or it cannot be reached.
    """
    remote, ref = settings.lander.push, witness.ref_of(repo)
    if not remote:
        raise UserError(
            "lander.push names no remote, so there is no witness", "set it, and land"
        )
    tip = witness.fetch(repo, remote)
    if tip is None:
        yield Finding(ref, f"{remote} has no witness of this clone.")
        return
    try:
        # What was fetched is in a pack that an older store has not seen.
        with repo.objects() as objects:
            yield from _compare(objects, remote, ref, tip)
    finally:
        witness.forget(repo, remote)


def _compare(objects: Objects, remote: str, ref: str, tip: str) -> Iterator[Finding]:
    refs, problems = objects.refs(), 0
    mine = refs.get(ref)
    # A push that failed leaves ours ahead, and nothing but tampering any other way.
    if mine is None or not _below(objects, tip, mine):
        problems += 1
        yield Finding(ref, f"It is not what {remote} has, which is at {tip}.")
    try:
        steps = [*witness.steps(objects, tip)][::-1]
    except (UserError, GitError) as error:
        yield Finding(ref, f"What {remote} has cannot be read: {error.line()}.")
        return
    archived = _Archive(objects, refs)
    seen: dict[str, list[str]] = {}
    targets: dict[str, list[str]] = {}
    for step in steps:
        for name, oid in step.refs.items():
            seen.setdefault(name, []).append(oid)
        targets.setdefault(step.target, []).append(step.commit)
    for name, oids in seen.items():
        if text := _record(objects, archived, oids, refs.get(name)):
            problems += 1
            yield Finding(name, text)
    for name, oids in targets.items():
        if lost := _lost(objects, [*oids, refs.get(name)]):
            problems += 1
            yield Finding(name, f"It lost {lost}, which was witnessed.")
    last = stamp(datetime.fromtimestamp(steps[-1].when, UTC))
    many = "" if problems == 1 else "s"
    yield Finding(
        ref,
        f"{remote} has witnessed {len(seen)} records in {len(steps)} steps, the last"
        f" at {last}; {problems} problem{many}.",
        problem=False,
    )


def _record(
    objects: Objects, archived: "_Archive", oids: list[str], now: str | None
) -> str:
    """Return what became of a chain that it should not, or nothing."""
    for old, new in pairwise([*oids, now]):
        assert old is not None  # noqa: S101 - only the last can be
        if _below(objects, old, new) or archived.has(old):
            continue
        if new is None:
            return f"It was dropped; {old} was witnessed, and is not archived."
        return f"{_how(objects, old, new)}; {old} was witnessed."
    return ""


def _how(objects: Objects, old: str, new: str) -> str:
    """Return in words how a chain that ended with ``old`` came to end with ``new``."""
    if _below(objects, new, old):
        return f"It was cut off at {new}"
    try:
        before, after = _contents(objects, old), _contents(objects, new)
    except GitError:
        return f"It was rewritten, and is at {new}"
    if not before - after:
        return f"It was put in another order, and is at {new}"
    return f"It was rewritten, and is at {new}"


def _contents(objects: Objects, tip: str) -> Counter[str]:
    return Counter(commit.tree for commit, _ in first_parents(objects, tip))


def _lost(objects: Objects, commits: list[str | None]) -> str | None:
    """Return the first of the target's commits that the next one does not have."""
    for old, new in pairwise(commits):
        if old is not None and not _below(objects, old, new):
            return old
    return None


def _below(objects: Objects, old: str, new: str | None) -> bool:
    """Tell whether ``new`` is ``old`` or has it; what is missing here has not."""
    if new is None or old == new:
        return new is not None
    try:
        return objects.ancestor(old, new)
    except GitError:
        return False


class _Archive:
    """The archive as something that keeps records."""

    def __init__(self, objects: Objects, refs: dict[str, str]) -> None:
        self._objects = objects
        chains = {ref: oid for ref, oid in refs.items() if ref.startswith(ARCHIVE)}
        self._tips = tuple(chains.values())
        self._newest = frozenset(Archived().all(objects, chains))

    def has(self, oid: str) -> bool:
        """Tell whether the record at ``oid`` is kept there."""
        if oid in self._newest and self._objects.kind(oid) is not None:
            return True
        return any(_below(self._objects, oid, tip) for tip in self._tips)
