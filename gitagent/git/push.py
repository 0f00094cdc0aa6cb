"""Ways out: the target pushed to a remote, and tasks claimed there.

Nothing is ever forced. Credentials and addresses are the user's own, and no prompt is
ever answered. Source: git-push(1), --porcelain and --force-with-lease.
"""

import re
from dataclasses import dataclass

from gitagent.errors import GitError
from gitagent.files import clean
from gitagent.git.command import Done
from gitagent.git.repository import Repository

TIMEOUT_S = 300.0
CLAIMS = "refs/gitagent/claims/"

_SHOWN = 500  # characters of what a remote's hook said
_LINE = re.compile(
    r"^(?P<flag>[ +*=!-])\t(?P<refs>[^\t]*)\t(?P<summary>.*)$", re.MULTILINE
)
_MOVED = re.compile(r"\[rejected\]|non-fast-forward|fetch first|stale info")


@dataclass(frozen=True, slots=True)
class Pushed:
    """The remote has it; it may have had it before."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The remote does not have it."""

    reason: str  # a clause, on one line
    moved: bool = False  # the remote's ref holds something that we do not have


def push(repo: Repository, remote: str, ref: str, oid: str) -> Pushed | Failed:
    """Push ``oid`` to ``ref`` of a remote (a name or an address), as a fast-forward."""
    return _push(repo, remote, f"{oid}:{ref}")


def claim(repo: Repository, remote: str, task: str, oid: str) -> Pushed | Failed:
    """Create the claim of a task on the remote; Failed with ``moved``: it is taken.

    A claim with the same object is one's own and counts as made.
    """
    ref = CLAIMS + task
    return _push(repo, remote, f"{oid}:{ref}", f"--force-with-lease={ref}:")


def unclaim(repo: Repository, remote: str, task: str, oid: str) -> Pushed | Failed:
    """Delete the claim of a task if it is still the one with this object."""
    ref = CLAIMS + task
    return _push(repo, remote, f":{ref}", f"--force-with-lease={ref}:{oid}")


def claimed(repo: Repository, remote: str, task: str) -> str | Failed | None:
    """Return the object of a task's claim on the remote; None if there is none."""
    ref = CLAIMS + task
    try:
        done = repo.git.run(
            "ls-remote",
            "--end-of-options",
            remote,
            ref,
            user_config=True,
            timeout=TIMEOUT_S,
        )
    except GitError as error:
        return Failed(_why(remote, error.stderr))
    return next((line.split("\t")[0] for line in done.text.splitlines() if line), None)


def _push(repo: Repository, remote: str, refspec: str, *flags: str) -> Pushed | Failed:
    try:
        done = repo.git.run(
            "push",
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            *flags,
            "--end-of-options",
            remote,
            refspec,
            ok=(0, 1),
            user_config=True,
            timeout=TIMEOUT_S,
        )
    except GitError as error:
        return Failed(_why(remote, error.stderr))
    return Pushed() if done.code == 0 else _refused(remote, done)


def _refused(remote: str, done: Done) -> Failed:
    said = " ".join(
        line.removeprefix("remote:").strip()
        for line in done.err.splitlines()
        if line.startswith("remote:")
    )
    match = _LINE.search(done.text)
    summary = match["summary"] if match else _why(remote, done.err)
    moved = _MOVED.search(summary) is not None
    if moved:
        return Failed(f"{remote} has commits that are not here", moved=True)
    words = f"{remote} refuses it: {summary} {said}"
    return Failed(clean.sentence(words, _SHOWN))


def _why(remote: str, stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if line.startswith("fatal:")]
    last = lines[-1].removeprefix("fatal:").strip() if lines else "no answer"
    return clean.sentence(f"{remote} cannot be reached: {last}", _SHOWN)
