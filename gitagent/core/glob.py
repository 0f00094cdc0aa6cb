"""Paths of a tree: globs with the meaning of gitignore(5), and names in sentences."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from gitagent.core.unseen import UNSEEN

if TYPE_CHECKING:  # who only names paths need not load it
    from pathspec import GitIgnoreSpec

_INSIDE = "\x01"  # a name in a folder that no glob spells out
_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # of a pair, and no byte
_HIDDEN = re.compile(f"[{UNSEEN}]")


@lru_cache(maxsize=256)
def _spec(globs: tuple[str, ...]) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - see above

    return GitIgnoreSpec.from_lines(globs)


def matching(globs: tuple[str, ...], paths: Iterable[str]) -> tuple[str, ...]:
    """Return those of ``paths`` that a glob matches, in their order."""
    if not globs:
        return ()
    spec = _spec(globs)
    return tuple(path for path in paths if spec.match_file(path))


def barred(globs: tuple[str, ...], paths: Iterable[str]) -> tuple[str, ...]:
    """Return those of ``paths`` that a glob forbids, in their order.

    That is what it matches, in capitals or not, and what stands where it looks for a
    folder: a link ``.claude`` would bring all that ``.claude/**`` is to keep out.
    """
    if not globs:
        return ()
    lower = tuple(glob.lower() for glob in globs)
    prefixes = {prefix for glob in lower for prefix in _above(glob)}
    spec = _spec(lower)
    return tuple(
        path
        for path in paths
        for low in (path.lower(),)
        if spec.match_file(low)
        or spec.match_file(f"{low}/{_INSIDE}")
        or any(_stands_at(low, prefix) for prefix in prefixes)
    )


def _above(glob: str) -> Iterable[tuple[str, ...]]:
    """Yield the folders that a glob names before its last part, by their names."""
    parts = glob.strip("/").split("/")
    first = 1 if parts[0] == "**" else 0  # at any depth
    for end in range(first + 1, len(parts)):
        if parts[end - 1] == "**":
            return
        yield tuple(parts[:end])


def _stands_at(path: str, prefix: tuple[str, ...]) -> bool:
    names = path.split("/")
    if prefix[0] == "**":
        prefix = prefix[1:]
        names = names[-len(prefix) :]
    return len(names) == len(prefix) and all(map(fnmatchcase, names, prefix))


def named(paths: tuple[str, ...], limit: int = 10) -> str:
    """Return paths as part of a sentence: on one line, and no more than ``limit``."""
    words = ", ".join(_visible(path) for path in paths[:limit])
    more = len(paths) - limit
    return f"{words} and {more} more" if more > 0 else words


def _visible(path: str) -> str:
    """Return a path in which nothing moves the cursor or hides."""
    return "".join(
        char
        if char.isprintable() and not _HIDDEN.match(char)
        else char.encode("unicode_escape").decode()
        for char in _HALF.sub("\ufffd", path)
        .encode(errors="surrogateescape")
        .decode(errors="replace")
    )
