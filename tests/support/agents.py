"""The real coding agents that `make agents` installed, or a reason to skip."""

import hashlib
import os
from pathlib import Path

import pytest

_PINS = Path(__file__).resolve().parents[1] / "agents"


def _folder() -> Path:
    """Return the folder of the agents, as ``tests/agents/install`` names it."""
    if given := os.environ.get("GITAGENT_TEST_AGENTS"):
        return Path(given)
    pins = b"".join(
        (_PINS / name).read_bytes() for name in ("package.json", "aider.txt")
    )
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = f"agents-{hashlib.sha256(pins).hexdigest()[:12]}"
    return Path(cache) / "gitagent-tests" / name


# Read when it is imported: for the time of a test the environment is private.
FOLDER = _folder()


def find(name: str) -> Path | None:
    """Return the program of that name: claude, codex, opencode or aider."""
    for pattern in (f"*/node_modules/.bin/{name}", f"*/bin/{name}"):
        for path in sorted(FOLDER.glob(pattern)):
            if os.access(path, os.X_OK):
                return path
    return None


def program(name: str) -> str:
    """Return the path of an agent's program; skip the test if there is none."""
    found = find(name)
    if found is None:
        pytest.skip(f"there is no {name} in {FOLDER}: run `make agents`")
    return str(found)


def put_on_path(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let those programs be found on PATH, before all others; skip without one."""
    folders = [str(Path(program(name)).parent) for name in names]
    monkeypatch.setenv("PATH", os.pathsep.join([*folders, os.environ["PATH"]]))
