"""The one way in which a call of a model becomes an effect.

    gate     what it would do is judged, by the policy of now
    hooks    commands of the settings may refuse it
    intent   is recorded before anything with an effect is done
    body     carries it out
    receipt  what came of it is recorded before the model reads it

Calls that only read are made side by side, and a round with any other call is made one
after the other. What code calls comes the same way.

An intent without a receipt was cut off. It is never made again by itself: the model is
told what is known of it.
"""

import hashlib
import itertools
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from gitagent.core.clip import Most, clip
from gitagent.core.conversation import (
    Call,
    CallState,
    Entry,
    Kind,
    Origin,
    pending,
    unanswered,
)
from gitagent.core.effect import OTHERS, Effect, Effects
from gitagent.core.question import Question
from gitagent.core.reach import Kind as Verdicts
from gitagent.core.settings import Hook, Loop
from gitagent.errors import GitagentError
from gitagent.files import clean
from gitagent.host import clock
from gitagent.host.cancel import Cancel
from gitagent.host.failpoint import failpoint
from gitagent.model.arguments import is_deep
from gitagent.model.provider import Answered
from gitagent.worker.loop import hooks as around
from gitagent.worker.loop.arguments import DEEP
from gitagent.worker.loop.bodies import Bodies, Nested, Output, Probing, Way
from gitagent.worker.loop.gating import Gate, Made, intended, understood
from gitagent.worker.loop.offer import Offer
from gitagent.worker.loop.record import Conversation

_WHOLE = 4  # long outputs that one round may have
_TOGETHER = 8  # calls that are made side by side
_PROBE_S = 60.0
_LEAST_S = 0.1  # that a body is given, however late it is

ASKED = (  # what a model is told of a question of the gate
    " The question is put to them. When you are continued with their answer, make the"
    " very same call again; until then do what does not depend on it."
)
_STOPPED = "Nothing was done: the turn was stopped before it was made."
_NO_TIME = "Nothing was done: no time is left for it."
_FULL = "Nothing was done: the record of this conversation is full."
_AFTER = "[interrupted: what it did until then stays; look before you call it again]"
_CUT_OFF = (
    "[interrupted] gitagent ended while this call was carried out: it may have been"
    " carried out, in part or not at all. Look before you call it again."
)
_UNKNOWN = (
    "[uncertain] gitagent ended before the answer to this call came: it may have been"
    " carried out or not, and it is not made again by itself. Find out before you call"
    " it again, or ask."
)
_NOT_MADE = (
    "[interrupted] gitagent ended before this call was carried out. Call it again if it"
    " is still needed."
)


