"""A chat with a scripted model: what core/chat.py says, without a model or a gateway.

What the model answers depends on what it is told: ``hold …`` begins and then waits for
the file ``go`` in its folder or for a stop; ``tools`` makes calls; ``fail`` has no
answer; anything else is echoed. Its record is a file, so that it outlives the process.
"""

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitagent.core import chat
from gitagent.core.chat import (
    Answered,
    Decide,
    Delta,
    Doing,
    Frame,
    Greeting,
    Hello,
    Plan,
    Refused,
    Request,
    Rewind,
    Say,
    Sent,
    Side,
    SideEnd,
    State,
    Stop,
    Told,
    Trouble,
    Undone,
    When,
)
from gitagent.core.conversation import Call, CallState, Entry, Kind, Origin
from gitagent.host import place
from gitagent.host.socket import Listener, address

_POLL_S = 0.02

ROOT = Path(__file__).resolve().parents[2]


class ChatServer:
    """One chat in this process; its socket, record and orders are in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "chat"
        self.side = 0
        self.profile = ""
        self.state = State.IDLE
        self.entries = [self._entry(line) for line in self._lines()]
        self.said: list[Request] = []  # all that came
        self._parent: list[Entry] = []
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._closed = False
        self._turns: list[threading.Thread] = []
        self._soon: list[Say] = []
        self._partial = ""
        self._clients: list[socket.socket] = []
        self._server = socket.socket(socket.AF_UNIX)
        self.path.unlink(missing_ok=True)
        with address(self.path) as name:
            self._server.bind(name)
        self._server.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        if self.entries and self.entries[-1].kind is Kind.INPUT:
            self._begin(self.entries[-1])

    def drop(self) -> None:
        """Close every connection, and go on to listen."""
        for client in self._clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Be gone, with the turn that is under way."""
        with self._lock:
            self._closed = True
            self._stop.set()
        self.path.unlink(missing_ok=True)
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.drop()
        for each in self._turns:
            each.join()

    def told(self, frame: Frame) -> None:
        """Tell all clients."""
        data = chat.encode_frame(frame)
        with self._lock:
            for client in self._clients:
                with suppress(OSError):
                    client.sendall(data)

    def record(self, **fields: Any) -> Entry:
        """Add an entry and tell it."""
        with self._lock:
            number = self.entries[-1].number + 1 if self.entries else 1
            made = Entry(number=number, at="2026-11-30T12:00:00Z", **fields)
            self.entries.append(made)
            if not self.side:
                with (self.folder / "record").open("ab") as file:
                    file.write(chat.encode_frame(Told(made)))
                    file.flush()
            self.told(Told(made))
            return made

    def _lines(self) -> list[bytes]:
        file = self.folder / "record"
        return file.read_bytes().splitlines() if file.exists() else []

    def _entry(self, line: bytes) -> Entry:
        found = chat.decode_frame(line)
        assert isinstance(found, Told)
        return found.entry

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                threading.Thread(
                    target=self._serve, args=(client,), daemon=True
                ).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError, ValueError), client, client.makefile("rb") as lines:
            for line in lines:
                request = chat.decode_request(line)
                with self._lock:
                    self.said.append(request)
                    self._on(client, request)
        with self._lock, suppress(ValueError):
            self._clients.remove(client)

    def _on(  # noqa: C901 - one arm a message
        self, client: socket.socket, request: Request
    ) -> None:
        match request:
            case Hello(since=since, side=side):
                for frame in self._greeting(since if side == self.side else 0):
                    client.sendall(chat.encode_frame(frame))
                self._clients.append(client)
            case Say():
                self._say(request)
            case Stop():
                self._stop.set()
            case Plan(on=on):
                self.profile = "plan" if on else ""
                self._greet()
            case Side():
                self.side, self._parent = 1, list(self.entries)
                self._greet()
            case SideEnd(inject=inject):
                later = self.entries[len(self._parent) :]
                self.side, self.entries = 0, self._parent
                self._greet()
                if inject:
                    told = f"aside: {len(later)} entries"
                    self.record(kind=Kind.INPUT, text=told)
            case Rewind(to=to, sure=False):
                self.told(Undone(to, ("task fix-it was started",)))
            case Rewind(to=to):
                self.record(kind=Kind.REWIND, last=to)
            case Decide(number=number, yes=yes):
                self.told(Trouble(f"{number} is {'yes' if yes else 'no'}"))
            case _:
                pass

    def _greeting(self, since: int) -> Iterator[Frame]:
        left = [each for each in self.entries if each.number > since]
        left = left[-chat.NEWEST :]
        last = self.entries[-1].number if self.entries else 0
        first = left[0].number if left else last + 1
        yield Greeting("talk", last, self.state, self.profile, self.side, first)
        yield from map(Told, left)
        if self._partial:
            yield Delta(self._partial)

    def _greet(self) -> None:
        last = self.entries[-1].number if self.entries else 0
        self.told(Greeting("talk", last, self.state, self.profile, self.side, last + 1))

    def _say(self, said: Say) -> None:
        for each in self.entries:
            if each.request == said.request:
                self.told(Sent(said.request, each.number))
                for answer in self.entries[each.number : each.number + 1]:
                    self.told(Answered(said.request, answer.number, answer.text))
                return
        if self.state is State.IDLE:
            self._place(said)
        elif said.when is When.REJECT:
            self.told(Refused(said.request, "a turn is running"))
        elif said.when is When.STEER:
            self._input(said)
        elif said not in self._soon:
            self._soon.append(said)

    def _input(self, said: Say) -> Entry:
        person = {"kind": Kind.INPUT, "origin": Origin.PERSON}
        made = self.record(**person, text=said.text, request=said.request)
        self.told(Sent(said.request, made.number))
        return made

    def _place(self, said: Say) -> None:
        self._begin(self._input(said))

    def _begin(self, asked: Entry) -> None:
        if self._closed:
            return
        self._stop.clear()
        self.state = State.ASKING
        self.told(Doing(State.ASKING))
        self._turns.append(
            threading.Thread(target=self._turn, args=(asked,), daemon=True)
        )
        self._turns[-1].start()

    def _turn(self, asked: Entry) -> None:
        text = self._answer(asked.text)
        with self._lock:
            self._partial = ""
            if text is None:
                ended = "stopped" if self._stop.is_set() else "failed"
                why = "by a person" if self._stop.is_set() else "it failed"
                self.record(kind=Kind.END, ended=ended, text=why)
                self.told(Answered(asked.request, 0, "", why))
            else:
                said = self.record(kind=Kind.SAY, origin=Origin.MODEL, text=text)
                self.told(Answered(asked.request, said.number, text))
            self.state = State.IDLE
            self.told(Doing(State.IDLE))
            if self._soon:
                self._place(self._soon.pop(0))

    def _more(self, text: str) -> None:
        with self._lock:
            self._partial += text
            self.told(Delta(text))

    def _answer(self, text: str) -> str | None:
        if text.startswith("fail"):
            return None
        if text.startswith("hold"):
            self._more("held open\nand half a li")
            go = self.folder / "go"
            while not self._stop.wait(_POLL_S) and not go.exists():
                pass
            if self._stop.is_set():
                return None
            self._more("ne")
            return "held open\nand half a line"
        if text.startswith("tools"):
            self._tools()
        for part in ("You said: ", text):
            self._more(part)
        return f"You said: {text}"

    def _tools(self) -> None:
        self._more("Looking.")
        calls = (
            Call("c1", "grep", json.dumps({"pattern": "foo", "path": "src"})),
            Call("c2", "shell", json.dumps({"command": "rm -rf /"})),
            Call("c3", "propose", json.dumps({"task": "fix", "answers": "1a"})),
        )
        model = {"kind": Kind.SAY, "origin": Origin.MODEL}
        self.record(**model, text="Looking.", calls=calls)
        self._partial = ""
        self.state = State.WORKING
        self.told(Doing(State.WORKING))
        done = Entry(Kind.RESULT, state=CallState.DONE)
        results = (
            replace(done, tool="grep", what="src", text="a\nb", size=2048),
            replace(
                done, tool="shell", what="rm", state=CallState.DENIED, text="not so"
            ),
            replace(done, tool="propose", what="fix", text="answer fix with a"),
        )
        for each in results:
            names = ("kind", "tool", "what", "text", "size", "state")
            self.record(**{name: getattr(each, name) for name in names})


