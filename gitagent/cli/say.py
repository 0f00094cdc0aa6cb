"""What commands print: one way for results, one for asides, one for JSON.

Whatever may hold other people's bytes is made harmless for a terminal here.
"""

import json
import sys

import click

from gitagent.files import clean

_unfinished = b""  # begin of a line of output that has not come to its end


def out(text: str = "") -> None:
    """Print a result."""
    click.echo(clean.visible(text))


def note(text: str) -> None:
    """Print an aside, one line on standard error."""
    click.echo(f"gitagent: {clean.sentence(text, 2000)}", err=True)


def aside(text: str) -> None:
    """Print lines that belong to an aside, such as output, on standard error."""
    click.echo(clean.visible(text), err=True)


def raw(data: bytes, *, end: bool = False) -> None:
    """Print a piece of somebody's output: the very bytes, but not on a terminal.

    There it comes line by line, made harmless; ``end``: nothing follows.
    """
    stream = sys.stdout
    if not stream.isatty():
        stream.flush()
        stream.buffer.write(data)
        stream.buffer.flush()
        return
    global _unfinished  # noqa: PLW0603 - one terminal, one unfinished line
    lines, _, _unfinished = (_unfinished + data).rpartition(b"\n")
    if lines:
        click.echo(clean.plain(lines))
    if end and _unfinished:
        click.echo(clean.plain(_unfinished))
        _unfinished = b""


def dump(value: object) -> None:
    """Print a value as JSON, its keys in the order they were put in."""
    click.echo(json.dumps(value, indent=2))


def seconds(value: float | None) -> str:
    """Return a duration for people."""
    if value is None:
        return ""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def ago(stamp: str, now: str) -> str:
    """Return how long ``stamp`` is before ``now`` (both UTC, ISO 8601), for people."""
    from datetime import datetime  # noqa: PLC0415 - of all commands two need it

    try:
        passed = datetime.fromisoformat(now) - datetime.fromisoformat(stamp)
    except ValueError:
        return stamp
    left = int(passed.total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if left >= size:
            return f"{left // size} {unit} ago"
    return f"{max(0, left)} s ago"
