"""What counts in the text of a test, by the habits of common languages.

Patterns over lines, not parsers: they are there to be seen by a person, and a worker
that means harm can hide from any of them.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_FOLDERS = frozenset({"test", "tests", "spec", "specs", "__tests__", "testing"})
_NAME = re.compile(
    r"test_.*|conftest\.py|.*(?:_test|_spec|\.test|\.spec)\.[^.]+|.*Tests?\.[^.]+"
)
_AFFIX = re.compile(r"^test_|(?:_test|_spec|\.test|\.spec|Tests?)$")
_PROSE = re.compile(r".*\.(?:md|rst)", re.IGNORECASE)
_CONFIG = re.compile(
    r"pyproject\.toml|setup\.cfg|tox\.ini|noxfile\.py|package\.json"
    r"|(?:jest|vitest|playwright|cypress|karma)\.conf(?:ig)?\.[^/]+|\.mocharc.*"
    r"|nextest\.toml|phpunit\.xml(?:\.dist)?|\.rspec|\.coveragerc|\.gitattributes"
    r"|\.?pytest\.(?:ini|toml)"
    r"|(?:GNU)?[Mm]akefile|.*\.mk|[Jj]ustfile"
)
_LANGUAGES = (
    *(".py", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"),
    *(".go", ".rs", ".java", ".kt", ".scala", ".cs", ".php", ".rb", ".swift"),
)
_PASSED_BY = frozenset({"build", "dist", "node_modules", "venv", "CVS", "_darcs"})
_COMMENTS = ("#", "//", "*", "/*", "-- ", ";")

_SKIP = re.compile(
    r"pytest\.(?:mark\.)?(?:skip|skipif|xfail|importorskip)\b"
    r"|unittest\.(?:skip\w*|expectedFailure)\b|\bself\.skipTest\("
    r"|\bcollect_ignore\w*\s*="
    r"|\b(?:it|describe|test|context|suite)\.(?:skip|todo|fixme|only)\b"
    r"|\b[xf](?:it|describe|test|context)\("
    r"|\bt\.Skip(?:f|Now)?\(|#\[ignore\b|@(?:Disabled|Ignore)\b|\[Ignore\b"
    r"|\bmarkTest(?:Skipped|Incomplete)\("
    r"|\bpytest_(?:collection_modifyitems|ignore_collect|runtest_protocol"
    r"|runtest_makereport|pyfunc_call|sessionfinish)\b"
    r"|\bdef pytest_(?!addoption\b|generate_tests\b|report_header\b)\w|\bspecname\b"
    r"|\bpytest_plugins\b|\bos\._exit\b|\bpytest\.exit\(|\bprocess\.exit\(0"
    r"|\braise SystemExit\b|\bsys\.exit\(0?\)"
)
_LEFT_OUT = re.compile(
    r"--(?:ignore(?:-glob)?|deselect|collect-only|co)\b|--passWithNoTests\b"
    r"|\b(?:testPathIgnorePatterns|norecursedirs)\b|(?<![\w-])-[km][ =]['\"\\]*not\b"
)
_WHICH = re.compile(
    r"[ \t]*[\"']?(?:testpaths|python_(?:files|classes|functions)|testMatch|testRegex"
    r"|roots|spec|addopts)[\"']?\s{0,9}[=:]"
)
_WRITTEN = re.compile(r"\bworking-tree-encoding=|\beol=crlf\b")
_SCRIPT = re.compile(r"\s*\"(?:pre|post)?(?:test|check|lint|verify|ci)[\w:-]*\"\s*:")
_RULE = re.compile(
    r"(?:[\w./-]+\s+)*(?:test|tests|check|checks|lint|verify|ci)\b[^=]*:"
)
_ASSERT = re.compile(
    r"\bassert\w*\b|\bexpect\(|\bpytest\.raises\(|\bt\.(?:Error|Fatal)f?\("
    r"|\brequire\.\w+\(|\.should\b"
)
_TEST = re.compile(
    r"\bdef (test\w*)|\bfunc (Test\w+)|\bfunction (test\w+)"
    r"|#\[(?:\w+::)?test\b[^{;]{0,100}?\bfn (\w+)|@Test\b[^{;]{0,100}?\b(\w+)\("
    r"|\b(?:it|test)(?:\.\w+)?\(\s*(\"[^\"\n]+\"|'[^'\n]+'|`[^`]+`)"
)
_NUMBER = r"(?P<number>\d[\d_]*(?:\.\d+)?(?: ?\* ?\d[\d_]*)*)(?P<unit>ms|s|m|h)?\b"
_LIMIT = re.compile(
    r"(?<![\w-])(?:--)?(?P<name>timeout|testTimeout|hookTimeout|test-timeout|slow-timeout)"
    r"[\"']?[ \t]{0,9}[:= ][ \t]{0,9}(?:\{ ?period ?= ?)?[\"']?" + _NUMBER
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
    which: Counter[str]  # lines of a configuration that say which tests run
    written: Counter[str]  # lines of one that have files written as other bytes
    recipe: Counter[str]  # lines that are run when the tests are asked for
    twice: Counter[str]  # scripts of a package.json that are there more than once
    marked: dict[str, list[float]]  # time limits in the marks of tests, by mark
    limits: dict[str, list[float]]  # time limits of a configuration, by name
    floors: list[float]  # coverage asked for


def read(text: str, *, configuration: bool = False) -> Marks:
    """Return what counts in a text, comments aside.

    What only a configuration has is looked for in one alone.
    """
    rows = [row for row in text.split("\n") if not _is_comment(row)]
    code = "\n".join(rows)
    settings = code if configuration else ""
    return Marks(
        tests=Counter("".join(names) for names in _TEST.findall(code)),
        skips=_lines(code, _SKIP),
        asserts=_lines(code, _ASSERT),
        left_out=_lines(settings, _LEFT_OUT),
        which=Counter(_which(rows) if configuration else ()),
        # Patterns of .gitattributes begin as comments of other files do.
        written=_lines(text if configuration else "", _WRITTEN),
        recipe=Counter(_recipe(rows) if configuration else ()),
        twice=_twice(rows if configuration else ()),
        marked=_numbers(code, _MARKED),
        limits=_numbers(settings, _LIMIT),
        floors=[float(number) for number in _FLOOR.findall(settings)],
    )


def spans_lines(text: str) -> bool:
    """Whether a mark on one line can belong to a test on another."""
    return "#[" in text or "@Test" in text


def _is_comment(row: str) -> bool:
    bare = row.lstrip()
    return bare.startswith(_COMMENTS) and not bare.startswith("#[")


def is_test(path: str) -> bool:
    """Whether a path is a test by its name or its folder."""
    *folders, name = path.split("/")
    return bool(_FOLDERS & set(folders)) or _NAME.fullmatch(name) is not None


def is_readable_test(path: str) -> bool:
    """Whether a path is a test whose tests and assertions can be counted."""
    return is_test(path) and path.rpartition("/")[2].endswith(_LANGUAGES)


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
    folder = folder and _hidden(new_folders) <= _hidden(old_folders)
    name = not _NAME.fullmatch(old_name) or bool(_NAME.fullmatch(new_name))
    return folder and name


def _hidden(folders: list[str]) -> set[str]:
    """Return the folders that those who look for tests do not enter."""
    return {each for each in folders if each[:1] == "." or each in _PASSED_BY}


def subject(test: str) -> str:
    """Return the stem of the file that a test is about, by its name."""
    return _AFFIX.sub("", stem(test))


def stem(path: str) -> str:
    """Return a file's name without folders and suffix."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name


