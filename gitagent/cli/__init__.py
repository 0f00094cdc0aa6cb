"""The command line: one file a command, each loaded when it is called.

Here stand the names, and the one place that turns errors into exit codes: 0 done,
1 the answer is no, 2 wrong usage or settings, 3 a bug, 75 try again, 130 interrupted,
141 nobody reads the output any more.
"""

import gc
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn

import click

from gitagent import YOUNG, __version__
from gitagent.cli.here import Here
from gitagent.errors import GitagentError, UserError

# The one line of help stands here, so that listing the commands loads none of them.
COMMANDS: Final = {
    "init": "Set gitagent up in a repository.",
    "up": "Start the daemon.",
    "down": "Stop the daemon and its workers.",
    "status": "Show what runs, what waits for whom, and what ended.",
    "inbox": "Show outcomes until they are acknowledged.",
    "task": "Add, list, show, stop and retry tasks.",
    "agents": "List the agents that tasks can name, and how they have fared.",
    "may": "Say whether an agent may have an effect.",
    "memory": "Read and write what earlier work teaches later work.",
    "chat": "Talk with the standing agent.",
    "answer": "Answer what a task asks.",
    "submit": "Hand a branch to the lander and print the submission's id.",
    "land": "Hand a branch to the lander and stay until the outcome.",
    "approve": "Approve what a submission does to protected paths.",
    "promote": "Put a submission at the head of the queue.",
    "pause": "Let nothing land until it is resumed.",
    "drain": "Let the queue run empty; what comes waits.",
    "resume": "Let the queue go on.",
    "rollback": "Take a landing back, through the lander.",
    "log": "List the landings, newest first.",
    "logs": "Show the output of a task's attempt or of a submission's checks.",
    "trace": "Print the chain from evidence to an item, to who got it, to what came.",
    "context": "Show what an attempt sent to models, and who put it there.",
    "replay": "Make an attempt once more from its record, and compare.",
    "hooks": "Install or uninstall the Git hooks of a hub.",
    "doctor": "Say what on this machine or in this repository does not hold.",
    "chapter": "Close an era, and restore it.",
    "verify": "Prove the landed history from its records.",
}
_HIDDEN: Final = {
    "hook": "Do the work of a Git hook.",
    "rehearse": "Do all that a daemon does but act.",
}

_NOT_READ = 141  # 128 + SIGPIPE, what git itself ends with
_INTERRUPTED = 130  # 128 + SIGINT
_BUG = 3


class Commands(click.Group):
    """The group of all commands, none of them loaded before it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which one comes to need them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command; None if there is none by that name."""
        del ctx
        if cmd_name not in COMMANDS and cmd_name not in _HIDDEN:
            return None
        found = import_module(f"gitagent.cli.{cmd_name}").command
        return found if isinstance(found, click.Command) else None

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands from the table above."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(self, *args: Any, **extra: Any) -> NoReturn:  # noqa: ANN401 - as click's
        """Run one command line and end the process with its exit code."""
        extra["standalone_mode"] = False
        sys.exit(_code(lambda: super(Commands, self).main(*args, **extra)))

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a reader that went away ends it without a word."""
        try:
            try:
                code = super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            _stop_writing()
            raise click.exceptions.Exit(_NOT_READ) from None
        except GitagentError as error:
            _complain(error.line())
            raise click.exceptions.Exit(error.exit_code) from None
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a bug
            from gitagent.daemon import crash  # noqa: PLC0415 - only for bugs

            here = ctx.obj or Here(ctx.params["folder"])
            _complain(crash.report(error, lambda: here.repository))
            code = UserError.exit_code if crash.outage(error) else _BUG
            raise click.exceptions.Exit(code) from None
        return code


def _code(run: Callable[[], object]) -> int:
    try:
        code = run()
    except click.Abort:
        return _INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        line = error.format_message().rstrip(".")
        path = error.ctx.command_path if error.ctx else "gitagent"
        _complain(f"{line}; see: {path} --help")
        return error.exit_code
    except click.ClickException as error:
        _complain(error.format_message())
        return error.exit_code
    return code if isinstance(code, int) else 0


def _complain(line: str) -> None:
    click.echo(f"gitagent: {' '.join(line.split())}", err=True)


def _stop_writing() -> None:
    # What is left in the buffer would raise again when Python ends.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gitagent", message="%(prog)s %(version)s")
@click.option(
    "-C",
    "folder",
    metavar="DIR",
    default=".",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Run as if started in DIR.",
)
@click.pass_context
def cli(ctx: click.Context, folder: Path) -> None:
    """Coding agents on a real Git repository; nothing lands past its checks.

    \b
    A first time:
      gitagent init               write .agent/ and commit it
      gitagent up --detach        start the daemon
      gitagent task add fix-typo --file fix-typo.md
      gitagent status
    """
    ctx.obj = Here(folder)


def main() -> None:
    """Run the command line of this process."""
    gc.set_threshold(YOUNG)
    cli.main(prog_name="gitagent")