class Executor:
    """Makes the calls of one conversation; one round at a time."""

    def __init__(
        self,
        conversation: Conversation,
        gate: Gate,
        bodies: Mapping[str, Bodies],
        offer: Offer,
        loop: Loop,
        hooks: Sequence[Hook] = (),
        *,
        told: Callable[[Entry], None] = lambda _: None,
        attempt: int = 1,
        deadline: float = float("inf"),
        asked: str = ASKED,
    ) -> None:
        """``bodies`` are by tool; the one of ``hook`` runs the hooks.

        ``told`` gets each entry once it is durable, from any thread. ``deadline`` is
        on the clock that never jumps. ``asked`` says to the model how a question of the
        gate is answered.
        """
        self.gate = gate
        self.offer = offer
        self.bodies = dict(bodies)
        self._conversation = conversation
        self._kib, self._lines = loop.output_kib, loop.output_lines
        self._calls = 1  # of the round
        self._hooks = tuple(hooks)
        self._told = told
        self._attempt = attempt
        self._deadline = deadline
        self._how_asked = asked
        self._order = threading.Lock()  # of calls that code makes
        self._gated: list[Question] = []  # by the gate, in this round
        self._posed: tuple[Question, ...] = ()  # by the model, in this round
        self._intents = [  # number, and what was to be done
            (each.number, intended(offer, each).effects)
            for each in conversation.entries
            if each.kind is Kind.INTENT
        ]

    @property
    def asked(self) -> tuple[Question, ...]:
        """What a person was asked in the newest round, by the model or the gate."""
        return tuple(dict.fromkeys((*self._posed, *self._gated)))

    def run(self, calls: Sequence[Call], cancel: Cancel) -> list[Answered]:
        """Make the calls of one turn; each has a result in the record, and here.

        Raises:
            GitagentError: the conversation cannot be written any more.
        """
        self._gated, self._posed = [], ()
        self._calls = max(1, len(calls))
        made = [understood(self.offer, call) for call in calls]
        if len(made) > 1 and all(each.quiet for each in made):
            with ThreadPoolExecutor(_TOGETHER) as pool:
                running = [pool.submit(self._told_of, each, cancel) for each in made]
            return [each.result() for each in running]
        return [self._told_of(each, cancel) for each in made]

    def confirmed(self, call: Call, cancel: Cancel) -> Entry:
        """Make a call that a person has said yes to, and return its result.

        What the gate denies now is not made, whatever they said.

        Raises:
            GitagentError: as `run`.
        """
        return self._one(understood(self.offer, call), cancel, agreed=True)[0]

    def recover(self) -> list[Entry]:
        """Answer what an earlier process has left open, and make nothing again."""
        found = [self._cut_off(each) for each in pending(self._conversation.entries)]
        calls = unanswered(self._conversation.entries)
        return [*found, *(self._not_made(call) for call in calls)]

    def _told_of(self, made: Made, cancel: Cancel) -> Answered:
        # Without the whole output: a round of many calls would hold all of them.
        each, _ = self._one(made, cancel)
        return Answered(each.call, each.text, each.state is not CallState.DONE)

    def _one(
        self, made: Made, cancel: Cancel, *, agreed: bool = False
    ) -> tuple[Entry, Output]:
        began = clock.monotonic()
        refused, note = self._refused(made, cancel, agreed=agreed)
        if refused is not None:
            return self._receipt(made, refused, began), refused
        key = self._key(made.call)
        if made.intends:
            self._intend(made, key)
            failpoint("conversation-intent")
        output = self._carried_out(made, key, cancel)
        failpoint("conversation-executed")
        cut = output.state is CallState.INTERRUPTED
        notes = (note and f"[note: {note}]", _AFTER if cut else "")
        result = self._receipt(made, output, began, *notes)
        failpoint("conversation-result")
        if self._hooks:
            told = {**_told(made), "state": result.state, "text": result.text}
            around.told(self._hooks, made.tool, told, self._hook(cancel))
        return result, output

    def _refused(
        self, made: Made, cancel: Cancel, *, agreed: bool
    ) -> tuple[Output | None, str]:
        """Return why a call is not made, or None and what the gate notes of it."""
        if made.slip:
            return _said(made.slip, CallState.FAILED), ""
        if cancel.is_set():
            return _said(_STOPPED, CallState.INTERRUPTED), ""
        if self._deadline <= clock.monotonic():
            return _said(_NO_TIME, CallState.INTERRUPTED), ""
        if self._conversation.full:
            return _said(_FULL, CallState.FAILED), ""
        before = self._intended_before()
        entries = self._conversation.entries
        verdict, state = self.gate.judge(made.effects, entries, before)
        if agreed and state is CallState.NEEDS_DECISION:
            state = None
        if state is not None:
            asked = "" if verdict.question is None else self._how_asked
            self._gated += [verdict.question] if verdict.question else []
            return _said(verdict.sentence + asked, state), ""
        if self._hooks:
            run, told = self._hook(cancel), _told(made)
            why = around.allowed(self._hooks, made.tool, told, run)
            if why:
                return _said(why, CallState.DENIED), ""
        return None, verdict.sentence if verdict.kind is Verdicts.ALLOW else ""

    def _carried_out(self, made: Made, key: str, cancel: Cancel) -> Output:
        body = self.bodies.get(made.tool)
        if body is None:
            return _said(f"{made.tool} cannot be used here.", CallState.FAILED)
        seconds = self._left(self.offer.seconds(made.tool, made.given))
        heard: list[Origin] = []
        nested = self._nested(made, cancel, heard) if made.tool == "code" else None
        try:
            output = body.execute(
                made.tool, made.given, Way(seconds, cancel, key, nested)
            )
        except Exception as error:  # noqa: BLE001 - a bug of ours ends no conversation
            return _said(_bug(made.tool, error), CallState.FAILED)
        # What code says may be what it was told.
        return replace(output, origin=heard[0]) if heard else output

    def _nested(self, outer: Made, cancel: Cancel, heard: list[Origin]) -> Nested:
        """Return what makes the calls of one call of code; ``heard`` gets others."""
        numbers = itertools.count(1)

        def make(tool: str, given: Mapping[str, Any]) -> tuple[str, bool]:
            deep = is_deep(given)
            text = "" if deep else json.dumps(given)
            call = Call(f"{outer.call.id}.{next(numbers)}", tool, text)
            made = understood(self.offer, call, outer.call.id)
            if deep:
                made = replace(made, effects=(), slip=f"Nothing was done: {DEEP}.")
            if made.tool == outer.tool:
                made = replace(made, effects=(), slip="Code cannot call code.")
            if made.quiet:
                result, output = self._one(made, cancel)
            else:
                with self._order:
                    result, output = self._one(made, cancel)
            if result.origin in OTHERS:
                heard.append(result.origin)
            if result.state is CallState.DONE:
                return output.whole.decode("utf-8", "replace"), True
            return result.text, False

        return make

    def _hook(self, cancel: Cancel) -> around.Run:
        def run(hook: Hook, call: Mapping[str, Any]) -> Output:
            body = self.bodies.get("hook")
            if body is None:
                return _said("it cannot be started here", CallState.FAILED)
            way = Way(self._left(float(hook.timeout)), cancel)
            return body.execute("hook", {"run": hook.run, "call": call}, way)

        return run

    def _left(self, limit: float) -> float:
        """Return how long something may take that has a limit of its own."""
        return min(limit, max(_LEAST_S, self._deadline - clock.monotonic()))

    def _intend(self, made: Made, key: str) -> None:
        intent = self._record(
            Entry(
                Kind.INTENT,
                text=json.dumps(made.given),
                call=made.call.id,
                tool=made.tool,
                effect=made.effect.kind if made.effect else "",
                what=made.what,
                key=key,
                via=made.via,
            )
        )
        self._intents.append((intent.number, made.effects))

    def _intended_before(self, number: int | None = None) -> tuple[Effect, ...]:
        """Return all effects that were intended, or those before an entry."""
        return tuple(
            effect
            for at, found in self._intents
            if number is None or at < number
            for effect in found
        )

    def _receipt(self, made: Made, output: Output, began: float, *notes: str) -> Entry:
        if output.asked is not None:
            self._posed = output.asked
        kind = made.effect.kind if made.effect else ""
        shown = clip(
            output.whole,
            self._limits,
            clean.plain if kind == Effects.SHELL else _visible,
            blob=self._conversation.name_of(output.whole),
            dropped=output.dropped,
        )
        attached = {}
        if shown.cut or shown.text.encode() != output.whole:
            attached["whole"] = output.whole
        if output.snapshot:
            attached["snapshot"] = output.snapshot
        text, notes = shown.text, tuple(filter(None, notes))
        if notes:
            text = "\n".join(filter(None, (text.rstrip("\n"), *notes)))
        entry = Entry(
            Kind.RESULT,
            origin=output.origin,
            text=text,
            call=made.call.id,
            tool=made.tool,
            effect=kind,
            what=made.what,
            via=made.via,
            state=output.state,
            items=output.items,
            size=len(output.whole) + output.dropped,
            seconds=round(clock.monotonic() - began, 3),
        )
        return self._record(entry, attached)

    @property
    def _limits(self) -> Most:
        """How much of an output the model reads, by how many it gets at once.

        What the model has not read yet cannot be summed up, so a round has to fit.
        """
        share = max(1, self._kib * _WHOLE // self._calls)
        return Most(min(self._kib, share), self._lines)

    def _record(
        self, entry: Entry, attached: Mapping[str, bytes] | None = None
    ) -> Entry:
        entry = replace(entry, attempt=self._attempt)
        made = self._conversation.append(entry, attached)
        self._told(made)
        return made

    def _key(self, call: Call) -> str:
        parts = (self._conversation.name, str(self._attempt), call.id)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()

    def _cut_off(self, intent: Entry) -> Entry:
        began = clock.monotonic()
        made = intended(self.offer, intent)
        before = self._intended_before(intent.number)
        entries = self._conversation.entries
        verdict, state = self.gate.judge(made.effects, entries, before)
        inside = intent.effect in {Effects.WRITE, Effects.SHELL}
        text = _CUT_OFF if inside else _UNKNOWN
        known = CallState.INTERRUPTED if inside else CallState.UNCERTAIN
        output = self._probed(made, intent.key) if state is None else None
        if state is CallState.DENIED:
            text += f" It may not be made now: {verdict.sentence}"
        return self._receipt(made, output or _said(text, known), began)

    def _probed(self, made: Made, key: str) -> Output | None:
        """Return what can be found out of a call that was cut off; None: nothing."""
        body: object = self.bodies.get(made.tool)
        if not isinstance(body, Probing):
            return None
        way = Way(self._left(_PROBE_S), Cancel(), key)
        try:
            return body.probe(made.tool, made.given, way)
        except Exception as error:  # noqa: BLE001 - as of a body
            said = f"{_UNKNOWN} {_bug('The probe', error)}"
            return _said(said, CallState.UNCERTAIN)

    def _not_made(self, call: Call) -> Entry:
        began = clock.monotonic()
        made = understood(self.offer, call)
        output = _said(_NOT_MADE, CallState.INTERRUPTED)
        if made.slip:
            output = _said(made.slip, CallState.FAILED)
        else:
            before, entries = self._intended_before(), self._conversation.entries
            verdict, state = self.gate.judge(made.effects, entries, before)
            if state is CallState.DENIED:
                output = _said(verdict.sentence, state)
        return self._receipt(made, output, began)


def _told(made: Made) -> dict[str, Any]:
    """Return what a hook is told of a call."""
    return {
        "call": made.call.id,
        "tool": made.tool,
        "given": dict(made.given),
        "effect": made.effect.kind if made.effect else "",
        "what": made.what,
        "via": made.via,
    }


def _said(sentence: str, state: CallState) -> Output:
    return Output(sentence.encode("utf-8", "replace"), state, Origin.GITAGENT)


def _bug(what: str, error: Exception) -> str:
    why = error.line() if isinstance(error, GitagentError) else str(error)
    name = type(error).__name__
    return f"{what} could not be carried out ({name}: {clean.sentence(why)})."


def _visible(data: bytes) -> str:
    return clean.visible(data.decode("utf-8", "replace"))
