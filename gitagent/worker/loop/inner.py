"""One sandbox of the built-in agent, from its start to its end.

What comes out of it is hostile: every number of it has a bound, a call is answered
once, and what is not as it has to be ends the sandbox. So whoever waits for a call
gets an answer, and nothing of it still runs when it does.
"""

import hmac
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from gitagent.core.conversation import CallState, Origin
from gitagent.files import clean
from gitagent.host import until
from gitagent.host.cancel import Cancel
from gitagent.host.channel import Channel, Message
from gitagent.host.clock import Wake, monotonic
from gitagent.host.confinement import Bind, Confinement
from gitagent.host.engine import LocalEngine
from gitagent.host.meeting import SOCKET, Meeting
from gitagent.host.process import Exit
from gitagent.worker.inside import lines
from gitagent.worker.loop.bodies import Output, Way
from gitagent.worker.loop.pending import Pending

STRAYS = 10_000  # messages about calls that are over
NESTED = 1000  # calls that one call of code may make; each is a commit

_FOLDER = "/gitagent/hands"
_START_S = 60.0  # it takes a tenth of a second; a machine under load can take long
_LIFE_S = 14 * 24 * 3600.0
_GRACE_S = 5.0  # beyond a call's own limit, which is kept inside
_STOP_S = 3.5  # for a call to end that is told to, which takes two where it is deaf
_LATE_S = 0.5
_FOUL = "What came out of it made no sense."
_ENDED = frozenset(
    {CallState.DONE, CallState.FAILED, CallState.INTERRUPTED, CallState.UNCERTAIN}
)


