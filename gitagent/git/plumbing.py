"""The object store through git(1): for every repository format, and without libgit2.

Reads go through one ``git cat-file --batch-command`` that stays while it is open.
Source: git-cat-file(1), BATCH OUTPUT; git-hash-object(1).
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from gitagent.errors import GitError
from gitagent.git.command import (
    TIMED_OUT,
    TIMEOUT_S,
    Git,
    clean_environment,
    git_argv,
    not_started,
)
from gitagent.git.objects import MissingObject
from gitagent.git.refs import DURABLE
from gitagent.git.store import Store
from gitagent.host.talker import Talker

_FOUND = re.compile(rb"[0-9a-f]{40,64} (?P<kind>[a-z]+) (?P<size>\d+)\n")
_COMMAND = ("cat-file", "--batch-command")
_AT_ONCE = 512  # requests sent before the answers are read; bounds what is kept of them


class Plumbing(Store):
    """One opening of one repository."""

    def __init__(self, git: Git, *, sha256: bool = False, lazy: bool = False) -> None:
        """``lazy``: a partial clone, whose missing objects git may fetch."""
        super().__init__(git.common_dir / "objects", sha256=sha256)
        self._git = git
        self._lazy = lazy
        self._talker: Talker | None = None

    def close(self) -> None:
        """End the process that reads."""
        if self._talker is not None:
            self._talker.close()
            self._talker = None

    def refs(self, prefix: str = "refs/") -> dict[str, str]:
        """Return the direct object id of every ref whose name begins so."""
        folder = prefix[: prefix.rfind("/") + 1]
        pattern = () if folder == "refs/" else (folder,)
        listed = self._git.run(
            "for-each-ref", "--format=%(objectname) %(refname)", *pattern
        )
        pairs = (line.split(" ", 1) for line in listed.text.splitlines())
        return {name: oid for oid, name in pairs if name.startswith(prefix)}

    def ref(self, name: str) -> str | None:
        """Return the object id of ``HEAD`` or a full ref name; None if none."""
        shown = self._git.run("show-ref", "--verify", "--", name, ok=(0, 1, 128))
        return shown.text.partition(" ")[0] or None

    def _kind(self, oid: str) -> str | None:
        header = self._info(oid)
        return None if header is None else header[0]

    def _size(self, oid: str) -> int:
        header = self._info(oid)
        if header is None:
            raise MissingObject(oid)
        return header[1]

    def blobs_at(self, pairs: Iterable[tuple[str, str]]) -> list[bytes | None]:
        """Return the blob at each (commit or tree, path), None where there is none."""
        pairs = list(pairs)
        if any("\n" in path for _, path in pairs):
            return super().blobs_at(pairs)
        names = [f"{treeish}:{path}" for treeish, path in pairs]
        # A fetch that fails ends the process, with what was asked after it unanswered.
        step = 1 if self._lazy else _AT_ONCE
        found: list[bytes | None] = []
        for first in range(0, len(names), step):
            found += self._blobs(names[first : first + step])
        return found

    def ancestor(self, older: str, newer: str) -> bool:
        """Tell whether ``older`` is ``newer`` or can be reached from it."""
        ended = self._git.run("merge-base", "--is-ancestor", older, newer, ok=(0, 1))
        return ended.code == 0

    def merge_base(self, one: str, other: str) -> str | None:
        """Return a best common ancestor; None for unrelated histories."""
        return self._git.run("merge-base", one, other, ok=(0, 1)).text or None

    def beyond(self, base: str, tip: str, limit: int) -> frozenset[str]:
        """Return up to ``limit`` commits of ``tip`` that ``base`` does not have."""
        found = self._git.run("rev-list", f"--max-count={limit}", tip, f"^{base}")
        return frozenset(found.text.split())

    def _write(self, kind: str, data: bytes) -> str:
        command = (*DURABLE, "hash-object", "-w", "-t", kind, "--stdin")
        return self._git.run(*command, stdin=data).text

    def _blobs(self, names: list[str]) -> list[bytes | None]:
        found: list[bytes | None] = []
        try:
            self._ask(*(f"contents {name}" for name in names))
            for _ in names:
                answer = self._answer()
                found.append(answer[1] if answer and answer[0] == "blob" else None)
        except EOFError as error:
            self._ended(error)
            return [None] * len(names)
        return found

    def _read(self, oid: str) -> tuple[str, bytes] | None:
        try:
            self._ask(f"contents {oid}")
            return self._answer()
        except EOFError as error:
            self._ended(error)
            return None

    def _info(self, oid: str) -> tuple[str, int] | None:
        try:
            self._ask(f"info {oid}")
            return self._header()
        except EOFError as error:
            self._ended(error)
            return None

    def _ask(self, *commands: str) -> None:
        lines = "".join(f"{command}\n" for command in commands)
        data = lines.encode(errors="surrogateescape")
        with self._timed():
            self._process().write(data, TIMEOUT_S)

    def _answer(self) -> tuple[str, bytes] | None:
        header = self._header()
        if header is None:
            return None
        kind, size = header
        with self._timed():
            return kind, self._process().read_exactly(size + 1, TIMEOUT_S)[:-1]

    def _header(self) -> tuple[str, int] | None:
        with self._timed():
            line = self._process().read_until(b"\n", TIMEOUT_S)
        match = _FOUND.fullmatch(line)
        return None if match is None else (match["kind"].decode(), int(match["size"]))

    def _process(self) -> Talker:
        if self._talker is None:
            git = self._git
            environment = clean_environment(self._lazy) | git.place()
            argv = git_argv(git.config, _COMMAND)
            try:
                self._talker = Talker(argv, cwd=git.common_dir, env=environment)
            except OSError as error:
                raise not_started(git.common_dir, str(error)) from error
        return self._talker

    @contextmanager
    def _timed(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            self.close()
            reason = f"no answer within {TIMEOUT_S:g} s; stopped"
            raise GitError(("git", *_COMMAND), TIMED_OUT, reason) from error

    def _ended(self, error: EOFError) -> None:
        """Give up the process; what could not be fetched counts as not here."""
        self.close()
        if not self._lazy:
            raise GitError(("git", *_COMMAND), 1, str(error)) from error
