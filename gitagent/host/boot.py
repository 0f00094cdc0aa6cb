"""Which boot of the machine this is; a recorded pid means nothing in another one."""

from functools import cache
from pathlib import Path


@cache
def boot_id() -> str:
    """Return the kernel's id of this boot, the same until the machine restarts."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text(encoding="ascii").strip()


def booted_at() -> float:
    """Return when the machine started, in seconds since the epoch; see proc(5)."""
    lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("btime"))
