"""What became of the work of each agent, counted from the records of its tasks."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from gitagent.core.task import ENDED_WELL, TaskRecord, TaskState
from gitagent.core.usage import NOTHING, Usage


@dataclass(frozen=True, slots=True)
class Tally:
    """Of one agent with one model; a task counts where its newest attempt was made."""

    agent: str
    model: str  # "provider:model"; "": it talks to none
    tasks: int = 0  # settled ones
    well: int = 0  # of these, landed or done
    failed: int = 0
    attempts: int = 0  # of all its tasks
    asked: int = 0  # attempts that ended with a question
    usage: Usage = NOTHING


def tallies(records: Iterable[TaskRecord]) -> tuple[Tally, ...]:
    """Return the tallies of some records by agent and model, in their order."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    usages: dict[tuple[str, str], Usage] = {}
    for record in records:
        newest = record.newest
        if newest is None:
            continue
        for attempt in record.attempts:
            key = record.agent, attempt.model
            count = counts.setdefault(key, Counter())
            count["attempts"] += 1
            count["asked"] += bool(attempt.questions)
            usages[key] = usages.get(key, NOTHING) + attempt.usage
        count = counts[record.agent, newest.model]
        count["tasks"] += record.settled
        count["well"] += record.state in ENDED_WELL
        count["failed"] += record.state is TaskState.FAILED
    return tuple(
        Tally(
            agent,
            model,
            tasks=count["tasks"],
            well=count["well"],
            failed=count["failed"],
            attempts=count["attempts"],
            asked=count["asked"],
            usage=usages[agent, model],
        )
        for (agent, model), count in sorted(counts.items())
    )
