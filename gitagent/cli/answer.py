"""``gitagent answer``: answer what a task asks."""

import click

from gitagent.cli import card, say
from gitagent.cli.here import Here
from gitagent.core import answering
from gitagent.core.task import TaskRecord
from gitagent.daemon.answering import answer, asked
from gitagent.daemon.entry import poke
from gitagent.daemon.report import question
from gitagent.host import clock


@click.command(
    name="answer",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("task")
@click.argument("answers", metavar="[N=TEXT]...", nargs=-1)
@click.option("--because", metavar="TEXT", default="", help="Why; the agent reads it.")
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
@click.pass_obj
def command(
    here: Here,
    task: str,
    answers: tuple[str, ...],
    because: str,
    as_json: bool,  # noqa: FBT001 - click's way
) -> None:
    """Answer the questions of a task; without answers, show them.

    N is the number of a question, TEXT the letter or the text of an option, or words of
    your own. The task goes on when all its questions are answered, in one call or in
    several. What a budget's end asks is answered with what may be spent beyond it.

    \b
    Examples:
      gitagent answer fix-login
      gitagent answer fix-login 1=b 2="ten lines" --because "as the logo has it"
      gitagent answer fix-login 1=2.50
      gitagent answer fix-login 1="200000 tokens"
    """
    if because and not answers:
        raise click.UsageError("--because goes with an answer")
    if not answers:
        _show(asked(here.repository, task), as_json=as_json)
        return
    done = answer(here.repository, task, answers, because)
    for note in done.notes:
        say.note(note)
    if as_json:
        _show(done.record, as_json=True)
    else:
        _said(done.record)
    if not poke(here.repository):
        say.note("no daemon runs; start one with: gitagent up --detach")


def _show(record: TaskRecord, *, as_json: bool) -> None:
    if as_json:
        open_ = list(answering.still_open(record))
        say.dump({"version": 1, **question(record), "open": open_})
        return
    assert record.card is not None  # noqa: S101 - it asks
    since = say.ago(record.card.since, clock.stamp())
    say.out(f"{record.id}: {record.title or record.id} (asked {since})")
    for line in card.lines(record):
        say.out(line)
    if answering.asks(record):
        say.out(f"Answer with: {answering.command(record)}")
    elif record.reason:
        say.out(record.reason)


def _said(record: TaskRecord) -> None:
    left = answering.still_open(record)
    if record.request == "stop":
        say.out(f"{record.id}: asked to stop")
    elif left:
        say.out(f"{record.id}: still to be answered: {answering.command(record)}")
    else:
        say.out(f"{record.id} is answered, and goes on")
