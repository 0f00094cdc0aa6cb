"""Keeping keys out of what passes: every text that leaves is looked through.

A stream is looked through event by event, each of them whole: so it does not matter
where the pieces end that it comes in.
"""

from collections.abc import Iterable

HIDDEN = b"[key]"


class Scrub:
    """Replaces secrets."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # The longest first: one key can be the beginning of another.
        found = {each.encode() for each in secrets if each}
        self._secrets = sorted(found, key=len, reverse=True)

    def whole(self, data: bytes) -> bytes:
        """Return bytes that are complete in themselves without any secret."""
        for secret in self._secrets:
            data = data.replace(secret, HIDDEN)
        return data

    def text(self, text: str) -> str:
        """Return a text without any secret."""
        return self.whole(text.encode("utf-8", "replace")).decode("utf-8", "replace")
