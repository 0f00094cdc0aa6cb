"""``gitagent hook NAME``: what the installed hook scripts call; not for people."""

import sys

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.daemon.entry import poke
from gitagent.errors import UserError
from gitagent.git import packet


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
        from gitagent.daemon.pushed import answers  # noqa: PLC0415

        lines = list(answers(here.repository, push, say.note))
    except Exception as error:  # noqa: BLE001 - the protocol needs its answer
        from gitagent.daemon.crash import report  # noqa: PLC0415

        say.note(report(error, lambda: here.repository))
        lines = [f"ng {each.ref} gitagent failed; see above" for each in push.refs]
    _poke(here, told=any(line.startswith("ok ") for line in lines))
    packet.write_answer(answer, lines)


def _poke(here: Here, *, told: bool) -> None:
    """Wake the daemon; without one, say so to a pusher who waits for something."""
    if not poke(here.repository) and told:
        say.note("no daemon runs there now; it waits for one")
