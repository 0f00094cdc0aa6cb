"""Which boot of the machine this is; a recorded pid means nothing in another one."""

from functools import cache
from pathlib import Path


@cache
def boot_id() -> str:
    """Return the kernel's id of this boot, the same until the machine restarts."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text(encoding="ascii").strip()
