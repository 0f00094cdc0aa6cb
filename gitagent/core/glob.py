"""Globs over paths of a tree, with the meaning they have in gitignore(5)."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache

from pathspec import GitIgnoreSpec


@lru_cache(maxsize=256)
def _spec(globs: tuple[str, ...]) -> GitIgnoreSpec:
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
        or spec.match_file(f"{low}/x")
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
