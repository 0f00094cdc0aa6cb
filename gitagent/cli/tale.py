"""The story of one task or submission, for people and as JSON."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gitagent.cli import card, page, queuepage, ruled, say
from gitagent.core import answering
from gitagent.core.layout import APPROVALS
from gitagent.core.question import Answer
from gitagent.core.submission import Submission
from gitagent.core.task import Attempt, TaskRecord, TaskState
from gitagent.daemon.lineup import RunNow
from gitagent.daemon.overview import overview
from gitagent.daemon.report import question, report, task_line
from gitagent.daemon.story import Story, tell, unknown
from gitagent.errors import UserError
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host import clock

if TYPE_CHECKING:
    from gitagent.daemon.approving import Standing

_LINES = 20  # of a failing output
_CAN_BE_RETRIED = {TaskState.FAILED, TaskState.STOPPED, TaskState.REFUSED}


def show(repo: Repository, name: str, *, as_json: bool) -> None:
    """Print the story of a task or a submission.

    Raises:
        UserError: there is none by that id.
    """
    with repo.objects(fast=True) as objects:
        story = tell(objects, name)
        approval = _approval(repo, objects, story)
        asked, rulings = _rulings(objects, story)
    if story is None:
        _unseen(repo, name, as_json=as_json)
        return
    queued, first_try = _queued(repo, story)
    if as_json:
        say.dump(_json(story, approval, queued, rulings))
    else:
        told = _lines(story, approval, queued, first_try)
        for text in (*told, *asked, *_look(story)):
            say.out(text)


def _rulings(
    objects: Objects, story: Story | None
) -> tuple[list[str], list[dict[str, Any]]]:
    """Return what became of what a task asked of the memory, as lines and as JSON."""
    task = story.record if story else None
    if not isinstance(task, TaskRecord) or not any(a.proposed for a in task.attempts):
        return [], []
    found = ruled.found(objects, task.id)
    rows = [line for each in found for line in ruled.lines(objects, each)]
    waits = ["  The daemon rules on it when the task has settled."]
    lines = ["", "What it asks of the memory"]
    lines += [f"  {row}" for row in rows] if found else waits
    return lines, [ruled.values(objects, each) for each in found]


def _queued(repo: Repository, story: Story) -> tuple[dict[str, Any] | None, str]:
    """Return an open submission as the whole status has it; None: it is none.

    And the end of what failed of it, of what is run once more just now.
    """
    record = story.record
    if not isinstance(record, Submission) or record.settled:
        return None, ""
    seen = overview(repo)
    lines = report(seen, clock.now())["submissions"]
    found = next((line for line in lines if line["id"] == record.id), None)
    runs = seen.lineup.runs if seen.lineup else ()
    tails = [
        _failed(repo, run)
        for run in runs
        if record.id in run.submissions and run.run > 1 and run.product
    ]
    return found, "\n".join(filter(None, tails))


def _failed(repo: Repository, run: RunNow) -> str:
    """Return the end of the output of the run before ``run``; empty if it is gone."""
    from gitagent.lander import receipts  # noqa: PLC0415 - once something failed

    with repo.objects(fast=True) as objects:
        found = receipts.of_product(objects, run.product).get(run.key, ())
    return found[-1].tail if found else ""


def _approval(
    repo: Repository, objects: Objects, story: Story | None
) -> "Standing | None":
    if story is None or not isinstance(story.record, Submission):
        return None
    if objects.ref(APPROVALS + story.record.id) is None:
        return None
    from gitagent.daemon.approving import standing  # noqa: PLC0415 - start time

    return standing(repo, objects, story.record)


def _unseen(repo: Repository, name: str, *, as_json: bool) -> None:
    """Tell of a task that no daemon has seen yet."""
    seen = overview(repo)
    if name not in seen.files:
        refused = [r for r in seen.refused if r.path == f".agent/tasks/{name}.md"]
        raise UserError(refused[0].reason) if refused else unknown(name)
    line = task_line(seen, name)
    if as_json:
        say.dump({"version": 1, "task": line, "attempts": [], "story": []})
    else:
        say.out(f"Task {name}: {line['title']}")
        say.out(f"  {line['state']}: {line['reason']}")


def _json(
    story: Story,
    approval: "Standing | None",
    queued: dict[str, Any] | None,
    rulings: list[dict[str, Any]],
) -> dict[str, Any]:
    steps = [{"when": told.when, "text": told.text} for told in story.steps]
    end = {"story": steps, "ref": story.ref, "archived": story.archived}
    match story.record:
        case TaskRecord() as task:
            return {
                "version": 1,
                "task": _task(task),
                "attempts": [_attempt(each) for each in task.attempts],
                **end,
                "rulings": rulings,
            }
        case Submission() as submission:
            told = _submission(submission) | {"approval": _standing(approval)}
            told |= _in_queue(queued, told["checks"])
            return {"version": 1, "submission": told, **end}


def _in_queue(
    queued: dict[str, Any] | None, recorded: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return what the queue adds to an open submission, or nothing."""
    if queued is None:
        return {"position": None, "with": [], "set": None}
    receipts = {line["name"]: line["receipt"] for line in recorded}
    checks = [{**c, "receipt": receipts.get(c["name"])} for c in queued["checks"]]
    named = {key: queued[key] for key in ("position", "with", "set", "base")}
    return {**named, "checks": checks}


