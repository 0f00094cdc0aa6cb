"""What is left of an error that is ours: a file that can be sent to us."""

import platform
import traceback

from gitagent import __version__
from gitagent.git.repository import Repository
from gitagent.host import clock, place


def report(repo: Repository, error: BaseException) -> str:
    """Write versions and traceback to a file; return one line that names it."""
    folder = place.state_dir(repo.common_dir) / "log"
    text = "".join(traceback.format_exception(error))
    head = f"gitagent {__version__}, Python {platform.python_version()}\n"
    path = folder / f"crash-{clock.stamp_us().replace(':', '')}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(head + text)
    except OSError:
        return f"{type(error).__name__}: {error}; its log could not be written"
    return f"{type(error).__name__}: {error}; see {path}"
