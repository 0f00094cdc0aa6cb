"""How far the remote is behind the target, told from the ref that saw it last."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from gitagent.core.layout import REMOTES
from gitagent.core.submission import Push, Submission
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host.clock import stamp


@dataclass(frozen=True, slots=True)
class Lag:
    """What a remote's target lacks, and what it has beyond ours."""

    remote: str
    behind: int | None  # landings and task commits to be pushed; None: never seen
    since: str | None  # UTC; when the oldest of them was made
    ahead: int  # commits that the target lacks
    reason: str | None  # a sentence: why it is not pushed, and whose turn it is


def lag(
    repo: Repository,
    objects: Objects,
    remote: str,
    target: str,
    submissions: Iterable[Submission],
) -> Lag:
    """Return how ``remote`` stands to the commit of the target."""
    failed = [s for s in submissions if s.push is Push.FAILED]
    newest = max(failed, key=lambda s: (s.since, s.id), default=None)
    reason = newest.reason if newest is not None else None
    seen = objects.ref(REMOTES + remote)
    if seen is None:
        return Lag(remote, None, None, 0, reason)
    if seen == target:
        return Lag(remote, 0, None, 0, None)
    listed = repo.git.run(
        *("rev-list", "--first-parent", "--no-commit-header", "--format=%ct"),
        *(target, f"^{seen}", "--"),
    ).text.split()
    ahead = repo.git.run("rev-list", "--count", seen, f"^{target}", "--").text
    since = min(map(int, listed), default=None)
    return Lag(
        remote=remote,
        behind=len(listed),
        since=None if since is None else stamp(datetime.fromtimestamp(since, UTC)),
        ahead=int(ahead),
        reason=reason,
    )
