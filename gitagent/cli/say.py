"""What commands print: one way for results, one for asides, one for JSON.

Whatever may hold other people's bytes is made harmless for a terminal here.
"""

import json
import os
import sys
from typing import Final

import click

from gitagent.files import clean

LINES: Final = 200  # of an output, for people
CHARACTERS: Final = 100_000

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


def raw(data: bytes) -> None:
    """Print a piece of somebody's output, the very bytes."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def output(data: bytes, *, end: bool = False) -> None:
    """Print a piece of somebody's output line by line, made harmless.

    Only a terminal gets colours. ``end``: nothing follows.
    """
    global _unfinished  # noqa: PLW0603 - one output, one unfinished line
    whole, found, _unfinished = (_unfinished + data).rpartition(b"\n")
    parts = [whole] if found else []
    if end and _unfinished:
        parts.append(_unfinished)
        _unfinished = b""
    if parts:
        click.echo(clean.shown(b"\n".join(parts), colours=_colours()))


def end_of(data: bytes) -> bool:
    """Print the end of somebody's whole output as `output` does.

    Return whether anything was left out, which is said in a line of its own.
    """
    text = clean.shown(data, colours=_colours()).removesuffix("\n")
    kept = "\n".join(text.split("\n")[-LINES:])[-CHARACTERS:]
    if left := text.removesuffix(kept).count("\n"):
        click.echo(f"[{left} lines left out]")
    elif len(kept) < len(text):
        click.echo(f"[{len(text) - len(kept)} characters left out]")
    if text:
        click.echo(kept)
    return len(kept) < len(text)


def _colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


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
