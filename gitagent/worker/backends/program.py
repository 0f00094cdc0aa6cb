"""Where an agent's program is, and which host paths it needs to be seen.

Shown are the program, the ``node_modules`` or virtual environment it is installed in,
and the same for the interpreter that its first line names; never a whole home.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from gitagent.host.confinement import SYSTEM

_VISIBLE = (*SYSTEM, "/bin", "/sbin")
_FIRST_LINE = 512  # bytes of it that are read


@dataclass(frozen=True, slots=True)
class Program:
    """A program that was found."""

    path: str  # as it is to be called inside
    read: tuple[str, ...] = ()  # host paths that have to be shown


def find(name: str) -> Program | None:
    """Return the program that a name or path means; None: there is none.

    A relative path with a slash is one of the worktree's, and is not looked for.
    """
    if "/" in name and not name.startswith(("/", "~")):
        return Program(name)
    found = shutil.which(os.path.expanduser(name))  # noqa: PTH111
    if found is None:
        return None
    shown: list[str] = []
    path = _show(Path(found), shown)
    interpreter = _interpreter(Path(found))
    if interpreter is not None:
        _show(interpreter, shown)
    return Program(path, tuple(dict.fromkeys(shown)))


def _show(path: Path, shown: list[str]) -> str:
    """Add what has to be shown of a program to ``shown``; return how to call it."""
    real = Path(os.path.realpath(path))
    home = _installed_in(path) or _installed_in(real)
    if home is not None:
        shown += [str(each) for each in (home, *_base_of(home))]
    elif not _visible(real):
        shown += [str(each) for each in (_distribution(real) or (real,))]
    reachable = (*_VISIBLE, *shown)
    return str(path if _below(path, reachable) else real)


def _installed_in(path: Path) -> Path | None:
    """Return the outermost ``node_modules``, or the virtual environment, of a path."""
    for parent in reversed(path.parents):
        if parent.name == "node_modules":
            return parent
    if path.parent.name == "bin" and (path.parents[1] / "pyvenv.cfg").is_file():
        return path.parents[1]
    return None


def _base_of(home: Path) -> tuple[Path, ...]:
    """Return the Python installation that a virtual environment was made from."""
    try:
        lines = (home / "pyvenv.cfg").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return ()
    pairs = (line.partition("=") for line in lines)
    values = {key.strip(): value.strip() for key, _, value in pairs}
    base = Path(os.path.realpath(values.get("home", ""))).parent
    return () if _visible(base) or _too_wide(base) else (base,)


def _distribution(real: Path) -> tuple[Path, ...]:
    """Return the installation of a Python that is no virtual environment."""
    prefix = real.parents[1] if real.parent.name == "bin" else None
    if prefix is None or not real.name.startswith("python") or _too_wide(prefix):
        return ()
    return (prefix,)


def _interpreter(path: Path) -> Path | None:
    """Return the program that the first line of a script names."""
    try:
        with path.open("rb") as file:
            line = file.read(_FIRST_LINE).split(b"\n", 1)[0]
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    words = os.fsdecode(line[2:]).split()
    if not words:
        return None
    if Path(words[0]).name != "env":
        return Path(words[0]) if Path(words[0]).is_file() else None
    name = next((word for word in words[1:] if not word.startswith("-")), "")
    found = shutil.which(name) if name else None
    return Path(found) if found else None


def _too_wide(folder: Path) -> bool:
    """Whether showing the folder would show a home, or more of one than a program."""
    home = Path.home()
    return folder in (home, *home.parents, home / ".local")


def _visible(path: Path) -> bool:
    return _below(path, _VISIBLE)


def _below(path: Path, folders: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
