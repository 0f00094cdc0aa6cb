"""Who leads which conversation of a chat: it, or a side chat of it, in a profile."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import Protocol

from gitagent.core import chats
from gitagent.core import profile as profiles
from gitagent.core.chats import Name
from gitagent.core.compaction import Plan
from gitagent.core.conversation import Call, Ended, Entry
from gitagent.git.repository import Repository
from gitagent.model.provider import Heard, NoTurn
from gitagent.worker.loop import sides
from gitagent.worker.loop.halt import Halt
from gitagent.worker.loop.record import Conversation
from gitagent.worker.loop.room import Room
from gitagent.worker.loop.spec import Spec
from gitagent.worker.loop.turns import Over


class Leading(Protocol):
    """What leads one conversation, by one thread; see `turns.Leader`."""

    @property
    def conversation(self) -> Conversation:
        """Its record."""
        ...

    def begin(self) -> None:
        """Record that it leads, and the ends of the calls that were cut off."""
        ...

    def turn(self, halt: Halt, heard: Heard) -> Over:
        """Go on from the record until the model only talks, or something is over."""
        ...

    def confirmed(self, call: Call, halt: Halt) -> Entry:
        """Make a call that a person has said yes to, and return its result."""
        ...

    def sum_up(self, plan: Plan, halt: Halt) -> str | NoTurn:
        """Return a summary of what was said, or why there is none."""
        ...


# Makes what leads a conversation; it tells of entries, and before each request.
Wire = Callable[
    [Spec, Callable[[Entry], None], Callable[[], None]],
    AbstractContextManager[Leading],
]


class Stage:
    """Has one leader at a time; changed by the thread that lets it lead."""

    def __init__(
        self,
        repo: Repository,
        spec: Spec,
        room: Room,
        halt: Halt,
        wire: Wire,
        between: Callable[[], None],
    ) -> None:
        """``halt`` ends what is under way, as `stop` does."""
        self.repo = repo
        self.spec = spec
        self.room = room
        self.elsewhere: frozenset[str] = frozenset()  # requests of other conversations
        self._halt = halt
        self._wire = wire
        self._between = between
        self._stack = ExitStack()
        self._leader: Leading | None = None
        self._turn: Halt | None = None

    def begin(self) -> None:
        """Go on where the record ends, in a side chat if one is open."""
        name = chats.named(self.spec.conversation)
        assert name is not None  # noqa: S101 - who makes the order names a chat
        with self.repo.objects() as objects:
            side = sides.open_side(objects, name.chat)
        self.open(replace(name, side=side))

    def open(self, name: Name, profile: str | None = None) -> None:
        """Lead a conversation, in the profile that it has unless one is named."""
        with self.room.lock:
            self.close()
            known = Conversation.open(self.repo, name.conversation).entries
            wanted = self._profile(name, known, profile)
            spec = replace(
                self.spec,
                conversation=name.conversation,
                profile=wanted,
                goes_on=True,
            )
            made = self._wire(spec, self.room.publish, self._between)
            self._leader = self._stack.enter_context(made)
            self._leader.begin()
            self.elsewhere = sides.requests(self.repo, name)
            self.room.enter(self._leader.conversation, name, wanted)

    def close(self) -> None:
        """Lead nothing more."""
        self._leader = None
        self._stack.close()

    @property
    def leading(self) -> Leading:
        """Who leads."""
        assert self._leader is not None  # noqa: S101 - asked for while there is one
        return self._leader

    def record(self, entry: Entry) -> Entry:
        """Add an entry to what is led, and tell. Raises GitagentError."""
        return self.room.record(replace(entry, attempt=self.spec.attempt))

    @contextmanager
    def halting(self) -> Iterator[Halt]:
        """Yield what `stop` ends."""
        halt = Halt()
        with self.room.lock:
            self._turn = halt
        if self._halt.is_set():
            halt.order(Ended.STOPPED)
        try:
            yield halt
        finally:
            with self.room.lock:
                self._turn = None

    def stop(self) -> None:
        """End the turn that is under way, if one is; for any thread."""
        with self.room.lock:
            if self._turn is not None:
                self._turn.order(Ended.STOPPED)

    def _profile(self, name: Name, known: tuple[Entry, ...], wanted: str | None) -> str:
        if name.side:
            return chats.SIDE
        if not known:
            return self.spec.profile
        has = chats.profile(known) if wanted is None else wanted
        return profiles.enter(chats.began(known), has)
