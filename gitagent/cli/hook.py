"""``gitagent hook NAME``: what the installed hook scripts call; not for people."""

import os
import sys

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.errors import GitagentError, UserError
from gitagent.git import packet
from gitagent.host.pipe import broken

_UNABLE = 3  # to judge; 1 would be an answer


@click.command(name="hook", hidden=True)
@click.argument("name")
@click.pass_obj
def command(here: Here, name: str) -> None:
    """Do the work of the Git hook NAME, called by Git.

    \b
    Example:
      echo "$old $new $ref" | gitagent hook post-receive
    """
    if name == "post-receive":
        _post_receive(here)
    elif name == "proc-receive":
        _proc_receive(here)
    elif name in {"pre-receive", "reference-transaction"}:
        _guard(here, name)
    else:
        raise UserError(f"gitagent has no hook {name}")


def _post_receive(here: Here) -> None:
    """Submit what was pushed; whatever goes wrong, the push itself stands."""
    pushed = tuple(packet.pushed_ref(line.rstrip("\n")) for line in sys.stdin)
    entered = False
    try:
        from gitagent.daemon.pushed import after_push  # noqa: PLC0415

        entered = after_push(here.repository, pushed, say.note)
    finally:
        _poke(here, told=entered)


def _proc_receive(here: Here) -> None:
    """Answer for every ref, also when it is no: silence would be no reason."""
    source, answer = sys.stdin.buffer, sys.stdout.buffer
    push = packet.read_push(source, answer)
    try:
        from gitagent.cli.outcome import tell  # noqa: PLC0415
        from gitagent.daemon.pushed import Pusher, answers  # noqa: PLC0415

        lines = answers(here.repository, push, Pusher(say.note, tell, _gone))
    except BrokenPipeError:
        raise  # the pusher went away; what was submitted stays so
    except Exception as error:  # noqa: BLE001 - the protocol needs its answer
        from gitagent.daemon.crash import report  # noqa: PLC0415

        say.note(report(error, lambda: here.repository))
        lines = [f"ng {each.ref} gitagent failed; see above" for each in push.refs]
    packet.write_answer(answer, lines)


def _gone() -> bool:
    """Tell whether nobody takes the answer, or reads what is told meanwhile."""
    return broken(1, 2)


def _guard(here: Here, name: str) -> None:
    """Judge moves of branches, one a line; the exit code is 1 if the answer is no."""
    moves = tuple(packet.pushed_ref(line.rstrip("\n")) for line in sys.stdin)
    from gitagent.daemon import guard  # noqa: PLC0415 - as above

    try:
        if name == "pre-receive":
            answer = guard.pushed(here.repository, moves, os.environ)
        else:
            answer = guard.moved(here.repository, moves)
    except GitagentError as error:
        say.note(error.line())
        sys.exit(_UNABLE)
    for line in answer.lines:
        say.note(line)
    sys.exit(1 if answer.refused else 0)


def _poke(here: Here, *, told: bool) -> None:
    """Wake the daemon; without one, say so to a pusher who waits for something."""
    from gitagent.daemon.entry import poke  # noqa: PLC0415 - a guard has no time for it

    if not poke(here.repository) and told:
        say.note("no daemon runs there now; it waits for one")