def _standing(approval: "Standing | None") -> dict[str, Any] | None:
    if approval is None:
        return None
    found = approval.approval
    return {
        "by": found.by if found else None,
        "when": found.when if found else None,
        "until": (found.until or None) if found else None,
        "why": (found.why or None) if found else None,
        "paths": [each.path for each in found.paths] if found else [],
        "problem": approval.problem or None,
    }


def _task(task: TaskRecord) -> dict[str, Any]:
    return {
        "id": task.id,
        "title": task.title or task.id,
        "state": str(task.state),
        "agent": task.agent or None,
        "attempt": task.attempt,
        "branch": task.branch,
        "reason": task.reason,
        "since": task.since,
        "tip": task.tip,
        "submission": task.submission,
        "question": question(task) if answering.asks(task) else None,
        "answers": [asdict(each) for each in task.answers],
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "outcome": str(attempt.outcome) if attempt.outcome else None,
        "started": attempt.started,
        "ended": attempt.ended or None,
        "exit_code": attempt.exit_code,
        "base": attempt.base,
        "tip": attempt.tip or None,
        "reason": attempt.reason or None,
        "summary": attempt.summary or None,
        "divergence": attempt.divergence or None,
        "commands": list(attempt.commands),
        "log": attempt.log or None,
        "model": attempt.model or None,
        "program": attempt.program or None,
        "session": attempt.session or None,
        "resumed": attempt.resumed,
        "answer": attempt.answer or None,
        "usage": asdict(attempt.usage),
        "transcript": attempt.transcript or None,
        "instructions": [asdict(each) for each in attempt.instructions],
        "proposed": attempt.proposed or None,
    }


def _submission(each: Submission) -> dict[str, Any]:
    return {
        "id": each.id,
        "tip": each.tip,
        "branch": each.branch,
        "task": each.task,
        "state": str(each.state),
        "reason": each.reason,
        "commit": each.commit,
        "submitter": each.submitter,
        "divergence": each.divergence,
        "request_id": each.request_id,
        "base": each.base,
        "config": each.config,
        "created": each.created,
        "since": each.since,
        "checks": [
            {
                "name": line.name,
                "state": line.state,
                "seconds": line.seconds,
                "receipt": line.receipt,
            }
            for line in each.checks
        ],
        "push": str(each.push) if each.push else None,
        "output": each.output,
    }


def _lines(
    story: Story,
    approval: "Standing | None",
    queued: dict[str, Any] | None,
    first_try: str,
) -> Iterator[str]:
    match story.record:
        case TaskRecord() as task:
            yield from _task_lines(task)
        case Submission() as submission:
            yield from _submission_lines(submission, approval, queued)
    if first_try:
        yield ""
        yield "What failed at the first try"
        yield from _end(first_try)


def _look(story: Story) -> Iterator[str]:
    yield ""
    yield "Story"
    yield from page.table([(told.when, told.text) for told in story.steps])
    yield ""
    yield "Look further"
    yield from (f"  {line}" for line in _further(story))


