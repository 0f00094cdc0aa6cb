"""The index of a person's checkout, held while the checkout advances.

``git merge`` reads the index before it locks it, so what a person stages in between
would be lost. Therefore its lock is taken here first, and git works on a copy, which
replaces the index only when the ref is about to move. The lock holds a mark of ours:
one that is left behind is known for certain, and no other is ever removed.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gitagent.errors import Busy
from gitagent.git.obstacle import Checkout

_MARK = b"gitagent\n"


@dataclass(frozen=True, slots=True)
class Held:
    """A checkout whose index nobody else can change now."""

    place: Checkout  # its index is the copy
    index: Path  # the person's
    copy: Path

    def install(self) -> None:
        """Put the copy in the place of the index; no change if that was done."""
        if self.copy.exists():
            self.copy.replace(self.index)

    def renew(self) -> None:
        """Make the copy again from the index."""
        if self.index.exists():
            shutil.copyfile(self.index, self.copy)
        else:
            self.copy.unlink(missing_ok=True)


@contextmanager
def hold(place: Checkout) -> Iterator[Held]:
    """Lock the index and yield the checkout with a copy of it.

    For the one who holds the desk. At the end the lock is released; what was not
    installed is dropped.

    Raises:
        Busy: a person's git has the lock.
    """
    lock, copy = place.git_dir / "index.lock", place.git_dir / "index.gitagent"
    _take(lock, place.path)
    try:
        held = Held(replace(place, index=copy), place.git_dir / "index", copy)
        held.renew()
        yield held
    finally:
        _drop(place.git_dir)


def release_left(git_dir: Path) -> None:
    """Remove the lock and copy that one of us left who died."""
    try:
        ours = (git_dir / "index.lock").read_bytes() == _MARK
    except FileNotFoundError:
        ours = False
    if ours:
        _drop(git_dir)


def _take(lock: Path, path: Path) -> None:
    # Linked into place with its mark, so that it never exists without one.
    marked = lock.with_name("index.gitagent-mark")
    marked.write_bytes(_MARK)
    try:
        lock.hardlink_to(marked)
    except FileExistsError:
        raise Busy(f"git is at work in {path} (index.lock)") from None
    except OSError:
        _take_without_links(lock, path)
    finally:
        marked.unlink()


def _take_without_links(lock: Path, path: Path) -> None:
    try:
        with lock.open("xb") as file:
            file.write(_MARK)
    except FileExistsError:
        raise Busy(f"git is at work in {path} (index.lock)") from None


def _drop(git_dir: Path) -> None:
    """Remove the copy first: a lock that is gone lets the next one in."""
    for name in ("index.gitagent", "index.gitagent.lock", "index.lock"):
        (git_dir / name).unlink(missing_ok=True)
