"""Submissions: made once, written by compare-and-swap, found again by their id.

The id follows from what is submitted (see ``core.ident.submission_id``), and the
record's ref is only ever created, never replaced. So submitting twice, or fifty times
at once, gives one submission. Its first record keeps the submitted tip alive.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from gitagent.core.ident import submission_id
from gitagent.core.layout import ARCHIVE, SUBMISSIONS
from gitagent.core.submission import Submission, SubmissionState
from gitagent.errors import LostRace, UserError
from gitagent.files import record
from gitagent.git import records
from gitagent.git.archived import Archived
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host import clock

_KIND = "submission"


def ref_of(submission: str) -> str:
    """Return the ref of a submission's record."""
    return SUBMISSIONS + submission


def new(
    objects: Objects,
    tip: str,
    *,
    branch: str | None = None,
    request_id: str | None = None,
    divergence: str | None = None,
    closes: str | None = None,
    priority: int = 0,
    moment: datetime | None = None,
) -> Submission:
    """Return what a person's submission of ``tip`` is, not stored yet.

    ``branch`` is the full ref that it came from, ``closes`` the task that it is for.
    The same ``request_id`` always means the same submission, whatever the tip.

    Raises:
        UserError: the tip is no commit here.
    """
    _require_commit(objects, tip)
    moment = moment or clock.now()
    parts = (tip,) if request_id is None else ("request", request_id)
    return Submission(
        id=submission_id(*parts),
        tip=tip,
        state=SubmissionState.QUEUED,
        created=clock.stamp_us(moment),
        since=clock.stamp(moment),
        branch=branch,
        request_id=request_id,
        divergence=divergence,
        closes=closes,
        submitter=objects.commit(tip).author.ident,
        priority=priority,
    )


def create(repo: Repository, objects: Objects, submission: Submission) -> Submission:
    """Store a submission, or return the one that is there under its id already.

    Raises:
        UserError: the tip is no commit here.
    """
    (made,) = create_many(repo, objects, [submission])
    return made


def create_many(
    repo: Repository, objects: Objects, submissions: Sequence[Submission]
) -> list[Submission]:
    """Store submissions as `create` does, which takes little longer than one."""
    made: dict[str, Submission] = {}
    new = []
    archived, chains = Archived(), objects.refs(ARCHIVE)
    for each in submissions:
        known = find(objects, each.id)
        old = archived.record(objects, ref_of(each.id), chains)
        if known is None and old is not None:
            known = load(objects, old)
        if known is not None:
            made[each.id] = known
            continue
        _require_commit(objects, each.tip)
        who = each.submitter or objects.commit(each.tip).committer.ident
        new.append(replace(each, submitter=who))
    steps = [_first(each) for each in new]
    written = records.Records(repo).append_many(steps, objects)
    for each, oid in zip(new, written, strict=True):
        if isinstance(oid, LostRace):
            known = find(objects, each.id)
            if known is None:
                raise oid
            made[each.id] = known
        else:
            made[each.id] = replace(each, oid=oid)
    return [made[each.id] for each in submissions]


def _first(submission: Submission) -> records.Append:
    source = submission.branch or submission.tip[:12]
    whose = f", for task {submission.closes}" if submission.closes else ""
    return records.Append(
        ref_of(submission.id),
        None,
        record.dump_submission(submission),
        what=f"submitted from {source}{whose}",
        kind=_KIND,
        parents=(submission.tip,),
    )


def find(objects: Objects, submission: str) -> Submission | None:
    """Return a submission as it is recorded now; None if there is none.

    Raises:
        UserError: a newer release wrote its record.
    """
    oid = objects.ref(ref_of(submission))
    return None if oid is None else load(objects, oid)


def find_archived(objects: Objects, submission: str) -> Submission | None:
    """Return a submission that was archived; None if there is none."""
    oid = Archived().record(objects, ref_of(submission))
    return None if oid is None else load(objects, oid)


def load(objects: Objects, oid: str) -> Submission:
    """Return the submission that a record commit holds. Raises UserError as `find`."""
    return replace(record.load_submission(records.read(objects, oid)), oid=oid)


def all_submissions(
    objects: Objects, refs: Mapping[str, str]
) -> dict[str, Submission | UserError]:
    """Return every submission that ``refs`` records, by id, or why it is unreadable."""
    tips = {ref: oid for ref, oid in refs.items() if ref.startswith(SUBMISSIONS)}
    found: dict[str, Submission | UserError] = {}
    for ref, data in records.read_all(objects, tips).items():
        name = ref.removeprefix(SUBMISSIONS)
        if isinstance(data, UserError):
            found[name] = data
            continue
        try:
            found[name] = replace(record.load_submission(data), oid=tips[ref])
        except UserError as error:
            found[name] = error
    return found


def write(
    repo: Repository,
    old: Submission,
    new: Submission,
    message: str,
    *,
    keep: tuple[str, ...] = (),
) -> Submission:
    """Append ``new`` to the chain that is still at ``old``; return it as recorded.

    The commits ``keep`` cannot be pruned from then on.

    Raises:
        LostRace: the record is not ``old`` any more.
    """
    oid = records.Records(repo).append(
        ref_of(new.id),
        old.oid,
        record.dump_submission(new),
        what=message,
        kind=_KIND,
        parents=keep,
    )
    return replace(new, oid=oid)


def write_many(
    repo: Repository,
    objects: Objects,
    changes: Sequence[tuple[Submission, Submission, str, tuple[str, ...]]],
) -> list[Submission | LostRace]:
    """Append to several chains, each (old, new, message, commits to keep); see `write`.

    One that lost its race stops no other.
    """
    steps = [
        records.Append(
            ref_of(new.id),
            old.oid,
            record.dump_submission(new),
            what=message,
            kind=_KIND,
            parents=keep,
        )
        for old, new, message, keep in changes
    ]
    made = records.Records(repo).append_many(steps, objects)
    return [
        each if isinstance(each, LostRace) else replace(change[1], oid=each)
        for change, each in zip(changes, made, strict=True)
    ]


def _require_commit(objects: Objects, tip: str) -> None:
    kind = objects.kind(tip)
    if kind is None:
        raise UserError(f"there is no object {tip} here")
    if kind != "commit":
        raise UserError(f"{tip} is a {kind}, and only a commit can land")
