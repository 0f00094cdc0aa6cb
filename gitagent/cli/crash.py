"""A bug of ours: a log that can be pasted into a report, and one line that names it."""

import os
import platform
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path

from gitagent import __version__
from gitagent.cli.here import Here
from gitagent.host.clock import stamp
from gitagent.host.place import state_dir


def report(error: Exception, here: object) -> str:
    """Write the log into the repository, else into a new file; return the line."""
    text = "".join(
        (
            f"gitagent {__version__}, Python {platform.python_version()}, ",
            f"{platform.platform()}\n",
            f"{stamp()} {sys.argv[1:]}\n\n",
            *traceback.format_exception(error),
        )
    )
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"this is a bug ({what[:200]}); its log is {_write(text, here)}"


def _write(text: str, here: object) -> Path:
    name = f"crash-{stamp().replace(':', '')}-{os.getpid()}.log"
    # Whatever finds the repository may be where the bug is.
    with suppress(Exception):
        if isinstance(here, Here):
            folder = state_dir(here.repository.common_dir) / "log"
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / name
            path.write_text(text, encoding="utf-8", errors="replace")
            return path
    handle, path_text = tempfile.mkstemp(prefix="gitagent-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    return Path(path_text)
