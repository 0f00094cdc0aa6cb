"""What the audit of the target found, told so that a person knows what it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from gitagent.git.repository import Repository
from gitagent.host.clock import stamp

DIRECT = "direct"  # it came to the target past the lander
REWOUND = "rewound"  # it had landed, and the target was moved back behind it

_FORM = "--format=%H%x00%P%x00%an <%ae>%x00%cn <%ce>%x00%ct%x00%s"


@dataclass(frozen=True, slots=True)
class Finding:
    """One commit of the target that should not be there, or should."""

    commit: str
    kind: str
    submission: str | None  # that had landed with it
    subject: str
    author: str  # "Name <email>"
    committer: str  # the one who made the commit; not who moved the target
    committed: str  # UTC
    parents: int  # 2 or more: a merge


def findings(
    repo: Repository, direct: tuple[str, ...], rewound: Mapping[str, str]
) -> tuple[Finding, ...]:
    """Return what is known of the commits, in the order given."""
    commits = (*direct, *rewound)
    if not commits:
        return ()
    done = repo.git.run("log", "--no-walk=unsorted", "-z", _FORM, *commits, "--")
    fields = done.out.decode("utf-8", "replace").rstrip("\0").split("\0")
    found = []
    for at in range(0, len(fields) - 5, 6):
        oid, parents, author, committer, when, subject = fields[at : at + 6]
        found.append(
            Finding(
                commit=oid.strip(),
                kind=REWOUND if oid.strip() in rewound else DIRECT,
                submission=rewound.get(oid.strip()),
                subject=subject,
                author=author,
                committer=committer,
                committed=stamp(datetime.fromtimestamp(int(when), UTC)),
                parents=len(parents.split()),
            )
        )
    return tuple(found)
