"""What is told to a remote, landings and claims on tasks, and what it has.

Nothing is ever forced. A claim is a ref that is made there only if it does not exist,
so that two daemons on two clones do not both run a task. Credentials come from the
person's own configuration; whatever would ask for a password fails instead.
Source: git-push(1), --porcelain and --force-with-lease.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from gitagent.core.layout import CLAIMS
from gitagent.errors import GitError
from gitagent.git.command import TIMED_OUT, Done
from gitagent.git.refs import DURABLE
from gitagent.git.repository import Repository

TIMEOUT_S = 120.0

# Reasons that git gives for a ref which was moved there by somebody else.
_MOVED = re.compile(
    r"fetch first|non-fast-forward|stale info|needs force|"
    r"cannot lock ref|incorrect old value|failed to update ref|already exists"
)
_NO_REF = re.compile(r"couldn't find remote ref")
_REASON = re.compile(r"\[(?P<who>[^\]]*)\](?: \((?P<why>.*)\))?\Z", re.DOTALL)


class Refusal(StrEnum):
    """Why a push did not go through; each has another one who can mend it."""

    BEHIND = "behind"  # the remote's ref has commits that are not here
    REFUSED = "refused"  # the remote's hook or settings say no
    UNREACHABLE = "unreachable"  # no such remote, no network, no credentials


@dataclass(frozen=True, slots=True)
class Pushed:
    """The remote's ref is at the object."""


@dataclass(frozen=True, slots=True)
class NotPushed:
    """The remote's ref is as it was, as far as can be known."""

    refusal: Refusal
    reason: str  # a full sentence; quotes the remote, whose text is not to be trusted


@dataclass(frozen=True, slots=True)
class Moved:
    """The remote's ref has a commit that what was to be pushed lacks."""

    commit: str  # is here now


@dataclass(frozen=True, slots=True)
class Claim:
    """Who has a task."""

    oid: str
    text: str  # message of the claim's commit, or content of its blob; empty: unknown


def push(
    repo: Repository, remote: str, ref: str, oid: str, *, timeout: float = TIMEOUT_S
) -> Pushed | NotPushed:
    """Push ``oid`` to the ref of the same name on ``remote``; never forced."""
    return _push(repo, remote, ref, f"{oid}:{ref}", timeout=timeout)


def fetch(
    repo: Repository, remote: str, ref: str, into: str, *, timeout: float = TIMEOUT_S
) -> str | NotPushed | None:
    """Return what ``ref`` holds on ``remote``, kept by the ref ``into`` from now on.

    None: there is no such ref. No other ref moves, the user's own remote-tracking ones
    included. What is no sound object is refused.
    """
    if problem := _unknown(repo, remote):
        return problem
    try:
        _fetch(repo, remote, f"+{ref}:{into}", timeout=timeout)
    except GitError as error:
        if _NO_REF.search(error.stderr):
            return None
        return _unreachable(error)
    with repo.objects(fast=True) as objects:
        return objects.ref(into)


def claim(
    repo: Repository, remote: str, task: str, oid: str, *, timeout: float = TIMEOUT_S
) -> Pushed | NotPushed:
    """Claim a task with the object ``oid``; BEHIND: somebody else has it.

    Claiming again with the same object is no change.
    """
    ref = f"{CLAIMS}{task}"
    lease = f"--force-with-lease={ref}:"
    return _push(repo, remote, ref, f"{oid}:{ref}", lease, timeout=timeout)


def unclaim(
    repo: Repository, remote: str, task: str, oid: str, *, timeout: float = TIMEOUT_S
) -> Pushed | NotPushed:
    """Give a claim back, if it still is ``oid``; one that is gone is no error."""
    ref = f"{CLAIMS}{task}"
    lease = f"--force-with-lease={ref}:{oid}"
    result = _push(repo, remote, ref, f":{ref}", lease, timeout=timeout)
    if isinstance(result, NotPushed) and result.refusal is not Refusal.UNREACHABLE:
        found = read_claim(repo, remote, task, timeout=timeout)
        return Pushed() if found is None else result
    return result


