"""A chat as those see it who look at it: its entries, what is said, what it is doing.

What is told is told in the order of the record, whoever has recorded it.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from gitagent.core import chats
from gitagent.core.chat import Delta, Doing, Frame, Greeting, Request, State, Told
from gitagent.core.chats import Name
from gitagent.core.conversation import Entry, Kind
from gitagent.worker.loop.record import Conversation
from gitagent.worker.loop.serving import Client, Clients, Has


class Room:
    """One chat; for any thread. Its ``lock`` is for who does two things at once."""

    def __init__(
        self,
        path: Path,
        take: Callable[[Client, Request], None],
        changed: Callable[[], None],
    ) -> None:
        """Of clients at the socket ``path``; see `Clients`."""
        self.lock = threading.RLock()
        self.clients = Clients(path, take, self._missed, changed)
        self.name = Name("")
        self.profile = ""
        self._conversation: Conversation | None = None
        self._state = State.IDLE
        self._told = 0  # number of the newest entry that was told
        self._text = ""  # of the answer that is coming

    def enter(self, conversation: Conversation, name: Name, profile: str) -> None:
        """Show a conversation from now on, to all who are there."""
        with self.lock:
            self._conversation = conversation
            self.name, self.profile = name, profile
            self._told = len(conversation.entries)
            self._text = ""
            for each in self.clients.greeted:
                each.greet(self._greeting)

    def leave(self) -> None:
        """Show nothing more."""
        with self.lock:
            self._conversation = None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is recorded; nothing while no conversation is shown."""
        return self._conversation.entries if self._conversation else ()

    def record(self, entry: Entry) -> Entry:
        """Add an entry, and tell. Raises GitagentError."""
        with self.lock:
            assert self._conversation is not None  # noqa: S101 - while one is shown
            made = self._conversation.append(entry)
            self.publish()
            return made

    def publish(self, _: Entry | None = None) -> None:
        """Tell what was recorded and not told yet."""
        with self.lock:
            for each in self.entries[self._told :]:
                self._told = each.number
                self.clients.tell(Told(each))
                if each.kind is Kind.SAY:
                    self._text = ""
                    if each.calls:
                        self.do(State.WORKING)

    def hear(self, text: str) -> None:
        """Tell what the model says before it is recorded."""
        with self.lock:
            self.do(State.ASKING)
            self._text += text
            self.clients.tell(Delta(text))

    def do(self, state: State) -> None:
        """Tell what the chat is doing, if that is something else."""
        with self.lock:
            if state is not State.ASKING:
                self._text = ""
            if state is not self._state:
                self._state = state
                self.clients.tell(Doing(state))

    def greet(self, client: Client, has: Has | None = None) -> None:
        """Tell a client where the conversation is, and what it does not have."""
        with self.lock:
            self.publish()
            client.greet(self._greeting, has)

    def _missed(self, client: Client) -> None:
        with self.lock:
            if self._conversation is None:
                client.end()
            else:
                self.greet(client)

    def _greeting(self, has: Has) -> Sequence[Frame]:
        entries = self.entries
        since = has.number if has.side == self.name.side else 0
        first = chats.first_told(len(entries), since)
        greeting = Greeting(
            id=self.name.chat,
            entries=len(entries),
            state=self._state,
            profile=self.profile,
            side=self.name.side,
            first=first,
        )
        told = [Told(each) for each in entries[first - 1 :]]
        coming = [Delta(self._text)] if self._text else []
        return [greeting, *told, *coming]
