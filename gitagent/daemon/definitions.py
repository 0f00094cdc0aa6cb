"""Which agents there are: the repository's, the user's own, and the built-in ones.

The first that has a name counts: ``.agent/agents`` of the target's commit, then its
``.claude/agents``, then ``$XDG_CONFIG_HOME/gitagent/agents`` of who runs the daemon,
then what gitagent brings along. A file that cannot be used is refused, and so is its
name: what comes after it may have fewer bounds.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from gitagent import data
from gitagent.core.agent import BUILT_IN, Agent
from gitagent.core.layout import AGENTS, CLAUDE_AGENTS
from gitagent.core.task import Refusal
from gitagent.daemon.committed import unreadable
from gitagent.files import agentfile, clean
from gitagent.files.text import FILE_LIMIT
from gitagent.git.loose import name as object_id
from gitagent.git.objects import TREE, Entry, Objects
from gitagent.git.repository import Repository
from gitagent.git.tree import folder
from gitagent.host import place

_NO_AGENT = "README.md"  # says what the folder is for

_Found = Agent | Refusal | None  # None: it is no definition
_Stamp = tuple[int, int, int]


class Definitions:
    """Reads the definitions of one repository, each content once."""

    def __init__(self, repo: Repository) -> None:
        self._sha256 = repo.object_format != "sha1"
        self._committed: dict[tuple[str, str], _Found] = {}
        self._own: dict[str, tuple[_Stamp, _Found]] = {}

    def at(
        self, objects: Objects, commit: str
    ) -> tuple[dict[str, Agent], list[Refusal]]:
        """Return the agents of a commit of the target by name, and what is refused."""
        agents: dict[str, Agent] = {}
        refused: list[Refusal] = []
        gone: set[str] = set()
        written = (*self._of_commit(objects, commit), *self._of_user())
        for found in (*written, *_built_in(self._sha256)):
            if isinstance(found, Refusal):
                refused.append(found)
                if not found.path.startswith(CLAUDE_AGENTS):
                    gone.add(found.path.rpartition("/")[2].removesuffix(".md"))
            elif found is not None and found.name not in gone:
                agents.setdefault(found.name, found)
        return agents, refused

    def _of_commit(self, objects: Objects, commit: str) -> Iterator[_Found]:
        for top in (AGENTS, CLAUDE_AGENTS):
            for entry in folder(objects, commit, top):
                key = top + entry.name, entry.oid
                if key not in self._committed:
                    self._committed[key] = _committed(objects, top, entry)
                yield self._committed[key]

    def _of_user(self) -> Iterator[_Found]:
        top = place.own_agents()
        try:
            names = sorted(os.listdir(top))  # noqa: PTH208 - a Path each costs more
        except OSError:
            return
        for name in names:
            if not name.endswith(".md") or name == _NO_AGENT:
                continue
            path = top / name
            try:
                facts = path.stat()
            except OSError as error:
                yield Refusal(_shown(path), f"{_shown(path)}: {error.strerror}")
                continue
            seen = facts.st_mtime_ns, facts.st_size, facts.st_ino
            known = self._own.get(name)
            if known is None or known[0] != seen:
                known = seen, _own(path, facts, sha256=self._sha256)
                self._own[name] = known
            yield known[1]


def _committed(objects: Objects, top: str, entry: Entry) -> _Found:
    path = top + entry.name
    if entry.name == _NO_AGENT:
        return None
    ours = top == AGENTS
    if not ours and (entry.mode == TREE or not entry.name.endswith(".md")):
        return None
    if refusal := unreadable(objects, path, entry):
        return refusal
    content = objects.blob(entry.oid)
    if agentfile.foreign(content, path):
        return None
    return agentfile.parse(entry.name[:-3], content, path, entry.oid)


def _own(path: Path, facts: os.stat_result, *, sha256: bool) -> _Found:
    shown = _shown(path)
    if not stat.S_ISREG(facts.st_mode):
        return Refusal(shown, f"{shown}: this is no regular file; move it elsewhere")
    try:
        with path.open("rb") as file:
            content = file.read(FILE_LIMIT + 1)
    except OSError as error:
        return Refusal(shown, f"{shown}: {error.strerror}")
    return _outside(path.name[:-3], content, shown, sha256=sha256)


@lru_cache(maxsize=2)
def _built_in(sha256: bool) -> tuple[Agent | Refusal, ...]:  # noqa: FBT001
    top = data.data_path("templates/agents")
    return tuple(
        _outside(path.stem, path.read_bytes(), f"{BUILT_IN}{path.name}", sha256=sha256)
        for path in sorted(top.glob("*.md"))
    )


def _outside(name: str, content: bytes, path: str, *, sha256: bool) -> Agent | Refusal:
    """Return the agent of a file that no commit has: its content goes with it."""
    blob = object_id("blob", content, sha256=sha256)
    found = agentfile.parse(name, content, path, blob)
    if isinstance(found, Refusal):
        return found
    return replace(found, source=content.decode())


def _shown(path: Path) -> str:
    home = Path.home()
    inside = path.is_relative_to(home)
    return clean.line(f"~/{path.relative_to(home)}" if inside else str(path))
