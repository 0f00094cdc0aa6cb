"""What `gitagent status --json` says; the page for people is made from the same.

The keys are a contract: they stay, in this order, and more may be added.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from gitagent.core import answering
from gitagent.core.layout import SUBMISSIONS
from gitagent.core.question import lettered
from gitagent.core.submission import CheckLine, Submission, in_order
from gitagent.core.task import SETTLED, TaskFile, TaskRecord, TaskState
from gitagent.core.usage import NOTHING
from gitagent.core.usual import usual
from gitagent.daemon.findings import DIRECT
from gitagent.daemon.lineup import RunNow
from gitagent.daemon.overview import Overview
from gitagent.daemon.underway import BARE, UnderWay, under_way

VERSION: Final = 1

UNSEEN: Final = "No daemon has seen it yet; start one with: gitagent up --detach"
AMENDED: Final = "Its file was amended or came back, and no daemon has taken it up yet."
SOON: Final = "The daemon has not looked at it yet."


def report(seen: Overview, now: datetime) -> dict[str, Any]:
    """Return the whole status as JSON's values; ``now`` is aware."""
    queue = in_order(seen.submissions.values())
    known = under_way(seen.lineup, [each.id for each in queue], seen.commit)
    usually = usual(seen.submissions.values())
    bare = known[BARE].runs if BARE in known else ()
    return {
        "version": VERSION,
        "daemon": {
            "running": seen.pid is not None,
            "pid": seen.pid,
            "code": seen.code,
            "swap": seen.swap,
        },
        "target": {
            "ref": seen.target,
            "commit": seen.commit,
            "paused": seen.paused,
            "direct": [each.commit for each in seen.findings if each.kind == DIRECT],
            "findings": [asdict(each) for each in seen.findings],
            "push": None if seen.push is None else asdict(seen.push),
            "checks": [_running(run, usually) for run in bare],
        },
        "tasks": [*_tasks(seen)],
        "submissions": [*_submissions(seen, queue, known, usually, now)],
        "questions": [*_questions(seen)],
        "automations": [],
        "refused": [{"path": r.path, "reason": r.reason} for r in seen.refused],
        "inbox": {"unacknowledged": seen.unacknowledged},
        "memory": {"proposals": seen.proposals},
    }


def _tasks(seen: Overview) -> Iterator[dict[str, Any]]:
    """Yield the open tasks, most urgent first, then the settled ones, newest first."""
    lines = [
        (_priority(seen.files.get(name)), task_line(seen, name))
        for name in {**seen.files, **seen.tasks}
    ]
    ended = {str(state) for state in SETTLED}
    for _, line in sorted(lines, key=_order):
        if line["state"] not in ended:
            yield line
    settled = [line for _, line in lines if line["state"] in ended]
    yield from sorted(
        settled, key=lambda line: (line["since"], line["id"]), reverse=True
    )


def _questions(seen: Overview) -> Iterator[dict[str, Any]]:
    """Yield the cards that wait for people, the one that waits longest first."""
    asking = [each for each in seen.tasks.values() if answering.asks(each)]
    for each in sorted(asking, key=lambda task: (task.since, task.id)):
        yield question(each)


def question(record: TaskRecord) -> dict[str, Any]:
    """Return the card of a task, and the command that answers what is open of it."""
    card, known = record.card, answering.given(record)
    return {
        "task": record.id,
        "asker": str(card.asker) if card else None,
        "since": card.since if card else None,
        "questions": [
            {
                "number": number,
                "text": each.text,
                "options": dict(lettered(each)),
                "answer": known[number].text if number in known else None,
            }
            for number, each in enumerate(card.questions if card else (), 1)
        ],
        "answer": answering.command(record),
    }


def _priority(file: TaskFile | None) -> int:
    return file.priority if file else 0


def _order(pair: tuple[int, dict[str, Any]]) -> tuple[int, str, str]:
    priority, line = pair
    return (-priority, line["since"], line["id"])


