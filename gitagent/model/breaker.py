"""Which providers are left alone for now, because they asked for it."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from gitagent.host import clock

_LONGEST_S = 7 * 24 * 3600.0  # a word of a provider that is longer is a mistake


@dataclass(frozen=True, slots=True)
class _Hold:
    until: float  # monotonic
    sentence: str


class Breaker:
    """One per daemon, for all threads; a provider goes by its name in the settings."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holds: dict[str, _Hold] = {}

    def hold(self, provider: str, seconds: float, reason: str) -> None:
        """Leave a provider alone for so long; the longest of several holds counts.

        ``reason`` is a sentence.
        """
        seconds = min(seconds, _LONGEST_S)
        until = clock.monotonic() + seconds
        end = clock.stamp(clock.now() + timedelta(seconds=seconds))
        sentence = f"The provider {provider} is left alone until {end}: {reason}"
        with self._lock:
            known = self._holds.get(provider)
            if known is None or known.until < until:
                self._holds[provider] = _Hold(until, sentence)

    def left(self, provider: str) -> float:
        """Return the seconds for which it is still left alone; 0: it is not."""
        with self._lock:
            known = self._holds.get(provider)
            if known is None:
                return 0.0
            left = known.until - clock.monotonic()
            if left <= 0:
                del self._holds[provider]
            return max(0.0, left)

    def holds(self) -> Mapping[str, str]:
        """Return a sentence for each provider that is left alone."""
        with self._lock:
            now = clock.monotonic()
            return {
                name: each.sentence
                for name, each in self._holds.items()
                if each.until > now
            }
