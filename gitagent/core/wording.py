"""What the words of a text are, so that two texts can be compared.

Words are compared by their stems, numbers by their value, names that only code has
as they stand. What stands right after a denial is told apart from what is claimed.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

_TOKEN = re.compile(
    r"""
    `(?P<code>[^`\s]+)`
    | (?P<date>\d{4}-\d\d-\d\d)
    | (?P<number>(?<![\w.])\d+(?:[.,:]\d+)*(?![\w-]*[^\W\d]))
    | (?P<unit>(?<![\w.])\d+(?:[.,]\d+)*)(?:[^\W\d_]{1,3}|%)(?!\w)  # 30s, 2GiB, 5%
    | (?P<word>-{0,2}\w+(?:(?:[./:]|-(?=\w))\w+)*)
    | (?P<given>=(?!=)|:(?=\s))
    | (?P<stop>[.;,()](?=\s|$)|\n)
    """,
    re.VERBOSE,
)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+|[^\W_]+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_CAMEL = re.compile(r"[a-z\d][A-Z]|[A-Z]{2}[a-z]")
_JOINED = re.compile(r"\w[_/.:]+\w")
_UNIT = re.compile(r"[KMGTP]i?B")
_LETTER = re.compile(r"[^\W\d]")
_THOUSANDS = re.compile(r"\d+(,\d{3})+")
_NOT = re.compile(r"n['\u2019]t\b|\b(?:instead of|rather than)\b", re.IGNORECASE)

_DIGITS: Final = "zero one two three four five six seven eight nine ten eleven twelve"
_SPELLED: Final = {word: str(n) for n, word in enumerate(_DIGITS.split())}
_VAGUE: Final = frozenset({"0", "1"})  # "one" is seldom a number, "zero" often a none

# Words that say nothing about a subject, and those in which advice is given.
_PLAIN: Final = """
    a about above after again all also always am an and another any are as at avoid be
    became because become becomes been before being below best better between both but
    by call called calling can case come could did do does doing done down during each
    either else enough even ever every expect few first for from further get gets give
    given go goes good got had handle has have having he hence her here his how however
    i if in instead into is it its itself just keep keeps kept last least leave less
    let like long longer make makes many may might more most much must my need needed
    needs new next now of off often on once one only or other otherwise our out over
    own per please prefer put puts rather really same say says see set sets shall she
    should since so some still such sure take taken takes than that the their them then
    there these they thing things this those though through thus till to too under
    until up upon us use used uses using usually very via want was way we well were what
    when where whether which while who whom whose why will with within would yet you
    your
"""
_EMPTY: Final = frozenset(_PLAIN.split())
_DENIES: Final = frozenset(
    ["no", "not", "never", "neither", "nobody", "nor", "cannot", "without"]
)
_FALSE: Final = frozenset(["false", "off", "disabled", "no"])
_IS: Final = frozenset(["is", "are", "was", "were"])
_PLACES: Final = frozenset(
    ["at", "by", "for", "from", "in", "of", "on", "to", "under", "until", "with"]
)
_SCOPE: Final = 2  # words after a denial that it is about: "no scanner events"
_PREFIX: Final = 4  # letters that two words share to be of one family


@dataclass(frozen=True, slots=True)
class Wording:
    """A text as it is compared."""

    text: str  # in lower case
    words: dict[str, str]  # each once: its stem, and how it stood first
    exact: tuple[str, ...]  # numbers and names, as they stood
    numbers: frozenset[str]
    denied: frozenset[str]  # stems that a denial is about
    claimed: frozenset[str]  # stems that stand elsewhere

    def has(self, exact: str) -> bool:
        """Tell whether a number or a name stands in it."""
        values = set(_values(exact))
        if all(map(_NUMBER.fullmatch, values)):
            return values <= self.numbers
        name = exact.lower().strip("-/:.")
        if self._holds(name):
            return True
        # What `module.name` names is cited as `name`, where the path is of the module.
        parts = re.split(r"[./:]+", name)
        return len(parts) > 1 and all(map(self._holds, parts))

    def speaks_of(self, stem: str) -> bool:
        """Tell whether a word is there, or one of its family."""
        return stem in self.words or any(
            min(len(stem), len(each)) >= _PREFIX
            and (stem.startswith(each) or each.startswith(stem))
            for each in self.words
        )

    def _holds(self, name: str) -> bool:
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.text) is not None


def read(text: str) -> Wording:
    """Return the wording of a text."""
    reading = _Reading()
    for found in _TOKEN.finditer(_NOT.sub(" not ", text)):
        reading.take(found.lastgroup or "", found[found.lastgroup or 0])
    return Wording(
        text=text.lower(),
        words=reading.words,
        exact=tuple(reading.exact),
        numbers=frozenset(reading.numbers),
        denied=frozenset(reading.denied),
        claimed=frozenset(+reading.claimed),
    )


@dataclass(slots=True)
class _Reading:
    """What was read of a text so far."""

    words: dict[str, str] = field(default_factory=dict)
    exact: dict[str, None] = field(default_factory=dict)
    numbers: set[str] = field(default_factory=set)
    denied: set[str] = field(default_factory=set)
    claimed: Counter[str] = field(default_factory=Counter)
    scope: int = 0  # words to come that a denial is about
    before: list[str] = field(default_factory=list)  # stems of the word before
    earlier: list[str] = field(default_factory=list)  # and of the one before that
    given: bool = False  # whether "=", ":" or "is" stands after it

    def take(self, kind: str, token: str) -> None:
        lower = token.lower()
        if kind == "stop":
            self.scope, self.before, self.earlier, self.given = 0, [], [], False
        elif kind == "given":
            self.given = True
        elif kind in {"number", "date", "unit"}:
            self._number(token, _values(token))
        elif kind == "code":
            self._word(kind, token)
        elif lower in _FALSE and self.given and self.before:
            self.denied.update(self.before, self.earlier)
            self.claimed.subtract((*self.before, *self.earlier))
        elif lower in _DENIES:
            self.scope = _SCOPE
            if self.given:  # "row locks are not used" claims no row locks
                self.claimed.subtract((*self.before, *self.earlier))
        elif lower in _SPELLED:
            value = _SPELLED[lower]
            self._number("" if value in _VAGUE else value, [value])
        else:
            self._word(kind, token)

    def _number(self, shown: str, values: Iterable[str]) -> None:
        self.numbers.update(values)
        if shown:
            self.exact[shown] = None

    def _word(self, kind: str, token: str) -> None:
        if _is_name(token, quoted=kind == "code"):
            self.exact[token] = None
        stems = list(_stems(token))
        for stem, part in stems:
            self.words.setdefault(stem, part)
            self.numbers.update(_NUMBER.findall(part))
            # A flag is given or not: to speak of either denies nothing.
            denied = self.scope and not token.startswith("--")
            if denied:
                self.denied.add(stem)
            else:
                self.claimed[stem] += 1
        if stems:
            self.scope = max(0, self.scope - 1)
            self.earlier, self.given = self.before, False
            self.before = [stem for stem, _ in stems]
        elif token.lower() in _IS:
            self.given = True
        elif self.scope == _SCOPE and token.lower() in _PLACES:
            self.scope = 0  # "not in X" speaks of a place, and denies no X


def _is_name(token: str, *, quoted: bool) -> bool:
    """Whether a word is one that only code has: it is there as it is, or it is not."""
    if quoted or token.startswith("--") or _JOINED.search(token):
        return _LETTER.search(token) is not None or _NUMBER.search(token) is not None
    mixed = _NUMBER.search(token) is not None and "-" not in token
    return mixed or (_CAMEL.search(token) is not None and not _UNIT.fullmatch(token))


def _values(token: str) -> Iterator[str]:
    """Yield a number as it compares: 10,000 is 10000, 30.0 is 30, and 03:15 is two."""
    for part in token.split(":"):
        plain = part.replace(",", "") if _THOUSANDS.fullmatch(part) else part
        for each in plain.split(","):
            if not _NUMBER.fullmatch(each):
                yield each
                continue
            whole, _, rest = each.partition(".")
            rest = rest.rstrip("0")
            yield (whole.lstrip("0") or "0") + (f".{rest}" if rest else "")


def _stems(token: str) -> Iterator[tuple[str, str]]:
    for part in _PART.findall(token):
        lower = part.lower()
        if lower not in _EMPTY and (len(lower) > 1 or lower.isdigit()):
            yield _stem(lower), part


_ENDINGS: Final = ("ing", "ed", "ly", "er", "ion", "al", "ity", "ment")


def _stem(word: str) -> str:
    """Return a word without what inflects it; crude, and the same on both sides."""
    if len(word) > 4 and word.endswith(("ies", "ied")):
        word = f"{word[:-3]}y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            if word[-1] == word[-2] and word[-1] not in "aeiouls":
                word = word[:-1]
            break
    return word.removesuffix("e").replace("ll", "l") if len(word) > 3 else word