def task_line(seen: Overview, name: str) -> dict[str, Any]:
    """Return the line of one task that has a file, a record, or both."""
    file, record = seen.files.get(name), seen.tasks.get(name)
    if record is None or (file and record.settled and record.blob != file.blob):
        return _unseen(seen, name, file, record)
    return {
        "id": name,
        "title": record.title or name,
        "state": str(record.state),
        "agent": record.agent or None,
        "attempt": record.attempt,
        "branch": record.branch,
        "reason": record.reason,
        "since": record.since,
        "after": [*file.after] if file else [],
        **_spent(record),
    }


def _spent(record: TaskRecord | None) -> dict[str, Any]:
    """Return the model of the newest attempt, and what all of them have used."""
    newest = record.newest if record else None
    usage = record.usage if record else NOTHING
    return {
        "model": newest.model or None if newest else None,
        "usage": {
            "requests": usage.requests,
            "tokens": usage.tokens,
            "usd": round(usage.usd, 6),
        },
    }


def _unseen(
    seen: Overview, name: str, file: TaskFile | None, record: TaskRecord | None
) -> dict[str, Any]:
    reason = UNSEEN if record is None else AMENDED
    if seen.pid is not None:
        reason = SOON
    if file and file.after:
        reason = f"Waits for {', '.join(file.after)}. {reason}"
    return {
        "id": name,
        "title": file.title if file else name,
        "state": str(TaskState.WAITING),
        "agent": file.agent if file else None,
        "attempt": record.attempt if record else 0,
        "branch": record.branch if record else None,
        "reason": reason,
        "since": seen.moved,
        "after": [*file.after] if file else [],
        **_spent(record),
    }


def _submissions(
    seen: Overview,
    queue: list[Submission],
    known: Mapping[str, UnderWay],
    usually: Mapping[str, float],
    now: datetime,
) -> Iterator[dict[str, Any]]:
    """Yield the queue in its order, then the settled ones, newest first."""
    for position, each in enumerate(queue, 1):
        under, since = known.get(each.id), _running_seconds(seen, each, now)
        yield _submission(each, position, under, usually, since)
    settled = [each for each in seen.submissions.values() if each.settled]
    for each in sorted(settled, key=lambda s: (s.since, s.id), reverse=True):
        yield _submission(each, None, None, {}, None)


def _running_seconds(seen: Overview, each: Submission, now: datetime) -> float | None:
    """Return how long a check of the submission runs: since its newest record."""
    when = seen.written.get(SUBMISSIONS + each.id)
    return None if when is None else max(0.0, now.timestamp() - when)


def _submission(
    each: Submission,
    position: int | None,
    under: UnderWay | None,
    usually: Mapping[str, float],
    running_s: float | None,
) -> dict[str, Any]:
    running = [_running(run, usually) for run in under.runs] if under else []
    names = {line["name"] for line in running}
    recorded = [
        _check(line, usually, running_s)
        for line in each.checks
        if line.name not in names
    ]
    return {
        "id": each.id,
        "tip": each.tip,
        "branch": each.branch,
        "task": each.task,
        "state": str(each.state),
        "position": position,
        "reason": each.reason,
        "commit": each.commit,
        "checks": [*recorded, *running],
        "since": each.since,
        "with": list(under.ahead) if under else [],
        "set": under.last if under else None,
        "base": under.base if under else each.base,
    }


def _check(
    line: CheckLine, usually: Mapping[str, float], running_s: float | None
) -> dict[str, Any]:
    seconds = running_s if line.state == "running" else line.seconds
    return _line(line.name, line.state, seconds, usually)


def _running(run: RunNow, usually: Mapping[str, float]) -> dict[str, Any]:
    return _line(run.check, "running", run.since, usually) | {"run": run.run}


def _line(
    name: str, state: str, seconds: float | None, usually: Mapping[str, float]
) -> dict[str, Any]:
    usual_s = usually.get(name)
    return {
        "name": name,
        "state": state,
        "seconds": None if seconds is None else round(seconds, 1),
        "usual": None if usual_s is None else round(usual_s, 1),
        "run": None,
    }
