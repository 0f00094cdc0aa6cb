"""What the record of a chat says: who was answered, what waits, what may be done.

A chat is the conversation ``_<id>``, a side chat of it the fork ``_<id>.side<N>``. In
both, a turn begins with words of a person and is over with the next END.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from gitagent.core.chat import NEWEST, Answered
from gitagent.core.conversation import (
    Call,
    CallState,
    Ended,
    Entry,
    Kind,
    Origin,
    in_force,
)

PROPOSE: Final = "propose"
START: Final = "start_task"
PREFIX: Final = "_"
SIDE: Final = "side"  # the profile of side chats
STOPPED: Final = (  # what the model is told of a stop
    "[gitagent] The person stopped you here. Wait for what they say next."
)
LISTENING: Final = "listening"  # what the process prints when it can be connected to
FREE: Final = "free"  # that nobody looks, and no turn is under way
TAKEN: Final = "taken"  # that this is over

_SIDE = re.compile(r"(?P<chat>.+)\.side(?P<number>[1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class Name:
    """Which conversation of which chat."""

    chat: str
    side: int = 0  # number of the side chat; 0: the chat itself

    @property
    def conversation(self) -> str:
        """Its name below `layout.CONVERSATIONS`."""
        return PREFIX + self.chat + (f".side{self.side}" if self.side else "")


def named(conversation: str) -> Name | None:
    """Return which chat a conversation is of; None: it is a task's."""
    if not conversation.startswith(PREFIX):
        return None
    name = conversation.removeprefix(PREFIX)
    found = _SIDE.fullmatch(name)
    return Name(found["chat"], int(found["number"])) if found else Name(name)


def id_problem(chat: str) -> str | None:
    """Return why an id that is one of a task cannot be a chat's, or None."""
    return "it ends as side chats do" if _SIDE.fullmatch(chat) else None


def requested(entries: Iterable[Entry], request: str) -> Entry | None:
    """Return the words that were recorded for a request."""
    return next((e for e in entries if request and e.request == request), None)


def waiting(entries: Sequence[Entry]) -> list[Entry]:
    """Return the words that wait for their turn, oldest first."""
    placed = {each.places for each in entries}
    kept: list[Entry] = []
    for each in entries:
        if each.kind is Kind.REWIND:
            kept = [e for e in kept if e.number <= each.last]
        elif each.waits and each.number not in placed:
            kept.append(each)
    return kept


def under_way(entries: Sequence[Entry]) -> bool:
    """Whether a turn began and is not over."""
    for each in reversed(entries):
        if each.kind in {Kind.END, Kind.REWIND}:
            return False
        if each.kind is Kind.INPUT and not each.waits and _of_person(each, entries):
            return True
    return False


def answer(entries: Sequence[Entry], words: Entry) -> Answered | None:
    """Return how the turn of a person's words ended; None: it is not over."""
    begun = _placed(entries, words)
    if begun is None:
        return None
    said: Entry | None = None
    for each in entries:
        if each.number <= begun:
            continue
        if each.kind is Kind.SAY:
            said = each
        elif each.kind is Kind.END:
            if said is not None and not each.text:
                return Answered(words.request, said.number, said.text)
            return Answered(
                words.request, 0, "", each.text or f"It ended {each.ended}."
            )
        elif each.kind is Kind.REWIND and each.last < begun:
            return Answered(words.request, 0, "", "It was put aside.")
    return None


def profile(entries: Iterable[Entry]) -> str:
    """Return the profile that a conversation has, whatever was put aside."""
    found = ""
    for each in entries:
        if each.kind is Kind.BEGIN:
            found = each.profile
    return found


def began(entries: Iterable[Entry]) -> str:
    """Return the profile that a conversation began with."""
    first = next((each for each in entries if each.kind is Kind.BEGIN), None)
    return first.profile if first else ""


def own(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return the entries of a side chat that its parent does not have; () if none."""
    for place, each in enumerate(entries):
        if each.kind is Kind.BEGIN and each.profile == SIDE:
            return entries[place:]
    return ()


def closed(entries: Sequence[Entry]) -> bool:
    """Whether a side chat is over, or never began."""
    mine = own(entries)
    ends = (each.ended for each in mine if each.kind is Kind.END)
    return not mine or Ended.CLOSED in ends


def first_told(entries: int, since: int) -> int:
    """Return the number of the first entry that a client is sent."""
    return min(entries, max(since, entries - NEWEST)) + 1


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the standing agent proposes or may not do yet, for a person to decide."""

    number: int  # of the entry
    call: Call
    what: str  # the task, for people

    @property
    def request(self) -> str:
        """The request that the decision is recorded as, so that there is one."""
        return f"decide {self.number}"


def proposal(entries: Sequence[Entry], number: int) -> Proposal | str:
    """Return what an entry proposes, or a sentence that says why nothing."""
    kept = in_force(entries)
    result = next((each for each in kept if each.number == number), None)
    calls = {c.id: c for e in kept if e.kind is Kind.SAY for c in e.calls}
    call = calls.get(result.call) if result else None
    if result is None or call is None or not _proposes(result):
        return f"Entry {number} proposes nothing."
    made = Proposal(number, call, result.what)
    if requested(entries, made.request):
        return f"What entry {number} proposes is decided already."
    return made


def ways(entries: Sequence[Entry]) -> str:
    """Return how a person answers the newest question of the gate, as a sentence."""
    asked = [each for each in entries if each.state is CallState.NEEDS_DECISION]
    number = asked[-1].number if asked else 0
    return f" Say /yes {number} or /no {number} in `gitagent chat`." if asked else ""


def _proposes(entry: Entry) -> bool:
    if entry.kind is not Kind.RESULT or entry.via:
        return False
    asks = entry.state is CallState.NEEDS_DECISION
    return asks or (entry.tool == PROPOSE and entry.state is CallState.DONE)


def _of_person(entry: Entry, entries: Sequence[Entry]) -> bool:
    if not entry.places:
        return entry.origin is Origin.PERSON
    # The words that it places are of a person: nobody else's wait.
    return any(e.number == entry.places and e.waits for e in entries)


def _placed(entries: Sequence[Entry], words: Entry) -> int | None:
    if not words.waits:
        return words.number
    return next((e.number for e in entries if e.places == words.number), None)
