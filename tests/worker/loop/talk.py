"""A chat with a leader that is scripted, and clients that talk to it."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from gitagent.core.agent import Agent
from gitagent.core.chat import (
    Answered,
    Frame,
    Hello,
    Request,
    Say,
    When,
    decode_frame,
    encode_request,
)
from gitagent.core.conversation import CallState, Ended, Entry, Kind, Origin, in_force
from gitagent.core.profile import shrink
from gitagent.core.reach import Facts
from gitagent.core.settings import Loop
from gitagent.git.repository import Repository
from gitagent.host.confinement import Confinement
from gitagent.model.provider import Heard, NoTurn
from gitagent.worker.loop.bodies import Output
from gitagent.worker.loop.chatting import Chat
from gitagent.worker.loop.halt import Halt
from gitagent.worker.loop.record import Conversation
from gitagent.worker.loop.spec import Spec, Way
from gitagent.worker.loop.turns import Over

TURN_S = 20


@dataclass
class Step:
    """What the model does when it is asked."""

    say: str = ""
    calls: tuple[Any, ...] = ()
    over: Over | None = None  # in place of an answer
    gate: threading.Event | None = None  # it is waited for first
    deltas: tuple[str, ...] = ()
    error: Exception | None = None
    state: CallState = CallState.DONE  # of the calls
    origin: Origin = Origin.GITAGENT  # of what they say


@dataclass
class Model:
    """Answers one request after the other; what it was sent is in ``asked``."""

    steps: list[Step] = field(default_factory=list)
    asked: list[list[str]] = field(default_factory=list)
    came: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    sums: list[str | NoTurn] = field(default_factory=list)
    led: list[Spec] = field(default_factory=list)

    def next(self, entries: tuple[Entry, ...]) -> Step:
        """Take a request."""
        words = [each.text for each in in_force(entries) if each.kind is Kind.INPUT]
        self.asked.append(words)
        self.came.release()
        return self.steps.pop(0) if self.steps else Step("Well.")

    def wait(self) -> None:
        """Return when one more request has come."""
        assert self.came.acquire(timeout=TURN_S)


class Leader:
    """Leads as `turns.Leader` does, without a provider."""

    def __init__(self, repo, spec, model, told, between) -> None:
        self.conversation = Conversation.open(repo, spec.conversation)
        self.spec, self.model = spec, model
        self.told, self.between = told, between
        model.led.append(spec)

    def begin(self) -> None:
        may = shrink(self.spec.facts.may, self.spec.profile)
        self._record(Entry(Kind.BEGIN, profile=self.spec.profile, may=may))

    def turn(self, halt: Halt, heard: Heard) -> Over:
        while True:
            self.between()
            step = self.model.next(self.conversation.entries)
            for each in step.deltas:
                heard.text(each)
            while step.gate is not None and not step.gate.wait(0.01):
                if halt.is_set():
                    return Over(halt.why or Ended.STOPPED, "It was stopped.")
            if step.error is not None:
                raise step.error
            if step.over is not None:
                return step.over
            say = Entry(Kind.SAY, origin=Origin.MODEL, text=step.say, calls=step.calls)
            self._record(say)
            if not step.calls:
                return Over(Ended.DONE, "", step.say)
            for call in step.calls:
                result = Entry(Kind.RESULT, call=call.id, tool=call.tool)
                self._record(replace(result, state=step.state, origin=step.origin))

    def confirmed(self, call, _halt: Halt) -> Entry:
        made = Entry(Kind.RESULT, call=call.id, tool=call.tool, text="a page")
        made = replace(made, state=CallState.DONE, origin=Origin.WEB)
        self._record(made)
        return made

    def sum_up(self, plan, _halt: Halt) -> str | NoTurn:
        self.model.asked.append([each.text for each in plan.entries])
        return self.model.sums.pop(0)

    def _record(self, entry: Entry) -> None:
        self.conversation.append(entry)
        self.told(entry)


class Person:
    """A client; what it was told is in ``frames``."""

    def __init__(self, path: Path, hello: Hello | None) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(TURN_S)
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise
        self._file = self._socket.makefile("rb")
        self.frames: list[Frame] = []
        if hello is not None:
            self.send(hello)

    def send(self, request: Request) -> None:
        self._socket.sendall(encode_request(request))

    def say(self, text: str, request: str = "", when: When = When.FOLLOWUP) -> str:
        self.send(Say(text, request or text, when))
        return request or text

    def until(self, kind: type, wanted: Callable[[Any], bool] = lambda _: True) -> Any:
        """Read on; return the first frame that is wanted."""
        while True:
            try:
                line = self._file.readline()
            except TimeoutError:
                raise TimeoutError(f"no {kind.__name__} after {self.frames}") from None
            if not line:
                raise EOFError([*self.frames])
            frame = decode_frame(line)
            self.frames.append(frame)
            if isinstance(frame, kind) and wanted(frame):
                return frame

    def answer(self, request: str) -> Answered:
        """Return how the turn for a request ended."""
        found: Answered = self.until(Answered, lambda each: each.request == request)
        return found

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Open:
    """A chat that runs in a thread."""

    def __init__(self, repo: Repository, folder: Path, model: Model, **more) -> None:
        self.path = folder / "s"
        self.model = model
        self.repo = repo
        self.halt = Halt()
        self.carried: list[Any] = []
        self.error: Exception | None = None
        spec = Spec(
            repository=str(repo.common_dir),
            conversation="_talk",
            attempt=1,
            agent="standing",
            way=Way("anthropic", "m", "p:m", "", ""),
            owner="",
            confinement=Confinement(cwd="/"),
            facts=Facts(may=Agent("standing", "model", may=("start_task",)).may),
            loop=Loop(),
            chat=str(self.path),
            seconds=TURN_S,
        )

        @contextmanager
        def wire(spec, told, between) -> Iterator[Leader]:
            yield Leader(repo, spec, model, told, between)

        self.chat = Chat(repo, spec, self.halt, wire, self._carry)
        self._thread = threading.Thread(target=self._run, kwargs=more)
        self._thread.start()

    def person(self, hello: Hello | None = Hello()) -> Person:  # noqa: B008
        """Return one more client."""
        while True:
            try:
                return Person(self.path, hello)
            except (FileNotFoundError, ConnectionRefusedError):
                assert self._thread.is_alive()

    def entries(self, name: str = "_talk") -> tuple[Entry, ...]:
        return Conversation.open(self.repo, name).entries

    def texts(self, kind: Kind = Kind.INPUT, name: str = "_talk") -> list[str]:
        return [each.text for each in self.entries(name) if each.kind is kind]

    def end(self) -> None:
        self.halt.order(Ended.STOPPED)
        self.join()

    def join(self) -> None:
        self._thread.join(TURN_S)
        assert not self._thread.is_alive()

    def _carry(self, proposal, key: str) -> Output:
        self.carried.append((proposal, key))
        return Output(b"carried out")

    def _run(self, **more) -> None:
        try:
            self.chat.run(**more)
        except Exception as error:  # noqa: BLE001 - a test looks at it
            self.error = error
