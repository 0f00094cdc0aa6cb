"""A chat without a terminal: words in, the answer out, for scripts and pipes."""

import json
import queue
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from gitagent.cli import say
from gitagent.cli.terminal.link import Back, Event, Gone, Link, Lost, new_request
from gitagent.core import chat
from gitagent.core.chat import (
    Answered,
    Frame,
    Greeting,
    Hello,
    MalformedError,
    Refused,
    Say,
    Sent,
    Trouble,
    When,
)
from gitagent.errors import ConfigError, UserError

_SILENT: Final = "the turn ended without an answer"


class Plain:
    """A connection to a chat; `close` it. Raises as `Link.open`."""

    def __init__(self, common_dir: Path, id_: str, *, new: bool, as_json: bool) -> None:
        self._json = as_json
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._greeted = False
        self._link = Link(
            common_dir,
            id_,
            new=new,
            hello=lambda: Hello(chat.END),
            told=self._events.put,
        )
        self._link.open()

    @property
    def id(self) -> str:
        """Id of the chat."""
        return self._link.id

    def close(self) -> None:
        """Take leave; a turn that runs goes on."""
        self._link.close()

    def say(
        self,
        text: str,
        request: str | None = None,
        when: When = When.FOLLOWUP,
        *,
        wait: bool = True,
    ) -> None:
        """Send words and print what is answered; not ``wait``: the entry's number.

        Raises:
            ConfigError: they cannot be sent.
            UserError: they are refused, or have no answer.
            Busy: the connection was lost and did not come back.
        """
        text = text.encode("utf-8", "replace").decode()
        words = Say(text, new_request() if request is None else request, when)
        try:
            chat.encode_request(words)
        except MalformedError as error:
            raise ConfigError(f"this cannot be sent: {error}") from None
        if self._greeted:
            self._link.send(words)
        while True:
            event = self._events.get()
            match event:
                case Gone():
                    raise event.error
                case Lost():
                    say.note("the connection is lost; trying again")
                case Back():
                    say.note("connected again")
                case _:
                    self._print(event)
                    if self._over(event, words, wait=wait):
                        return

    def _over(self, frame: Frame, words: Say, *, wait: bool) -> bool:
        """Whether there is nothing to wait for any more."""
        match frame:
            case Greeting():
                self._greeted = True
                self._link.send(words)
            case Trouble(sentence=sentence):
                say.note(sentence)
            case Refused(request=request, sentence=sentence):
                if request == words.request:
                    raise UserError(sentence)
            case Sent(request=request, number=number):
                if request == words.request and not wait:
                    self._out(f"sent to {self.id} as entry {number}")
                    return True
            case Answered(request=request):
                return request == words.request and self._answered(frame)
            case _:
                pass
        return False

    def _answered(self, frame: Answered) -> bool:
        if not frame.number:
            raise UserError(frame.sentence or _SILENT)
        self._out(frame.text)
        return True

    def _print(self, frame: Frame) -> None:
        if self._json:
            say.raw(json.dumps(chat.values_of(frame)).encode() + b"\n")

    def _out(self, text: str) -> None:
        if not self._json:
            say.out(text.rstrip("\n"))


def pipe(plain: Plain, lines: Iterable[str]) -> int:
    """Say each line, after the answer to the one before; return the exit code."""
    code = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            plain.say(line.strip())
        except UserError as error:
            say.note(error.line())
            code = error.exit_code
    return code