class Inner:
    """A sandbox with the program that carries out calls; `start` it, and `end` it.

    ``told`` gets, from other threads, which hosts it reached.
    """

    def __init__(
        self, confinement: Confinement, owner: str, told: Callable[[str], None]
    ) -> None:
        self._confinement = confinement
        self._owner = owner
        self._told = told
        self._stop = Cancel()
        self._ready = Wake()  # stays set: the sandbox is there, or it is over
        self._lock = threading.Lock()
        self._pending: dict[int, Pending] = {}
        self._last = 0
        self._strays = 0
        self._channel: Channel | None = None
        self._threads: list[threading.Thread] = []
        self.over = False
        self.why = ""  # a sentence, once it is over

    def start(self) -> None:
        """Begin; does not wait. Raises OSError."""
        met = Meeting(self._owner)
        # The sandbox dies with the thread that made it.
        for name, target in (("sandbox", self._run), ("hands", self._hear)):
            self._threads.append(
                threading.Thread(target=target, args=(met,), name=name, daemon=True)
            )
        for each in self._threads:
            each.start()

    def end(self, why: str = "It was ended.") -> None:
        """End it with all that runs in it, and wait for that."""
        self._close(why)
        for each in self._threads:
            if each is not threading.current_thread():
                each.join()

    def call(self, tool: str, given: Mapping[str, Any], way: Way) -> Output:
        """Carry out one call; for any thread, several at once."""
        ready = [until.readable(self._ready.fileno()), until.set_(way.cancel)]
        if until.first(ready, _START_S) != 0:
            if not way.cancel.is_set():
                self._close(f"It was not there within {_START_S:g} s.")
            return Output(b"[stopped before it began]\n", CallState.INTERRUPTED)
        pending = Pending(secrets.token_hex(16))
        with self._lock:
            if self.over or self._channel is None:
                said = f"[not carried out: the sandbox is gone. {self.why}]\n"
                return Output(said.encode(errors="replace"), CallState.FAILED)
            self._last += 1
            number = self._last
            self._pending[number] = pending
        try:
            self._send(
                {
                    "id": number,
                    "tool": tool,
                    "given": dict(given),
                    "seconds": way.seconds,
                    "key": way.key,
                    "token": pending.token,
                }
            )
            self._attend(number, pending, way)
        except BaseException:
            # Of a call that code makes. Nobody waits for the code any more.
            self._close("A call that code made could not be carried out.")
            raise
        finally:
            with self._lock:
                self._pending.pop(number, None)
        if pending.end is None:
            self._threads[0].join()
        return self._output(pending)

    def _attend(self, number: int, pending: Pending, way: Way) -> None:
        """Return when the call is over, whoever ended it."""
        deadline = monotonic() + way.seconds + _GRACE_S
        stopping, told = False, 0
        while True:
            with pending.lock:
                new, told = pending.pieces[told:], len(pending.pieces)
                asked = pending.asked.popleft() if pending.asked else None
                over = pending.over or pending.end is not None
            if new and way.printed is not None:
                way.printed(b"".join(new))
            if over:
                return
            if asked is not None:
                self._answer(number, pending, asked, way)
                continue
            waited = [until.readable(pending.wake.fileno())]
            if not stopping:
                waited.append(until.set_(way.cancel))
            if until.first(waited, deadline - monotonic()) == 0:
                pending.wake.wait(0)
            elif not stopping:
                stopping, deadline = True, monotonic() + _STOP_S
                self._send({"id": number, "stop": True})
            else:
                self._close("A call in it could not be stopped.")
                deadline = monotonic() + _STOP_S

    def _answer(self, number: int, pending: Pending, asked: Message, way: Way) -> None:
        tool, given, token = (asked.get(key) for key in ("tool", "given", "token"))
        known = isinstance(token, str) and hmac.compare_digest(
            token.encode(errors="replace"), pending.token.encode()
        )
        pending.nested += 1
        if not known or not isinstance(tool, str) or not isinstance(given, dict):
            text, ok = "That is no call.", False
        elif way.nested is None or tool == "code":
            text, ok = "Code alone calls tools, and not code again.", False
        elif pending.nested > NESTED:
            text, ok = (
                f"This code has made {NESTED} calls, and may make no more.",
                False,
            )
        else:
            text, ok = way.nested(tool, given)
        self._send({"id": number, "answer": text, "ok": ok})

    def _send(self, message: Message) -> None:
        channel = self._channel
        try:
            if channel is not None:
                channel.send(message)
        except OSError:
            self._close("It takes no calls any more.")

    def _output(self, pending: Pending) -> Output:
        whole, end = b"".join(pending.pieces), pending.end
        if end is None:
            said = f"[cut off: the sandbox has ended. {self.why}]\n"
            between = b"" if not whole or whole.endswith(b"\n") else b"\n"
            whole += between + said.encode(errors="replace")
            return Output(whole, CallState.INTERRUPTED)
        counted = end.get("dropped")
        dropped = counted if isinstance(counted, int) and 0 < counted < 1 << 60 else 0
        state = next((each for each in _ENDED if each == end["end"]), CallState.FAILED)
        return Output(whole, state, dropped=dropped)

    def _run(self, met: Meeting) -> None:
        """Be the thread whose sandbox it is."""
        inside = self._confinement
        confined = inside.mode != "off"
        folder = _FOLDER if confined else met.folder
        if confined:
            binds = (*inside.binds, Bind(met.folder, _FOLDER))
            inside = replace(inside, binds=binds)
        order = {
            "path": f"{folder}/{SOCKET}",
            "secret": met.secret,
            "root": inside.cwd,
            "confined": confined,
        }
        done = LocalEngine(self._owner).run(
            lines.hands(),
            inside,
            timeout=_LIFE_S,
            stdin=json.dumps(order).encode() + b"\n",
            keep=0,
            cancel=self._stop,
            on_network=self._told,
        )
        self._close(_reason(done))

    def _hear(self, met: Meeting) -> None:
        """Be the thread that takes what comes out."""
        with suppress(OSError):
            channel = met.meet(_START_S, self._stop)
            if channel is not None:
                with self._lock:
                    if self.over:
                        return
                    self._channel = channel
                self._ready.set()
                while self._take(channel.receive()):
                    pass
                self._close(_FOUL)
        # If it has ended, why is known a moment later.
        self._threads[0].join(_LATE_S)
        self._close(_FOUL)

    def _take(self, message: Message) -> bool:
        """Take one message; False: it is none that may come."""
        number = message.get("id")
        with self._lock:
            pending = self._pending.get(number) if isinstance(number, int) else None
        if pending is None:
            self._strays += 1
            return self._strays <= STRAYS
        return pending.hear(message)

    def _close(self, why: str) -> None:
        with self._lock:
            if self.over:
                return
            self.over, self.why = True, why
            waiting = [*self._pending.values()]
            channel = self._channel
        self._stop.set()
        if channel is not None:
            channel.close()
        for each in waiting:
            with each.lock:
                each.over = True
            each.wake.set()
        self._ready.set()


def _reason(done: Exit) -> str:
    """Return why a sandbox ended, as a sentence or two."""
    if done.cancelled:
        return "It was ended."
    if done.note:
        return done.note
    said = clean.sentence(clean.plain(done.stderr.strip().rpartition(b"\n")[2]))
    if not done.started:
        return f"It could not be started: {said}."
    return f"Its first process ended with {done.code}. {said}".strip()


def origin_of(tool: str) -> Origin:
    """Return whose words the output of a tool is."""
    if tool.startswith("mcp"):
        return Origin.MCP
    return Origin.WEB if tool == "web_fetch" else Origin.WORKTREE