def _task_lines(task: TaskRecord) -> Iterator[str]:
    yield f"Task {task.id}: {task.title or task.id}"
    yield from page.table(
        [
            ("state", f"{task.state} since {task.since}"),
            *([("why", task.reason)] if task.reason else []),
            ("agent", task.agent or "the default"),
            *([("branch", task.branch)] if task.branch else []),
            *([("submission", task.submission)] if task.submission else []),
            *([("asked for", task.request)] if task.request else []),
        ]
    )
    if task.card is not None:
        yield ""
        yield "Questions"
        yield from card.lines(task)
        if answering.asks(task):
            yield f"  Answer with: {answering.command(task)}"
    asked = task.attempt if task.card else None
    if said := [each for each in task.answers if each.attempt != asked]:
        yield ""
        yield "Answers"
        yield from page.table([(a.at, a.by, a.question, _because(a)) for a in said])
    if task.attempts:
        yield ""
        yield "Attempts"
        yield from page.table([_attempt_row(each) for each in task.attempts])
    if any(each.model for each in task.attempts):
        yield ""
        yield "Models"
        yield from page.table([_model_row(e) for e in task.attempts if e.model])
    if task.newest is not None and task.newest.answer:
        yield ""
        yield f"What the agent said last (a claim; attempt {task.newest.number})"
        yield from _end(task.newest.answer)
    if task.feedback and not task.settled:
        yield ""
        yield "What the next attempt is told"
        yield from _end(task.feedback)


def _because(answer: Answer) -> str:
    return f"{answer.text} ({answer.because})" if answer.because else answer.text


def _attempt_row(each: Attempt) -> tuple[str, ...]:
    exit_code = "" if each.exit_code is None else f"exit {each.exit_code}"
    return (
        str(each.number),
        str(each.outcome or "running"),
        exit_code,
        each.started,
        each.tip[:12],
        each.reason or each.summary,
    )


def _model_row(each: Attempt) -> tuple[str, ...]:
    usage = each.usage
    read = usage.input + usage.cache_read + usage.cache_write
    money = f"${usage.usd:.4f}"
    if usage.unpriced:
        some = f"{money}, and {usage.unpriced} without a known price"
        money = some if usage.unpriced < usage.requests else "no known price"
    return (
        str(each.number),
        each.model,
        "1 request" if usage.requests == 1 else f"{usage.requests} requests",
        f"{read:,} tokens in, {usage.output:,} out",
        money,
    )


def _submission_lines(
    each: Submission, approval: "Standing | None", queued: dict[str, Any] | None
) -> Iterator[str]:
    yield f"Submission {each.id} of {each.branch or each.tip[:12]}"
    yield from page.table(
        [
            ("state", f"{each.state} since {each.since}"),
            *([("why", each.reason)] if each.reason else []),
            *(_place(queued) if queued else []),
            ("tip", each.tip),
            *([("task", each.task)] if each.task else []),
            *([("for task", each.closes)] if each.closes else []),
            ("from", each.submitter or "unknown"),
            *([("divergence", each.divergence)] if each.divergence else []),
            *([("approval", _approved(approval))] if approval else []),
            *([("commit", each.commit)] if each.commit else []),
            *([("push", str(each.push))] if each.push else []),
        ]
    )
    if each.checks:
        yield ""
        yield "Checks"
        yield from page.table(
            [
                (line.name, line.state, say.seconds(line.seconds), line.receipt or "")
                for line in each.checks
            ]
        )
    if each.output:
        yield ""
        yield "What failed"
        yield from _end(each.output)


def _place(queued: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield where in the queue it is, and what runs on it just now."""
    yield "place", f"{queued['position']}. of the queue"
    if queued["set"] is None:
        return
    yield "now", queuepage.running(queued)
    if queued["with"]:
        yield "with", ", ".join(queued["with"])
    if queued["set"] != queued["id"]:
        yield "set", f"up to {queued['set']}"


def _approved(approval: "Standing") -> str:
    found = approval.approval
    if found is None:
        return f"does not count: {approval.problem}"
    until = f", until {found.until}" if found.until else ""
    count = len(found.paths)
    paths = f"{count} {'path' if count == 1 else 'paths'}"
    return f"{paths} by {found.by}, {found.when}{until}"


def _end(text: str) -> Iterator[str]:
    lines = text.rstrip().splitlines()[-_LINES:]
    yield from (f"  {line}".rstrip() for line in lines)


def _further(story: Story) -> Iterator[str]:
    record = story.record
    if not story.archived:
        yield f"git log --first-parent {story.ref}"
    yield f"gitagent logs {record.id}"
    match record:
        case TaskRecord():
            if record.branch and record.tip:
                yield f"git log {record.branch}"
            if record.submission:
                yield f"gitagent status {record.submission}"
            again = record.state in _CAN_BE_RETRIED and not record.gone
            if again and not story.archived:
                yield f"gitagent task retry {record.id}"
        case Submission():
            yield f"git show {record.commit or record.tip}"