def read_claim(
    repo: Repository, remote: str, task: str, *, timeout: float = TIMEOUT_S
) -> Claim | NotPushed | None:
    """Return the claim on a task that the remote has; None: there is none."""
    ref = f"{CLAIMS}{task}"
    if problem := _unknown(repo, remote):
        return problem
    try:
        listed = _remote(repo, "ls-remote", "--", remote, ref, timeout=timeout).text
    except GitError as error:
        return _unreachable(error)
    oid = next(
        (line[0] for line in map(str.split, listed.splitlines()) if line[1:] == [ref]),
        None,
    )
    return None if oid is None else Claim(oid, _text(repo, remote, ref, oid, timeout))


def _text(repo: Repository, remote: str, ref: str, oid: str, timeout: float) -> str:
    try:
        _fetch(repo, remote, ref, timeout=timeout)
        kind = repo.git.run("cat-file", "-t", oid).text
        text = repo.git.run("cat-file", kind, oid).out.decode(errors="replace")
    except GitError:
        return ""
    return text.partition("\n\n")[2] if kind == "commit" else text


def _fetch(repo: Repository, remote: str, refspec: str, *, timeout: float) -> None:
    _remote(
        repo,
        *(*DURABLE, "-c", "fetch.fsckObjects=true"),
        *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-prune"),
        *("--no-recurse-submodules", "--no-auto-maintenance"),
        *("--refmap=", "--", remote, refspec),
        timeout=timeout,
    )


def _push(
    repo: Repository,
    remote: str,
    ref: str,
    refspec: str,
    *options: str,
    timeout: float,
) -> Pushed | NotPushed:
    if problem := _unknown(repo, remote):
        return problem
    try:
        done = _remote(
            repo,
            *("push", "--porcelain", "--no-follow-tags", "--no-signed"),
            *("--recurse-submodules=no", *options, "--", remote, refspec),
            ok=(0, 1),
            timeout=timeout,
        )
    except GitError as error:
        return _unreachable(error)
    for line in done.text.splitlines():
        flag, _, rest = line.partition("\t")
        name, _, summary = rest.partition("\t")
        if name.rpartition(":")[2] == ref:
            return Pushed() if flag != "!" else _refused(remote, summary, done.err)
    return NotPushed(Refusal.UNREACHABLE, f"{remote} gave no answer about {ref}.")


def _refused(remote: str, summary: str, stderr: str) -> NotPushed:
    match = _REASON.match(summary.strip())
    why = (match and match["why"]) or summary.strip()
    if _MOVED.search(why):
        return NotPushed(Refusal.BEHIND, f"{remote} has moved meanwhile ({why}).")
    lines = (line.partition("remote:") for line in stderr.splitlines())
    said = " ".join(words.strip() for _, mark, words in lines if mark).strip()
    return NotPushed(Refusal.REFUSED, f"{remote} refuses the push: {said or why}.")


def _unknown(repo: Repository, remote: str) -> NotPushed | None:
    # Any other word is taken for a path or a URL, and some of those run programs.
    known = repo.git.run("remote", user_config=True).text.split("\n")
    if remote in known:
        return None
    return NotPushed(Refusal.UNREACHABLE, f"There is no remote named {remote!r}.")


def _unreachable(error: GitError) -> NotPushed:
    if error.code == TIMED_OUT:
        return NotPushed(Refusal.UNREACHABLE, "The remote did not answer in time.")
    lines = [line.strip() for line in error.stderr.splitlines() if line.strip()]
    first = next((x for x in lines if x.startswith(("fatal:", "ssh:"))), error.message)
    return NotPushed(Refusal.UNREACHABLE, f"The remote cannot be reached ({first}).")


def _remote(
    repo: Repository, *args: str, timeout: float, ok: tuple[int, ...] = (0,)
) -> Done:
    return repo.git.run(*args, user_config=True, timeout=timeout, ok=ok)
