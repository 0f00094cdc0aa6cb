"""A chat: who may speak when, and what becomes of it.

Words of a person are recorded before they are called sent, and the same request once.
What comes while a turn runs waits in the record, and a later entry places it: between
two requests to the model if it steers, else as the beginning of the next turn.
One thread, that of `Chat.run`, does everything else, one thing after the other.
"""

import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Final

from gitagent.core import chats
from gitagent.core.chat import (
    Answered,
    Hello,
    Refused,
    Request,
    Say,
    Sent,
    State,
    Stop,
    Trouble,
    When,
)
from gitagent.core.conversation import Ended, Entry, Kind, Origin
from gitagent.errors import GitagentError
from gitagent.git.repository import Repository, discover
from gitagent.host import clock, until
from gitagent.model.provider import Heard
from gitagent.worker.loop import asides
from gitagent.worker.loop.asides import Carry
from gitagent.worker.loop.halt import Halt
from gitagent.worker.loop.room import Room
from gitagent.worker.loop.serving import Client, Has
from gitagent.worker.loop.spec import Spec
from gitagent.worker.loop.stage import Stage, Wire
from gitagent.worker.loop.standing import Standing
from gitagent.worker.loop.turns import Leader, Over
from gitagent.worker.loop.wiring import wired

IDLE_S: Final = 600.0  # without a client and a turn, after which the process ends

_BUSY = "A turn is under way: stop it, or wait until it is over."
_ELSEWHERE = "It was said in another conversation of this chat."


