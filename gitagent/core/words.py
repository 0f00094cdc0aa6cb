"""Which terms a text is searched by.

An identifier or a path is known whole and by its parts: ``walk_changes`` is found by
its name, by "walk", and by "changes". Case, accents, plurals and the commonest English
endings make no difference; scripts without spaces are known by pairs of characters.
Indexed texts and queries pass through here alike.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

_LONGEST: Final = 64  # characters of a term; what is longer is no word
# A run of words that "." "-" "/" or ":" hold together: a path, a dotted name.
_RUN: Final = re.compile(r"\w+(?:[./:-]{1,2}\w+)*")
_NAME: Final = re.compile(r"\w+")
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
# Han, kana and Hangul: words without spaces, or with endings of any kind.
_UNSPACED: Final = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
_VOWEL: Final = re.compile("[aeiouy]")

# As one text: a list of them would be as many lines.
STOP: Final = frozenset(
    """a about after all also am an and any are as at be because been before being
    but by can cannot could did do does doing down each else ever few for from further
    get gets had has have having he her here how i if in into is it its just let made
    make makes may me might more most much must my need needs no nor not now of off on
    once only or other our out over own please s same she should so some such than that
    the their them then there these they this those through to too under until up us
    use used uses using very want was way we were what when where which while who whom
    whose why will with without would yet you your""".split()  # noqa: SIM905
)


def terms(text: str) -> list[str]:
    """Return the terms of a text in order, as often as they are there.

    Each is of letters and digits alone.
    """
    found: list[str] = []
    for run in _RUN.findall(text):
        found.extend(_terms(run))
    return found


@lru_cache(maxsize=1 << 16)
def _terms(run: str) -> tuple[str, ...]:
    names = _NAME.findall(run)
    found = [term for name in names for term in _of_name(name)]
    if len(names) > 1:
        found.append(_folded("".join(names)))
    return tuple(
        stem
        for term in found
        if term and len(term) <= _LONGEST and term not in STOP
        for stem in (stemmed(term),)
    )


def _of_name(name: str) -> Iterator[str]:
    if not name.isascii():
        yield from _of_script(_folded(name))
        return
    parts = _PARTS.findall(name)
    for part in parts:
        yield part.lower()
    if len(parts) > 1:
        yield name.replace("_", "").lower()


def _of_script(name: str) -> Iterator[str]:
    rest = 0
    for run in _UNSPACED.finditer(name):
        yield name[rest : run.start()]
        yield from (run[0][n : n + 2] for n in range(max(1, len(run[0]) - 1)))
        rest = run.end()
    yield name[rest:]


def _folded(text: str) -> str:
    """Return a text without case, accents and forms of the same character."""
    if text.isascii():
        return text.replace("_", "").lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(each for each in apart if each.isalnum())
    return unicodedata.normalize("NFC", bare)


@lru_cache(maxsize=1 << 16)
def stemmed(word: str) -> str:
    """Return a word without its plural, -ing, -ed, -ly, -ion and last e.

    Less than Porter's: "general" and "generate" stay apart, as names do in code.
    """
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = _singular(word)
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and _VOWEL.search(rest):
            doubled = rest[-1] == rest[-2] and rest[-1] not in "lsz"
            word = rest[:-1] if doubled else rest
            break
    if len(word) > 5 and word.endswith(("tion", "sion")):
        word = word[:-3]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
