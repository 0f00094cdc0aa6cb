"""The links that traces are made of, and the facts that they are told from.

Every link names an object that says so; what is missing in between is a gap, and is
said. Nothing here is believed of an agent: what an attempt came to is its submission
and the receipts of its checks.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gitagent.core.episode import submission_of
from gitagent.core.ident import is_oid
from gitagent.core.memory import Item, Mark, said
from gitagent.core.proposal import Proposal, Stand
from gitagent.core.remembering import Ruled, Ruling
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import Attempt, TaskRecord

_SHORT: Final = 12  # characters of an object id
_SECOND: Final = 19  # characters of a time without a fraction, which only some have


class About(StrEnum):
    """What a link is."""

    SOURCE = "source"
    WORK = "work"
    RULING = "ruling"
    COMMIT = "commit"
    ITEM = "item"
    RECEIVED = "received"
    CONTEXT = "context"  # a request to a model that holds it
    WITHOUT = "without"  # an attempt that was not given it any more
    CORRECTION = "correction"
    RECEIPT = "receipt"
    OUTCOME = "outcome"
    LANDING = "landing"
    PROPOSAL = "proposal"
    DECISION = "decision"
    MARK = "mark"
    GAP = "gap"


@dataclass(frozen=True, slots=True)
class Link:
    """One link of a chain."""

    about: About
    at: str  # UTC; "" of a gap
    text: str
    oid: str = ""  # object that says so; "" of a gap


@dataclass(frozen=True, slots=True)
class Mention:
    """A record of a conversation or of a request to a model that tells of an item."""

    at: str
    text: str
    oid: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What is on record; the callables look up what is asked for."""

    tasks: Sequence[TaskRecord]
    submissions: Mapping[str, Submission]
    rulings: Sequence[Ruling]  # oldest first
    items: Mapping[str, Item]  # on the target, whatever their status
    marks: Mapping[str, tuple[Mark, ...]]
    proposals: Sequence[tuple[Proposal, Proposal]]  # as it was found, and as it is
    reverts: Mapping[str, str]  # by commit: the one that takes it back
    on_target: Callable[[str], bool]  # whether a commit is part of it
    version: Callable[[str, str], Item | None]  # of a slug, by blob
    time: Callable[[str], str]  # of a commit; "": it is none
    receipt: Callable[[str], str]  # blob at the place of one; "": it is not there
    context: Callable[[str, int, str, str], Mention | None]  # task, attempt, slug, blob
    corrections: Callable[[str, str], Sequence[Mention]]  # task, slug


def ruled_on(ruling: Ruling, ruled: Ruled) -> Iterator[Link]:
    """Yield what became of one operation."""
    what = f"{ruled.operation.op} {ruled.operation.slug}"
    if ruled.operation.against:
        what += f" against {ruled.operation.against}"
    how = "admitted" if ruled.admitted else "refused"
    as_other = f" as {ruled.slug}" if ruled.slug != ruled.operation.slug else ""
    as_other = as_other if ruled.slug else ""
    text = f"{what}: {how}{as_other}, for {ruling.by}. {ruled.reason}"
    yield Link(About.RULING, ruling.at, text, ruling.oid)


def made(facts: Facts, ruling: Ruling) -> Iterator[Link]:
    """Yield the commit that a ruling made, and how it came to the target."""
    if not ruling.commit:
        return
    landed = facts.submissions.get(ruling.submission)
    if landed is not None:
        yield from ended(facts, landed)
        return
    where = "on the target" if facts.on_target(ruling.commit) else "not on the target"
    text = f"it is {where}: {', '.join(each.slug for each in ruling.files)}"
    yield Link(About.COMMIT, ruling.at, text, ruling.commit)


def exposed(
    facts: Facts, record: TaskRecord, attempt: Attempt, slug: str
) -> Iterator[Link]:
    """Yield how an attempt was given an item, and a request to a model with it."""
    name = name_of(record, attempt)
    given = [each for each in attempt.memory.received if each.slug == slug]
    for blob in dict.fromkeys(each.blob for each in given):
        ways = ", ".join(dict.fromkeys(x.way for x in given if x.blob == blob))
        text = f"{name} received {slug}@{blob[:_SHORT]} by {ways}"
        yield Link(About.RECEIVED, attempt.started, text, record.oid)
        held = facts.context(record.id, attempt.number, slug, blob)
        if held is not None:
            text = f"{held.text} of {name} holds {slug}@{blob[:_SHORT]}"
            yield Link(About.CONTEXT, held.at, text, held.oid)


