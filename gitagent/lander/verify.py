"""The landed history proven from its records, so that nobody's word has to be taken.

Every commit on the target's first-parent history since `gitagent init` has to be what
it says it is, every landing has to agree with its record, and every check that it
names with a receipt whose output is there, byte for byte.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from gitagent.core.settings import Settings
from gitagent.core.submission import Submission, SubmissionState
from gitagent.errors import GitError, UserError
from gitagent.git.archived import Archived
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.lander import submit
from gitagent.lander.chains import chain_problems
from gitagent.lander.cover import Covers
from gitagent.lander.proof import Proof
from gitagent.lander.trail import Kind, Step, first_parents, step, steps

_WHAT: Final = {
    Kind.DIRECT: "It came to the target past the lander.",
    Kind.INIT: "It brought settings anew, though it is not the first to bring them.",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that could not be proven, or, as the last one, the summary."""

    where: str  # a commit, a ref, or "<ref>:<path>"
    text: str  # sentences
    problem: bool = True


def verify(repo: Repository, objects: Objects, settings: Settings) -> Iterator[Finding]:
    """Yield what cannot be proven about the target's history, then a summary.

    It reads everything anew. All is proven if the summary is the only finding.
    """
    ref = settings.target_ref
    refs = objects.refs()
    proof = Proof(objects, refs, sha256=repo.object_format == "sha256")
    records = _Records(objects, refs)
    count: Counter[str] = Counter()
    for finding in _findings(objects, ref, refs, records, proof, count):
        count["problem"] += 1
        yield finding
    text = (
        f"{_counted(count, 'landing')} and {_counted(count, 'receipt')} looked at,"
        f" {_counted(count, 'problem')}."
    )
    yield Finding(ref, text, problem=False)


def _findings(
    objects: Objects,
    ref: str,
    refs: Mapping[str, str],
    records: "_Records",
    proof: Proof,
    count: Counter[str],
) -> Iterator[Finding]:
    landed: dict[str, str] = {}
    covers = Covers(objects, records.sound)
    try:
        for seen in _since_init(objects, ref, refs.get(ref)):
            where = seen.commit.oid
            if seen.kind in _WHAT:
                yield Finding(where, _WHAT[seen.kind])
            elif seen.kind is Kind.LANDING:
                record = records.find(seen.submission)
                if seen.last == where:
                    count["landing"] += 1
                    landed[seen.submission] = where
                for text in proof.problems(seen, record, _cover(covers, seen)):
                    yield Finding(where, text)
            covers.walked(seen)
    except UserError as error:
        yield Finding(ref, error.line())
    yield from _not_there(objects, ref, refs.get(ref, ""), records, landed)
    for where, text in records.unreadable():
        yield Finding(where, text)
    for where, text in chain_problems(objects, refs, proof, count):
        yield Finding(where, text)


def _cover(covers: Covers, seen: Step) -> Step | None:
    try:
        return covers.of(seen)
    except GitError:
        return None


def _since_init(objects: Objects, ref: str, tip: str | None) -> Iterator[Step]:
    """Yield the steps above the oldest commit of `init`, newest first.

    Without one there is no beginning: the landings are yielded, then UserError.
    """
    if tip is None:
        raise UserError(f"{ref} has no commits")
    first = None
    for commit, parent in first_parents(objects, tip):
        named = "Gitagent-Record: init" in commit.message
        if named and step(objects, commit, parent).kind is Kind.INIT:
            first = commit.oid
    for seen in steps(objects, tip):
        if seen.commit.oid == first:
            return
        if first is not None or seen.kind is Kind.LANDING:
            yield seen
    raise UserError(f"no commit on {ref} was made by `gitagent init`")


def _not_there(
    objects: Objects,
    ref: str,
    tip: str,
    records: "_Records",
    landed: Mapping[str, str],
) -> Iterator[Finding]:
    """Yield the submissions that are recorded as landed, and are not on the target."""
    for submission in records.landed():
        commit = submission.commit or ""
        if commit == submission.tip:  # the target had all of it, in whatever form
            continue
        if landed.get(submission.id) != commit and not _has(objects, tip, commit):
            text = f"It is recorded as landed by {commit}, which is not on {ref}."
            yield Finding(submit.ref_of(submission.id), text)


def _has(objects: Objects, tip: str, commit: str) -> bool:
    try:
        return bool(commit) and objects.ancestor(commit, tip)
    except GitError:
        return False


def _counted(count: Counter[str], what: str) -> str:
    number = count[what]
    return f"{number} {what}{'' if number == 1 else 's'}"


class _Records:
    """The submissions under their own refs and in the archive."""

    def __init__(self, objects: Objects, refs: Mapping[str, str]) -> None:
        self._objects = objects
        self._open = submit.all_submissions(objects, refs)
        self._archived = Archived()

    def find(self, name: str) -> Submission | UserError | None:
        """Return a submission, why it cannot be read, or None."""
        if name in self._open:
            return self._open[name]
        oid = self._archived.record(self._objects, submit.ref_of(name))
        try:
            return None if oid is None else submit.load(self._objects, oid)
        except UserError as error:
            return error
        except GitError as error:
            return UserError(error.message)

    def sound(self, name: str) -> Submission | None:
        """Return a submission that can be read; None: there is none."""
        found = self.find(name)
        return found if isinstance(found, Submission) else None

    def landed(self) -> list[Submission]:
        """Return those under their own refs that are recorded as landed."""
        return [
            each
            for each in self._open.values()
            if isinstance(each, Submission) and each.state is SubmissionState.LANDED
        ]

    def unreadable(self) -> list[tuple[str, str]]:
        """Return (ref, sentence) of each record that cannot be read."""
        return [
            (submit.ref_of(name), f"It cannot be read: {error.line()}.")
            for name, error in self._open.items()
            if isinstance(error, UserError)
        ]
