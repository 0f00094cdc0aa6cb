"""What counts in the text of a test, by the habits of common languages.

Patterns over lines, not parsers: they are there to be seen by a person, and a worker
that means harm can hide from any of them.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass

_FOLDERS = frozenset({"test", "tests", "spec", "specs", "__tests__", "testing"})
_NAME = re.compile(
    r"test_.*|conftest\.py|.*(?:_test|_spec|\.test|\.spec)\.[^.]+|.*Tests?\.[^.]+"
)
_AFFIX = re.compile(r"^test_|(?:_test|_spec|\.test|\.spec|Tests?)$")
_PROSE = re.compile(r".*\.(?:md|rst)", re.IGNORECASE)
_CONFIG = re.compile(
    r"pytest\.ini|pyproject\.toml|setup\.cfg|tox\.ini|noxfile\.py|package\.json"
    r"|(?:jest|vitest|playwright|cypress|karma)\.conf(?:ig)?\.[^/]+|\.mocharc.*"
    r"|nextest\.toml|phpunit\.xml(?:\.dist)?|\.rspec|\.coveragerc"
)
_COMMENT = re.compile(r"\s*(?:#(?!\[)|//|\*|/\*|--\s|;)")

_SKIP = re.compile(
    r"pytest\.(?:mark\.)?(?:skip|skipif|xfail|importorskip)\b"
    r"|unittest\.(?:skip\w*|expectedFailure)\b|\bself\.skipTest\("
    r"|\bcollect_ignore\w*\s*="
    r"|\b(?:it|describe|test|context|suite)\.(?:skip|todo|fixme|only)\b"
    r"|\b[xf](?:it|describe|test|context)\("
    r"|\bt\.Skip(?:f|Now)?\(|#\[ignore\b|@(?:Disabled|Ignore)\b|\[Ignore\b"
    r"|\bmarkTest(?:Skipped|Incomplete)\("
)
_LEFT_OUT = re.compile(
    r"--(?:ignore(?:-glob)?|deselect)\b|--passWithNoTests\b"
    r"|\b(?:testPathIgnorePatterns|norecursedirs)\b|(?<![\w-])-[km][ =]['\"\\]*not\b"
)
_ASSERT = re.compile(
    r"\bassert\w*\b|\bexpect\(|\bpytest\.raises\(|\bt\.(?:Error|Fatal)f?\("
    r"|\brequire\.\w+\(|\.should\b"
)
_TEST = re.compile(
    r"\bdef (test\w*)|\bfunc (Test\w+)|\bfunction (test\w+)"
    r"|#\[(?:\w+::)?test\b[^{;]*?\bfn (\w+)|@Test\b[^{;]*?\b(\w+)\s*\("
    r"|\b(?:it|test)(?:\.\w+)?\(\s*(\"[^\"\n]+\"|'[^'\n]+'|`[^`]+`)"
)
_NUMBER = r"(?P<number>\d[\d_]*(?:\.\d+)?(?:\s*\*\s*\d[\d_]*)*)(?P<unit>ms|s|m|h)?\b"
_LIMIT = re.compile(
    r"(?<![\w-])(?:--)?(?P<name>timeout|testTimeout|hookTimeout|test-timeout|slow-timeout)"
    r"[\"']?\s*[:= ]\s*(?:\{\s*period\s*=\s*)?[\"']?" + _NUMBER
)
_MARKED = re.compile(
    r"(?P<name>\bmark\.timeout|\b(?:jest|vi|test)\.setTimeout|\bthis\.timeout|@Timeout)"
    r"\(\s*(?:timeout\s*=\s*)?" + _NUMBER
)
_FLOOR = re.compile(r"(?:\bfail_under\s*=|--cov-fail-under[= ])\s*(\d+(?:\.\d+)?)")
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class Marks:
    """What was found in one text; lines without the space around them."""

    tests: Counter[str]  # by name
    skips: Counter[str]  # lines that keep tests from running or from counting
    asserts: Counter[str]  # lines
    left_out: Counter[str]  # lines of a configuration that leave tests out
    marked: dict[str, list[float]]  # time limits in the marks of tests, by mark
    limits: dict[str, list[float]]  # time limits of a configuration, by name
    floors: list[float]  # coverage asked for


def read(text: str) -> Marks:
    """Return what counts in a text, comments aside."""
    rows = [row for row in text.split("\n") if not _COMMENT.match(row)]
    code = "\n".join(rows)
    return Marks(
        tests=Counter("".join(names) for names in _TEST.findall(code)),
        skips=_lines(rows, _SKIP),
        asserts=_lines(rows, _ASSERT),
        left_out=_lines(rows, _LEFT_OUT),
        marked=_numbers(code, _MARKED),
        limits=_numbers(code, _LIMIT),
        floors=[float(number) for number in _FLOOR.findall(code)],
    )


def is_test(path: str) -> bool:
    """Whether a path is a test by its name or its folder."""
    *folders, name = path.split("/")
    return bool(_FOLDERS & set(folders)) or _NAME.fullmatch(name) is not None


def is_configuration(path: str) -> bool:
    """Whether a file by this name says which tests run, and how long they may."""
    return _CONFIG.fullmatch(path.rpartition("/")[2]) is not None


def is_prose(path: str) -> bool:
    """Whether a file is for people to read, and judges nothing."""
    return _PROSE.fullmatch(path) is not None


def as_good(old: str, new: str) -> bool:
    """Whether what ran as a test under the old name runs under the new one."""
    *old_folders, old_name = old.split("/")
    *new_folders, new_name = new.split("/")
    folder = not _FOLDERS & set(old_folders) or bool(_FOLDERS & set(new_folders))
    name = not _NAME.fullmatch(old_name) or bool(_NAME.fullmatch(new_name))
    return folder and name


def subject(test: str) -> str:
    """Return the stem of the file that a test is about, by its name."""
    return _AFFIX.sub("", stem(test))


def stem(path: str) -> str:
    """Return a file's name without folders and suffix."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name


def _lines(rows: list[str], pattern: re.Pattern[str]) -> Counter[str]:
    return Counter(row.strip() for row in rows if pattern.search(row))


def _numbers(code: str, pattern: re.Pattern[str]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for match in pattern.finditer(code):
        factors = match["number"].replace("_", "").split("*")
        value = math.prod(map(float, factors)) * _UNITS.get(match["unit"] or "s", 1)
        found.setdefault(match["name"], []).append(value)
    return found
