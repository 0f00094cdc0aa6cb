"""The daemon's own words: one line on standard error for each thing that happened."""

import contextlib
import sys

from gitagent.files import clean
from gitagent.host.clock import now


def log(topic: str, text: str) -> None:
    """Write ``HH:MM:SS topic text``, local time, control characters made visible.

    Never fails: a daemon whose terminal is gone goes on without words.
    """
    moment = now().astimezone().strftime("%H:%M:%S")
    line = f"{moment} {clean.line(topic)} {clean.line(text.rstrip())}\n"
    # One write for the line, so that those of two threads do not mix.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(line)
        sys.stderr.flush()
