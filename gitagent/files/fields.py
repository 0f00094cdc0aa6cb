"""Typed reading of front matter: every refusal names key, finding and expectation."""

import datetime as dt
import difflib
import json
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

from gitagent.files.duration import seconds
from gitagent.files.frontmatter import Front
from gitagent.files.text import Malformed

Choice = TypeVar("Choice", bound=StrEnum)
Problem = Callable[[str], str | None]  # why a text cannot be used, or None

UNITS = ("usd", "tokens")  # what a budget is counted in


def found(value: object) -> str:
    """Say what a value is, in a few words and at bounded length."""
    match value:
        case bool():
            return f"{value}".lower()
        case str():
            return f"the text {json.dumps(value[:40], ensure_ascii=False)}"
        case int():
            return f"the number {value}" if abs(value) < 10**18 else "a huge number"
        case float():
            return f"the number {value:g}"
        case list() | tuple():
            return "a list"
        case dict():
            return "a table"
        case dt.date() | dt.time():
            return "a date"
        case _:
            return "nothing" if value is None else "something else"


def nearest(word: str, known: Collection[str]) -> str | None:
    """Return the one of ``known`` that ``word`` was probably meant to be, or None."""
    close = difflib.get_close_matches(word[:80].lower(), known, 1, 0.6)
    return close[0] if close else None


@dataclass(frozen=True, slots=True)
class Fields:
    """The front matter of one file. Every reader raises `Malformed`."""

    front: Front
    path: str

    def known(self, keys: Collection[str]) -> None:
        """Refuse a key that is none of ``keys``."""
        for key in self.front.values:
            if key in keys:
                continue
            near = nearest(key, keys)
            mend = f"did you mean {near}?" if near else f"known are {', '.join(keys)}"
            self.refuse(key, f"{key[:80]} is not a key of this file", mend)

    def text(self, key: str, problem: Problem | None = None) -> str | None:
        """Return a text that is not blank, or None if the key is absent."""
        value = self.front.values.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            self._wrong(key, value, "a text", "…")
        if problem and (why := problem(value)):
            self.refuse(key, f"{key} is {found(value)}", why)
        return value

    def texts(self, key: str, problem: Problem | None = None) -> tuple[str, ...]:
        """Return a list of texts, none blank and none twice; empty if absent."""
        items = self.words(key)
        for item in items:
            if not item.strip():
                self._wrong(key, item, "only texts in its list", ["…"], "contains")
            if problem and (why := problem(item)):
                self.refuse(key, f"{key} contains {found(item)}", why)
        return tuple(dict.fromkeys(items))

    def words(self, key: str) -> tuple[str, ...]:
        """Return a list of texts as it is written; empty if absent."""
        value = self.front.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            good = value[:40] if isinstance(value, str) else "…"
            self._wrong(key, value, "a list of texts", [good])
        for item in value:
            if not isinstance(item, str):
                self._wrong(key, item, "only texts in its list", ["…"], "contains")
        return tuple(value)

    def whole(self, key: str, low: int, high: int) -> int | None:
        """Return a whole number from ``low`` to ``high``, or None if absent."""
        value = self.front.values.get(key)
        if value is None:
            return None
        expected = f"a whole number from {low} to {high}"
        if not isinstance(value, int) or isinstance(value, bool):
            self._wrong(key, value, expected, max(low, 1))
        if not low <= value <= high:
            self._wrong(key, value, expected, max(low, 1))
        return value

    def duration(self, key: str) -> int | None:
        """Return a duration in seconds, or None if absent."""
        value = self.front.values.get(key)
        if value is None:
            return None
        try:
            return seconds(value)
        except ValueError as error:
            problem, _, mend = str(error).partition("; ")
            self.refuse(key, f"{key} is {found(value)}: {problem}", mend)

    def choice(self, key: str, choices: type[Choice]) -> Choice | None:
        """Return one of ``choices``, or None if absent."""
        value = self.front.values.get(key)
        if value is None:
            return None
        names = [choice.value for choice in choices]
        if value not in names:
            self._wrong(key, value, " or ".join(names), names[0])
        return choices(value)

    def amounts(self, key: str) -> tuple[tuple[str, float], ...]:
        """Return a table of limits by unit, sorted; empty if absent."""
        value = self.front.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, dict):
            self._wrong(key, value, "a table", {"usd": 5})
        for unit, amount in value.items():
            if unit not in UNITS:
                units = " and ".join(UNITS)
                self.refuse(key, f"{key} counts {found(unit)}", f"units are {units}")
            if not is_amount(amount):
                problem = f"{key}.{unit} is {found(amount)}, expected a number from 0"
                self.refuse(key, problem, f"write {self._written(key, {unit: 5})}")
        return tuple(sorted((unit, float(amount)) for unit, amount in value.items()))

    def refuse(self, key: str, problem: str, mend: str) -> NoReturn:
        """Raise `Malformed` on the line of ``key``."""
        raise Malformed(self.path, problem, mend, self.front.line_of(key))

    def _wrong(
        self, key: str, value: object, expected: str, good: object, verb: str = "is"
    ) -> NoReturn:
        problem = f"{key} {verb} {found(value)}, expected {expected}"
        self.refuse(key, problem, f"write {self._written(key, good)}")

    def _written(self, key: str, value: object) -> str:
        """Return how ``key`` is set in this file's own format."""
        if self.front.kind != "yaml":
            text = json.dumps(value, ensure_ascii=False)
            if isinstance(value, dict):
                text = text.replace('{"', "{ ").replace('": ', " = ").replace("}", " }")
            return f"{key} = {text}"
        text = json.dumps(value, ensure_ascii=False)
        return f"{key}: {text}"


def is_amount(value: Any) -> bool:  # noqa: ANN401 - it is about what a file may hold
    """Tell whether ``value`` is a finite number from 0 that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= 1e15 and math.isfinite(value)
