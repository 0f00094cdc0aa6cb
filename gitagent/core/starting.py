"""Which tasks that an agent starts or changes a person has to have decided on.

The gate asks before the agent does it. But a command can write a file that nobody saw
in its text, so what lands is looked at once more, by what it is and not by how it came.
"""

from collections.abc import Iterable

from gitagent.core.agent import Agent
from gitagent.core.candidate import PathChange, Started
from gitagent.core.effect import Effects, agreed
from gitagent.core.grants import GATED
from gitagent.core.layout import ANSWERS, DONE, TASKS
from gitagent.core.task import TaskRecord


def undecided(
    changes: Iterable[PathChange],
    starts: Iterable[Started],
    agent: Agent | None,
    record: TaskRecord | None,
) -> tuple[PathChange, ...]:
    """Return the changes of task files that a decision is needed for, and not there.

    It is needed where words of others were in a conversation that the work comes of,
    and where the agent's definition wants one. A yes is there if it was said to a file
    with this very content at this path.
    """
    decide = agent.decide if agent is not None and agent.backend == GATED else ()
    heard = record is not None and any(each.untrusted for each in record.attempts)
    if not heard and Effects.START_TASK not in decide:
        return ()
    answers = record.answers if record else ()
    said = {
        each.path for each in starts if agreed(each.path, each.content, decide, answers)
    }
    return tuple(
        each
        for each in changes
        if each.path.startswith(TASKS)
        and not each.path.startswith((DONE, ANSWERS))
        and each.path not in said
    )
