"""A call as it is made, and what the gate says of it by the policy of now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gitagent.core import effect as effects
from gitagent.core.conversation import Call, CallState, Entry, Origin
from gitagent.core.effect import Context, Effect, Effects
from gitagent.core.question import Answer
from gitagent.core.reach import Facts, Kind, Verdict
from gitagent.worker.loop.offer import Offer

_NO_EFFECT = Verdict(Kind.ALLOW)


@dataclass(frozen=True, slots=True)
class Made:
    """A call as it is made."""

    call: Call
    tool: str  # our name of it
    given: Mapping[str, Any]
    effects: tuple[Effect, ...] = ()
    what: str = ""  # that it acts on, for people
    slip: str = ""  # why it cannot be made at all
    via: str = ""  # id of the call of code that makes it
    quiet: bool = True  # whether it can be made beside others

    @property
    def effect(self) -> Effect | None:
        """The effect that counts: one that changes something, if there is one."""
        loud = [each for each in self.effects if each.kind is not Effects.READ]
        return next(iter((*loud, *self.effects)), None)

    @property
    def intends(self) -> bool:
        """Whether it is recorded before it is made."""
        return self.effect is not None and self.effect.kind is not Effects.READ


@dataclass(frozen=True, slots=True)
class Gate:
    """What the effects of one conversation are judged by."""

    facts: Facts
    profile: str = ""
    decide: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ()
    origins: frozenset[Origin] = frozenset()  # of words that are not in its record

    def judge(
        self,
        wanted: Iterable[Effect],
        entries: Iterable[Entry],
        made: tuple[Effect, ...],
    ) -> tuple[Verdict, CallState | None]:
        """Return what is said of a call's effects, and how it ends if it is not made.

        ``entries`` are the conversation's, ``made`` the effects intended before.
        """
        context = Context(
            self.profile,
            self.decide,
            self.origins | effects.taint(entries, self.facts),
            effects.decided(self.answers),
            made,
        )
        said, waits = _NO_EFFECT, None
        for each in wanted:
            verdict = effects.judge(each, self.facts, context)
            if verdict.kind is Kind.NEEDS_DECISION:
                waits = waits or verdict
            elif not effects.runs(each, verdict):
                return verdict, CallState.DENIED
            else:
                said = verdict
        return (waits, CallState.NEEDS_DECISION) if waits else (said, None)


def understood(offer: Offer, call: Call, via: str = "") -> Made:
    """Return what a call means; `slip` says why it means nothing."""
    checked = offer.check(call.tool, call.given, code=bool(via))
    if checked.form is None:
        return Made(call, call.tool, {}, slip=checked.slip, via=via)
    tool, given = checked.form.name, checked.given
    if checked.slip:
        return Made(call, tool, given, slip=checked.slip, via=via)
    would = offer.effects(tool, given)
    reads = all(each.kind is Effects.READ for each in would)
    quiet = reads and not checked.form.changes
    what = offer.about(tool, given)
    return Made(call, tool, given, would, what, via=via, quiet=quiet)


def intended(offer: Offer, intent: Entry) -> Made:
    """Return the call of an intent, also of a tool that is not offered any more."""
    call = Call(intent.call, intent.tool, intent.text)
    made = understood(offer, call, intent.via)
    if not made.slip:
        return made
    would = (Effect(Effects(intent.effect), intent.what),)
    return replace(made, effects=would, what=intent.what, slip="")
