"""The queue as the daemon has it in memory: its order, and which checks run on whom.

Records tell what became of a submission, not how far its checks are. That only the
daemon knows, and tells over its socket: the request ``{"op": "queue"}`` has the answer
``{"order": [ids], "runs": [{"submissions": [ids], "check": name, "run": 1 or 2,
"since": seconds so far, "key": check key, "product": tree, "base": commit}]}``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gitagent.core.submission import in_order
from gitagent.errors import Busy
from gitagent.git.repository import Repository
from gitagent.host import place
from gitagent.host.clock import monotonic
from gitagent.host.socket import ask

if TYPE_CHECKING:  # who asks need not load what answers
    from gitagent.core.snapshot import Snapshot
    from gitagent.daemon.live import Live

OP = "queue"

_ASK_S = 2.0


@dataclass(frozen=True, slots=True)
class RunNow:
    """A check run under way."""

    submissions: tuple[str, ...]  # that it judges together, in order
    check: str
    run: int  # 2: once more, after it failed
    since: float  # seconds so far
    key: str
    product: str  # tree; empty: not known
    base: str = ""  # target commit that the set was merged onto; empty: not known


@dataclass(frozen=True, slots=True)
class Lineup:
    """What waits and what runs, at one moment."""

    order: tuple[str, ...]  # open submissions, first the next to land
    runs: tuple[RunNow, ...]


def present(live: "Live", snapshot: "Snapshot | None") -> Lineup:
    """Return the lineup inside the daemon; for any of its threads."""
    now = monotonic()
    runs = []
    for (key, number), run in tuple(live.runs.items()):
        since = round(now - run.since, 3)
        made = run.candidate
        facts = (run.submissions, run.check, number, since, key)
        runs.append(RunNow(*facts, made.product, made.base))
    waiting = in_order(snapshot.submissions.values()) if snapshot else ()
    return Lineup(tuple(each.id for each in waiting), tuple(runs))


def answer(lineup: Lineup) -> dict[str, object]:
    """Return a lineup as the daemon's answer."""
    runs = [
        {
            "submissions": list(run.submissions),
            "check": run.check,
            "run": run.run,
            "since": run.since,
            "key": run.key,
            "product": run.product,
            "base": run.base,
        }
        for run in lineup.runs
    ]
    return {"ok": True, "order": list(lineup.order), "runs": runs}


def ask_for(repo: Repository) -> Lineup | None:
    """Return the lineup of the daemon that runs; None: none tells one."""
    try:
        told = ask(place.socket_path(repo.common_dir), {"op": OP}, _ASK_S)
        return None if told is None else _read(told)
    except (Busy, KeyError, TypeError, ValueError):
        return None


def _read(told: Mapping[str, Any]) -> Lineup:
    runs = tuple(
        RunNow(
            tuple(map(str, run["submissions"])),
            str(run["check"]),
            int(run["run"]),
            float(run["since"]),
            str(run.get("key", "")),
            str(run.get("product", "")),
            str(run.get("base", "")),
        )
        for run in told["runs"]
    )
    return Lineup(tuple(map(str, told["order"])), runs)
