"""A ``git update-ref --stdin`` that stays, and makes one transaction after another.

Each costs a flush of the disk and no process. It is still git that moves the refs, by
its own locks and compare-and-swap. Source: git-update-ref(1), "start" to "commit".
"""

import threading
from collections.abc import Mapping

from gitagent.errors import GitError
from gitagent.git.command import (
    TIMEOUT_S,
    Git,
    clean_environment,
    git_argv,
    not_started,
)
from gitagent.host.clock import monotonic
from gitagent.host.talker import Talker

_LOCK_MS = 100  # for a lock of somebody else; whoever has longer tries without us

_TURN_S = 0.05  # for another thread's update, which takes one or two milliseconds

# It keeps what it read of the configuration, and each commit that it was given.
_AGE_S = 60.0
_UPDATES = 500

_LOCKS = (
    *("-c", f"core.filesRefLockTimeout={_LOCK_MS}"),
    *("-c", f"core.packedRefsTimeout={_LOCK_MS}"),
)
_TOLD = "fatal: "
_TOO_LATE = "fatal: commit:"


class Session:
    """The one such process of a repository; for any thread."""

    def __init__(
        self, git: Git, command: tuple[str, ...], env: Mapping[str, str]
    ) -> None:
        """``command`` is that of git, with ``--stdin`` and ``-z``."""
        self._git = git
        self._argv = git_argv(git.config, (*_LOCKS, *command))
        self._env = clean_environment(user_config=False) | git.place() | dict(env)
        self._busy = threading.Lock()
        self._talker: Talker | None = None
        self._since = 0.0
        self._left = 0
        self._config: tuple[int, int, int] | None = None

    def update(self, commands: bytes) -> bool:
        """Make all of these updates; False if none was, and git of its own says why.

        ``commands`` are lines of ``update-ref --stdin -z``.

        Raises:
            GitError: it ended in the middle; some may have been made.
        """
        if not self._busy.acquire(timeout=_TURN_S):
            return False
        try:
            return self._update(commands)
        finally:
            self._busy.release()

    def close(self) -> None:
        """End the process; the next update starts another."""
        with self._busy:
            self._end()

    def _update(self, commands: bytes) -> bool:
        talker = self._ready()
        try:
            talker.write(b"start\0%bprepare\0commit\0" % commands, TIMEOUT_S)
        except EOFError:  # it never got to the commit
            self._end()
            return False
        try:
            while talker.read_until(b"\n", TIMEOUT_S) != b"commit: ok\n":
                pass
        except EOFError:
            said = talker.complaint()
            self._end()
            if _harmless(said):
                return False
            raise self._broken(said) from None
        except TimeoutError:
            raise self._broken(f"no answer within {TIMEOUT_S:g} s; stopped") from None
        except BaseException:
            self._end()
            raise
        self._left -= 1
        return True

    def _ready(self) -> Talker:
        config = self._stamp()
        worn = monotonic() - self._since > _AGE_S or self._left <= 0
        if self._talker is not None and (worn or config != self._config):
            self._end()
        if self._talker is None:
            place = self._git.common_dir
            try:
                self._talker = Talker(self._argv, cwd=place, env=self._env)
            except OSError as error:
                raise not_started(place, str(error)) from error
            self._since, self._left = monotonic(), _UPDATES
            self._config = config
        return self._talker

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = (self._git.common_dir / "config").stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_size

    def _broken(self, said: str) -> GitError:
        self._end()
        return GitError(("git", "update-ref", "--stdin"), 128, said)

    def _end(self) -> None:
        if self._talker is not None:
            self._talker.close()
            self._talker = None


def _harmless(said: str) -> bool:
    """Whether it ended before it made the first update, for a reason that it told."""
    last = said.splitlines()[-1] if said else ""
    return last.startswith(_TOLD) and not last.startswith(_TOO_LATE)
