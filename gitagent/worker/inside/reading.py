"""The tool ``read``: a page of a text with its line numbers, or what a folder holds."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from gitagent.worker.inside import paths
from gitagent.worker.inside.doing import (
    DONE,
    Doing,
    Given,
    Said,
    Slip,
    count,
    number,
    text,
    utf8,
)

MOST = 32 << 20  # bytes of a file that is read, or edited
_LINES = 2000  # of a page
_PAGE = 48 << 10  # bytes of a page, so that it is never cut once more
_WIDE = 2000  # bytes of a line that are shown
_HEAD = 8192  # bytes that tell text from other things
_ENTRIES = 1000  # of a folder

_KINDS = {
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b": "compressed with gzip",
    b"\x7fELF": "a program or library (ELF)",
    b"SQLite format 3\0": "an SQLite database",
    b"\xff\xfe": "perhaps UTF-16 text",
    b"\xfe\xff": "perhaps UTF-16 text",
}


def read(given: Given, doing: Doing) -> Said:
    """Show a file or a folder. ``numbers`` false: the bare text, and all of it."""
    name = text(given, "path")
    path = paths.seen(doing.place, name)
    if path.is_dir():
        return _listing(path), DONE
    data = whole(path, name)
    first = number(given, "offset", 1, 1 << 31)
    most = number(given, "limit", _LINES, 1 << 31)
    if given.get("numbers") is False:
        lines = data.splitlines(keepends=True) if b"\r" not in data else _kept(data)
        end = first - 1 + most if "limit" in given else len(lines)
        return b"".join(lines[first - 1 : end]), DONE
    kind = _kind(data)
    if kind:
        return utf8(f"[{name}: {count(len(data), 'byte')}, {kind}; not shown]\n"), DONE
    if not data:
        return b"[the file is empty]\n", DONE
    return _page(data, name, first, most), DONE


def whole(path: Path, name: str) -> bytes:
    """Return what a regular file holds. Raises Slip."""
    # A pipe that somebody put there would be waited for.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:  # noqa: PTH123 - it has no path any more
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise Slip(f"{name} is no regular file.")
        data = file.read(MOST + 1)
    if len(data) > MOST:
        raise Slip(
            f"{name} has {count(found.st_size, 'byte')}, more than {MOST >> 20} MiB:"
            " look at parts of it with shell (head, tail, sed -n)."
        )
    return data


def numbered(lines: list[bytes], first: int) -> Iterator[bytes]:
    """Yield lines as they are shown, beginning with number ``first``."""
    for at, line in enumerate(lines, first):
        body = line.removesuffix(b"\r")
        if len(body) > _WIDE:
            kept = body[:_WIDE].decode("utf-8", "ignore").encode()
            body = kept + f" [cut: {count(len(body), 'byte')}]".encode()
        yield b"%6d\t%s\n" % (at, body)


def _page(data: bytes, name: str, first: int, most: int) -> bytes:
    text = data.removeprefix(b"\xef\xbb\xbf")
    lines = text.removesuffix(b"\n").split(b"\n")
    if first > len(lines):
        raise Slip(f"{name} has {count(len(lines), 'line')} only.")
    page: list[bytes] = []
    size = 0
    for line in numbered(lines[first - 1 : first - 1 + most], first):
        size += len(line)
        if size > _PAGE and page:
            break
        page.append(line)
    last = first - 1 + len(page)
    notes = []
    if last < len(lines) or first > 1:
        more = f"; go on with offset {last + 1}" if last < len(lines) else ""
        notes.append(f"lines {first} to {last} of {len(lines)}{more}")
    if b"\r\n" in data:
        notes.append("line ends are CRLF; edit keeps them")
    if text is not data and len(text) < len(data):
        notes.append("it begins with a byte order mark; edit keeps it")
    shown = b"".join(page)
    try:
        shown.decode()
    except UnicodeDecodeError:
        shown = shown.decode("utf-8", "replace").encode()
        notes.append("not all of it is UTF-8: \ufffd stands for other bytes")
    return shown + "".join(f"[{note}]\n" for note in notes).encode()


def _kept(data: bytes) -> list[bytes]:
    """Return lines with their ends, where a carriage return alone ends none."""
    return [line + b"\n" for line in data.split(b"\n")[:-1]] + (
        [data.rpartition(b"\n")[2]] if not data.endswith(b"\n") else []
    )


def _kind(data: bytes) -> str:
    """Return what it is, if it is no text; else ""."""
    head = data[:_HEAD]
    if b"\0" not in head and not data.startswith(b"%PDF-"):
        return ""
    return next(
        (kind for start, kind in _KINDS.items() if data.startswith(start)),
        "no text",
    )


def _listing(path: Path) -> bytes:
    with os.scandir(path) as entries:
        found = sorted(entries, key=lambda each: each.name)
    lines = [_entry(each) for each in found[:_ENTRIES]]
    if len(found) > _ENTRIES:
        lines.append(f"[{len(found) - _ENTRIES} more]")
    return utf8("\n".join(lines or ["[the folder is empty]"]) + "\n")


def _entry(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return f"{entry.name} -> {os.readlink(entry.path)}"  # noqa: PTH115 - a DirEntry
    return f"{entry.name}/" if entry.is_dir() else entry.name
