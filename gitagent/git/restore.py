"""Putting a checkout back after an advance of it was cut off or failed.

Git looks at every file before it writes the first, so a merge that ended in between
has overwritten nothing of a person's: what it wrote is new since its note, and holds
what the landing holds.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gitagent.errors import GitError
from gitagent.git.hold import Held
from gitagent.git.obstacle import Change, Checkout, changes, empty_tree, same

_TIMEOUT_S = 900.0


def take_back(held: Held, new: str, since: float, *, partial: bool) -> None:
    """Bring index and files from ``new`` back to HEAD; no change if they are there.

    Edits to other files stay, staged ones too. ``since`` is when the note was left, in
    seconds since the epoch. With ``partial``, for a git that failed just now, a file
    that it only began to write is put back as well.
    """
    place = held.place
    held.renew()
    head = place.git("rev-parse", "--verify", "-q", "HEAD", ok=(0, 1)).text
    to = head or empty_tree(place)
    # It fails where a person went on with what was left staged; then it is theirs.
    with suppress(GitError):
        place.git("read-tree", "-m", "-u", new, to, timeout=_TIMEOUT_S)
    staged = place.git("diff-index", "--cached", "--name-only", "-z", to, "--").fields
    written = _written(place, changes(place, to, new), since, partial=partial)
    written = [change for change in written if change.path not in staged]
    for change in written:
        if change.added:
            _remove(place, change.path)
    paths = "".join(f"{each.path}\0" for each in written if not each.added)
    if paths:
        place.git(
            *("checkout-index", "--force", "--quiet", "-u", "-z", "--stdin"),
            stdin=paths.encode(errors="surrogateescape"),
            timeout=_TIMEOUT_S,
        )
    held.install()


def _written(
    place: Checkout, wanted: Iterable[Change], since: float, *, partial: bool
) -> list[Change]:
    """Return the changes whose file the merge made what it is now, or took away."""
    newer, found = [], []
    for change in wanted:
        path = place.path / change.path
        try:
            if path.lstat().st_ctime >= since:
                newer.append(change)
        except FileNotFoundError:
            if not change.added and _folder_changed(path, since):
                found.append(change)
        except NotADirectoryError:
            continue
    whole = same(place, newer)
    return found + [
        change
        for change in newer
        if change.path in whole
        or (partial and _begun(place, place.path / change.path, change))
    ]


def _folder_changed(path: Path, since: float) -> bool:
    """Whether an entry of the nearest folder that is still there came or went."""
    folder = next(each for each in path.parents if each.is_dir())
    return folder.stat().st_mtime >= since


def _begun(place: Checkout, path: Path, change: Change) -> bool:
    if path.is_symlink() or not path.is_file() or change.mode == "000000":
        return False
    whole = place.git("cat-file", "blob", change.oid).out
    return whole.startswith(path.read_bytes())


def _remove(place: Checkout, path: str) -> None:
    file = place.path / path
    with suppress(OSError):
        file.unlink()
        for folder in file.parents:
            if folder == place.path:
                return
            os.rmdir(folder)  # noqa: PTH106 - ends at the first that is not empty
