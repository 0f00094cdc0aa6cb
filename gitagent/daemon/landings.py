"""The landings, read from the trailers of the target's first-parent history alone."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from gitagent.core.layout import HEADS
from gitagent.daemon import remembered
from gitagent.files.message import trailers
from gitagent.git.repository import Repository
from gitagent.host.clock import stamp

_FORM = "--format=%H%x00%ct%x00%an <%ae>%x00%B%x00"
_CHECK = re.compile(r"(?P<name>\S+) (?P<state>\w+)(?: (?P<seconds>[\d.]+)s)?")


@dataclass(frozen=True, slots=True)
class Landing:
    """One commit that landed a submission."""

    commit: str
    landed: str  # UTC
    submission: str
    title: str
    author: str  # "Name <email>"
    task: str | None
    tip: str | None
    config: str | None  # blob of the settings used
    checked: str | None  # product tree whose receipts cover it
    checks: tuple[tuple[str, str, float | None], ...]  # (name, state, seconds)


def landings(repo: Repository, count: int | None = None) -> list[Landing]:
    """Return the landings, newest first; ``count``: only so many.

    Raises:
        UserError: the repository has no target.
    """
    with repo.objects(fast=True) as objects:
        _, commit = remembered.target(repo, objects, objects.refs(HEADS))
    limit = () if count is None else (f"--max-count={count}",)
    done = repo.git.run(
        "log",
        "--first-parent",
        "--grep=^Gitagent-Submission: ",
        _FORM,
        *limit,
        "--end-of-options",
        commit,
    )
    fields = done.out.decode("utf-8", "replace").split("\0")
    rows = (fields[n : n + 4] for n in range(0, len(fields) - 3, 4))
    found = (_landing(*(field.strip("\n") for field in row)) for row in rows)
    return [each for each in found if each is not None]


def _landing(commit: str, landed: str, author: str, message: str) -> Landing | None:
    said = trailers(message)
    one = dict(said)
    submission = one.get("Gitagent-Submission")
    if submission is None:
        return None
    checks = (_CHECK.fullmatch(v) for key, v in said if key == "Gitagent-Check")
    return Landing(
        commit=commit,
        landed=stamp(datetime.fromtimestamp(int(landed), UTC)),
        submission=submission,
        title=message.strip().partition("\n")[0],
        author=author,
        task=one.get("Gitagent-Task"),
        tip=one.get("Gitagent-Tip"),
        config=one.get("Gitagent-Config"),
        checked=one.get("Gitagent-Checked"),
        checks=tuple(
            (
                check["name"],
                check["state"],
                float(check["seconds"]) if check["seconds"] else None,
            )
            for check in checks
            if check
        ),
    )
