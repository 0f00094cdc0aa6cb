"""The small Python package that the demo and the tests work on.

``history`` is pure: it gives the commits of the project as values. ``make`` writes
them into a new repository with one ``git fast-import``.
"""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "almanac"

_BIRTH = 1_767_603_600  # 2026-01-05 09:00 UTC, the first commit
_STEP_S = 5 * 86_400 + 3_700  # about two commits a week, never at the same hour
_AUTHORS = ("Ada Okafor <ada@example.org>", "Jonas Weber <jonas@example.org>")

_README = """\
# almanac

Small, exact functions for everyday reckoning: dates, numbers, words and measures.

Every module stands alone and has its own test.

    make test
"""

_MAKEFILE = """\
PYTHON ?= python3

.PHONY: test
test:
\t$(PYTHON) -m unittest discover -q -s tests -t .
"""

_PYPROJECT = """\
[project]
name = "almanac"
version = "0.4.0"
requires-python = ">=3.9"
"""

_GUIDE = """\
# Guide

Functions take plain values and return plain values.
Nothing here reads a clock or a file.
"""

# name: (what it is about, code, expectations as (call, result) pairs)
_MODULES: dict[str, tuple[str, str, tuple[tuple[str, str], ...]]] = {
    "leap": (
        "leap years of the Gregorian calendar",
        """\
def is_leap(year):
    \"\"\"Say whether ``year`` has a 29 February.\"\"\"
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
""",
        (("is_leap(2024)", "True"), ("is_leap(1900)", "False")),
    ),
    "temperature": (
        "temperatures between scales",
        """\
def to_celsius(fahrenheit):
    \"\"\"Convert degrees Fahrenheit to degrees Celsius.\"\"\"
    return (fahrenheit - 32) * 5 / 9


def to_fahrenheit(celsius):
    \"\"\"Convert degrees Celsius to degrees Fahrenheit.\"\"\"
    return celsius * 9 / 5 + 32
""",
        (("to_celsius(212)", "100.0"), ("to_fahrenheit(-40)", "-40.0")),
    ),
    "slug": (
        "titles as parts of addresses",
        """\
import re


def slug(title):
    \"\"\"Return ``title`` in lower case with dashes between its words.\"\"\"
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))
""",
        (("slug('The  Long Way')", "'the-long-way'"), ("slug('?')", "''")),
    ),
    "roman": (
        "Roman numerals",
        """\
_PAIRS = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)


def roman(number):
    \"\"\"Write a positive ``number`` with Roman numerals.\"\"\"
    out = []
    for value, letters in _PAIRS:
        count, number = divmod(number, value)
        out.append(letters * count)
    return "".join(out)
""",
        (("roman(1994)", "'MCMXCIV'"), ("roman(4)", "'IV'")),
    ),
    "primes": (
        "prime numbers",
        """\
def primes(below):
    \"\"\"List the primes that are smaller than ``below``.\"\"\"
    return [n for n in range(2, below) if all(n % p for p in range(2, int(n**0.5) + 1))]
""",
        (("primes(20)", "[2, 3, 5, 7, 11, 13, 17, 19]"), ("primes(2)", "[]")),
    ),
    "words": (
        "counting words",
        """\
from collections import Counter


def most_common(text, count):
    \"\"\"Return the ``count`` most frequent words of ``text``, ties by first use.\"\"\"
    return [word for word, _ in Counter(text.lower().split()).most_common(count)]
""",
        (("most_common('a b a', 1)", "['a']"), ("most_common('', 3)", "[]")),
    ),
    "shapes": (
        "areas of plane figures",
        """\
import math


def circle(radius):
    \"\"\"Return the area of a circle.\"\"\"
    return math.pi * radius**2


def triangle(a, b, c):
    \"\"\"Return the area of a triangle from its three sides.\"\"\"
    half = (a + b + c) / 2
    return math.sqrt(half * (half - a) * (half - b) * (half - c))
""",
        (("triangle(3, 4, 5)", "6.0"), ("circle(0)", "0.0")),
    ),
    "duration": (
        "lengths of time for people",
        """\
def duration(seconds):
    \"\"\"Write whole ``seconds`` as hours, minutes and seconds.\"\"\"
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
""",
        (("duration(3723)", "'1:02:03'"), ("duration(0)", "'0:00:00'")),
    ),
    "ledger": (
        "running balances",
        """\
from itertools import accumulate


def balances(amounts, opening=0):
    \"\"\"Return the balance after each of ``amounts``.\"\"\"
    return list(accumulate(amounts, initial=opening))[1:]
""",
        (("balances([5, -2, 4])", "[5, 3, 7]"), ("balances([], 9)", "[]")),
    ),
    "checksum": (
        "check digits",
        """\
def luhn(digits):
    \"\"\"Say whether a string of ``digits`` ends with its Luhn check digit.\"\"\"
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0
""",
        (("luhn('79927398713')", "True"), ("luhn('79927398710')", "False")),
    ),
    "median": (
        "middles of samples",
        """\
def median(sample):
    \"\"\"Return the middle of a ``sample`` that is not empty.\"\"\"
    ordered = sorted(sample)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
""",
        (("median([3, 1, 2])", "2"), ("median([4, 1])", "2.5")),
    ),
    "season": (
        "seasons of the northern half of the earth",
        """\
_SEASONS = ("winter", "spring", "summer", "autumn")


def season(month):
    \"\"\"Return the meteorological season of a ``month`` from 1 to 12.\"\"\"
    return _SEASONS[month % 12 // 3]
""",
        (("season(12)", "'winter'"), ("season(7)", "'summer'")),
    ),
}


