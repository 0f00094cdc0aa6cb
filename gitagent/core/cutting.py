"""How a document is cut into passages, each a run of whole lines under one heading."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from gitagent.core.words import terms

# A passage is to answer one thing, and its vector to say one: about 150 words.
CHARACTERS: Final = 900
PASSAGES: Final = 400  # of one document; what follows is not searched
_LINE: Final = 4000  # characters of a line that count
_SHOWN: Final = 6  # lines of an excerpt
_SHOWN_CHARACTERS: Final = 800

_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_FRONT: Final = ("+++", "---")


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document."""

    title: str  # the headings above it, the outermost first
    text: str
    first: int  # line, from 1
    last: int


def cut(text: str, characters: int = CHARACTERS) -> list[Passage]:
    """Return the passages of a Markdown text; its front matter is none of them.

    A heading begins a new one, and so does a paragraph that would make it longer than
    ``characters``. A longer paragraph is cut between its lines.
    """
    found: list[Passage] = []
    for title, first, lines in _sections(text.split("\n")):
        for begin, end in _runs(lines, characters):
            here = lines[begin:end]
            found.append(
                Passage(title, "\n".join(here), first + begin, first + end - 1)
            )
            if len(found) == PASSAGES:
                return found
    return found


def _sections(lines: list[str]) -> Iterator[tuple[str, int, list[str]]]:
    """Yield the headings above each section, its first line, and its lines."""
    above: list[tuple[int, str]] = []
    begin = start = _after_front(lines)
    fence = ""
    for at in range(start, len(lines)):
        line = lines[at][:_LINE]
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif line.strip() == mark[1] and mark[1].startswith(fence):
                fence = ""
        heading = None if fence else _HEADING.fullmatch(line)
        if heading is None:
            continue
        yield " ".join(name for _, name in above), begin + 1, lines[begin:at]
        depth = len(heading[1])
        above = [each for each in above if each[0] < depth]
        above.append((depth, heading[2]))
        begin = at
    yield " ".join(name for _, name in above), begin + 1, lines[begin:]


def _after_front(lines: list[str]) -> int:
    if lines[0].rstrip() not in _FRONT:
        return 0
    mark = lines[0].rstrip()
    ends = (n for n, line in enumerate(lines[1:], 1) if line.rstrip() == mark)
    return next(ends, -1) + 1


def _runs(lines: list[str], characters: int) -> Iterator[tuple[int, int]]:
    """Yield the begin and the end of each run of lines that makes a passage."""
    begin, size, gap = 0, 0, 0
    for at, line in enumerate(lines):
        if not line.strip():
            gap = at + 1
            continue
        more = len(line) + 1
        if size and size + more > characters:
            # Between paragraphs, unless that leaves less than half of a passage.
            half = sum(map(len, lines[begin:gap])) * 2 > characters
            end = gap if gap > begin and half else at
            yield _bare(lines, begin, end)
            begin, size = end, sum(len(each) + 1 for each in lines[end:at])
        size += more
    if any(line.strip() for line in lines[begin:]):
        yield _bare(lines, begin, len(lines))


def _bare(lines: list[str], begin: int, end: int) -> tuple[int, int]:
    """Return a run without the empty lines around it."""
    while end > begin and not lines[end - 1].strip():
        end -= 1
    while begin < end and not lines[begin].strip():
        begin += 1
    return begin, end


def excerpt(
    text: str, first: int, last: int, weights: Mapping[str, float]
) -> tuple[int, str]:
    """Return the lines of a passage that say most of what is asked, whole ones.

    ``weights`` are of terms. The first number is the line that they begin at.
    """
    lines = text.split("\n")[first - 1 : last]
    tell = [sum(weights.get(t, 0.0) for t in set(terms(line))) for line in lines]
    best, most = 0, -1.0
    for at in range(max(1, len(lines) - _SHOWN + 1)):
        told = sum(tell[at : at + _SHOWN])
        if lines[at].strip() and told > most:
            best, most = at, told
    shown: list[str] = []
    for line in lines[best : best + _SHOWN]:
        if shown and sum(map(len, shown)) + len(line) > _SHOWN_CHARACTERS:
            break
        shown.append(line)
    while shown and not shown[-1].strip():
        shown.pop()
    return first + best, "\n".join(shown)
