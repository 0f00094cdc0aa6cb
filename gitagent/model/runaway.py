r"""Cutting off an answer that a model no longer ends by itself.

Models get stuck: in line feeds within an argument, or in a few words said over and over
until the limit of the answer. Each adapter feeds all that comes through one guard.
"""

import re
from dataclasses import dataclass, field

# Formatted JSON and code have some hundred spaces in a row at most, in what is aligned
# or nested; a screen is about 2,000 characters.
BLANK = 2_000
# 160 lines of the same 50 characters. Who wants more of the same writes a loop for it.
SAME = 8_000
PATTERN = 64  # characters; a longer one is not called stuck
PIECES = 256  # of one answer; each call is a commit, and no API makes so many of sense
MOST = 2 * 2**20  # characters of one text or of one call's arguments

_STEP = 512  # characters between two looks for a pattern
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_BLANKS = re.compile(r"\s+")


@dataclass(slots=True)
class _Piece:
    """What came of one text, or of the arguments of one call."""

    size: int = 0
    blank: int = 0  # characters of whitespace at its end
    escape: str = ""  # the begun half of one
    tail: str = ""
    fresh: list[str] = field(default_factory=list)  # not yet in `tail`
    waiting: int = 0  # characters of these


class Guard:
    """Watches one answer."""

    def __init__(self) -> None:
        self._pieces: dict[str, _Piece] = {}

    def feed(self, piece: str, delta: str, *, escaped: bool = False) -> bool:
        """Whether the answer has run away, with what comes next of one of its pieces.

        ``escaped``: of JSON, where whitespace in a string is written with backslashes.
        """
        found = self._pieces.setdefault(piece, _Piece())
        found.size += len(delta)
        return (
            found.size > MOST
            or _blank(found, delta, escaped=escaped)
            or _stuck(found, delta)
        )


def _blank(piece: _Piece, delta: str, *, escaped: bool) -> bool:
    if escaped:
        delta = piece.escape + delta
        open_ = (len(delta) - len(delta.rstrip("\\"))) % 2
        piece.escape = delta[len(delta) - open_ :]
        delta = _ESCAPE.sub(_meant, delta[: len(delta) - open_])
    inner = delta.lstrip()
    if not inner:
        piece.blank += len(delta)
        return piece.blank > BLANK
    first = piece.blank + len(delta) - len(inner)
    piece.blank = len(inner) - len(inner.rstrip())
    longest = max(first, piece.blank)
    if len(inner) > BLANK:
        longest = max(longest, *map(len, _BLANKS.findall(inner)), 0)
    return longest > BLANK


def _meant(escape: re.Match[str]) -> str:
    return "  " if escape[1] in "nrt" else "xx"


def _stuck(piece: _Piece, delta: str) -> bool:
    piece.fresh.append(delta)
    piece.waiting += len(delta)
    if piece.waiting < _STEP:
        return False
    new = "".join(piece.fresh)
    piece.fresh, piece.waiting = [], 0
    # Of one long delta every part is looked at.
    for start in range(0, len(new), _STEP):
        piece.tail = (piece.tail + new[start : start + _STEP])[-SAME:]
        if len(piece.tail) == SAME and _repeats(piece.tail):
            return True
    return False


def _repeats(text: str) -> bool:
    end = text[-3 * PATTERN :]
    return any(
        end[size:] == end[:-size] and text[size:] == text[:-size]
        for size in range(1, PATTERN + 1)
    )