def corrected(facts: Facts, task: str, slug: str) -> Iterator[Link]:
    """Yield where a conversation was told that an item has changed."""
    for held in facts.corrections(task, slug):
        yield Link(About.CORRECTION, held.at, held.text, held.oid)


def outcome(facts: Facts, record: TaskRecord, attempt: Attempt) -> Iterator[Link]:
    """Yield what an attempt came to, by receipts where there are any."""
    name = name_of(record, attempt)
    submission = submission_of(record, attempt, facts.submissions)
    if submission is not None:
        yield from ended(facts, submission)
    elif attempt.outcome is None:
        yield Link(About.OUTCOME, attempt.started, f"{name} is under way", record.oid)
    else:
        text = f"{name} ended as {attempt.outcome}, and nothing was submitted"
        yield Link(About.OUTCOME, attempt.ended, text, record.oid)


def ended(facts: Facts, submission: Submission) -> Iterator[Link]:
    """Yield the receipts of a submission, its outcome, and its landing."""
    at, name = submission.since, submission.id
    for line in submission.checks:
        blob = facts.receipt(line.receipt) if line.receipt else ""
        if blob:
            text = f"the check {line.name} {line.state} for {name}"
            yield Link(About.RECEIPT, at, text, blob)
    whose = f" of {submission.task}" if submission.task else ""
    why = f": {submission.reason}" if submission.reason else ""
    text = f"{name}{whose} is {submission.state}{why}"
    yield Link(About.OUTCOME, at, text, submission.oid)
    if submission.state is SubmissionState.LANDED and submission.commit:
        yield Link(About.LANDING, at, f"{name} landed", submission.commit)
        back = facts.reverts.get(submission.commit)
        if back is not None:
            yield Link(About.LANDING, facts.time(back), f"{name} was rolled back", back)


def proposed(found: Proposal, now: Proposal) -> Iterator[Link]:
    """Yield what the review found, and who has decided what."""
    asked = now.operation
    text = f"{now.id} proposes to {asked.op} {asked.slug}: {found.sentence}"
    yield Link(About.PROPOSAL, found.at, text, found.oid)
    if now.stand is not Stand.WAITING:
        whose = f" by {now.by}" if now.by else ""
        why = f": {now.because}" if now.because else ""
        text = f"{now.id} is {now.stand}{whose}{why}"
        yield Link(About.DECISION, now.decided or found.at, text, now.oid)


def marked(facts: Facts, slug: str) -> Iterator[Link]:
    """Yield what Git says of an item beyond its file."""
    item = facts.items.get(slug)
    for mark in facts.marks.get(slug, ()):
        oid = mark.at if is_oid(mark.at) else ""
        derived = facts.items.get(mark.at)
        oid = oid or (derived.blob if derived else "") or (item.blob if item else "")
        at = facts.time(oid) or (item.updated if item else "")
        yield Link(About.MARK, at, said(mark), oid)


def receivers(
    facts: Facts, slugs: Collection[str]
) -> Iterator[tuple[TaskRecord, Attempt]]:
    """Yield the attempts that were given one of some items."""
    for record in facts.tasks:
        for attempt in record.attempts:
            if any(each.slug in slugs for each in attempt.memory.received):
                yield record, attempt


def name_of(record: TaskRecord, attempt: Attempt) -> str:
    """Return the task and the number of an attempt."""
    return f"{record.id}#{attempt.number}"


def times(count: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def in_order(links: Iterable[Link], gaps: Iterable[str]) -> list[Link]:
    """Return links oldest first, each once, and then what is missing."""
    known = dict.fromkeys(links)
    ordered = sorted(known, key=lambda link: link.at[:_SECOND])
    return [*ordered, *(Link(About.GAP, "", text) for text in gaps)]


def task_of(facts: Facts, name: str | None) -> TaskRecord | None:
    """Return a task by its id, if its record is here."""
    return next((each for each in facts.tasks if each.id == name), None)
