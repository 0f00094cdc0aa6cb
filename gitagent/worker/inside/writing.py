"""The tools ``write`` and ``edit``: files of the worktree, whole or not at all."""

import os
import stat
from contextlib import suppress
from difflib import SequenceMatcher
from pathlib import Path

from gitagent.worker.inside import paths
from gitagent.worker.inside.doing import DONE, Doing, Given, Said, Slip, count, utf8
from gitagent.worker.inside.doing import text as text_of
from gitagent.worker.inside.reading import numbered, whole

_COMPARED = 20_000  # lines that are compared with what was not found
_LIKE = 0.6  # how like a line has to be to be shown
_AROUND = 3  # lines shown before and after a change
_SHOWN = 40  # lines of a change


def write(given: Given, doing: Doing) -> Said:
    """Write a file, with the folders above it; one that is there keeps its mode."""
    name, content = text_of(given, "path"), _bytes(given, "content")
    path = paths.written(doing.place, name)
    there = path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, content)
    lines = content.count(b"\n") + (content[-1:] not in {b"", b"\n"})
    how = "replaced" if there else "made"
    said = f"{name} was {how}: {count(lines, 'line')}, {count(len(content), 'byte')}.\n"
    return utf8(said), DONE


def edit(given: Given, doing: Doing) -> Said:
    """Replace a piece of a file that is there exactly once, or ``all`` of them.

    It works on bytes, so that nothing else of the file changes.
    """
    name = text_of(given, "path")
    old, new = _bytes(given, "old"), _bytes(given, "new")
    path = paths.written(doing.place, name)
    paths.seen(doing.place, name)
    if not old:
        raise Slip("`old` is empty; use write for a file of your own.")
    if old == new:
        raise Slip("`old` and `new` are the same.")
    data = whole(path, name)
    if old not in data and b"\r\n" in data:
        old, new = _crlf(old), _crlf(new)
    places = data.count(old)
    if not places:
        raise Slip(f"`old` is not in {name}. {_near(data, old)}")
    every = given.get("all") is True
    if places > 1 and not every:
        raise Slip(
            f"`old` is in {name} {places} times, in {_lines(data, old)}: give more of"
            " what stands around it, or `all`."
        )
    at = data.index(old)
    after = data.replace(old, new)
    replace(path, after)
    more = f" in {places} places" if places > 1 else ""
    return utf8(f"{name} was edited{more}:\n") + _change(after, at, new), DONE


def replace(path: Path, data: bytes) -> None:
    """Write a file anew, with the mode that it had. Raises OSError."""
    new = path.with_name(f".{path.name[:200]}.{os.getpid()}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    mode = None
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if not os.access(path, os.W_OK):
            raise PermissionError(13, "Permission denied", str(path))
    fd = os.open(new, flags, 0o666)
    try:
        with open(fd, "wb") as file:  # noqa: PTH123 - it is open
            file.write(data)
            if mode is not None:
                os.fchmod(fd, mode)
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def _bytes(given: Given, key: str) -> bytes:
    try:
        return text_of(given, key).encode()
    except UnicodeEncodeError:
        raise Slip(f"`{key}` holds half a character, which no file can.") from None


def _crlf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _lines(data: bytes, old: bytes) -> str:
    found: list[int] = []
    at = data.find(old)
    while at >= 0 and len(found) < 10:
        found.append(data.count(b"\n", 0, at) + 1)
        at = data.find(old, at + len(old))
    return "lines " + ", ".join(map(str, found))


def _change(after: bytes, at: int, new: bytes) -> bytes:
    """Return the lines around the first change as they are now."""
    lines = after.split(b"\n")
    first = after.count(b"\n", 0, at)
    last = first + new.removesuffix(b"\n").count(b"\n")
    begin, end = max(0, first - _AROUND), last + 1 + _AROUND
    shown = lines[begin : min(end, begin + _SHOWN)]
    if shown and end >= len(lines) and not shown[-1]:
        shown.pop()
    return b"".join(numbered(shown, begin + 1)).decode("utf-8", "replace").encode()


def _near(data: bytes, old: bytes) -> str:
    """Return a sentence about what is in the file instead."""
    if "\ufffd".encode() in old:
        return "It has \ufffd where the file has bytes that are no UTF-8: leave it out."
    lines = [_bare(line) for line in data.split(b"\n")[:_COMPARED]]
    wanted = [_bare(line) for line in old.strip().split(b"\n")]
    for at in range(len(lines) - len(wanted) + 1):
        if lines[at : at + len(wanted)] == wanted:
            return "These lines are the same but for white space:\n" + _excerpt(
                data, at, len(wanted)
            )
    best, like = 0, 0.0
    matcher = SequenceMatcher[str](autojunk=False)
    matcher.set_seq2(_text(wanted[0]))
    for at, line in enumerate(lines):
        matcher.set_seq1(_text(line))
        bound = max(like, _LIKE)
        if matcher.real_quick_ratio() > bound and matcher.quick_ratio() > bound:
            ratio = matcher.ratio()
            if ratio > like:
                best, like = at, ratio
    if like < _LIKE:
        return "Nothing in it is like it; read the file."
    return "What is most like it:\n" + _excerpt(data, best, len(wanted))


def _bare(line: bytes) -> bytes:
    return b" ".join(line.split())


def _text(line: bytes) -> str:
    return line[:200].decode("utf-8", "replace")


def _excerpt(data: bytes, at: int, how_many: int) -> str:
    lines = data.split(b"\n")[at : at + min(how_many, _SHOWN)]
    shown = b"".join(numbered(lines, at + 1))
    return shown.decode("utf-8", "replace").rstrip("\n")
