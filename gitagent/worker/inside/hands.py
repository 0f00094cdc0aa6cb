"""What carries out the calls of the built-in agent: the program in its sandbox.

It is told on its standard input, as a line of JSON, where it is awaited and with which
secret; what comes then is one channel, and the line is not repeated for anybody. Calls
that come together are carried out together, each in a thread.

Other processes in the sandbox are of the same user. They can end this one, but not
look into it: it can be neither traced nor read.
"""

import ctypes
import importlib
import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gitagent.host.channel import Channel, Message, connect
from gitagent.worker.inside.doing import (
    FAILED,
    Doing,
    Given,
    Mouth,
    Place,
    Said,
    Slip,
    utf8,
)

_PR_SET_DUMPABLE = 4  # prctl(2)
_MARK = "GITAGENT_RUN"  # `engine.MARK`, which costs too much to import
# Bytes of a message: the answer to a call of code has up to 16 MiB, and JSON makes six
# bytes of one at most.
_LIMIT = 128 << 20

Body = Callable[[Given, Doing], Said]

# Where the body of each tool is; imported when it is called first.
BODIES = {
    "code": "coding:code",
    "edit": "writing:edit",
    "git": "views:git",
    "glob": "finding:glob",
    "grep": "finding:grep",
    "hook": "running:hook",
    "mcp": "servers:mcp",
    "mcp_list": "servers:mcp_list",
    "read": "reading:read",
    "shell": "running:shell",
    "web_fetch": "web:fetch",
    "write": "writing:write",
}
_SOON = ("reading", "writing", "running")  # needed by nearly every attempt


def serve() -> int:
    """Carry out calls until the channel ends."""
    order = json.loads(sys.stdin.buffer.readline())
    channel = connect(Path(order["path"]))
    _hide()
    channel.send({"secret": order["secret"]})
    place = Place(Path(order["root"]).resolve(), bool(order["confined"]))
    del order
    try:
        Hands(channel, place).serve()
    except OSError:
        pass  # the other end has gone: that is how it ends
    finally:
        _end_all()
    return 0


class Hands:
    """The calls that are being carried out."""

    def __init__(self, channel: Channel, place: Place) -> None:
        self._channel = channel
        self._place = place
        self._mouth = Mouth(channel)
        self._calls: dict[int, Doing] = {}

    def serve(self) -> None:
        """Take what comes; raises OSError at the end."""
        threading.Thread(target=self._mouth.serve, daemon=True).start()
        for each in _SOON:
            importlib.import_module(f"gitagent.worker.inside.{each}")
        while True:
            self._take(self._channel.receive(limit=_LIMIT))

    def _take(self, message: Message) -> None:
        known = self._calls.get(message["id"])
        if "tool" in message:
            doing = Doing(message, self._place, self._mouth)
            self._calls[doing.number] = doing
            threading.Thread(
                target=self._do, args=(doing, message), daemon=True
            ).start()
        elif known is not None and "stop" in message:
            known.cancel.set()
        elif known is not None and "answer" in message:
            known.answer(message["answer"], ok=message["ok"])

    def _do(self, doing: Doing, message: Message) -> None:
        tool = message["tool"]
        try:
            words, how = body(tool)(message["given"], doing)
        except Slip as error:
            words, how = utf8(f"{error}\n"), FAILED
        except OSError as error:
            where = f"{error.filename}: " if isinstance(error.filename, str) else ""
            words, how = utf8(f"{where}{error.strerror or error}\n"), FAILED
        except Exception as error:  # noqa: BLE001 - the model can mend what it is told
            said = f"{tool} could not be carried out: {type(error).__name__}: {error}"
            words, how = said.encode(errors="replace"), FAILED
        doing.end(words, how)
        self._calls.pop(doing.number, None)


def body(tool: str) -> Body:
    """Return what carries out calls of a tool. Raises Slip."""
    there = BODIES.get(tool)
    if there is None:
        raise Slip(f"There is no tool {tool}.")
    module, _, name = there.partition(":")
    found: Body = getattr(
        importlib.import_module(f"gitagent.worker.inside.{module}"), name
    )
    return found


def _hide() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _end_all() -> None:
    """End what was left running where no sandbox does that."""
    mark = os.environ.get(_MARK)
    if mark:
        from gitagent.host.kin import kill_marked  # noqa: PLC0415 - rarely

        with suppress(OSError):
            kill_marked(_MARK, mark)
