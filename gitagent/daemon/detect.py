"""Which commands test a project, told from its files.

A guess that a person reads and corrects: each says what it was told from. Programs
outside the system's folders are named with the folders that a sandbox has to show.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gitagent.daemon.tools import Tools
from gitagent.files.tables import toml
from gitagent.files.text import Malformed
from gitagent.git.objects import TREE, Objects
from gitagent.git.tree import folder

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_MAKE_TEST = re.compile(
    r"^(?:[\w./-]+[ \t]+)*test(?:[ \t]+[\w./-]+)*[ \t]*:(?![:=])", re.MULTILINE
)
_NPM_DEFAULT = "no test specified"
_PYTEST_WORD = re.compile(r"(?<![\w-])pytest(?![\w-])")
_REQUIREMENTS = re.compile(r"requirements.*\.(?:txt|in)\Z")
_TEST_FILE = re.compile(r"(?:test.*|.*_test)\.py\Z")
_TEXT_BYTES = 1 << 20  # of a file that is looked into
_WORD = re.compile(r"[\w.+-]+")

# Programs that a Makefile's recipes may call, looked for by name.
_CALLED = frozenset(
    [
        "python",
        "python3",
        "pytest",
        "uv",
        "poetry",
        "pdm",
        "hatch",
        "tox",
        "nox",
        "node",
        "npm",
        "npx",
        "yarn",
        "pnpm",
        "bun",
        "deno",
        "cargo",
        "rustc",
        "go",
        "ruby",
        "bundle",
        "java",
        "mvn",
        "gradle",
        "php",
        "composer",
        "dotnet",
    ]
)


class Files(Protocol):
    """The files of a commit, or of a folder without commits."""

    def text(self, path: str) -> str | None:
        """Return a file's text; None if it is not there or no text."""
        ...

    def names(self, folder: str) -> tuple[str, ...]:
        """Return what a folder holds, "" being the top; empty if it is not there."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """A command that tests the project."""

    name: str  # what to call the check if there are several
    run: str
    because: str  # what it was told from, as a clause
    programs: tuple[str, ...]  # that it calls, or may call; the first is itself


def commands(files: Files, tools: Tools) -> tuple[Found, ...]:
    """Return the test commands, the best guess first; empty without a guess.

    A Makefile's own target stands for all the rest.
    """
    made = _make(files)
    if made is not None:
        return (made,)
    guesses = (_python(files, tools), _npm(files), _cargo(files, tools), _go(files))
    return tuple(found for found in guesses if found is not None)


def _make(files: Files) -> Found | None:
    for name in _MAKEFILES:
        text = files.text(name)
        if text is not None and _MAKE_TEST.search(text):
            called = sorted(_CALLED & set(_WORD.findall(text)))
            because = f"{name} has a target test"
            return Found("make", "make test", because, ("make", *called))
    return None


def _python(files: Files, tools: Tools) -> Found | None:
    because = _says_pytest(files)
    if because:
        python = tools.python("pytest")
        return Found("python", f"{python} -m pytest -q", because, (python,))
    tests = [name for name in files.names("tests") if _TEST_FILE.match(name)]
    if not tests:
        return None
    texts = (files.text(f"tests/{name}") or "" for name in tests[:50])
    if not any("unittest" in text for text in texts):
        return None
    # Without the package marker discovery from the top finds nothing, and passes.
    marked = "__init__.py" in files.names("tests")
    where = "" if marked else " -s tests"
    run = f"python3 -m unittest discover{where}"
    return Found("python", run, "tests/ holds unittest tests", ("python3",))


def _says_pytest(files: Files) -> str:
    """Return what says that the project's tests are pytest's, or nothing."""
    top = files.names("")
    if "pytest.ini" in top:
        return "there is a pytest.ini"
    for name, table in (("setup.cfg", "[tool:pytest]"), ("tox.ini", "[pytest]")):
        if name in top and table in (files.text(name) or ""):
            return f"{name} has {table}"
    if _table(files, "pyproject.toml").get("tool", {}).get("pytest"):
        return "pyproject.toml has [tool.pytest]"
    declared = ["pyproject.toml", "setup.py", "setup.cfg", "Pipfile"]
    declared += [name for name in top if _REQUIREMENTS.match(name)]
    for name in declared:
        if name in top and _PYTEST_WORD.search(files.text(name) or ""):
            return f"{name} names pytest"
    for name in ("tests/conftest.py", "conftest.py"):
        inside, _, base = name.rpartition("/")
        if base in files.names(inside):
            return f"there is a {name}"
    return ""


def _npm(files: Files) -> Found | None:
    try:
        package = json.loads(files.text("package.json") or "{}")
        script = package["scripts"]["test"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(script, str) or not script.strip() or _NPM_DEFAULT in script:
        return None
    return Found("node", "npm test", "package.json has a script test", ("npm", "node"))


def _cargo(files: Files, tools: Tools) -> Found | None:
    if "Cargo.toml" not in files.names(""):
        return None
    # Inside the sandbox HOME is another, and rustup looks for its toolchains there.
    home = tools.rustup_home()
    run = f"RUSTUP_HOME={home} cargo test" if home else "cargo test"
    return Found("cargo", run, "there is a Cargo.toml", ("cargo", "rustc"))


def _go(files: Files) -> Found | None:
    if "go.mod" not in files.names(""):
        return None
    return Found("go", "go test ./...", "there is a go.mod", ("go",))


def _table(files: Files, path: str) -> dict[str, dict[str, object]]:
    try:
        values = toml(files.text(path) or "", path)
    except Malformed:
        return {}
    return {key: each for key, each in values.items() if isinstance(each, dict)}


def folders_to_show(found: tuple[Found, ...], tools: Tools) -> tuple[str, ...]:
    """Return the folders that a sandbox has to show for the commands to be found."""
    names = dict.fromkeys(name for each in found for name in each.programs)
    return tuple(dict.fromkeys(_folders(names, tools)))


def _folders(names: dict[str, None], tools: Tools) -> Iterator[str]:
    for name in names:
        yield from tools.folders(name)


class CommitFiles:
    """The files of a commit."""

    def __init__(self, objects: Objects, commit: str) -> None:
        self._objects = objects
        self._commit = commit

    def text(self, path: str) -> str | None:
        """Return a file's text; None if it is not there, too big, or no text."""
        entry = self._objects.path(self._commit, path)
        if entry is None or entry.mode == TREE:
            return None
        if self._objects.size(entry.oid) > _TEXT_BYTES:
            return None
        return _decoded(self._objects.blob(entry.oid))

    def names(self, folder_path: str) -> tuple[str, ...]:
        """Return what a folder holds; "" is the top."""
        if folder_path:
            found = folder(self._objects, self._commit, folder_path)
        else:
            found = self._objects.tree(self._objects.commit(self._commit).tree)
        return tuple(entry.name for entry in found)


class FolderFiles:
    """The files of a folder, for a repository without commits."""

    def __init__(self, top: Path | None) -> None:
        self._top = top

    def text(self, path: str) -> str | None:
        """Return a file's text; None if it is not there, too big, or no text."""
        if self._top is None:
            return None
        try:
            file = self._top / path
            if file.stat().st_size > _TEXT_BYTES:
                return None
            return _decoded(file.read_bytes())
        except OSError:
            return None

    def names(self, folder_path: str) -> tuple[str, ...]:
        """Return what a folder holds; "" is the top."""
        if self._top is None:
            return ()
        try:
            return tuple(path.name for path in (self._top / folder_path).iterdir())
        except OSError:
            return ()


def _decoded(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
