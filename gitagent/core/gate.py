"""What the checks themselves are made of: files of the tree that their commands start.

A check that runs ``ci/test.sh`` is whatever that file says. So a worker that changes
it changes the gate, as if it had edited the settings.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from gitagent.core.candidate import Change, PathChange
from gitagent.core.settings import Check
from gitagent.core.shell import Step, steps
from gitagent.core.testmarks import is_readable_test, stem

_SHELLS = re.compile(r"(?:ba|da|z|k)?sh")
_LANGUAGES = re.compile(r"python[\d.]*|node|ruby|perl|php|deno|bun")
_LEAD = re.compile(  # may stand before a program
    r"\w+=.*|env|exec|time|nice|command|timeout|\d+[smh]?|-\S*"
    r"|!|\{|if|then|elif|else|while|until|do"
)
_GIVEN = re.compile(r"-[a-z]*c")
_JUDGE = re.compile(r"test|check|lint|verify|(?:\b|_)ci(?:\b|_)", re.IGNORECASE)
_CUSTOM = frozenset({"sitecustomize.py", "usercustomize.py"})  # Python runs them first
_SCRIPTS = frozenset({"sh", "bash"})  # often in parts, which read each other
_READ = {  # a file of one of these names is what the program runs
    "make": re.compile(r"(?:GNUm|[Mm])akefile|.*\.mk"),
    "gmake": re.compile(r"(?:GNUm|[Mm])akefile|.*\.mk"),
    "just": re.compile(r"\.?[Jj]ustfile"),
    "tox": re.compile(r"tox\.ini"),
    "nox": re.compile(r"noxfile\.py"),
    "rake": re.compile(r"[Rr]akefile(?:\.rb)?"),
    "task": re.compile(r"[Tt]askfile(?:\.dist)?\.ya?ml"),
}
_SHADOWS = {  # a new one is read in the place of what was read before
    "pytest": re.compile(r"\.?pytest\.(?:ini|toml)"),
}


def gates(
    checks: Iterable[Check], changes: Iterable[PathChange]
) -> Iterator[tuple[str, str]]:
    """Yield (path, why) for each change of what a check is made of, tests aside."""
    made = _Made()
    for check in checks:
        for step in steps(check.run):
            made.add(check.name, step)
    for change in changes:
        why = made.why(change.path, added=change.change is Change.ADDED)
        if why:
            yield change.path, why


@dataclass(slots=True)
class _Made:
    """What checks are made of; the values are names of checks."""

    started: dict[str, str] = field(default_factory=dict)  # by path
    beside: dict[tuple[str, str], str] = field(default_factory=dict)  # folder, suffix
    modules: dict[str, str] = field(default_factory=dict)  # by path
    programs: dict[str, str] = field(default_factory=dict)  # by name

    def add(self, check: str, step: Step) -> None:
        """Take in one step of a check."""
        for path in _started(step):
            self.started.setdefault(path, check)
            if (place := _place(path))[0] and place[1] in _SCRIPTS:
                self.beside.setdefault(place, check)
        for path in _modules(step):
            self.modules.setdefault(path, check)
        for program in _programs(step):
            self.programs.setdefault(program, check)

    def why(self, path: str, *, added: bool) -> str:
        """Return why a change of a path is one of a check; empty if it is none."""
        name = path.rpartition("/")[2]
        if path in self.started and not is_readable_test(path):
            return f"the check {self.started[path]} runs it"
        if (place := _place(path)) in self.beside and not is_readable_test(path):
            return f"beside what the check {self.beside[place]} runs"
        for program, check in self.programs.items():
            if program in _READ and _READ[program].fullmatch(name):
                return f"the check {check} runs {program}, which reads it"
            if added and program in _SHADOWS and _SHADOWS[program].fullmatch(name):
                return f"{program} would read it in the check {check}"
        if added and path in self.modules:
            return f"the check {self.modules[path]} would run it"
        return "Python would run it first" if name in _CUSTOM else ""


def _place(path: str) -> tuple[str, str]:
    """Return the folder of a file, and its suffix."""
    folder, _, name = path.rpartition("/")
    return folder, name.rpartition(".")[2] if "." in name else ""


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


def _programs(step: Step) -> Iterator[str]:
    """Yield the names of the programs that a step runs."""
    command = _command(step)
    if not command:
        return
    program = command[0].rpartition("/")[2]
    yield program
    if _LANGUAGES.fullmatch(program) and "-m" in command[1:-1]:
        yield command[command.index("-m") + 1].split(".")[0]
    elif _SHELLS.fullmatch(program) and (script := _script(command)):
        for inner in steps(script):
            yield from _programs(Step(inner.words, step.path(inner.folder)))
