"""What the checks themselves are made of: files of the tree that their commands start.

A check that runs ``ci/test.sh`` is whatever that file says. So a worker that changes
it changes the gate, as if it had edited the settings.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from gitagent.core.candidate import Change, PathChange
from gitagent.core.settings import Check
from gitagent.core.shell import Step, steps
from gitagent.core.testmarks import is_test, stem

_SHELLS = re.compile(r"(?:ba|da|z|k)?sh")
_LANGUAGES = re.compile(r"python[\d.]*|node|ruby|perl|php|deno|bun")
_LEAD = re.compile(  # may stand before a program
    r"\w+=.*|env|exec|time|nice|command|timeout|\d+[smh]?|-\S*"
    r"|!|\{|if|then|elif|else|while|until|do"
)
_GIVEN = re.compile(r"-[a-z]*c")
_JUDGE = re.compile(r"test|check|lint|verify|(?:\b|_)ci(?:\b|_)", re.IGNORECASE)
_CUSTOM = frozenset({"sitecustomize.py", "usercustomize.py"})  # Python runs them first


def gates(
    checks: Iterable[Check], changes: Iterable[PathChange]
) -> Iterator[tuple[str, str]]:
    """Yield (path, why) for each change of what a check is made of, tests aside."""
    started: dict[str, str] = {}
    modules: dict[str, str] = {}
    for check in checks:
        for step in steps(check.run):
            for path in _started(step):
                started.setdefault(path, check.name)
            for path in _modules(step):
                modules.setdefault(path, check.name)
    for change in changes:
        path, added = change.path, change.change is Change.ADDED
        if path in started and not is_test(path):
            yield path, f"the check {started[path]} runs it"
        elif added and path in modules:
            yield path, f"the check {modules[path]} would run it"
        elif added and path.rpartition("/")[2] in _CUSTOM:
            yield path, "Python would run it first"


def _command(step: Step) -> tuple[str, ...]:
    """Return the words from the program on."""
    words = list(step.words)
    while words and _LEAD.fullmatch(words[0]):
        words.pop(0)
    return tuple(words)


def _started(step: Step) -> Iterator[str]:
    """Yield the file that a step starts: itself, or as the argument of a shell."""
    command = _command(step)
    if not command:
        return
    program = command[0].rpartition("/")[2]
    if "/" in command[0]:
        yield step.path(command[0])
    if _SHELLS.fullmatch(program) and (script := _script(command)):
        for inner in steps(script):
            yield from _started(Step(inner.words, step.path(inner.folder)))
        return
    file = next((word for word in command[1:] if not word.startswith(("-", "+"))), "")
    judges = _LANGUAGES.fullmatch(program) and _JUDGE.search(stem(file))
    if file and (program in {".", "source"} or _SHELLS.fullmatch(program) or judges):
        yield step.path(file)


def _script(command: tuple[str, ...]) -> str:
    """Return what ``sh -c`` or the like is given to run, or ""."""
    for option, word in pairwise(command[1:]):
        if _GIVEN.fullmatch(option):
            return word
    return ""


def _modules(step: Step) -> Iterator[str]:
    """Yield the files that ``python -m NAME`` would take before the installed one."""
    command = _command(step)
    if not command or not _LANGUAGES.fullmatch(command[0].rpartition("/")[2]):
        return
    if "-m" in command[1:-1]:
        name = command[command.index("-m") + 1].split(".")[0]
        for file in (f"{name}.py", f"{name}/__init__.py", f"{name}/__main__.py"):
            yield step.path(file)
