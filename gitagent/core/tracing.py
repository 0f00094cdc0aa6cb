"""Traces: from evidence to an item, to the attempts that were given it, to their ends.

Of an item, of a landing, and of what was said against an item; see `core.links`.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from gitagent.core import distil
from gitagent.core.exposure import NOTHING
from gitagent.core.links import (
    About,
    Facts,
    Link,
    corrected,
    ended,
    exposed,
    in_order,
    made,
    marked,
    name_of,
    outcome,
    proposed,
    receivers,
    ruled_on,
    task_of,
    times,
)
from gitagent.core.memory import From, Status, short
from gitagent.core.proposal import Proposal, Stand
from gitagent.core.remembering import Op, Ruled, Ruling
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord

_TAKES_BACK: Final = frozenset({Op.WITHDRAW, Op.DISPUTE, Op.DECIDE})
_LATER: Final = 5  # attempts without what was withdrawn that are told one by one


def of_item(facts: Facts, slug: str) -> list[Link]:
    """Return all that is known of an item, oldest first, and what is not."""
    rulings = [each for each in facts.rulings if _concerns(each, slug)]
    first = [each for each in rulings if not _takes_back(each, slug)]
    links = [link for each in first for link in _admission(facts, each, slug)]
    gaps = [] if rulings else ["No ruling admitted it: it came past the executor."]
    given = [*receivers(facts, {slug})]
    for record, attempt in given:
        links += exposed(facts, record, attempt, slug)
        links += outcome(facts, record, attempt)
    for task in dict.fromkeys(record.id for record, _ in given):
        links += corrected(facts, task, slug)
    for found, now in facts.proposals:
        if slug in {now.operation.slug, now.operation.against}:
            links += proposed(found, now)
    # Many things happen within a second: what takes back comes after what led to it.
    for ruling in rulings:
        if ruling not in first:
            links += _admission(facts, ruling, slug)
    links += marked(facts, slug)
    if not given:
        gaps.append("Nobody has received it yet.")
    if kept := sum(slug in a.memory.withheld for t in facts.tasks for a in t.attempts):
        gaps.append(f"The coin kept it from {times(kept, 'attempt')}.")
    return in_order(links, gaps)


def of_landing(facts: Facts, submission: Submission) -> list[Link]:
    """Return what led to a landing, and what came of it."""
    record = task_of(facts, submission.task)
    distilled = task_of(facts, distil.task_of(submission.id))
    links = [*_work(record, submission), *ended(facts, submission)]
    if distilled is not None:
        for attempt in distilled.attempts:
            text = f"{name_of(distilled, attempt)} looked at what it teaches"
            links.append(Link(About.WORK, attempt.started, text, distilled.oid))
    tasks = {each.id for each in (record, distilled) if each is not None}
    slugs = {*_citing(facts, submission)}
    for ruling in facts.rulings:
        if ruling.task in tasks or _lands(ruling, submission):
            links += [
                each for ruled in ruling.ruled for each in ruled_on(ruling, ruled)
            ]
            links += made(facts, ruling)
            slugs |= {each.slug for each in ruling.files if each.blob}
    links += _taught(facts, slugs)
    gaps = [] if submission.remembers else [*_missing(submission, record, distilled)]
    if not slugs:
        gaps.append("No item came of it.")
    elif not [*receivers(facts, slugs)]:
        gaps.append("Nobody has received an item of it yet.")
    return in_order(links, gaps)


def _missing(
    submission: Submission, record: TaskRecord | None, distilled: TaskRecord | None
) -> Iterator[str]:
    if submission.task is None:
        yield "It is a person's work: no attempt was given anything."
    elif record is None:
        yield f"The record of the task {submission.task} is not here."
    if distilled is None:
        yield "No task has looked at what it teaches."


def of_proposal(facts: Facts, found: Proposal, now: Proposal) -> list[Link]:
    """Return what came of what the review found: decided, done, and seen later."""
    links = [
        Link(About.SOURCE, facts.time(oid) or found.at, "evidence against it", oid)
        for oid in found.evidence
    ]
    links += proposed(found, now)
    if now.stand is Stand.WAITING:
        return in_order(links, ["Nobody has decided yet, so nothing has changed."])
    if now.stand is not Stand.ACCEPTED:
        return in_order(links, [f"It is {now.stand}, so nothing has changed."])
    done = next((each for each in facts.rulings if _does(each, now)), None)
    if done is None:
        return in_order(links, ["It was accepted, and no ruling has carried it out."])
    after, gaps = _after(facts, done)
    return in_order([*links, *after], gaps)


def of_ruling(facts: Facts, ruling: Ruling) -> list[Link]:
    """Return what came of a ruling."""
    links, gaps = _after(facts, ruling)
    return in_order(links, gaps)


def _after(facts: Facts, ruling: Ruling) -> tuple[list[Link], list[str]]:
    """Return a ruling, its commit, and the attempts that began after it."""
    links = [link for ruled in ruling.ruled for link in ruled_on(ruling, ruled)]
    links += made(facts, ruling)
    gaps: list[str] = []
    if not ruling.commit:
        return links, ["It has changed nothing."]
    begin = _begin(facts, ruling)
    for filed in ruling.files:
        item = facts.version(filed.slug, filed.blob) if filed.blob else None
        if item is None or item.status in {Status.WITHDRAWN, Status.SUPERSEDED}:
            spared, more = _spared(facts, filed.slug, begin)
            links += spared
            gaps += more
            continue
        later = [
            (record, attempt)
            for record, attempt in receivers(facts, {filed.slug})
            if any(
                (x.slug, x.blob) == (filed.slug, filed.blob)
                for x in attempt.memory.received
            )
        ]
        for record, attempt in later:
            links += exposed(facts, record, attempt, filed.slug)
            links += outcome(facts, record, attempt)
        if not later:
            gaps.append(f"Nobody has received {filed.slug} as it is since.")
    return links, gaps


def _spared(facts: Facts, slug: str, begin: str) -> tuple[list[Link], list[str]]:
    """Return who was told that an item counts no more, and who began without it."""
    told = dict.fromkeys(record.id for record, _ in receivers(facts, {slug}))
    links = [link for task in told for link in corrected(facts, task, slug)]
    later = [
        (record, attempt)
        for record in facts.tasks
        for attempt in record.attempts
        if attempt.started >= begin and attempt.memory != NOTHING
    ]
    later.sort(key=lambda pair: pair[1].started)
    spared = []
    for record, attempt in later:
        if all(each.slug != slug for each in attempt.memory.received):
            spared.append((record, attempt))
        elif attempt.started > begin:  # within that second it came before
            links += exposed(facts, record, attempt, slug)
    for record, attempt in spared[:_LATER]:
        count = times(len(attempt.memory.received), "item")
        text = f"{name_of(record, attempt)} was given {count}, and not {slug}"
        links.append(Link(About.WITHOUT, attempt.started, text, record.oid))
        links += outcome(facts, record, attempt)
    gaps = [] if later else ["No attempt with a memory has begun since."]
    if more := len(spared[_LATER:]):
        gaps.append(f"{times(more, 'attempt')} more began without {slug}.")
    return links, gaps


def _begin(facts: Facts, ruling: Ruling) -> str:
    """Return since when a ruling holds on the target."""
    landed = facts.submissions.get(ruling.submission)
    return landed.since if landed is not None else ruling.at


def _admission(facts: Facts, ruling: Ruling, slug: str) -> Iterator[Link]:
    if proposer := task_of(facts, ruling.task or None):
        attempt = next(
            (each for each in proposer.attempts if each.number == ruling.attempt), None
        )
        at = attempt.ended if attempt and attempt.ended else ruling.at
        text = f"{proposer.id}#{ruling.attempt} asked for it"
        yield Link(About.WORK, min(at, ruling.at), text, proposer.oid)
    for ruled in ruling.ruled:
        if slug not in _slugs(ruled):
            continue
        item = facts.version(ruled.slug or slug, ruled.blob) if ruled.blob else None
        if item is not None and item.slug == slug:
            for source in item.sources:
                at = min(facts.time(source.oid) or ruling.at, ruling.at)
                yield Link(About.SOURCE, at, short(source), source.oid)
        yield from ruled_on(ruling, ruled)
    yield from made(facts, ruling)


def _work(record: TaskRecord | None, submission: Submission) -> Iterator[Link]:
    for attempt in record.attempts if record else ():
        if record is None or attempt.started > submission.since:
            continue
        name = name_of(record, attempt)
        yield Link(About.WORK, attempt.started, f"{name} began", record.oid)
        for each in attempt.memory.received:
            text = f"{name} received {each.slug} by {each.way}"
            yield Link(About.RECEIVED, attempt.started, text, each.blob)
    text = f"{submission.id} was submitted"
    created = f"{submission.created[:19]}Z"  # without its fraction
    yield Link(About.WORK, created, text, submission.tip)


def _taught(facts: Facts, slugs: Iterable[str]) -> Iterator[Link]:
    for slug in sorted(slugs):
        item = facts.items.get(slug)
        if item is not None:
            text = f"{slug} ({item.status}): {item.line}"
            yield Link(About.ITEM, item.updated, text, item.blob)
        for record, attempt in receivers(facts, {slug}):
            yield from exposed(facts, record, attempt, slug)
            yield from outcome(facts, record, attempt)


def _citing(facts: Facts, submission: Submission) -> Iterator[str]:
    """Yield the items whose sources are of a landing."""
    for slug, item in facts.items.items():
        for each in item.sources:
            whole = each.kind is From.LANDING and each.name == submission.id
            if whole or (submission.commit and each.oid == submission.commit):
                yield slug


def _concerns(ruling: Ruling, slug: str) -> bool:
    return any(slug in _slugs(each) for each in ruling.ruled) or any(
        each.slug == slug for each in ruling.files
    )


def _takes_back(ruling: Ruling, slug: str) -> bool:
    return any(
        slug in _slugs(each) and each.operation.op in _TAKES_BACK
        for each in ruling.ruled
    )


def _slugs(ruled: Ruled) -> set[str]:
    return {ruled.slug, ruled.operation.slug, ruled.operation.against} - {""}


def _lands(ruling: Ruling, submission: Submission) -> bool:
    return bool(ruling.submission) and ruling.submission == submission.id


def _does(ruling: Ruling, decided: Proposal) -> bool:
    """Whether a ruling carries out what was decided."""
    wanted = decided.operation
    return ruling.at >= decided.decided and any(
        ruled.admitted
        and ruled.operation.op is wanted.op
        and _both(ruled.operation.slug, ruled.operation.against)
        == _both(wanted.slug, wanted.against)
        and (wanted.op is Op.DECIDE or ruled.operation.of == wanted.of)
        for ruled in ruling.ruled
    )


def _both(slug: str, against: str) -> frozenset[str]:
    return frozenset({slug, against})
