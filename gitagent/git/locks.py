"""Lock files of git processes that are dead.

A killed git leaves ``<file>.lock`` behind, and every later one waits for it in vain.
One is dead for certain when it is older than the machine's boot. Otherwise it is
taken for dead when it is old and no git process is at work in the repository; a
person's ``index.lock`` is never touched.
Source: git's lockfile.h (the lock is closed before it is renamed, so an open
descriptor proves nothing).
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gitagent.host import boot, clock, kin

OLD_S = 60.0  # far longer than any git holds a ref lock

_SINGLE = ("packed-refs.lock", "ORIG_HEAD.lock")


def remove_dead(common_dir: Path) -> tuple[Path, ...]:
    """Remove the locks of dead git processes on refs; return what was removed."""
    removed = []
    now = clock.now().timestamp()
    booted = boot.booted_at()
    for lock in _locks(common_dir):
        with suppress(FileNotFoundError):
            age_since = lock.stat().st_mtime
            dead = age_since < booted
            old = now - age_since > OLD_S
            if dead or (old and not kin.works_in("git", common_dir)):
                lock.unlink()
                removed.append(lock)
    return tuple(removed)


def _locks(common_dir: Path) -> Iterator[Path]:
    for name in _SINGLE:
        if (common_dir / name).exists():
            yield common_dir / name
    yield from sorted((common_dir / "refs").rglob("*.lock"))
