"""``gitagent inbox``: the outcomes that nobody has acknowledged."""

from collections.abc import Iterator
from typing import Any

import click

from gitagent.cli import card as cards_of
from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.core import answering
from gitagent.core.inbox import Alarm, Kind
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import TaskRecord, TaskState
from gitagent.daemon.inbox import Card, acknowledge, cards
from gitagent.files import clean
from gitagent.host import clock

_LINES = 20  # of a failing output


@click.group(
    name="inbox",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--all", "everything", is_flag=True, help="Show what was acknowledged too."
)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    everything: bool,  # noqa: FBT001 - click's way
    as_json: bool,  # noqa: FBT001 - click's way
) -> None:
    """Show what nobody has taken note of, newest first.

    Each is there until `gitagent inbox ack`: what became of a task or a submission,
    why, the end of what failed, and what to do next; what a task asks, until it is
    answered; and commits that came to the target past the lander. Who waited for an
    outcome has seen it already. A task's own submissions are told with the task.

    \b
    Examples:
      gitagent inbox
      gitagent inbox ack fix-login
      gitagent inbox ack --all
    """
    if ctx.invoked_subcommand is not None:
        return
    here: Here = ctx.obj
    box, found = cards(here.repository, everything=everything)
    if as_json:
        say.dump(
            {
                "version": 1,
                "until": box.until,
                "unacknowledged": sum(not each.acknowledged for each in found),
                "outcomes": [_json(each) for each in found],
            }
        )
        return
    now = clock.stamp()
    for number, card in enumerate(found):
        if number:
            say.out()
        for line in _lines(card, now):
            say.out(line)
    if not found:
        say.note("nothing waits to be acknowledged")


@command.command(name="ack")
@click.argument("names", metavar="[ID]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All that are there.")
@click.pass_obj
def ack(here: Here, names: tuple[str, ...], everything: bool) -> None:  # noqa: FBT001
    """Acknowledge outcomes and questions of tasks, submissions, and commits.

    Doing it again is no change. It works without a daemon. A question is answered with
    `gitagent answer`; acknowledged, it waits all the same.

    \b
    Examples:
      gitagent inbox ack fix-login s-0123456789ab
      gitagent inbox ack --all
    """
    if everything == bool(names):
        raise click.UsageError("name tasks and submissions, or say --all")
    done = acknowledge(here.repository, None if everything else names)
    for name in done:
        say.out(name)
    if not done:
        say.note("acknowledged already")


def _json(card: Card) -> dict[str, Any]:
    outcome, behind = card.outcome, card.submission
    record = outcome.record
    landing = record if isinstance(record, Submission) else behind
    commit = landing.commit if landing else None
    return {
        "id": record.id,
        "kind": str(outcome.kind),
        "state": card.outcome.state,
        "since": record.since,
        "title": card.outcome.title,
        "submission": landing.id if landing else None,
        "commit": record.id if isinstance(record, Alarm) else commit,
        "reason": card.outcome.reason,
        "output": _output(card),
        "next": _next(card),
        "acknowledged": card.acknowledged,
    }


def _lines(card: Card, now: str) -> Iterator[str]:
    record = card.outcome.record
    title = card.outcome.title
    about = f"  {clean.sentence(title)}" if title != record.id else ""
    seen = ", acknowledged" if card.acknowledged else ""
    name = record.id[:12] if isinstance(record, Alarm) else record.id
    yield f"{card.outcome.state}  {name}{about}  ({say.ago(record.since, now)}{seen})"
    if reason := card.outcome.reason:
        yield f"  {clean.sentence(reason, 1000)}"
    if card.outcome.kind in {Kind.QUESTION, Kind.BUDGET}:
        assert isinstance(record, TaskRecord)  # noqa: S101 - what asks is a task
        yield from cards_of.lines(record)
    if output := _output(card):
        yield from (f"  | {line}".rstrip() for line in output.split("\n"))
    if follows := _next(card):
        yield f"  Next: {follows}"


def _rejected(card: Card) -> Submission | None:
    """Return the rejected submission behind an outcome, if that is what it is."""
    record, behind = card.outcome.record, card.submission
    if isinstance(record, Submission):
        behind = record
    elif card.outcome.state != TaskState.FAILED:
        return None
    if behind is None or behind.state is not SubmissionState.REJECTED:
        return None
    return behind


def _output(card: Card) -> str:
    """Return the end of what failed, or nothing."""
    rejected = _rejected(card)
    if rejected is None or not rejected.output:
        return ""
    text = clean.plain(rejected.output.encode("utf-8", "replace"))
    return clean.tail(text, lines=_LINES)


def _next(card: Card) -> str:
    """Return what a person can do now."""
    match card.outcome.record:
        case Alarm(id=commit):
            return f"git show {commit[:12]}"
        case Submission() as submission:
            return _after_submission(submission, card.outcome.title)
        case TaskRecord(state=TaskState.LANDED):
            behind = card.submission
            return _after_submission(behind, "") if behind else ""
        case TaskRecord() as task:
            return _after_task(task)


def _after_submission(submission: Submission, branch: str) -> str:
    match submission.state:
        case SubmissionState.LANDED:
            return f"git show {submission.commit[:12]}" if submission.commit else ""
        case SubmissionState.REJECTED:
            again = f"; mend it, and: gitagent submit {branch}".rstrip()
            return f"gitagent logs {submission.id}{again}"
        case _:
            return ""


def _after_task(task: TaskRecord) -> str:
    match task.state:
        case TaskState.QUESTION:
            return answering.command(task)
        case TaskState.FAILED:
            return f"gitagent logs {task.id}; then: gitagent task retry {task.id}"
        case TaskState.STOPPED if task.gone:
            return ""
        case TaskState.STOPPED:
            return f"gitagent task retry {task.id}"
        case TaskState.REFUSED:
            return f"mend what it says; then: gitagent task retry {task.id}"
        case _:
            return ""
