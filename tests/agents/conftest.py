"""A repository with a bug, a scripted provider, and agents that people already use."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gitagent.host.place import cache_root
from tests.support import agents
from tests.support.daemon import Daemon, gitagent, record
from tests.support.provider import Provider, Script
from tests.support.repos import Repo

CHECK = "python3 -B -c 'import calc; assert calc.add(2, 2) == 4'"
KEY = "SCRIPTED_KEY"  # variable of the daemon

SETTINGS = f"""\
target = "main"

[worker]
parallel = 3
timeout = "5m"

[model]
default = "claude:claude-sonnet-4-5"

[model.providers.claude]
kind = "anthropic"
base_url = "{{url}}"
key_env = "{KEY}"

[model.providers.claude.prices]
claude-sonnet-4-5 = {{{{ input = 3, output = 15 }}}}

[model.providers.gpt]
kind = "openai"
base_url = "{{url}}/v1"
key_env = "{KEY}"

[[check]]
name = "sum"
run = "{CHECK}"
"""

DEFINITIONS = {
    "claude": 'backend = "claude"\n',
    "codex": 'backend = "codex"\nmodel = "gpt:gpt-5.1-codex"\n',
    "opencode": 'backend = "opencode"\n',
    "aider": 'backend = "aider"\n',
}


@dataclass(slots=True)
class Place:
    """One repository, its provider, and the daemon that runs there."""

    repo: Repo
    provider: Provider
    program: str
    daemon: Daemon | None = None

    def start(self) -> Daemon:
        """Start the daemon, with the program on its PATH and the key beside it."""
        folder = str(Path(agents.program(_binary(self.program))).parent)
        env = {
            "PATH": f"{folder}:{os.environ['PATH']}",
            KEY: self.provider.key,
        }
        self.daemon = Daemon.start(self.repo, env=env)
        return self.daemon

    def task(
        self, name: str, text: str, script: Script, agent: str = "", **front: Any
    ) -> None:
        """Commit a task, and say what its model answers."""
        self.provider.script(name, script, bare=self.program == "aider")
        rows = "".join(f"{key} = {json.dumps(value)}\n" for key, value in front.items())
        agent = agent or self.program
        body = f'+++\nagent = "{agent}"\n{rows}+++\n# {text}\n\n{text}\n'
        self.repo.commit({f".agent/tasks/{name}.md": body}, f"Ask for {name}")

    def record(self, name: str) -> dict[str, Any]:
        """Return the record of a task."""
        return record(self.repo, f"refs/gitagent/tasks/{name}") or {}

    def attempt(self, name: str, number: int) -> dict[str, Any]:
        """Return what the record of a task says of an attempt."""
        found: dict[str, Any] = self.record(name)["attempts"][number - 1]
        return found

    def blob(self, oid: str) -> str:
        """Return the content of a blob."""
        return self.repo.raw("cat-file", "blob", oid).decode(errors="replace")

    def answer(self, *args: str) -> str:
        """Answer a question; return what was said about it."""
        done = gitagent(self.repo, "answer", *args)

        assert 0 == done.returncode, done.stderr
        return done.stdout

    def landed(self, name: str, timeout: float = 120) -> dict[str, Any]:
        """Wait until a task has landed and its bug is mended; return its record."""
        assert self.daemon is not None
        found = self.daemon.wait_task(name, "landed", timeout=timeout)
        content = self.repo.git("show", "main:calc.py")

        assert "a + b" in content
        return found

    def leaks(self) -> list[str]:
        """Return every place where the provider's key is written down."""
        key = self.provider.key.encode()
        found = []
        listed = subprocess.run(
            ["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"],
            cwd=self.repo.path,
            capture_output=True,
            check=True,
        )
        if key in listed.stdout:
            found.append("an object")
        folders = (self.repo.common_dir / "gitagent", cache_root(self.repo.common_dir))
        for folder in folders:
            for path in _below(folder):
                # The daemon deletes what it needs no more.
                with contextlib.suppress(FileNotFoundError):
                    plain = path.is_file() and not path.is_symlink()
                    if plain and key in path.read_bytes():
                        found.append(str(path))
        if self.daemon and key.decode() in self.daemon.log:
            found.append("the daemon's log")
        return found


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, though some go meanwhile."""
    for top, _, names in os.walk(folder):
        yield from (Path(top, name) for name in names)


def _binary(program: str) -> str:
    return "opencode" if program == "acp" else program


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    """Make a repository for the program that the test is about."""
    program = request.param
    binary = agents.program(_binary(program))
    with Provider() as provider:
        definitions = dict(DEFINITIONS)
        definitions["acp"] = f'backend = "acp"\nargv = ["{binary}", "acp"]\n'
        files = {
            "calc.py": "def add(a, b):\n    return a - b\n",
            "README.md": "# calc\n",
            "AGENTS.md": "Write short commit messages.\n",
        }
        repo = Repo.make(tmp_path / "calc", files)
        kept = {".agent/config.toml": SETTINGS.format(url=provider.url)}
        text = f"+++\n{definitions[program]}+++\n\nYou mend sums.\n"
        kept[f".agent/agents/{program}.md"] = text
        repo.commit(kept, "Keep it\n\nGitagent-Record: init\n")
        made = Place(repo, provider, program)
        try:
            yield made

            assert [] == made.leaks()
        finally:
            if made.daemon:
                made.daemon.close()
