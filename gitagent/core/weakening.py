"""Signs that a submission weakens the tests that are to judge it.

They forbid nothing: a test goes for good reasons too. They are named in the landing
note, so that nobody has to look for them in the diff.
"""

import re
from collections.abc import Callable, Iterator

from gitagent.core.candidate import Change, PathChange

_FOLDERS = frozenset({"test", "tests", "spec", "specs", "__tests__", "testing"})
_NAME = re.compile(
    r"test_.*|conftest\.py|.*(?:_test|_spec|\.test|\.spec)\.[^.]+|.*Tests?\.[^.]+"
)
_SKIP = re.compile(
    r"pytest\.(?:mark\.)?(?:skip|skipif|xfail|importorskip)\b"
    r"|unittest\.(?:skip\w*|expectedFailure)\b"
    r"|\b(?:it|describe|test|context)\.(?:skip|todo)\b|\bx(?:it|describe|test)\("
    r"|\bt\.Skip(?:f|Now)?\(|#\[ignore\b|@(?:Disabled|Ignore)\b"
)


def is_test(path: str) -> bool:
    """Whether a path is a test by the habits of common languages."""
    *folders, name = path.split("/")
    return bool(_FOLDERS & set(folders)) or _NAME.fullmatch(name) is not None


def skips(text: str) -> int:
    """Count the marks that keep a test from running or from counting."""
    return len(_SKIP.findall(text))


def weakened(
    changes: tuple[PathChange, ...], load: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    """Yield (path, what happened to it); ``load`` gives the text of a blob."""
    for change in changes:
        if not is_test(change.path):
            continue
        if change.change is Change.DELETED:
            yield change.path, "deleted"
            continue
        before = skips(load(change.old_blob)) if change.old_blob else 0
        after = skips(load(change.new_blob))
        if after > before:
            more = after - before
            yield change.path, f"{more} more {'skip' if more == 1 else 'skips'}"
