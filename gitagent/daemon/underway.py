"""Which checks run on whom just now, told from the daemon's lineup.

Sets under check begin alike, so one submission may be in several. What is told of it
is the smallest: the first whose end says something about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gitagent.daemon.lineup import Lineup, RunNow

BARE: Final = ""  # stands for the target with nothing merged


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A set under check, as one of its members sees it."""

    ahead: tuple[str, ...]  # open submissions before it in the set
    last: str  # the last of the set
    base: str  # target commit that the set is merged onto
    runs: tuple[RunNow, ...]


def under_way(
    lineup: Lineup | None, queue: Sequence[str], commit: str
) -> dict[str, UnderWay]:
    """Return what is under way by submission, and by `BARE` for the target itself.

    ``queue`` are the open submissions and ``commit`` is the target's. A set whose first
    members have landed is the same product on the target as it is now.
    """
    if lineup is None:
        return {}
    waiting = set(queue)
    sets: dict[tuple[str, ...], list[RunNow]] = {}
    for run in lineup.runs:
        sets.setdefault(run.submissions, []).append(run)
    found: dict[str, UnderWay] = {}
    for ids in sorted(sets, key=len):
        members = tuple(each for each in ids if each in waiting)
        whole = len(members) == len(ids)
        base = (sets[ids][0].base if whole else "") or commit
        runs = tuple(sets[ids])
        if not ids:
            found[BARE] = UnderWay((), "", base, runs)
        for place, each in enumerate(members):
            if each not in found:
                found[each] = UnderWay(members[:place], members[-1], base, runs)
    return found
