"""What a verdict may depend on beside the command and the tree, as a digest."""

import hashlib
import json
import platform
from functools import cache
from typing import Final

from gitagent.core.settings import Settings
from gitagent.host.sandbox import Confinement
from gitagent.host.sandbox import environment as inner_environment

FORMAT: Final = 1  # of receipts; a new one makes every check run again


def environment(settings: Settings) -> str:
    """Return a digest that is equal as long as receipts may stand for new runs.

    It changes with the sandbox's settings, the setup of checkouts, the operating
    system's release, the machine's architecture, and the PATH that a check sees; not
    with a restart.
    """
    sandbox = settings.sandbox
    inside = Confinement(
        cwd="/", read=sandbox.read, write=sandbox.write, mode=str(sandbox.mode)
    )
    facts = {
        "format": FORMAT,
        "sandbox": str(sandbox.mode),
        "read": list(sandbox.read),
        "write": list(sandbox.write),
        "file_limit": sandbox.file_limit,
        "memory": sandbox.memory,
        "processes": sandbox.processes,
        "setup": list(settings.lander.setup),
        "system": _system(),
        "machine": platform.machine(),
        "path": inner_environment(inside)["PATH"],
    }
    text = json.dumps(facts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _system() -> tuple[str, str]:
    """Return name and version of the operating system. Source: os-release(5)."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return platform.system(), platform.release()
    return release.get("ID", ""), release.get("VERSION_ID", "")
