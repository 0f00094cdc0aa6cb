"""Lines of committed files: read as whole lines, and looked for where they went.

What is read can be hostile: huge, no text at all, or ended by carriage returns.
"""

from typing import Final

from gitagent.git.objects import BLOB, EXECUTABLE, GITLINK, LINK, TREE, Entry, Objects

FILE_BYTES: Final = 4 << 20  # of a file that can be cited; larger ones nobody wrote

_NO_FILE: Final = {TREE: "a folder", LINK: "a symbolic link", GITLINK: "a submodule"}


def file_problem(entry: Entry) -> str:
    """Return why an entry of a tree is nothing with lines, a noun; "" if it has."""
    return (
        "" if entry.mode in {BLOB, EXECUTABLE} else _NO_FILE.get(entry.mode, "no file")
    )


def lines_of(objects: Objects, blob: str) -> list[str] | None:
    r"""Return a file's lines without their ends; None if it is no text of this size.

    ``\r\n`` ends a line as ``\n`` does, so that a checkout's setting changes nothing.
    Raises MissingObject.
    """
    if objects.size(blob) > FILE_BYTES:
        return None
    data = objects.blob(blob)
    if b"\0" in data:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def find(lines: list[str], quote: str, near: int = 1) -> int:
    """Return where ``quote`` stands as whole lines, from 1; 0 if it does not.

    Of several places it is the one closest to line ``near``.
    """
    wanted = quote.split("\n")
    last = len(lines) - len(wanted)
    places = (
        n + 1
        for n in range(last + 1)
        if lines[n] == wanted[0] and lines[n : n + len(wanted)] == wanted
    )
    return min(places, key=lambda place: abs(place - near), default=0)
