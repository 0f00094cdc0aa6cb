"""Where lines of a file are in a later state of it."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

MOST: Final = 4000  # lines that differ; comparing takes time that grows with the square

_PLACES = 100  # that are compared by their characters


def follow(
    old: Sequence[str], new: Sequence[str], first: int, last: int
) -> tuple[int, int] | None:
    """Return the lines of ``new`` that stand where those of ``old`` did.

    Lines are counted from 1. None if nothing stands there any more, or if the two
    have too little in common to tell.
    """
    if not 1 <= first <= last <= len(old):
        return None
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    before, after = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(before), len(after)) > MOST:
        return None
    begin, end = first - 1, last  # half open, from 0
    found: list[int] = []
    if begin < head:
        found += [begin, min(end, head)]
    shift = len(new) - len(old)
    if end > len(old) - tail:
        found += [max(begin, len(old) - tail) + shift, end + shift]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        lo, hi = max(begin, head + i1), min(end, head + i2)
        if lo >= hi or j1 == j2:
            continue
        if tag == "equal":
            found += [j1 + lo - i1, j1 + hi - i1]
        else:
            at = _closest(old[lo:hi], new[head + j1 : head + j2])
            found += [head + j1 + at, head + j1 + at + min(hi - lo, j2 - j1)]
    return (min(found) + 1, max(found)) if found else None


def _closest(wanted: Sequence[str], lines: Sequence[str]) -> int:
    """Return where in ``lines`` as many of them are most like those wanted."""
    places = max(0, len(lines) - len(wanted)) + 1
    if places == 1 or places > _PLACES:
        return 0
    text = "\n".join(wanted)

    def likeness(place: int) -> float:
        other = "\n".join(lines[place : place + len(wanted)])
        return SequenceMatcher(None, text, other, autojunk=False).ratio()

    return max(range(places), key=likeness)
