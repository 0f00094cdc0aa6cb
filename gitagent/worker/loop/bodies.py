"""What carries out a call that has passed the gate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from gitagent.core.conversation import CallState, Origin
from gitagent.core.exposure import Received
from gitagent.core.question import Question
from gitagent.host.cancel import Cancel

# A call from code that runs in the sandbox: tool, arguments; its text, and whether it
# was carried out. It goes through the same executor.
Nested = Callable[[str, Mapping[str, Any]], tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class Output:
    """What a body gives back; it never raises for what a model can cause."""

    whole: bytes  # all of it, or the beginning that was kept
    state: CallState = CallState.DONE
    origin: Origin = Origin.WORKTREE
    dropped: int = 0  # bytes that came after it
    snapshot: bytes = b""  # what was fetched, as it came; an attachment of its own
    asked: tuple[Question, ...] | None = None  # what a person is asked; None: as before
    items: tuple[Received, ...] = ()  # of the memory, that it tells


@dataclass(frozen=True, slots=True)
class Way:
    """How one call is to be made."""

    seconds: float  # its time limit
    cancel: Cancel  # ends it: then it is INTERRUPTED, with what was printed
    key: str = ""  # idempotency key, for servers that take one
    nested: Nested | None = None  # for `code` alone
    printed: Callable[[bytes], None] | None = None  # gets output as it comes


class Bodies(Protocol):
    """The bodies of some tools; for any thread, several calls at once."""

    def execute(self, tool: str, given: Mapping[str, Any], way: Way) -> Output:
        """Carry out one call."""
        ...


@runtime_checkable
class Probing(Protocol):
    """Bodies that can tell after a crash whether a call was carried out."""

    def probe(self, tool: str, given: Mapping[str, Any], way: Way) -> Output | None:
        """Find out by ``way.key`` or the arguments; None: nobody can tell.

        DONE: it was carried out. FAILED: it was not. Anything else: not known.
        """
        ...
