"""What is left of an error that is ours: a log that can be pasted into a report."""

import errno
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from gitagent import __version__
from gitagent.git.repository import Repository
from gitagent.host.clock import stamp_us
from gitagent.host.place import state_dir

_MENDS: Final = {
    errno.ENOSPC: "make room and try again",
    errno.EDQUOT: "make room and try again",
    errno.EROFS: "let it be written and try again",
}


def outage(error: BaseException) -> str:
    """Return the line about a disk that takes nothing; "": that is not what it is."""
    mend = _MENDS.get(error.errno or 0) if isinstance(error, OSError) else None
    if not isinstance(error, OSError) or mend is None:
        return ""
    where = error.filename2 or error.filename
    return f"{error.strerror}{f': {where}' if where else ''}; {mend}"


def report(error: BaseException, find: Callable[[], Repository]) -> str:
    """Write versions, command line and traceback to a log; return a line that names it.

    The log is in the repository, or in a new file of its own: what finds the
    repository may be where the bug is. A full disk is no bug of ours, and has no log.
    """
    if full := outage(error):
        return full
    text = "".join(
        (
            f"gitagent {__version__}, Python {platform.python_version()}, ",
            f"{platform.platform()}\n",
            f"{stamp_us()} {sys.argv[1:]}\n\n",
            *traceback.format_exception(error),
        )
    )
    what = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    return f"this is a bug ({what[:200]}); its log is {_write(text, find)}"


def _write(text: str, find: Callable[[], Repository]) -> Path | str:
    name = f"crash-{stamp_us().replace(':', '')}-{os.getpid()}.log"
    with suppress(Exception):
        folder = state_dir(find().common_dir) / "log"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        path.write_text(text, encoding="utf-8", errors="replace")
        return path
    try:
        handle, made = tempfile.mkstemp(prefix="gitagent-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as full:
        return f"lost ({full.strerror})"
    return made
