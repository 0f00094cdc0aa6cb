"""``gitagent inbox``: the outcomes that nobody has acknowledged."""

from collections.abc import Iterator
from typing import Any

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import TaskState
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
    """Show the outcomes that nobody has acknowledged, newest first.

    Each is there until `gitagent inbox ack`: what became of a task or a submission,
    why, the end of what failed, and what to do next. Who waited for an outcome has seen
    it already. A task's own submissions are told with the task.

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
    """Acknowledge the outcomes of tasks and submissions.

    Doing it again is no change. It works without a daemon.

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
    record, behind = card.outcome.record, card.submission
    of_task = not isinstance(record, Submission)
    landing = record if isinstance(record, Submission) else behind
    return {
        "id": record.id,
        "kind": "task" if of_task else "submission",
        "state": str(record.state),
        "since": record.since,
        "title": _title(card),
        "submission": landing.id if landing else None,
        "commit": landing.commit if landing else None,
        "reason": record.reason,
        "output": _output(card),
        "next": _next(card),
        "acknowledged": card.acknowledged,
    }


def _lines(card: Card, now: str) -> Iterator[str]:
    record = card.outcome.record
    title = _title(card)
    about = f"  {clean.sentence(title)}" if title != record.id else ""
    seen = ", acknowledged" if card.acknowledged else ""
    yield f"{record.state}  {record.id}{about}  ({say.ago(record.since, now)}{seen})"
    if record.reason:
        yield f"  {clean.sentence(record.reason, 1000)}"
    if output := _output(card):
        yield from (f"  | {line}".rstrip() for line in output.split("\n"))
    if follows := _next(card):
        yield f"  Next: {follows}"


def _title(card: Card) -> str:
    record = card.outcome.record
    if not isinstance(record, Submission):
        return record.title or record.id
    return (record.branch or record.tip[:12]).removeprefix("refs/heads/")


def _rejected(card: Card) -> Submission | None:
    """Return the rejected submission behind an outcome, if that is what it is."""
    record, behind = card.outcome.record, card.submission
    if isinstance(record, Submission):
        behind = record
    elif record.state is not TaskState.FAILED:
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
    record = card.outcome.record
    match record.state:
        case SubmissionState.LANDED | TaskState.LANDED:
            landing = record if isinstance(record, Submission) else card.submission
            commit = landing.commit if landing else None
            return f"git show {commit[:12]}" if commit else ""
        case SubmissionState.REJECTED:
            branch = _title(card) if isinstance(record, Submission) else ""
            again = f"; mend it, and: gitagent submit {branch}".rstrip()
            return f"gitagent logs {record.id}{again}"
        case TaskState.FAILED:
            return f"gitagent logs {record.id}; then: gitagent task retry {record.id}"
        case TaskState.STOPPED:
            return f"gitagent task retry {record.id}"
        case TaskState.REFUSED:
            return f"mend .agent/tasks/{record.id}.md and commit it"
        case _:
            return ""
