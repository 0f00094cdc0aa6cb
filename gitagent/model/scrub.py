"""Keeping keys out of what passes: every text that leaves is looked through."""

from collections.abc import Iterable

HIDDEN = b"[key]"


class Scrub:
    """Replaces secrets; one that comes in pieces is found as well."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # The longest first: one key can be the beginning of another.
        found = {each.encode() for each in secrets if each}
        self._secrets = sorted(found, key=len, reverse=True)
        self._held = b""

    def whole(self, data: bytes) -> bytes:
        """Return bytes that are complete in themselves without any secret."""
        for secret in self._secrets:
            data = data.replace(secret, HIDDEN)
        return data

    def text(self, text: str) -> str:
        """Return a text without any secret."""
        return self.whole(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def feed(self, data: bytes) -> bytes:
        """Return what may pass of a stream; its end may be held back.

        What could be the beginning of a secret waits for what follows.
        """
        clean = self.whole(self._held + data)
        keep = max((_overlap(clean, each) for each in self._secrets), default=0)
        self._held = clean[len(clean) - keep :]
        return clean[: len(clean) - keep]

    def end(self) -> bytes:
        """Return what was held back, at the end of a stream."""
        held, self._held = self._held, b""
        return held


def _overlap(data: bytes, secret: bytes) -> int:
    """Return how many bytes at the end of the data begin the secret."""
    for size in range(min(len(data), len(secret) - 1), 0, -1):
        if data.endswith(secret[:size]):
            return size
    return 0
