"""The command line called in this process: what it printed, and its exit code."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from gitagent.cli import cli
from tests.support.repos import Repo


@dataclass(frozen=True, slots=True)
class Answer:
    """What one command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output, parsed."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """The lines of its output."""
        return self.out.splitlines()


def call(repo: Repo | Path | None, *args: str, stdin: str | bytes = "") -> Answer:
    """Call ``gitagent -C <repo> …`` without a process of its own."""
    where = () if repo is None else ("-C", str(getattr(repo, "path", repo)))
    done = CliRunner().invoke(cli, [*where, *args], input=stdin, prog_name="gitagent")
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Answer(done.exit_code, done.stdout, done.stderr)
