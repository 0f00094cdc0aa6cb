"""The connection to a chat, made again whenever it is lost.

The daemon says where a chat listens, and is asked anew each time: the process that led
the chat may have died, and the daemon been started again.
"""

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gitagent.core import chat
from gitagent.core.chat import Bye, Frame, Hello, MalformedError, Request, Trouble
from gitagent.errors import Busy, GitagentError, UserError
from gitagent.host import channel, place
from gitagent.host.channel import Channel
from gitagent.host.clock import monotonic
from gitagent.host.socket import ask

ANEW: Final = "start it anew: gitagent down, then gitagent up --detach"
MEND: Final = "start one with: gitagent up --detach"

_ANSWER_S = 60.0  # for the daemon to start a chat that is not led yet
_PATIENCE_S = 300.0  # for a lost connection to come back
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 2.0


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection is lost; it is tried again."""


@dataclass(frozen=True, slots=True)
class Back:
    """There is a connection again; a `Greeting` follows."""


@dataclass(frozen=True, slots=True)
class Gone:
    """There will be no connection any more: why."""

    error: GitagentError


Event = Frame | Lost | Back | Gone


def new_request() -> str:
    """Return an id for the words of a person."""
    return secrets.token_hex(8)


class Link:
    """The connection to the chat ``id``; one thread of its own receives.

    ``hello`` says what the client has; ``told`` is called in that thread. An empty
    ``id`` is the newest chat.
    """

    def __init__(
        self,
        common_dir: Path,
        id_: str,
        *,
        new: bool,
        hello: Callable[[], Hello],
        told: Callable[[Event], None],
    ) -> None:
        self.id = id_
        self._new = new
        self._daemon = place.socket_path(common_dir)
        self._hello = hello
        self._told = told
        self._leaving = threading.Event()
        self._channel: Channel | None = None

    def open(self) -> None:
        """Connect for the first time, and begin to receive.

        Raises:
            Busy: no daemon runs, or the chat does not answer.
            UserError: the daemon says no.
        """
        there = self._connect()
        if there is None:
            raise Busy("the chat does not answer", "see: gitagent doctor")
        self._channel = there
        thread = threading.Thread(
            target=self._run, args=(there,), name="chat", daemon=True
        )
        thread.start()

    def send(self, request: Request) -> bool:
        """Send one message; whether it went out.

        It may be lost on its way all the same: only `Sent` tells. Raises
        MalformedError if it cannot be sent at all.
        """
        chat.encode_request(request)
        there = self._channel
        if there is None:
            return False
        try:
            there.send(chat.values_of(request))
        except OSError:
            there.close()
            return False
        return True

    def close(self) -> None:
        """Take leave; more than once is harmless."""
        self._leaving.set()
        there = self._channel  # the other thread may lose it meanwhile
        if there is not None:
            self.send(Bye())
            there.close()

    def _run(self, there: Channel) -> None:
        while not self._leaving.is_set():
            self._receive(there)
            self._channel = None
            if self._leaving.is_set():
                return
            self._told(Lost())
            try:
                there = self._again()
            except GitagentError as error:
                if not self._leaving.is_set():
                    self._told(Gone(error))
                return
            self._channel = there
            if self._leaving.is_set():  # `close` may have seen no channel
                there.close()
                return
            self._told(Back())

    def _receive(self, there: Channel) -> None:
        try:
            there.send(chat.values_of(self._hello()))
            while True:
                values = there.receive(limit=chat.LINE)
                try:
                    frame: Frame = chat.frame_of(values)
                except MalformedError as error:
                    frame = Trouble(f"the chat said what cannot be read: {error}")
                self._told(frame)
        except OSError:
            there.close()

    def _again(self) -> Channel:
        deadline = monotonic() + _PATIENCE_S
        wait = _FIRST_WAIT_S
        problem: GitagentError = Busy("the chat does not answer")
        while monotonic() < deadline and not self._leaving.wait(wait):
            wait = min(2 * wait, _LONGEST_WAIT_S)
            try:
                there = self._connect()
            except Busy as error:
                if error.line() != problem.line():
                    self._told(Trouble(error.line()))
                # Without its traceback, which would keep this frame and its channel.
                problem = Busy(error.message, error.hint)
            else:
                if there is not None:
                    return there
        raise problem

    def _connect(self) -> Channel | None:
        """Return a connection; None: nobody listens where the daemon says."""
        message = {"op": "chat", "id": self.id, "new": self._new}
        answer = ask(self._daemon, message, _ANSWER_S)
        if answer is None:
            raise Busy("no daemon runs", MEND)
        if answer.get("again") is True:
            raise Busy(str(answer.get("error")))
        where, id_ = answer.get("socket"), answer.get("id")
        if "error" in answer:
            raise UserError(str(answer["error"]))
        if not isinstance(where, str) or not isinstance(id_, str):
            raise UserError("the daemon is of a release that leads no chat", ANEW)
        self.id, self._new = id_, False
        try:
            return channel.connect(Path(where))
        except OSError:
            return None
