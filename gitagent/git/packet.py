"""Packet lines, the framing of Git's own protocols, and the talk of proc-receive.

Source: gitprotocol-common(5), pkt-line Format; githooks(5), proc-receive.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from gitagent.errors import UserError

FLUSH = b"0000"
LIMIT = 65520  # bytes of one packet, its length included


@dataclass(frozen=True, slots=True)
class PushedRef:
    """One ref of a push."""

    old: str  # object id; zeros: it did not exist
    new: str  # object id; zeros: it is deleted
    ref: str

    @property
    def deleted(self) -> bool:
        """Whether the push deletes the ref."""
        return not self.new.strip("0")


@dataclass(frozen=True, slots=True)
class Push:
    """What receive-pack asks a proc-receive hook for."""

    refs: tuple[PushedRef, ...]
    options: tuple[str, ...] | None = None  # of ``git push -o``; None: cannot be had
    atomic: bool = False  # all of it, or nothing


def packet(text: str) -> bytes:
    """Return one line as a packet; what does not fit is cut off."""
    data = text.encode(errors="surrogateescape")[: LIMIT - 5] + b"\n"
    return b"%04x%s" % (len(data) + 4, data)


def packets(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the payloads up to the next flush packet.

    Raises:
        UserError: the stream ends before it, or is no stream of packets.
    """
    while True:
        head = stream.read(4)
        try:
            size = int(head, 16) if len(head) == 4 else -1
        except ValueError:
            size = -1
        if size == 0:
            return
        data = stream.read(size - 4) if size >= 4 else b""
        if size < 4 or len(data) != size - 4:
            raise UserError("this is a hook, and Git alone can talk to it")
        yield data.removesuffix(b"\n")


def read_push(stream: BinaryIO, answer: BinaryIO) -> Push:
    """Agree on version 1, and return what was pushed.

    Raises:
        UserError: the other side is no receive-pack of a version that is known.
    """
    hello = next(packets(stream), b"")
    version, _, features = hello.partition(b"\0")
    for _ in packets(stream):
        pass
    if version != b"version=1":
        raise UserError("this git speaks another version of proc-receive")
    offered = features.split()
    has_options = b"push-options" in offered
    mine = b"version=1\0push-options" if has_options else b"version=1"
    answer.write(b"%04x%s%s" % (len(mine) + 4, mine, FLUSH))
    answer.flush()
    refs = tuple(pushed_ref(_text(line)) for line in packets(stream))
    options = tuple(map(_text, packets(stream))) if has_options else None
    return Push(refs, options, b"atomic" in offered)


def pushed_ref(line: str) -> PushedRef:
    """Return the ref of a line ``<old> <new> <ref>``. Raises UserError."""
    words = line.split(" ", 2)
    if len(words) != 3:
        raise UserError("this is a hook, and Git alone can talk to it")
    return PushedRef(*words)


def write_answer(answer: BinaryIO, lines: Iterable[str]) -> None:
    """Send the answer and its end."""
    answer.writelines(packet(line) for line in lines)
    answer.write(FLUSH)
    answer.flush()


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")
