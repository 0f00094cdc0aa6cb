"""Keeping keys out of what passes: every text that leaves is looked through.

A key is found as it is, and as writers of JSON, of addresses and of headers put it:
with its marks or all of its characters escaped, or in base64. A stream is looked
through event by event, each of them whole: so it does not matter where the pieces end
that it comes in.
"""

import re
from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache

HIDDEN = b"[key]"

# A shorter one is a word that somebody puts where a local server wants any key at all,
# such as "ollama": no secret, and hiding it would change what agents read and write.
LEAST = 8


class Scrub:
    """Replaces secrets; the longest first: one key can be the beginning of another."""

    def __init__(self, secrets: Iterable[str]) -> None:
        found = {each for each in secrets if len(each) >= LEAST}
        self._forms = [_forms(each) for each in sorted(found, key=len, reverse=True)]

    def whole(self, data: bytes) -> bytes:
        """Return bytes that are complete in themselves without any secret."""
        for each in self._forms:
            data = each.hidden(data)
        return data

    def text(self, text: str) -> str:
        """Return a text without any secret."""
        return self.whole(text.encode("utf-8", "replace")).decode("utf-8", "replace")


class _Forms:
    """The forms of one secret.

    The expression that finds those with escapes is slow: 6 MB a second. So it is used
    only where a quick look says that there may be one.
    """

    def __init__(self, secret: str) -> None:
        self._plain = secret.encode()
        self._literal = [self._plain, *_in_base64(secret)]
        self._marks = [
            (start, f"{code:{form}}".encode(), bytes([code]))
            for code in sorted({each for each in self._plain if not _is_plain(each)})
            for start, form in (
                (b"u00", "02x"),
                (b"u00", "02X"),
                (b"%", "02x"),
                (b"%", "02X"),
            )
        ]
        self._escaped = re.compile("".join(map(_written, secret)).encode())

    def hidden(self, data: bytes) -> bytes:
        for each in self._literal:
            data = data.replace(each, HIDDEN)
        return self._escaped.sub(HIDDEN, data) if self._may_be(data) else data

    def _may_be(self, data: bytes) -> bool:
        starts = [each for each in _ESCAPES if each in data]
        if not starts and b"\\" not in data:
            return False
        bare = data.translate(None, b"\\")
        for start, code, mark in self._marks:
            if start in starts:
                bare = bare.replace(start + code, mark)
        return self._plain in bare or any(
            data.count(start) >= LEAST and _ESCAPES[start].search(data)
            for start in starts
        )


# By how each begins: characters that are all escaped.
_ESCAPES = {
    start: re.compile(rb"(?:%s[2-7]\w\\*){%d}" % (re.escape(start), LEAST))
    for start in (b"u00", b"%")
}


@lru_cache(maxsize=64)
def _forms(secret: str) -> _Forms:
    return _Forms(secret)


def _is_plain(code: int) -> bool:
    return chr(code).isalnum()


def _written(char: str) -> str:
    """Return a pattern for a character as it is, and escaped."""
    code = f"{ord(char):02x}"
    digits = "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in code)
    plain = re.escape(char)
    # JSON within JSON doubles the backslashes.
    escaped = rf"\\+u00{digits}" if char.isalnum() else rf"\\+(?:{plain}|u00{digits})"
    return f"(?:{plain}|{escaped}|%{digits})"


def _in_base64(secret: str) -> list[bytes]:
    """Return what stands for a secret wherever it begins, but for both of its ends.

    Those are made of what is beside it as well.
    """
    found: list[bytes] = []
    for before in range(3):
        code = b64encode(b"." * before + secret.encode()).rstrip(b"=")
        code = code[before + (before > 0) : -1]
        found += [code, code.translate(bytes.maketrans(b"+/", b"-_"))]
    return [each for each in dict.fromkeys(found) if len(each) >= LEAST]
