"""Front matter: TOML between two lines ``+++``, or YAML between two lines ``---``.

It is optional, and a file without any is all body. What only looks like front matter
(a fence below line 1, or with words on it) is refused, never silently read as text.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Literal

from gitagent.files import tables
from gitagent.files.text import Malformed, decode

LIMIT = 16 * 1024  # bytes of front matter

Kind = Literal["toml", "yaml"]

_FENCES: dict[str, Kind] = {"+++": "toml", "---": "yaml"}
_NEAR = re.compile(r"\s*(?:\+{3,}|---\s+[\w-]+:|---(?:toml|yaml)\b)|[ \t]+---\s*$")
_KEY = re.compile(r"\s*[\"']?[\w.-]+[\"']?\s*=")
_PLAIN = re.compile(r"([A-Za-z][\w-]*):[ \t]+(?![\"'|>\[{])(\S.*)")


@dataclass(frozen=True, slots=True)
class Front:
    """A file split into its two parts."""

    kind: Kind | None  # None: no front matter
    values: tables.Table = field(default_factory=dict)
    body: str = ""  # what follows the front matter, lines ended by \n
    head: str = ""  # the front matter as written, without its fences
    first: int = 1  # line of the file on which the body begins

    def line_of(self, *keys: str) -> int:
        """Return the line of the file that sets a key of the front matter, or 0."""
        row = tables.row_of(self.head, keys)
        return row + 1 if row else 0


def split(data: bytes, path: str, *, lenient: bool = False) -> Front:
    """Split a file into front matter and body.

    If ``lenient``, YAML that is none is read once more with every plain value of its
    lines taken as it is: tools write ``description: Use it so: …`` without quotes.

    Raises:
        Malformed: the file is too large or not text, or its front matter is cut off,
            over 16 KiB, or not what its fences say.

    """
    text = decode(data, path)
    rows = text.split("\n")
    fence = rows[0].rstrip(" \t")
    kind = _FENCES.get(fence)
    if kind is None:
        _refuse_near_miss(rows, path)
        return Front(None, body=text)
    end = next((n for n, row in enumerate(rows[1:], 1) if row.rstrip() == fence), None)
    if end is None:
        raise _open(rows, fence, path)
    head = "\n".join(rows[1:end])
    if len(head.encode()) > LIMIT:
        problem = f"the front matter is over {LIMIT // 1024} KiB"
        raise Malformed(path, problem, "move texts below its closing fence", 1)
    values = _values(head, kind, path, lenient=lenient)
    body = "\n".join(rows[end + 1 :])
    return Front(kind, values, body, head, first=end + 2)


def _values(head: str, kind: Kind, path: str, *, lenient: bool) -> tables.Table:
    if kind == "toml":
        return tables.toml(head, path, first=2)
    try:
        return tables.yaml(head, path, first=2)
    except Malformed as error:
        quoted = "\n".join(_quoted(row) for row in head.split("\n"))
        if not lenient or quoted == head:
            raise
        try:
            return tables.yaml(quoted, path, first=2)
        except Malformed:
            raise error from None


def _quoted(row: str) -> str:
    plain = _PLAIN.fullmatch(row.rstrip())
    if plain is None:
        return row
    return f"{plain[1]}: {json.dumps(plain[2], ensure_ascii=False)}"


def _open(rows: list[str], fence: str, path: str) -> Malformed:
    """Say how to close front matter whose second fence is missing."""
    other = "---" if fence == "+++" else "+++"
    for number, row in enumerate(rows[1:], 2):
        if row.rstrip() == other:
            problem = f"the front matter begins with {fence} and ends with {other}"
            return Malformed(path, problem, f"end it with {fence}", number, 1)
    problem = f"the front matter that begins with {fence} does not end"
    return Malformed(path, problem, f"put a line {fence} below its last key", 1, 1)


def _refuse_near_miss(rows: list[str], path: str) -> None:
    if _NEAR.match(rows[0]):
        fence = "+++" if "+++" in rows[0] else "---"
        problem = f"line 1 is not a fence: {rows[0]}"
        raise Malformed(path, problem, f"write {fence} alone on line 1", 1, 1)
    for number, row in enumerate(rows, 1):
        if row.startswith(("```", "~~~")):
            return
        fence = row.rstrip()
        above = "".join(rows[: number - 1]).strip()
        if fence not in _FENCES or (fence == "---" and above):
            continue
        inside = next((r for r in rows[number:] if r.strip()), "")
        if _KEY.match(inside) if fence == "+++" else re.match(r"[\w-]+:\s", inside):
            problem = f"the front matter begins on line {number}"
            mend = f"its {fence} has to be line 1: delete or move what is above"
            raise Malformed(path, problem, mend, number, 1)