@contextmanager
def daemon(common_dir: Path, lead: Callable[[bool], Path | str]) -> Iterator[None]:
    """Answer as a daemon does; ``lead(new)`` returns a chat's socket, or why not."""

    def on(message: dict[str, Any]) -> dict[str, Any]:
        assert "chat" == message["op"]
        there = lead(message["new"])
        if isinstance(there, str):
            return {"error": there, "again": "try again" in there}
        return {"ok": True, "socket": str(there), "id": message["id"] or "talk"}

    listener = Listener(place.socket_path(common_dir), on)
    listener.start()
    try:
        yield
    finally:
        listener.stop()


class ChatProcess:
    """The same in a process of its own, begun again whenever it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started = 0
        self._child: subprocess.Popen[bytes] | None = None

    def lead(self, _new: object = None) -> Path:
        """Return the socket of a process that lives."""
        if self._child is None or self._child.poll() is not None:
            self.started += 1
            script = f"from {__name__} import main; main()"
            self._child = subprocess.Popen(
                [sys.executable, "-c", script, self.folder],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            assert self._child.stdout is not None
            assert b"ready\n" == self._child.stdout.readline()
        return self.folder / "chat"

    def kill(self) -> None:
        """End it with SIGKILL."""
        if self._child is not None:
            self._child.send_signal(signal.SIGKILL)
            self._child.wait()
            for pipe in (self._child.stdin, self._child.stdout):
                assert pipe is not None
                pipe.close()
            self._child = None


def main() -> None:
    """Serve until standard input ends."""
    folder = Path(sys.argv[1])
    ChatServer(folder)
    print("ready", flush=True)  # noqa: T201 - to the test
    sys.stdin.read()