def serve(spec: Spec, halt: Halt, loaded: Callable[[], None]) -> int:
    """Be the process of a chat until it is halted or nobody comes; return 0.

    ``loaded`` returns when the client of the model's API is imported.
    """
    repo = discover(Path(spec.repository))
    standing = Standing(repo, spec.conversation, spec.agent)

    def wire(
        of: Spec, told: Callable[[Entry], None], between: Callable[[], None]
    ) -> AbstractContextManager[Leader]:
        return wired(
            repo,
            of,
            told,
            between,
            said=_print,
            loaded=loaded,
            halt=halt,
            standing=standing,
        )

    try:
        chat = Chat(repo, spec, halt, wire, standing.carry)
        chat.run(listening=lambda: _print(chats.LISTENING), said=_print)
    except (GitagentError, OSError) as error:
        _print(error.line() if isinstance(error, GitagentError) else str(error))
    return 0


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Chat:
    """One chat, from `run` to its end."""

    def __init__(
        self, repo: Repository, spec: Spec, halt: Halt, wire: Wire, carry: Carry
    ) -> None:
        """``halt`` ends it; a turn that is under way then goes on the next time."""
        self._seconds = spec.seconds
        self._halt = halt
        self._carry = carry
        self._wake = clock.Wake()
        self._ready = threading.Event()
        self._over = False
        self._jobs: deque[tuple[Client, Request]] = deque()
        self._asked: dict[str, list[Client]] = {}  # who waits for the end of a turn
        self._steering: set[int] = set()
        self._busy = False
        self._free = False
        self._said: Callable[[str], None] = lambda _: None
        self.room = Room(Path(spec.chat), self.take, self._wake.set)
        self._stage = Stage(repo, spec, self.room, halt, wire, self._between)

    def run(
        self,
        idle_s: float = IDLE_S,
        listening: Callable[[], None] = lambda: None,
        said: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Serve people until it is halted, or nobody has come for a while.

        ``listening`` is called when they can come, ``said`` with `chats.FREE` and
        `chats.TAKEN` in turn.

        Raises:
            GitagentError: the conversation cannot be led.
            OSError: the socket cannot be made.
        """
        self._said = said
        threading.Thread(target=self._watch, daemon=True).start()
        self.room.clients.start()
        listening()
        try:
            self._stage.begin()
            self._ready.set()
            while (job := self._next(idle_s)) is not None:
                job()
        except GitagentError as error:
            self.room.clients.tell(Trouble(f"The chat ends: {error.line()}."))
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            self.room.clients.tell(Trouble(f"The chat ends: a bug, {what}."))
            raise
        finally:
            with self.room.lock:
                self._over = True
                self.room.leave()
            self._ready.set()
            self.room.clients.stop()
            self._stage.close()

    def take(self, client: Client, request: Request) -> None:
        """Take what a client says, in its thread."""
        self._ready.wait()
        with self.room.lock:
            if self._over:
                client.tell([Trouble("The chat has ended; open it again.")])
                return
            match request:
                case Hello(since=since, side=side):
                    self.room.greet(client, Has(side, since))
                case Say():
                    self._say(client, request)
                case Stop():
                    self._stage.stop()
                case _ if self._taken:
                    client.tell([Trouble(_BUSY)])
                case _:
                    self._jobs.append((client, request))
                    self._wake.set()

    def _say(self, client: Client, say: Say) -> None:
        known = chats.requested(self.room.entries, say.request)
        if known is None and say.request in self._stage.elsewhere:
            client.tell([Sent(say.request, 0)])
            client.tell([Answered(say.request, 0, "", _ELSEWHERE)])
            return
        if known is None and self._taken and say.when is When.REJECT:
            client.tell([Refused(say.request, _BUSY)])
            return
        if known is None:
            try:
                known = self._admitted(say)
            except GitagentError as error:
                client.tell([Refused(say.request, f"{error.line()}.")])
                return
        client.tell([Sent(say.request, known.number)])
        waiting = self._asked.setdefault(say.request, [])
        if client not in waiting:
            waiting.append(client)
        self._answer()

    def _admitted(self, say: Say) -> Entry:
        words = Entry(
            Kind.INPUT,
            origin=Origin.PERSON,
            text=say.text,
            request=say.request,
            waits=self._taken,
        )
        made = self._stage.record(words)
        if say.when is When.STEER:
            self._steering.add(made.number)
        self._wake.set()
        return made

    def _answer(self) -> None:
        """Tell who waits for a turn that is over."""
        entries = self.room.entries
        for request in list(self._asked):
            words = chats.requested(entries, request)
            found = chats.answer(entries, words) if words else None
            if found is not None:
                for each in self._asked.pop(request):
                    each.tell([found])

    @property
    def _taken(self) -> bool:
        """Whether what is said now has to wait."""
        entries = self.room.entries
        if self._busy or self._jobs or chats.under_way(entries):
            return True
        return bool(chats.waiting(entries))

    def _place(self, words: Entry) -> None:
        self._steering.discard(words.number)
        self._stage.record(Entry(Kind.INPUT, places=words.number))

    # What follows is done in the thread of `run`.

    def _watch(self) -> None:
        until.first([until.set_(self._halt)], None)
        self._stage.stop()

    def _next(self, idle_s: float) -> Callable[[], None] | None:
        """Return what is to be done next, when there is something; None: to end."""
        left = clock.monotonic()
        while not self._halt.is_set():
            with self.room.lock:
                job = self._job()
                self._busy = job is not None
                if job is not None:
                    self._be(free=False)
                    return job
                self.room.do(State.IDLE)
            now = clock.monotonic()
            somebody = self.room.clients.count > 0
            self._be(free=not somebody)
            left = now if somebody else left
            wait_s = None if somebody else left + idle_s - now
            if wait_s is not None and wait_s <= 0:
                return None
            reasons = [until.readable(self._wake.fileno()), until.set_(self._halt)]
            until.first(reasons, wait_s)
            self._wake.wait(0)
        return None

    def _be(self, *, free: bool) -> None:
        if free is not self._free:
            self._free = free
            self._said(chats.FREE if free else chats.TAKEN)

    def _job(self) -> Callable[[], None] | None:
        if self._jobs:
            return partial(asides.do, self._stage, *self._jobs.popleft(), self._carry)
        if not chats.under_way(self.room.entries):
            if not (waiting := chats.waiting(self.room.entries)):
                return None
            self._place(waiting[0])
        return self._lead

    def _lead(self) -> None:
        """Let the model have its turn, and record how it ended."""
        with self._stage.halting() as halt:
            over = self._turned(halt)
        with self.room.lock:
            if self._halt.is_set() and over.ended is not Ended.DONE:
                return  # nobody stopped it: it goes on when the chat is opened again
            if over.ended is Ended.STOPPED:
                self._stage.record(Entry(Kind.INPUT, text=chats.STOPPED))
            said = "" if over.ended is Ended.DONE else over.sentence or str(over.ended)
            if over.ended is Ended.QUESTION:
                said += chats.ways(self.room.entries)
            self._stage.record(Entry(Kind.END, ended=over.ended, text=said))
            # Who is answered may go on at once.
            self._busy = False
            if not self._taken:
                self.room.do(State.IDLE)
            self._answer()

    def _turned(self, halt: Halt) -> Over:
        self.room.do(State.ASKING)
        timer = threading.Timer(self._seconds, halt.order, [Ended.TIME])
        timer.daemon = True
        timer.start()
        try:
            return self._stage.leading.turn(halt, Heard(self.room.hear))
        except GitagentError as error:
            return Over(Ended.FAILED, f"It could not go on: {error.line()}.")
        except Exception as error:  # noqa: BLE001 - of ours; it ends one turn, and is told
            what = f"{type(error).__name__}: {error}"
            return Over(Ended.FAILED, f"gitagent itself failed: {what}.")
        finally:
            timer.cancel()

    def _between(self) -> None:
        """Let what steers in, before the model is asked again."""
        with self.room.lock:
            for each in chats.waiting(self.room.entries):
                if each.number in self._steering:
                    self._place(each)
            self.room.do(State.ASKING)
