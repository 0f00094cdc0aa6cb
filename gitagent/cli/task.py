"""``gitagent task``: add, list, show, hand over, stop and retry."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitagent.cli import page, say, tale
from gitagent.cli.here import Here

if TYPE_CHECKING:
    from gitagent.core.task import TaskRecord


@click.group(name="task", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Add, list, show, stop and retry tasks.

    A task is the file .agent/tasks/<id>.md on the target. Editing it amends the task,
    deleting it cancels the task; these commands spare you a commit.

    \b
    Example:
      gitagent task add fix-typo --file fix-typo.md
    """


@command.command(name="add")
@click.argument("task")
@click.option("--title", metavar="TEXT", help="What it is called.")
@click.option(
    "--file",
    "source",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="The task's text, and front matter if it has any; - is standard input.",
)
@click.option("--after", metavar="ID", multiple=True, help="Wait for this task.")
@click.option("--priority", metavar="N", type=int, help="Higher ones come first.")
@click.option("--agent", metavar="NAME", help="The agent definition that does it.")
@click.option(
    "--not-wider",
    is_flag=True,
    help="Refuse an agent that may more than the usual one.",
)
@click.pass_obj
def add(
    here: Here,
    task: str,
    title: str | None,
    source: str | None,
    after: tuple[str, ...],
    priority: int | None,
    agent: str | None,
    not_wider: bool,  # noqa: FBT001 - click's way
) -> None:
    """Commit the file of a new task on the target.

    Your checkout follows, and whatever else you have changed in it stays as it is.

    \b
    Examples:
      gitagent task add fix-typo --file fix-typo.md
      echo 'Mend the typo in the README.' |
        gitagent task add fix-typo --title "Mend a typo" --file - --agent claude
    """
    from gitagent.daemon.asking import ask_for  # noqa: PLC0415 - of five one needs it

    text = b""
    if source == "-":
        text = sys.stdin.buffer.read()
    elif source is not None:
        text = Path(source).read_bytes()
    options = {"title": title, "agent": agent, "priority": priority, "after": after}
    commit = ask_for(here.repository, task, text, options, not_wider=not_wider)
    say.out(f"{task} is asked for with {commit[:12]}")
    _poked(here)


@command.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@click.option("--all", "everything", is_flag=True, help="Show all that is settled too.")
@click.pass_obj
def list_(here: Here, as_json: bool, everything: bool) -> None:  # noqa: FBT001
    """List the tasks: open ones first, then what has ended.

    \b
    Example:
      gitagent task list
    """
    from gitagent.daemon.overview import overview  # noqa: PLC0415
    from gitagent.daemon.report import report  # noqa: PLC0415
    from gitagent.host import clock  # noqa: PLC0415

    made = report(overview(here.repository, everything=everything), clock.now())
    if as_json:
        say.dump({"version": made["version"], "tasks": made["tasks"]})
        return
    rows = [
        (line["state"], line["id"], line["title"], line["reason"] or "")
        for line in made["tasks"]
    ]
    for line in page.table(rows, indent=""):
        say.out(line)
    if not rows:
        say.note("nothing is asked for; see: gitagent task add --help")


@command.command(name="show")
@click.argument("task")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_obj
def show(here: Here, task: str, as_json: bool) -> None:  # noqa: FBT001 - click's way
    """Show one task: its state, its attempts, its story, and its text.

    \b
    Example:
      gitagent task show fix-typo
    """
    from gitagent.daemon.asking import text_of  # noqa: PLC0415

    tale.show(here.repository, task, as_json=as_json)
    text = None if as_json else text_of(here.repository, task)
    if text is not None:
        say.out(f"\nText\n{text}")


@command.command(name="handoff")
@click.argument("task")
@click.pass_obj
def handoff(here: Here, task: str) -> None:
    """Print a task's state for whoever goes on with it.

    It is told by receipts and by the diff: what was tried, what changed, what failed
    last, and who owes what.

    \b
    Example:
      gitagent task handoff fix-typo
    """
    from gitagent.daemon.handing import of_task  # noqa: PLC0415 - start time

    if text := of_task(here.repository, task):
        say.out(text)
    else:
        say.note(f"{task} was not tried yet; there is nothing to hand over")


@command.command(name="stop")
@click.argument("task")
@click.pass_obj
def stop(here: Here, task: str) -> None:
    """Stop a task; what its worker has done is kept.

    \b
    Example:
      gitagent task stop fix-typo
    """
    from gitagent.daemon.asking import request  # noqa: PLC0415

    _asked(here, request(here.repository, task, "stop"))


@command.command(name="retry")
@click.argument("task")
@click.pass_obj
def retry(here: Here, task: str) -> None:
    """Try a task again that failed, was refused or was stopped.

    \b
    Example:
      gitagent task retry fix-typo
    """
    from gitagent.daemon.asking import request  # noqa: PLC0415

    _asked(here, request(here.repository, task, "retry"))


def _asked(here: Here, record: "TaskRecord") -> None:
    if record.request is None:
        say.out(f"{record.id} is {record.state}")
    else:
        say.out(f"{record.id}: asked to {record.request}")
    _poked(here)


def _poked(here: Here) -> None:
    from gitagent.daemon.entry import poke  # noqa: PLC0415

    if not poke(here.repository):
        say.note("no daemon runs; start one with: gitagent up --detach")
