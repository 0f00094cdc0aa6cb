"""The errors that gitagent raises, and the exit code each one ends with.

    GitagentError
    ├── UserError      the answer is no, or the request cannot be met (exit 1)
    ├── ConfigError    wrong usage or settings (exit 2)
    ├── GitError       a git process failed (exit 1)
    ├── Busy           try again: a lock is held (exit 75)
    └── LostRace       a compare-and-swap lost; read again (exit 75 when it escapes)

Expected outcomes (a conflict, a failed check, an empty queue) are values, not
errors. Anything that is not a GitagentError is a bug and ends with exit 3.
"""

from collections.abc import Sequence
from typing import ClassVar


class GitagentError(Exception):
    """What went wrong in one line, and in another how to mend it."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def line(self) -> str:
        """Return message and mend as the one line that people see."""
        return f"{self.message}; {self.hint}" if self.hint else self.message


class UserError(GitagentError):
    """The answer is no: rejected, refused, not found."""


class ConfigError(GitagentError):
    """Settings or a command line that cannot be used."""

    exit_code = 2


class Busy(GitagentError):
    """Somebody else holds what is needed; the same call can work later."""

    exit_code = 75


class LostRace(GitagentError):
    """A ref no longer has the value that was read; read again and decide anew."""

    exit_code = 75


def _named(argv: Sequence[str]) -> list[str]:
    """Return the words of a git call without the settings before its command."""
    words = list(argv)
    while words[1:2] == ["-c"]:
        del words[1:3]
    return words


class GitError(GitagentError):
    """A git process ended with an exit code that its caller did not expect."""

    def __init__(self, argv: Sequence[str], code: int, stderr: str) -> None:
        self.argv = tuple(argv)
        self.code = code
        self.stderr = stderr
        words = " ".join(_named(argv)[:6])
        last = stderr.strip().splitlines()[-1] if stderr.strip() else "no message"
        super().__init__(f"{words} ended with {code}: {last}")