def _recipe(rows: list[str]) -> Iterator[str]:
    """Yield the scripts of a package.json, and what a Makefile runs, by habit."""
    inside = False
    for row in rows:
        if row[:1].isspace():
            if inside and row.strip():
                yield row.strip()
            elif _SCRIPT.match(row):
                yield row.strip().rstrip(",")
        elif row:
            inside = _RULE.match(row) is not None
            if inside:
                yield row.strip()


def _twice(rows: Iterable[str]) -> Counter[str]:
    """Return the scripts of a package.json whose last line hides the others."""
    found = Counter(row.partition(":")[0].strip() for row in rows if _SCRIPT.match(row))
    return Counter({name: count - 1 for name, count in found.items() if count > 1})


def _which(rows: list[str]) -> Iterator[str]:
    """Yield the settings of which tests run, with the further lines of a value."""
    inside = False
    for row in rows:
        if _WHICH.match(row):
            inside = True
        elif not row[:1].isspace() and row[:1] not in {"]", ")", '"', "'"}:
            inside = False
        if inside and row.strip():
            yield row.strip()


def _lines(code: str, pattern: re.Pattern[str]) -> Counter[str]:
    """Return the lines that hold the pattern, each as often as it is there."""
    found: Counter[str] = Counter()
    end = -1
    for match in pattern.finditer(code):
        if match.start() < end:
            continue  # a second one on the same line
        start = code.rfind("\n", 0, match.start()) + 1
        end = code.find("\n", match.start())
        end = len(code) if end < 0 else end
        found[code[start:end].strip()] += 1
    return found


def _numbers(code: str, pattern: re.Pattern[str]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for match in pattern.finditer(code):
        factors = match["number"].replace("_", "").split("*")
        value = math.prod(map(float, factors)) * _UNITS.get(match["unit"] or "s", 1)
        found.setdefault(match["name"], []).append(value)
    return found
