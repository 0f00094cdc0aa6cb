"""Which commits came to the target past the lander.

A landing counts if the record of its submission names that very commit, so trailers
that somebody copied prove nothing. The audit begins at the commit of `gitagent init`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from gitagent.core.submission import Submission, SubmissionState
from gitagent.errors import GitError, UserError
from gitagent.git.archived import Archived
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.lander import submit
from gitagent.lander.trail import Kind, Step, lands, step, steps

SHOWN: Final = 50  # the newest; who has more looks at the log


@dataclass(frozen=True, slots=True)
class _Memo:
    """What was found on the history of one commit."""

    tip: str
    begun: bool  # whether the commit of `init` is in it
    found: tuple[Step, ...]  # newest first


@dataclass(frozen=True, slots=True)
class Memory:
    """What an audit found, to go on from in another process."""

    tip: str  # commit that was looked at
    begun: bool  # whether the commit of `init` is in its history
    found: tuple[tuple[str, str], ...]  # (commit, last; see trail.Step), newest first


class Audit:
    """The audit of one repository's target; remembers what it has seen."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._memo: _Memo | None = None
        self._archived = Archived()

    @property
    def memory(self) -> Memory | None:
        """What it remembers; None before the first look."""
        memo = self._memo
        if memo is None:
            return None
        found = tuple((each.commit.oid, each.last) for each in memo.found)
        return Memory(memo.tip, memo.begun, found)

    def resume(self, objects: Objects, memory: Memory) -> None:
        """Go on from what an earlier audit found. Raises MissingObject."""
        found = []
        for oid, last in memory.found:
            commit = objects.commit(oid)
            parents = commit.parents
            parent = objects.commit(parents[0]) if parents else None
            found.append(replace(step(objects, commit, parent), last=last))
        self._memo = _Memo(memory.tip, memory.begun, tuple(found))

    def direct(
        self, objects: Objects, tip: str, submissions: Mapping[str, Submission]
    ) -> tuple[str, ...]:
        """Return the commits that are no landing and no record, newest first.

        At most 50. Nothing is read while the target stays, and only what is new when
        it moved on; a target that was rewound is looked at from the start.
        """
        memo = self._memo
        if memo is None or memo.tip != tip:
            memo = self._walk(objects, tip, submissions)
        # The record of a landing can be newer than the list that came with its commit.
        found = tuple(x for x in memo.found if not _named(objects, x, submissions))
        self._memo = replace(memo, found=found)
        return tuple(each.commit.oid for each in found) if memo.begun else ()

    def _walk(
        self, objects: Objects, tip: str, submissions: Mapping[str, Submission]
    ) -> _Memo:
        before = self._memo
        found: list[Step] = []
        for seen in steps(objects, tip):
            if before is not None and seen.commit.oid == before.tip:
                return _Memo(tip, before.begun, (*found, *before.found)[:SHOWN])
            if seen.kind is Kind.INIT:
                return _Memo(tip, begun=True, found=tuple(found))
            if len(found) < SHOWN and not self._proven(objects, seen, submissions):
                found.append(seen)
        return _Memo(tip, begun=False, found=tuple(found))

    def _proven(
        self, objects: Objects, seen: Step, submissions: Mapping[str, Submission]
    ) -> bool:
        if seen.kind is Kind.DIRECT:
            return False
        if seen.kind is not Kind.LANDING or _named(objects, seen, submissions):
            return True
        oid = self._archived.record(objects, submit.ref_of(seen.submission))
        if oid is None:
            return False
        try:
            return lands(objects, seen, submit.load(objects, oid))
        except (GitError, UserError):
            return False


def rewound(
    repo: Repository, tip: str, submissions: Iterable[Submission]
) -> dict[str, str]:
    """Return the landings that ``tip`` lacks: submission by commit, newest first.

    A target only grows by landings; who rewinds it takes some back that are recorded.
    At most 50, and none in a shallow clone, which cannot tell.
    """
    commits = {
        each.commit: each.id
        for each in submissions
        if each.state is SubmissionState.LANDED
        and each.commit is not None
        and each.commit != each.tip
    }
    if not commits or (repo.common_dir / "shallow").exists():
        return {}
    asked = "".join(f"{oid}\n" for oid in (*commits, f"^{tip}"))
    done = repo.git.run("rev-list", "--ignore-missing", "--stdin", stdin=asked.encode())
    gone = [oid for oid in done.text.splitlines() if oid in commits]
    return {oid: commits[oid] for oid in gone[:SHOWN]}


def _named(objects: Objects, seen: Step, submissions: Mapping[str, Submission]) -> bool:
    submission = submissions.get(seen.submission)
    return submission is not None and lands(objects, seen, submission)
