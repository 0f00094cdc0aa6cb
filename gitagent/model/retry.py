"""Sending a request until there is an answer: tries, waits, and who stands in.

What is done about which failure is `core.failure.RULES`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gitagent.core import failure as failures
from gitagent.core.failure import RULES, Failure
from gitagent.core.models import ModelRef
from gitagent.host import until
from gitagent.model.breaker import Breaker
from gitagent.model.opening import Opened
from gitagent.model.upstream import Lost


@dataclass(frozen=True, slots=True)
class Reached:
    """What came of it."""

    found: Opened | Lost | None  # None: a stop came first
    ref: ModelRef  # who was asked last
    tries: int  # requests made of providers
    fallback: str  # who before it could not be had, and why; "": the first answered


@dataclass(frozen=True, slots=True)
class Retrying:
    """Sends one request; ``send`` makes one try at one model."""

    send: Callable[[ModelRef], Opened | Lost]
    breaker: Breaker
    stops: Sequence[until.Watched]
    told: Callable[[str], None]  # of every failure that is not the last word

    def reach(self, models: Sequence[ModelRef]) -> Reached:
        """Ask the models in their order until one answers."""
        tries = 0
        passed: list[str] = []
        for place, ref in enumerate(models):
            last = place == len(models) - 1
            reached = self._at(ref, last=last)
            tries += reached.tries
            found = reached.found
            reached = replace(reached, tries=tries, fallback=" ".join(passed))
            if last or not isinstance(found, Lost) or not RULES[found.failure].fallback:
                return reached
            passed.append(f"{ref}: {found.reason}")
            self.told(f"{found.reason} {models[place + 1]} is asked instead of {ref}.")
        raise ValueError("a route has a model")

    def _at(self, ref: ModelRef, *, last: bool) -> Reached:
        """Ask one model; nobody waits for one that another can stand in for."""
        tries = 0
        while True:
            left = self.breaker.left(ref.provider)
            if left > (failures.PATIENCE_S if last else 0):
                reason = self.breaker.holds().get(ref.provider, "It is left alone.")
                lost = Lost(Failure.RATE_LIMITED, reason)
                return Reached(lost, ref, tries, "")
            if left and self._stopped(left):
                return Reached(None, ref, tries, "")
            if self._stopped(0):
                return Reached(None, ref, tries, "")
            tries += 1
            found = self.send(ref)
            if self._stopped(0) and isinstance(found, Lost):
                return Reached(None, ref, tries, "")
            if isinstance(found, Opened):
                return Reached(found, ref, tries, "")
            pause = failures.pause(RULES[found.failure], tries, found.told)
            self._hold(ref, found, given_up=pause is None, last=last)
            if pause is None:
                return Reached(found, ref, tries, "")
            self.told(f"{found.reason} It is tried again in {pause:g} s.")
            if self._stopped(pause):
                return Reached(None, ref, tries, "")

    def _hold(self, ref: ModelRef, found: Lost, *, given_up: bool, last: bool) -> None:
        """Leave the provider alone if that is what its failure asks for.

        So it is, too, for a while, where another one stands in.
        """
        rule = RULES[found.failure]
        seconds = found.told or (failures.LONGEST_S if given_up else 0)
        if seconds and (rule.holds or (given_up and rule.fallback and not last)):
            self.breaker.hold(ref.provider, seconds, found.reason)

    def _stopped(self, seconds: float) -> bool:
        return until.first(self.stops, seconds) >= 0
