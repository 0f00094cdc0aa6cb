"""``gitagent chat``: a conversation with the standing agent."""

import os
import sys

import click

from gitagent.cli.here import Here


@click.command(name="chat")
@click.argument("chat", metavar="[ID]", required=False)
@click.option("--new", is_flag=True, help="Begin a new chat.")
@click.option("--list", "listed", is_flag=True, help="List the chats.")
@click.option("--send", "text", metavar="TEXT", help="Say this and print the answer.")
@click.option(
    "--request-id",
    "request",
    metavar="ID",
    help="With --send: the same id again is recorded once.",
)
@click.option(
    "--busy",
    type=click.Choice(["followup", "steer", "reject"]),
    help="With --send: what to do while a turn runs; followup is the default.",
)
@click.option(
    "--wait/--no-wait",
    default=None,
    help="With --send: wait for the answer, or only until it is recorded.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def command(
    here: Here,
    chat: str | None,
    new: bool,  # noqa: FBT001 - click's way
    listed: bool,  # noqa: FBT001
    text: str | None,
    request: str | None,
    busy: str | None,
    wait: bool | None,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Talk with the standing agent.

    It can look at the product, read how things stand, and start tasks. Without an id
    the newest chat goes on. On a terminal /help lists what one can type; ^C ends a turn
    and ^D leaves. Otherwise each line of standard input is said in turn, and the
    answers are printed.

    \b
    Examples:
      gitagent chat
      gitagent chat --send "What landed today?"
      gitagent chat --list
    """
    given = {"--request-id": request, "--busy": busy, "--wait/--no-wait": wait}
    alone = [name for name, value in given.items() if value is not None]
    if text is None and alone:
        raise click.UsageError(f"{alone[0]} goes with --send")
    if listed and (chat is not None or new or text is not None):
        raise click.UsageError("--list goes alone")
    if chat is not None:
        _require_id(chat)
    if listed:
        from gitagent.cli.terminal import listing  # noqa: PLC0415 - see below

        listing.show(here.repository, as_json=as_json)
    elif text is None and _on_terminal():
        if as_json:
            raise click.UsageError("--json goes with --send, --list or a pipe")
        # Of all commands and ways to call them, one needs it: 0.2 s.
        from gitagent.cli.terminal import prompt  # noqa: PLC0415

        prompt.run(here.repository.common_dir, chat or "", new=new)
    else:
        sys.exit(_plain(here, chat or "", text, request, busy, wait, new, as_json))


def _plain(
    here: Here,
    chat: str,
    text: str | None,
    request: str | None,
    busy: str | None,
    wait: bool | None,  # noqa: FBT001
    new: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> int:
    from gitagent.cli.terminal.plain import Plain, pipe  # noqa: PLC0415
    from gitagent.core.chat import When  # noqa: PLC0415

    if text == "-":
        text = sys.stdin.read()
    plain = Plain(here.repository.common_dir, chat, new=new, as_json=as_json)
    try:
        if text is None:
            return pipe(plain, sys.stdin)
        when = When(busy or When.FOLLOWUP)
        plain.say(text, request, when, wait=wait is not False)
    finally:
        plain.close()
    return 0


def _on_terminal() -> bool:
    both = sys.stdin.isatty() and sys.stdout.isatty()
    return both and os.environ.get("TERM", "dumb") != "dumb"


def _require_id(chat: str) -> None:
    from gitagent.core.ident import id_problem  # noqa: PLC0415
    from gitagent.errors import ConfigError  # noqa: PLC0415

    if problem := id_problem(chat):
        raise ConfigError(f"there can be no chat {chat!r}: {problem}")
