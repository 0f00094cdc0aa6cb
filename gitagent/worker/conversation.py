"""The saved conversation of an agent's program: it goes on in the next attempt.

It lies in the HOME of the attempt, in whatever form the program likes. The next attempt
of the same agent gets that HOME; without it, it goes on from its worktree alone.
"""

from gitagent.core.task import Outcome
from gitagent.worker import home
from gitagent.worker.folder import Folder, folder_of
from gitagent.worker.order import Order

STATE = "conversation.json"


def keep(order: Order, folder: Folder, session: str) -> None:
    """Note under which name the program has saved its conversation."""
    values = {
        "session": session,
        "backend": order.agent.backend,
        "agent": order.agent.name,
    }
    folder.write_state(STATE, values)


def session_of(folder: Folder) -> str:
    """Return the name of the conversation that an attempt has; "": none."""
    values = folder.load_state(STATE)
    return str(values["session"]) if values and folder.home.is_dir() else ""


def take(order: Order, folder: Folder) -> bool:
    """Move the newest earlier conversation here, if the agent can go on from it.

    Returns whether there is a HOME now.
    """
    if not _useful(order):
        return False
    for number in range(order.attempt.number - 1, 0, -1):
        older = folder_of(
            order.repo.common_dir, order.task.id, number, confined=order.confined
        )
        values = older.load_state(STATE)
        if values is None or not older.home.is_dir():
            continue
        same = (order.agent.backend, order.agent.name)
        if (values.get("backend"), values.get("agent")) != same:
            return False
        home.free(older.home)
        older.home.rename(folder.home)
        keep(order, folder, str(values["session"]))
        return True
    return False


def _useful(order: Order) -> bool:
    """Whether going on is worth a try.

    One that was gone on with and then said nothing may be what is wrong: it is too long
    for its model, or damaged.
    """
    before = order.before
    return before is None or not (
        before.resumed and before.outcome is Outcome.FAILED and not before.answer
    )
