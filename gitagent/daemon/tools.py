"""The programs of this machine, as far as `init` has to know them.

What lies outside the system's folders (pyenv, nvm, ~/.cargo, a virtual environment) is
not there in a sandbox unless ``sandbox.read`` names it.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gitagent.host import process
from gitagent.host.confinement import SYSTEM, visible_prefixes

AGENTS = ("claude", "codex", "opencode", "aider")  # command lines of coding agents

_SHOWN = (*SYSTEM, "/bin", "/sbin", "/lib")
_PROBE_S = 20.0


@dataclass(frozen=True, slots=True)
class Tools:
    """What can be called from here."""

    worktree: Path | None = None  # where a project's own virtual environment may be

    def agents(self) -> tuple[str, ...]:
        """Return the coding agents that are installed."""
        return tuple(name for name in AGENTS if shutil.which(name))

    def missing(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of ``names`` that are not on PATH."""
        return tuple(name for name in names if shutil.which(name) is None)

    def python(self, module: str) -> str:
        """Return the Python to call for ``module``: a name on PATH if that has it.

        Else that of the project's virtual environment if that one has it.
        """
        name = "python" if shutil.which("python") else "python3"
        if self.worktree is None or _has(name, module):
            return name
        for folder in (".venv", "venv"):
            own = self.worktree / folder / "bin/python"
            if own.is_file() and _has(str(own), module):
                return str(own)
        return name

    def rustup_home(self) -> str | None:
        """Return where rustup keeps its toolchains, if cargo is one of its own."""
        cargo = shutil.which("cargo")
        home = Path(os.environ.get("RUSTUP_HOME") or Path.home() / ".rustup")
        if cargo is None or not home.is_dir():
            return None
        return None if _shown(cargo) else str(home)

    def folders(self, name: str) -> Iterator[str]:
        """Yield the folders that have to be shown for the program, ``~`` for home."""
        found = shutil.which(name)
        if found is None:
            return
        todo = [Path(found), Path(os.path.realpath(found))]
        if Path(found).parent == Path.home() / ".cargo/bin" and self.rustup_home():
            todo.append(Path(self.rustup_home() or ""))
        environment = _environment(Path(found))
        if environment is not None:
            todo = [environment, *_base(environment), todo[1]]
        for path in todo:
            if not _shown(str(path)):
                yield _written(_root(path))


def _shown(path: str) -> bool:
    """Whether a sandbox shows the path anyway."""
    shown = (*_SHOWN, *visible_prefixes())
    return any(path == each or path.startswith(f"{each}/") for each in shown)


def _root(path: Path) -> Path:
    """Return the folder that the program belongs to, never home itself or the root."""
    environment = _environment(path)
    if environment is not None:
        return environment
    home = Path.home()
    parts = path.relative_to(home).parts if path.is_relative_to(home) else ()
    if parts and parts[0].startswith("."):
        # ~/.pyenv and the like belong to one manager; these belong to many.
        shared = parts[0] in {".local", ".config", ".cache"}
        deep = 1 if not shared else 3 if parts[1:2] == ("share",) else 2
        return home.joinpath(*parts[:deep])
    folder = path.parent if path.is_file() else path
    over = folder.parent
    whole = folder.name in {"bin", "shims"} and over not in {home, Path("/")}
    return over if whole and not home.is_relative_to(over) else folder


def _environment(path: Path) -> Path | None:
    """Return the virtual environment that the path is, or is the program of."""
    for folder in (path, path.parent.parent):
        if (folder / "pyvenv.cfg").is_file():
            return folder
    return None


def _base(environment: Path) -> Iterator[Path]:
    """Yield where the Python under a virtual environment lies. Source: PEP 405."""
    text = (environment / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home" and value.strip().startswith("/"):
            yield Path(value.strip())


def _written(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _has(python: str, module: str) -> bool:
    done = process.run(
        [python, "-c", f"import {module}"],
        cwd="/",
        env={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(Path.home())},
        timeout=_PROBE_S,
        keep=0,
    )
    return done.code == 0
