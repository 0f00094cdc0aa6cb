"""A repository, a scripted provider of both kinds, and a daemon: the built-in agent."""

import contextlib
import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitagent.host.kin import table
from gitagent.host.place import cache_root
from tests.support.daemon import Daemon, record
from tests.support.provider import Provider, Script
from tests.support.repos import Repo
from tests.support.waiting import wait_for

KEY = "PLANTED_KEY"
CLAUDE = "one:model-1"  # speaks the API "anthropic"
GPT = "two:model-2"  # speaks the API "openai"

# A command that nobody else runs.
FOREVER = f"sleep 600.{secrets.randbelow(10**9)}"

CONFIG = """\
[model]
default = "one:model-1"
patience = "10s"

[model.providers.one]
base_url = "{url}"
key_env = "PLANTED_KEY"
prices = {{ model-1 = {{ input = 1, output = 1 }} }}

[model.providers.two]
kind = "openai"
base_url = "{url}/v1"
key_env = "PLANTED_KEY"
prices = {{ model-2 = {{ input = 1, output = 1 }} }}

[[check]]
name = "whole"
run = "test ! -e broken"

{more}
"""


@dataclass(slots=True)
class World:
    """What a story about the built-in agent needs."""

    repo: Repo
    provider: Provider
    host: str = ""  # "host:port" of a page
    daemons: list[Daemon] = field(default_factory=list)

    @property
    def cache(self) -> Path:
        """Where its attempts are."""
        return cache_root(self.repo.common_dir)

    @property
    def daemon(self) -> Daemon:
        """The newest one."""
        return self.daemons[-1]

    def start(self, more: str = "", *, failpoint: str = "") -> Daemon:
        """Commit the settings and start a daemon."""
        config = CONFIG.format(url=self.provider.url, more=more)
        message = "Keep it\n\nGitagent-Record: init\n"
        self.repo.commit({".agent/config.toml": config}, message)
        return self.again(failpoint=failpoint)

    def again(self, *, failpoint: str = "") -> Daemon:
        """Start a daemon."""
        env = {KEY: self.provider.key}
        made = Daemon.start(self.repo, env=env, failpoint=failpoint)
        self.daemons.append(made)
        return made

    def close(self) -> None:
        """End them all."""
        for each in self.daemons:
            each.close()

    def task(
        self,
        name: str,
        script: Script,
        text: str = "",
        *,
        model: str = GPT,
        agent: str = "",
        **front: Any,
    ) -> None:
        """Commit a task for the built-in agent; ``agent`` is more of its definition."""
        self.provider.script(name, script)
        definition = f'+++\nbackend = "model"\nmodel = "{model}"\n{agent}+++\n'
        rows = "".join(f"{key} = {_toml(value)}\n" for key, value in front.items())
        files = {
            f".agent/agents/a-{name}.md": definition,
            f".agent/tasks/{name}.md": (
                f'+++\nagent = "a-{name}"\n{rows}+++\n# Do {name}\n\n{text}\n'
            ),
        }
        message = "Ask\n\nGitagent-Record: task-add\n"
        self.repo.commit_at("refs/heads/main", files, message)

    def landed(self, name: str) -> dict[str, Any]:
        """Wait until a task has landed; return its record."""
        return self.daemon.wait_task(name, "landed", timeout=180)

    def show(self, path: str) -> str:
        """Return a file of the target."""
        return self.repo.raw("show", f"main:{path}").decode()

    def tree(self, name: str, path: str, attempt: int = 1) -> str:
        """Return a file of the worktree of an attempt at a task, "" for none."""
        top = self.cache / "attempts" / f"{name}-{attempt}" / "tree"
        try:
            return (top / path).read_text()
        except OSError:
            return ""

    def printed(self, name: str, word: str) -> None:
        """Wait until a word that a command printed has come out of its sandbox."""

        def there() -> bool:
            files = (self.cache / "printed" / name).glob("*")
            return any(word in each.read_text() for each in files)

        self.daemon.until(there, timeout=60, what=f"{name} prints {word}")

    def gone(self) -> None:
        """Wait until nothing is left of commands that would run for ever."""
        wait_for(lambda: not _running(), timeout=10, what="all of it is gone")

    def entries(self, name: str) -> list[dict[str, Any]]:
        """Return the entries of a conversation, oldest first."""
        ref = f"refs/gitagent/conversations/{name}"
        if not self.repo.git("for-each-ref", ref):
            return []
        commits = self.repo.git("rev-list", "--first-parent", "--reverse", ref).split()
        return [found for each in commits if (found := record(self.repo, each))]

    def results(self, name: str, tool: str = "") -> list[dict[str, Any]]:
        """Return the results of a conversation, those of one tool."""
        return [
            each
            for each in self.entries(name)
            if each["kind"] == "result" and tool in {"", each["tool"]}
        ]

    def requests(self, name: str) -> list[dict[str, Any]]:
        """Return what the model was asked in a task, without what had no tools."""
        found = [each.json for each in self.provider.requests if each.method == "POST"]
        marked = [each for each in found if f"# Task {name}:" in json.dumps(each)]
        return [each for each in marked if each.get("tools")]


def _running() -> list[int]:
    word = FOREVER.partition(" ")[2].encode()
    found = []
    for each in table():
        with contextlib.suppress(OSError):
            if word in Path(f"/proc/{each.pid}/cmdline").read_bytes().split(b"\0"):
                found.append(each.pid)
    return found


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{key} = {_toml(each)}" for key, each in value.items())
        return f"{{ {inner} }}"
    return json.dumps(value)
