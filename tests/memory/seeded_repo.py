"""The project of ``seeded/`` as a repository with records, and what is asked there."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitagent.core.question import Answer
from gitagent.core.remembering import Op, Operation
from gitagent.core.submission import SubmissionState
from gitagent.core.task import TaskState
from gitagent.git.repository import Repository, discover
from tests.support import ledger
from tests.support.repos import Repo

SEEDED = Path(__file__).parent / "seeded"
PERSON = "Ada <ada@example.org>"

_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0@\0\0\0@"


@dataclass(frozen=True, slots=True)
class Seeded:
    """The repository, and what the operations name in it."""

    repo: Repo
    found: Repository
    names: dict[str, str]

    @property
    def target(self) -> str:
        return self.names["target"]

    def operations(self, expect: str) -> list[Operation]:
        """Return the operations of which a careful reader says so."""
        return [
            Operation(
                op=Op.ADD,
                slug=each["slug"],
                kind=each["kind"],
                line=each["line"],
                body=each.get("body", ""),
                sources=tuple(x.format_map(self.names) for x in each["sources"]),
            )
            for each in table("operations")["operation"]
            if each["expect"] == expect
        ]


def table(name: str) -> dict[str, Any]:
    return tomllib.loads((SEEDED / f"{name}.toml").read_text())


def make(path: Path) -> Seeded:
    """Make the repository, with few processes."""
    files = table("project")["files"]
    main = "refs/heads/main"
    repo = Repo.make(
        path, {"README.md": "# parcel\n", "parcel/legacy.py": "PORT = 1\n"}
    )
    root = repo.head()
    store = "parcel/store.py"
    wider = {store: files[store].replace("POOL_SIZE = 12", "POOL_SIZE = 48")}
    landed = repo.commit_at(
        main, {"parcel/legacy.py": None, **files}, "Work on retries"
    )
    target = repo.commit_at(
        main, {"parcel/db.py@": "store.py", "docs/logo.png": _PNG}, "Add a logo"
    )
    side = repo.commit_at("refs/heads/side", wider, "Widen", parents=(landed,))
    widest = {store: files[store].replace("POOL_SIZE = 12", "POOL_SIZE = 96")}
    tip = repo.commit_at("refs/heads/widest", widest, "Widen more", parents=(landed,))
    repo.git("reset", "-q", "--hard", target)
    rejected = ledger.moved(
        repo, ledger.submission(repo, tip), SubmissionState.REJECTED, reason="No."
    )
    work = ledger.moved(
        repo,
        ledger.submission(repo, landed),
        SubmissionState.LANDED,
        commit=landed,
    )
    receipt = ledger.receipt(repo, b"ok\n", tail="42 passed in 1.2 s\n")
    ledger.task(
        repo,
        "retry-work",
        TaskState.DONE,
        answers=(
            Answer(
                "Which jitter is to be used?",
                "full jitter",
                PERSON,
                "2026-11-30T12:00:00Z",
                "equal jitter leaves bursts that carriers complained about",
            ),
        ),
    )
    forged = repo.git("cat-file", "blob", receipt.place).replace("tests", "lint")
    names = {
        "target": target,
        "root": root,
        "side": side,
        "rejected": tip,
        "rejected_id": rejected.id,
        "landed_id": work.id,
        "landed": landed,
        "blob": repo.oid(f"{target}:{store}"),
        "tree": repo.oid(f"{target}^{{tree}}"),
        "receipt": repo.oid(receipt.place),
        "place": receipt.place,
        "forged": repo.git(
            "hash-object", "-w", "--stdin", stdin=f"{forged}\n".encode()
        ),
    }
    return Seeded(repo, discover(path), names)
