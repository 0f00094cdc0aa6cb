"""The line: which of the queue are merged onto each other, and why the others are not.

Whoever is not in the line lets those behind it pass. What keeps it out is final if it
is so on the bare target, and otherwise looked at again when those ahead have landed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from gitagent.core.action import Action, Look
from gitagent.core.admission import agent_of
from gitagent.core.approval import request
from gitagent.core.candidate import Candidate
from gitagent.core.glob import named
from gitagent.core.policy import Ruling, rule
from gitagent.core.settings import Settings
from gitagent.core.settle import write
from gitagent.core.snapshot import Moment, Snapshot
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.switch import Position, stopped

_QUEUED, _HELD = SubmissionState.QUEUED, SubmissionState.HELD


@dataclass(slots=True)
class Line:
    """The queue, told apart."""

    members: list[Submission] = field(default_factory=list)  # in order
    actions: list[Action] = field(default_factory=list)  # about those that are not
    out: set[str] = field(default_factory=set)  # ids of those


def line(queue: Iterable[Submission], snapshot: Snapshot, now: Moment) -> Line:
    """Walk the queue along the candidates that are known.

    From the first one whose candidate is not made yet, all are taken to fit.
    """
    found = Line()
    base, settings = snapshot.target.commit, snapshot.settings
    if base is None or settings is None:
        return found
    tips: tuple[str, ...] | None = ()
    placed: set[str] = set()
    for each in queue:
        if _kept_out(each, placed, snapshot, now, found):
            continue
        step = (
            None
            if tips is None
            else snapshot.live.candidates.get((base, (*tips, each.tip)))
        )
        if step is None:
            tips = None
        elif _left_out(each, step, settings, snapshot, now, found):
            continue
        else:
            tips = step.tips
        found.members.append(each)
        placed.add(each.id)
        if step is not None and step.settings is not None:
            break  # what comes behind is judged by the settings that this one brings
    return found


def _kept_out(
    each: Submission, placed: set[str], snapshot: Snapshot, now: Moment, found: Line
) -> bool:
    """Keep out what is not to be merged yet, whatever it holds."""
    switch = snapshot.switch
    late = switch.position is Position.DRAINING and each.created > switch.since
    missing = [
        lower
        for lower in each.needs
        if lower not in placed and _is_open(snapshot.submissions.get(lower))
    ]
    if reason := snapshot.live.held.get(each.id):
        waits = snapshot.live.waits
        due = max(waits.get(f"{what} {each.id}", 0.0) for what in ("land", "Prepare"))
        if due <= now.monotonic:
            found.actions.append(Look(each))
        _put(each, _HELD, reason, now, found)
    elif late:
        _put(each, _QUEUED, stopped(switch), now, found)
    elif missing:
        _put(each, _QUEUED, f"Stands on {missing[0]}, and waits for it.", now, found)
    else:
        return False
    return True


def _is_open(lower: Submission | None) -> bool:
    return lower is not None and not lower.settled


def _left_out(
    each: Submission,
    step: Candidate,
    settings: Settings,
    snapshot: Snapshot,
    now: Moment,
    found: Line,
) -> bool:
    """Leave out what its own candidate speaks against."""
    first = len(step.tips) == 1
    if step.contained and first:
        reason = "Its tip was already part of the target; there was nothing to land."
        _put(each, SubmissionState.LANDED, reason, now, found, commit=each.tip)
        return True
    if step.contained:
        _put(each, _QUEUED, "Its tip is part of what is ahead of it.", now, found)
        return True
    ruling = Ruling() if step.conflicts or step.fault else _rule(each, step, snapshot)
    no = " ".join((*_unmerged(step, settings), *ruling.no))
    if no and not (first or step.final):
        # One ahead that never lands may be what makes it so, by a rename for instance.
        reason = f"It is looked at again when those ahead of it have landed: {no}"
        _put(each, _QUEUED, reason, now, found)
    elif no:
        _put(each, SubmissionState.REJECTED, no, now, found, base=step.base)
    elif ruling.approve and each.id in snapshot.approvals and not first:
        reason = "What was approved is looked at again when those ahead have landed."
        _put(each, _QUEUED, reason, now, found)
    elif ruling.approve:
        _put(each, _HELD, request(each.id, ruling.approve), now, found)
    else:
        return False
    return True


def _rule(each: Submission, step: Candidate, snapshot: Snapshot) -> Ruling:
    assert snapshot.settings is not None  # noqa: S101 - there is no line without
    task = snapshot.tasks.get(each.task or "")
    return rule(
        step,
        each,
        snapshot.settings,
        task,
        agent_of(task, snapshot) if task else None,
        snapshot.approvals.get(each.id),
        weakened=step.weakened,
        agents=snapshot.agents,
        record=snapshot.records.get(each.task or ""),
    )


def _unmerged(step: Candidate, settings: Settings) -> tuple[str, ...]:
    if step.conflicts:
        what = "the target" if len(step.tips) == 1 or step.final else "one ahead of it"
        paths, target = named(step.conflicts), settings.target
        mend = f"Merge {target} into the work, resolve, and submit again."
        return (f"It conflicts with {what} in {paths}. {mend}",)
    return (step.fault,) if step.fault else ()


def _put(
    each: Submission,
    state: SubmissionState,
    reason: str,
    now: Moment,
    found: Line,
    **fields: object,
) -> None:
    found.out.add(each.id)
    if each.state is not state or each.reason != reason:
        found.actions.append(write(each, state, now, reason, **fields))
