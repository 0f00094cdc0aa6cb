"""How long a check usually takes, told from the landings that it let through."""

from collections.abc import Iterable
from typing import Final

from gitagent.core.submission import Submission, SubmissionState

RECENT: Final = 10  # runs of a check that are looked at


def usual(submissions: Iterable[Submission]) -> dict[str, float]:
    """Return the median seconds of the newest runs that let work land, by check.

    ``submissions`` in any order; of what landed together a run counts once.
    """
    landed = [each for each in submissions if each.state is SubmissionState.LANDED]
    landed.sort(key=lambda each: (each.since, each.created, each.id), reverse=True)
    runs: dict[str, dict[str, float]] = {}  # by check, then by receipt
    for each in landed:
        for line in each.checks:
            if line.seconds is not None:
                known = runs.setdefault(line.name, {})
                if len(known) < RECENT:
                    known.setdefault(line.receipt or each.id, line.seconds)
    return {name: _median(sorted(known.values())) for name, known in runs.items()}


def _median(values: list[float]) -> float:
    # The module statistics takes longer to load than a command has.
    middle = len(values) // 2
    if len(values) % 2:
        return values[middle]
    return (values[middle - 1] + values[middle]) / 2
