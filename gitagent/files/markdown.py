"""What gitagent reads in a Markdown body: its first heading and its fenced blocks.

Source: CommonMark 0.31, "Fenced code blocks", "ATX headings", "Setext headings". Fences
count inside list items; not inside block quotes, HTML comments, indented code, or
other fences, so that what a person commented out or quoted is never run.
"""

import re
from dataclasses import dataclass

SHELLS = frozenset({"sh", "bash", "shell"})

_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})\s*(\S*)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?=( +|\t)\S)")
_RULE = re.compile(r"([-*])(?:[ \t]*\1){2,}[ \t]*$")
_NO_START = re.compile(  # of a block: text that can go on with a paragraph
    r"[ \t]*(?!`{3}|~{3}|#{1,6}(?:\s|$)|>|<!--|(?:[-*+]|\d{1,9}[.)])(?:\s|$)"
    r"|([-*_])(?:[ \t]*\1){2,}[ \t]*$)[^ \t]"
)
_ATX = re.compile(r"#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    info: str  # first word behind the opening fence, in lower case
    text: str  # its lines without the fence's indentation, each ended by \n
    row: int  # of its opening fence, from 0
    closed: bool  # False: the text ends before the block does


@dataclass(frozen=True, slots=True)
class Heading:
    """The first heading."""

    text: str
    rows: range  # the rows it takes, from 0


@dataclass(frozen=True, slots=True)
class Outline:
    """What one pass over a body finds."""

    heading: Heading | None
    blocks: tuple[Block, ...]

    @property
    def scripts(self) -> tuple[str, ...]:
        """The texts of the shell blocks, in order; one without an end is none."""
        return tuple(b.text for b in self.blocks if b.info in SHELLS and b.closed)

    @property
    def unclosed(self) -> int | None:
        """The row (from 0) of the first shell block that does not end, or None."""
        rows = (b.row for b in self.blocks if b.info in SHELLS and not b.closed)
        return next(rows, None)


def outline(text: str) -> Outline:
    """Find the first heading and every fenced block of ``text``, in order."""
    rows = text.split("\n")
    heading: Heading | None = None
    blocks: list[Block] = []
    offsets: list[int] = []  # of the contents of the list items that are open
    row, paragraph = 0, False
    while row < len(rows):
        if paragraph and _NO_START.match(rows[row]):
            row += 1  # more of a paragraph, however far to the left: no item ends here
            continue
        indent, content = _enter(rows[row], offsets)
        paragraph = bool(content) and _NO_START.match(content) is not None
        if indent > 3:
            paragraph = False
            row += 1
        elif content.startswith("<!--"):
            row = _after_comment(rows, row)
        elif fence := _FENCE.match(content):
            block, row = _block(rows, row, fence, sum(offsets[-1:]), indent)
            blocks.append(block)
        else:
            heading = heading or _heading(rows, row, content, item=bool(offsets))
            row += 1
    return Outline(heading, tuple(blocks))


def _enter(row: str, offsets: list[int]) -> tuple[int, str]:
    """Leave and enter list items; return the row's indent in them, and its content."""
    row = row.expandtabs(4)
    content = row.lstrip(" ")
    column = len(row) - len(content)
    if content:
        while offsets and column < offsets[-1]:
            offsets.pop()
    base = sum(offsets[-1:])
    while (
        column - base <= 3
        and not _RULE.match(content)
        and (item := _ITEM.match(content))
    ):
        # An item whose content is indented code begins one space behind its marker.
        gap = len(item[1]) if len(item[1]) <= 4 else 1
        base = column + len(item[0]) + gap
        offsets.append(base)
        column += len(item[0]) + len(item[1])
        content = content[len(item[0]) + len(item[1]) :]
    return column - base, content


def _block(
    rows: list[str], start: int, fence: re.Match[str], base: int, indent: int
) -> tuple[Block, int]:
    """Return the block that begins on row ``start``, and the row behind it.

    ``base`` is the column of its list item's content: a row left of it ends both.
    """
    mark = fence[1]
    closing = re.compile(rf" {{0,{base + 3}}}{re.escape(mark)}{mark[0]}*[ \t]*$")
    inside: list[str] = []
    for number in range(start + 1, len(rows)):
        content = rows[number].lstrip(" \t")
        lead = rows[number][: len(rows[number]) - len(content)].expandtabs(4)
        if content and len(lead) < base:
            return _made(fence, inside, start, closed=False), number
        if closing.match(lead + content):
            return _made(fence, inside, start, closed=True), number + 1
        inside.append(
            lead[base + indent :] + content if base + indent else rows[number]
        )
    return _made(fence, inside, start, closed=False), len(rows)


def _made(fence: re.Match[str], rows: list[str], start: int, *, closed: bool) -> Block:
    text = "".join(f"{row}\n" for row in rows)
    return Block(fence[2].lower(), text, start, closed)


def _after_comment(rows: list[str], row: int) -> int:
    while row < len(rows) and "-->" not in rows[row]:
        row += 1
    return row + 1


def _heading(rows: list[str], row: int, content: str, *, item: bool) -> Heading | None:
    if atx := _ATX.match(content):
        return Heading(atx[1].strip(), range(row, row + 1)) if atx[1] else None
    if item or (row and rows[row - 1].strip()):
        return None
    below = rows[row + 1] if row + 1 < len(rows) else ""
    if content.strip() and re.match(r" {0,3}(=+|-{2,})[ \t]*$", below):
        return Heading(content.strip(), range(row, row + 2))
    return None