@dataclass(frozen=True, slots=True)
class Change:
    """One commit of the history."""

    author: str  # "Name <email>"
    when: int  # seconds since 1970, UTC
    message: str
    files: Mapping[str, str]  # path to its new whole text


def history(modules: int = len(_MODULES)) -> tuple[Change, ...]:
    """Return the commits of the project, oldest first.

    The newest tree has ``2 * modules + 7`` files, and its tests pass.
    """
    first = {
        ".gitignore": "__pycache__/\n",
        "Makefile": _MAKEFILE,
        "README.md": _README,
        f"{PACKAGE}/__init__.py": '"""Functions for everyday reckoning."""\n',
        "tests/__init__.py": "",
    }
    steps: list[tuple[str, Mapping[str, str]]] = [("Begin the almanac", first)]
    steps.extend(_steps(modules))
    steps.append(("Give the project its metadata", {"pyproject.toml": _PYPROJECT}))
    steps.append(("Say what the functions have in common", {"docs/guide.md": _GUIDE}))
    return tuple(
        Change(_AUTHORS[n % 3 == 2], _BIRTH + n * _STEP_S, message, files)
        for n, (message, files) in enumerate(steps)
    )


def make(path: Path, modules: int = len(_MODULES)) -> str:
    """Write the project into a new repository at ``path``; return its tip.

    The branch is ``main``, and it is checked out. Identity is not configured.
    """
    path.mkdir(parents=True, exist_ok=True)
    _git(path, "init", "-q", "-b", "main")
    _git(path, "fast-import", "--quiet", stdin=stream(history(modules)))
    _git(path, "reset", "-q", "--hard")
    return _git(path, "rev-parse", "HEAD")


def stream(changes: Sequence[Change], ref: str = "refs/heads/main") -> bytes:
    """Return ``changes`` as the input of ``git fast-import``."""
    out: list[bytes] = []
    for change in changes:
        who = f"{change.author} {change.when} +0000"
        out.append(f"commit {ref}\nauthor {who}\ncommitter {who}\n".encode())
        out.append(_data(change.message + "\n"))
        for name, text in sorted(change.files.items()):
            out += [f"M 100644 inline {name}\n".encode(), _data(text)]
        out.append(b"\n")
    return b"".join(out)


def _steps(modules: int) -> Iterator[tuple[str, Mapping[str, str]]]:
    for name, (about, code, expectations) in list(_MODULES.items())[:modules]:
        yield (f"Add {about}", _module(name, about, code, expectations))
    # Past the table the modules are all alike: they only make the tree larger.
    for number in range(len(_MODULES), modules):
        name = f"multiple_{number:02}"
        code = f"def {name}(value):\n    return value * {number}\n"
        calls = ((f"{name}(2)", str(2 * number)), (f"{name}(0)", "0"))
        about = f"multiples of {number}"
        yield (f"Add {about}", _module(name, about, code, calls))


def _module(
    name: str, about: str, code: str, expectations: Sequence[tuple[str, str]]
) -> dict[str, str]:
    cases = "".join(
        f"        self.assertEqual({result}, {name}.{call})\n"
        for call, result in expectations
    )
    gap = "\n" if code.startswith(("import", "from", "_")) else "\n\n"
    return {
        f"{PACKAGE}/{name}.py": f'"""{about.capitalize()}."""\n{gap}{code}',
        f"tests/test_{name}.py": (
            f"import unittest\n\nfrom {PACKAGE} import {name}\n\n\n"
            f"class {name.capitalize()}Test(unittest.TestCase):\n"
            f"    def test_{name}(self):\n{cases}"
        ),
    }


def _data(text: str) -> bytes:
    raw = text.encode()
    return b"data %d\n%b\n" % (len(raw), raw)


def _git(cwd: Path, *args: str, stdin: bytes = b"") -> str:
    done = subprocess.run(
        ["git", *args], cwd=cwd, input=stdin, capture_output=True, check=True
    )
    return done.stdout.decode().strip()
