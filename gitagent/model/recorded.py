"""Answers from a record, in place of every provider.

A request gets the answer of the one that has its very bytes; else of one that differs
only in what no two runs share; else of the next one of the same model with as many
messages. Each answer is given once. A request that has none ends the replay.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gitagent.core.exchange import Exchange, State
from gitagent.core.failure import Failure
from gitagent.core.likeness import difference, messages, normal_body
from gitagent.host import until
from gitagent.model.scrub import Scrub
from gitagent.model.upstream import Answer, Ask, Lost, Whole

_STREAM = "text/event-stream"
_SAVE_S = 2.0
_GONE_S = 30.0
_UNFINISHED = frozenset({State.SENT, State.LEFT})


@dataclass(frozen=True, slots=True)
class Entry:
    """An exchange, and its bytes."""

    exchange: Exchange
    body: bytes  # of the request
    answer: bytes  # as it was passed on


@dataclass(slots=True)
class _Unused:
    """One whose answer was not given yet; what it takes long to know comes late."""

    entry: Entry
    _normal: str | None = field(default=None)

    @property
    def normal(self) -> str:
        if self._normal is None:
            self._normal = normal_body(self.entry.body)
        return self._normal


class Recorded:
    """Answers the requests of one attempt from its record; see `Upstream`."""

    def __init__(
        self,
        entries: Sequence[Entry],
        missed: Callable[[str], None],
        over: Callable[[], None] | None = None,
    ) -> None:
        """``missed`` gets a sentence about the first request that has no answer.

        ``over`` is for an agent that was stopped: it is called at its last request, if
        that was not answered, and at one that it did not come to.
        """
        self._missed = missed
        self._over = over
        self._lock = threading.Lock()
        self._unused = [_Unused(each) for each in entries]
        self._given: dict[int, Entry] = {}  # by number of the request
        self.problem = ""  # what ``missed`` was told

    @property
    def left(self) -> int:
        """How many recorded requests were not made."""
        with self._lock:
            return len(self._unused)

    def send(self, ask: Ask, stops: Sequence[until.Watched]) -> Answer | Lost:
        """Return a recorded answer, be it a failure."""
        with self._lock:
            entry = self._given.get(ask.number) or self._take(ask)
            last = not self._unused
            if entry is not None:
                self._given[ask.number] = entry  # one that is tried again gets it again
        unfinished = entry is None or entry.exchange.state in _UNFINISHED
        if self._over and last and unfinished:
            # Programs save their conversation a moment after they have asked, and an
            # error would become part of it.
            until.first(stops, _SAVE_S)
            self._over()
            until.first(stops, _GONE_S)
            return Lost(Failure.INVALID, "The record ends here.")
        if entry is None:
            return self._miss(ask, self._why(ask))
        if entry.exchange.state is State.SENT:
            why = f"request {entry.exchange.number} has no answer in the record"
            return self._miss(ask, why)
        return _replayed(entry)

    def scrub(self) -> Scrub:
        """Return what keeps keys out of a text: there are none here."""
        return Scrub(frozenset())

    def _take(self, ask: Ask) -> Entry | None:
        same = [each for each in self._unused if each.entry.exchange.api is ask.api]
        found = next((each for each in same if each.entry.body == ask.body), None)
        if found is None and same:
            mine, count = normal_body(ask.body), messages(ask.body)
            alike = (each for each in same if each.normal == mine)
            next_one = (
                each
                for each in same
                if _asked(ask, each.entry.exchange)
                and messages(each.entry.body) == count
            )
            found = next(alike, None) or next(next_one, None)
        if found is None:
            return None
        self._unused.remove(found)
        return found.entry

    def _miss(self, ask: Ask, why: str) -> Lost:
        sentence = f"Request {ask.number} cannot be answered from the record: {why}."
        with self._lock:
            first, self.problem = not self.problem, self.problem or sentence
        if first:
            self._missed(sentence)
        return Lost(Failure.INVALID, sentence)

    def _why(self, ask: Ask) -> str:
        with self._lock:
            unused = tuple(self._unused)
        for each in unused:
            said = each.entry.exchange
            if said.api is ask.api and _asked(ask, said):
                where = difference(each.entry.body, ask.body, ask.api)
                return f"it differs from request {said.number} of the record: {where}"
        return f"the record has no further one to {ask.ref} ({ask.api})"


def _replayed(entry: Entry) -> Answer | Lost:
    """Return an answer as it was, be it a failure."""
    said = entry.exchange
    begun = bool(entry.answer) and said.content_type.startswith(_STREAM)
    if said.state is not State.DONE and not begun:
        # Whatever it was, there is no point in waiting for another answer.
        reason = said.reason or "The agent did not wait for this answer."
        return Lost(Failure.INVALID, reason, said.status, entry.answer)
    headers = {"content-type": said.content_type or "application/json"}
    kind = _Cut if said.state is State.LEFT else Whole
    return kind(said.status or 200, headers, entry.answer)


class _Cut(Whole):
    """The part of an answer that was passed on before the agent went away."""

    def read(self) -> bytes | Lost:
        data = super().read()
        return data or Lost(Failure.CUT, "The record has no more of this answer.")


def _asked(ask: Ask, said: Exchange) -> bool:
    return said.model == str(ask.ref) or said.asked == ask.ref.model
