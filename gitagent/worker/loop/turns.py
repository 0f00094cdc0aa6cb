"""The loop: ask the model, carry out what it calls, until it only talks.

Everything is in the conversation's record before the next thing happens, so the loop
can be cut off anywhere and goes on from there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gitagent.core import compaction
from gitagent.core.compaction import Plan
from gitagent.core.conversation import Call, Ended, Entry, Kind, Origin
from gitagent.core.profile import shrink
from gitagent.host.cancel import Cancel
from gitagent.model.provider import (
    Ask,
    Heard,
    NoTurn,
    Provider,
    Stop,
    Tool,
    Turn,
    Wrong,
)
from gitagent.worker.executor import Executor
from gitagent.worker.loop import asking, compacting, dialogue
from gitagent.worker.loop.halt import Halt
from gitagent.worker.loop.own import pose
from gitagent.worker.loop.record import Conversation
from gitagent.worker.loop.spec import Spec

_PATIENCE = 3  # answers in a row that were cut off, before the loop gives up

_ENDS = {Wrong.OVERFLOW: Ended.CONTEXT, Wrong.BUDGET: Ended.BUDGET}

_CUT = "Your answer was cut off at its limit of {} tokens. Go on where it ended."
_RUNAWAY = (
    "Your answer was cut off, since it repeated itself without end. Say it again in"
    " another way, and in smaller pieces."
)


@dataclass(frozen=True, slots=True)
class Over:
    """How a turn of the conversation ended."""

    ended: Ended
    sentence: str = ""  # why, unless it is DONE
    answer: str = ""  # the model's last words
    requests: int = 0


class Leader:
    """Leads one conversation; one turn at a time."""

    def __init__(
        self,
        conversation: Conversation,
        provider: Callable[[], Provider],
        executor: Executor,
        spec: Spec,
        tools: tuple[Tool, ...],
        *,
        told: Callable[[Entry], None],
        between: Callable[[], None] = lambda: None,
        before: Callable[[Sequence[Entry]], Sequence[Entry]] = lambda _: (),
    ) -> None:
        """``told`` gets every entry; ``between`` is called between two requests.

        ``before`` says then what the model is told beside what is recorded.
        ``provider`` is called when the model is asked first.
        """
        self.conversation = conversation
        self._make = provider
        self._made: Provider | None = None
        self._executor = executor
        self._spec = spec
        self._loop = spec.loop
        self._model = spec.way.shown
        self._tools = tools
        self._system = "\n\n".join(each.text for each in spec.system)
        self._told = told
        self._between = between
        self._before = before
        self._cut = 0  # answers in a row that were cut off

    def begin(self) -> None:
        """Record that it is led from now on, and how calls ended that were cut off."""
        self._executor.recover()
        spec = self._spec
        if not spec.goes_on and self.conversation.entries:
            self.record(Entry(Kind.REWIND, text="It begins anew."))
        self.record(
            Entry(
                Kind.BEGIN,
                what=spec.agent,
                model=spec.way.shown,
                profile=spec.profile,
                may=shrink(spec.facts.may, spec.profile),
            )
        )

    @property
    def _provider(self) -> Provider:
        if self._made is None:
            self._made = self._make()
        return self._made

    def turn(self, halt: Halt, heard: Heard) -> Over:
        """Go on from the record until the model only talks, or something is over."""
        self._cut = 0
        for requests in range(1, self._loop.turns + 1):
            over = self._round(halt, heard)
            if over is not None:
                return replace(over, requests=requests)
        sentence = f"It made the {self._loop.turns} requests that `loop.turns` allows."
        return Over(Ended.TURNS, sentence, requests=self._loop.turns)

    def say(self, text: str) -> Entry:
        """Add words of gitagent to the model to the record."""
        return self.record(Entry(Kind.INPUT, text=text))

    def record(self, entry: Entry, **attachments: bytes) -> Entry:
        """Add an entry to the record, and tell."""
        entry = replace(entry, attempt=self._spec.attempt)
        made = self.conversation.append(entry, attachments)
        self._told(made)
        return made

    def confirmed(self, call: Call, halt: Halt) -> Entry:
        """Make a call that a person has said yes to, and return its result."""
        return self._executor.confirmed(call, halt)

    def sum_up(self, plan: Plan, halt: Halt) -> str | NoTurn:
        """Return a summary of what was said, or why there is none."""
        return compacting.summary(
            plan, self._provider, self._loop, halt, model=self._model
        )

    def _round(self, halt: Halt, heard: Heard) -> Over | None:
        """Ask once, and carry out what is called; None: it goes on."""
        self._between()
        for each in self._before(self.conversation.entries):
            self.record(each)
        found = self._answer(halt, heard)
        if isinstance(found, Turn):
            self._take(found)
        if halt.is_set():
            return _halted(halt)
        if isinstance(found, Over):
            return found
        if found.stop is Stop.REFUSAL:
            return Over(Ended.REFUSED, f"{self._model} refused to answer.", found.text)
        if found.calls:
            return self._called(found, halt)
        if found.stop in {Stop.LENGTH, Stop.RUNAWAY}:
            return self._cut_off(found.stop)
        return Over(Ended.DONE, answer=found.text)

    def _called(self, found: Turn, halt: Halt) -> Over | None:
        self._cut = 0
        self._executor.run(found.calls, halt)
        if halt.is_set():
            return _halted(halt)
        asked = self._executor.asked
        if not asked:
            return None
        if self._spec.out:  # what the gate asks is in there too
            pose(Path(self._spec.out), asked)
        return Over(Ended.QUESTION, asked[0].text, found.text or asked[0].text)

    def _cut_off(self, stop: Stop) -> Over | None:
        """Let the model go on after an answer that was cut off, a few times."""
        self._cut += 1
        limit = self._loop.answer
        if stop is Stop.LENGTH:
            if self._cut < _PATIENCE:
                self.say(_CUT.format(limit))
                return None
            what = f"were cut off at {limit} tokens (`loop.answer`)"
            sentence = f"{_PATIENCE} answers of {self._model} in a row {what}."
            return Over(Ended.FAILED, sentence)
        if self._cut < _PATIENCE:
            self.say(_RUNAWAY)
            return None
        times = f"{_PATIENCE} times in a row"
        return Over(
            Ended.RUNAWAY, f"{self._model} repeated itself without end, {times}."
        )

    def _answer(self, halt: Halt, heard: Heard) -> Turn | Over:
        """Ask, with room made first if there is too little."""
        if compaction.due(self.conversation.entries, self._loop):
            problem = self._compact(halt)
            if problem is not None and problem.ended is not Ended.CONTEXT:
                return problem
        found = asking.ask(self._provider, self._ask(), heard, halt)
        if isinstance(found, NoTurn) and found.wrong is Wrong.OVERFLOW:
            problem = self._compact(halt)
            if problem is not None:
                return problem
            found = asking.ask(self._provider, self._ask(), heard, halt)
        if isinstance(found, Turn):
            return found
        ended = _ENDS.get(found.wrong, Ended.FAILED)
        mend = self._spec.way.mends.get(found.failure, "")
        return Over(ended, f"{found.sentence} {mend}".rstrip(), found.partial)

    def _ask(self) -> Ask:
        entries, blob = self.conversation.entries, self.conversation.blob
        return Ask(
            system=self._system,
            messages=dialogue.messages(entries, blob, self._spec.way.api),
            tools=self._tools,
            most=self._loop.answer,
            taken=dialogue.taken(entries),
        )

    def _compact(self, cancel: Cancel) -> Over | None:
        made = compacting.compact(
            self.conversation,
            self._provider,
            self._loop,
            cancel,
            model=self._model,
            attempt=self._spec.attempt,
        )
        if isinstance(made, Entry):
            self._told(made)
            return None
        if made is None:
            sentence = (
                f"What has to stay in the conversation is too long for {self._model}"
                f" (`loop.context` is {self._loop.context} tokens)."
            )
            return Over(Ended.CONTEXT, sentence)
        return Over(_ENDS.get(made.wrong, Ended.FAILED), made.sentence)

    def _take(self, found: Turn) -> None:
        """Record an answer, as far as it came."""
        if found.stop is Stop.CANCELLED:
            found = replace(found, calls=(), raw=b"")  # they were not made
            if not found.text:
                return
        entry = Entry(
            Kind.SAY,
            origin=Origin.MODEL,
            text=found.text,
            calls=found.calls,
            model=self._model,
            api=self._spec.way.api,
            counted=found.counted,
        )
        self.record(entry, **({"raw": found.raw} if found.raw else {}))


def _halted(halt: Halt) -> Over:
    why = halt.why or Ended.STOPPED
    late = why is Ended.TIME
    return Over(why, "It ran past its time limit." if late else "It was stopped.")
