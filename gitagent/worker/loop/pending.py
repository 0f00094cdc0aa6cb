"""One call whose answer comes out of a sandbox, piece by piece, within bounds."""

import base64
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

from gitagent.host.channel import Message
from gitagent.host.clock import Wake

MOST = 16 << 20  # bytes of a call's output that are kept
MESSAGES = 1_000_000  # of one call; even a program that never stops needs fewer


@dataclass(slots=True)
class Pending:
    """A call that is being carried out; filled by the one who hears."""

    token: str
    wake: Wake = field(default_factory=Wake)
    lock: threading.Lock = field(default_factory=threading.Lock)
    pieces: list[bytes] = field(default_factory=list)
    size: int = 0
    messages: int = 0
    asked: deque[Message] = field(default_factory=deque)
    nested: int = 0
    end: Message | None = None
    over: bool = False  # nothing more comes

    def hear(self, message: Message) -> bool:
        """Take what a message says of this call; False: it may not say that."""
        with self.lock:
            if self.end is not None:
                return True
            self.messages += 1
            fits = self.messages <= MESSAGES and self._put(message)
        self.wake.set()
        return fits

    def _put(self, message: Message) -> bool:
        if "ask" in message:
            self.asked.append(message)
            return len(self.asked) <= 1
        if "end" in message:
            self.end = {key: message.get(key) for key in ("end", "dropped")}
            return True
        data = _data(message)
        self.pieces.append(data)
        self.size += len(data)
        return self.size <= MOST and bool(data)


def _data(message: Message) -> bytes:
    out, b64 = message.get("out"), message.get("b64")
    if isinstance(out, str):
        return out.encode(errors="replace")
    if isinstance(b64, str):
        with suppress(ValueError):
            return base64.b64decode(b64, validate=True)
    return b""
