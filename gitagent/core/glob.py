"""Globs over paths of a tree, with the meaning they have in gitignore(5)."""

from collections.abc import Iterable
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
