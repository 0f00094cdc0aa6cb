"""How much of what a tool printed the model reads: the head, and a little of the end.

The end is where commands say how they ended. The whole is recorded, and named.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_LEFT_OUT: Final = "[… what stood here is left out …]"
_INNER: Final = bytes(range(0x80, 0xC0))  # no letter of UTF-8 begins with them
_LETTER: Final = 4  # bytes of the longest one
_END: Final = 10  # part of the limits that is for the end: a tenth


@dataclass(frozen=True, slots=True)
class Most:
    """The limits."""

    kib: int = 50
    lines: int = 2000


@dataclass(frozen=True, slots=True)
class Clipped:
    """What the model reads."""

    text: str
    cut: bool  # whether something of it is not there


def clip(
    whole: bytes,
    most: Most,
    show: Callable[[bytes], str],
    *,
    blob: str,
    dropped: int = 0,
) -> Clipped:
    """Return what the model reads of an output.

    ``show`` makes text of it, perhaps a longer one; ``blob`` is where ``whole`` is
    kept, and ``dropped`` the bytes that came after it and are not.
    """
    lines = whole.count(b"\n") + (whole[-1:] not in {b"", b"\n"})
    size = most.kib * 1024
    if len(whole) <= size and lines <= most.lines and not dropped:
        text = show(whole)
        if len(text.encode()) <= size:
            return Clipped(text, cut=False)
    end, end_lines = size // _END, most.lines // _END
    head = _head(whole, size - end, most.lines - end_lines)
    tail = b"" if dropped else _tail(whole[len(head) :], end, end_lines)
    parts = [
        _fit(show(head), size - end).rstrip("\n"),
        _LEFT_OUT,
        *([_fit_end(show(tail), end).strip("\n")] if tail else []),
        f"[output cut: {len(whole) + dropped} bytes, {lines} lines in all; "
        + (f"the first {len(whole)} bytes are" if dropped else "the whole is")
        + f" blob {blob}]",
    ]
    return Clipped("\n".join(parts), cut=True)


def _head(data: bytes, size: int, lines: int) -> bytes:
    """Return the beginning, whole lines if there are any."""
    cut = data[:size]
    rows = cut.split(b"\n", lines)
    if len(rows) > lines:
        return cut[: len(cut) - len(rows[-1])]
    if len(data) <= size:
        return data
    at = cut.rfind(b"\n") + 1
    return cut[:at] if at > size // 2 else _letters(data, size)


def _tail(data: bytes, size: int, lines: int) -> bytes:
    """Return the end, whole lines if there are any."""
    cut = data[-size:] if size else b""
    if len(cut) < len(data):
        at = cut.find(b"\n") + 1
        cut = cut[at:] if 0 < at < len(cut) else cut.lstrip(_INNER)
    rows = cut.removesuffix(b"\n").split(b"\n")
    return b"\n".join(rows[-lines:]) if lines else b""


def _letters(data: bytes, size: int) -> bytes:
    """Return so many bytes, without a letter of UTF-8 that is cut off."""
    at = size
    while size - at < _LETTER and data[at : at + 1].strip(_INNER) != data[at : at + 1]:
        at -= 1
    return data[:at]


def _fit(text: str, size: int) -> str:
    return text.encode()[:size].decode("utf-8", "ignore")


def _fit_end(text: str, size: int) -> str:
    data = text.encode()
    return data[-size:].decode("utf-8", "ignore") if len(data) > size else text
