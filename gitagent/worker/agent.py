"""The agent's run: from the prompt to an exit that survives the daemon."""

from collections.abc import Callable

from gitagent.core.task import Outcome
from gitagent.files.duration import duration
from gitagent.host import kin
from gitagent.host.boot import boot_id
from gitagent.host.failpoint import failpoint
from gitagent.worker import backends, exits, prompt, returns, sandbox
from gitagent.worker.folder import Folder
from gitagent.worker.log import Log
from gitagent.worker.order import Ending, Order, Stop
from gitagent.worker.workspace import give

AGENT = "agent.json"  # there is one: the agent was started, or was about to be
EXIT = "exit.json"  # there is one: it has ended

_KEEP = 4096  # bytes for the reason why it could not be started; the log has the rest


def run(
    order: Order,
    folder: Folder,
    covered: tuple[str, ...],
    log: Log,
    stop: Stop,
    started: Callable[[int, int], None],
) -> Ending:
    """Run the agent to its end; ``started`` gets pid and start ticks."""
    text = prompt.text(order, folder)
    launch = backends.prepare(order, folder, text)
    if isinstance(launch, backends.Refused):
        return Ending(Outcome.REFUSED, launch.reason)
    give(folder, prompt.FILE, text.encode(errors="replace"))
    give(folder, prompt.FEEDBACK_FILE, order.feedback.encode(errors="replace"))
    for name, data in launch.files:
        give(folder, name, data)
    state = {"pid": 0, "ticks": 0, "boot": boot_id(), "covered": list(covered)}
    folder.write_state(AGENT, state)

    def begun(pid: int) -> None:
        ticks = kin.ticks(pid) or 0
        folder.write_state(AGENT, {**state, "pid": pid, "ticks": ticks})
        started(pid, ticks)
        failpoint("attempt-spawned")

    done = order.engine.run(
        launch.argv,
        sandbox.workspace(
            order,
            folder,
            covered,
            env=_environment(order, folder),
            read=launch.read,
            network=order.network,
        ),
        timeout=order.timeout_s,
        stdin=launch.stdin,
        keep=_KEEP,
        merge_stderr=True,
        on_output=log.write,
        cancel=stop,
        on_start=begun,
        on_network=log.say,
    )
    where = exits.step(folder, launch.steps) or "the agent"
    limit = duration(order.timeout_s)
    outcome, reason = exits.explain(order, stop, done, where, limit)
    ending = Ending(outcome, reason, done.code if done.started else None)
    folder.write_state(
        EXIT,
        {
            "exit_code": ending.exit_code,
            "timed_out": done.timed_out,
            "outcome": str(ending.outcome),
            "reason": ending.reason,
        },
    )
    failpoint("attempt-exited")
    return ending


def load_exit(folder: Folder) -> Ending | None:
    """Return how the agent ended, as far as it was written down; None: it was not."""
    values = folder.load_state(EXIT)
    if values is None:
        return None
    return Ending(Outcome(values["outcome"]), values["reason"], values["exit_code"])


def load_covered(folder: Folder) -> tuple[str, ...]:
    """Return the submodule paths that the agent's worktree has covered."""
    return tuple((folder.load_state(AGENT) or {}).get("covered", ()))


def _environment(order: Order, folder: Folder) -> tuple[tuple[str, str], ...]:
    return (
        ("GITAGENT_TASK", order.task.id),
        ("GITAGENT_ATTEMPT", str(order.attempt.number)),
        ("GITAGENT_PROMPT_FILE", f"{folder.inside_given}/{prompt.FILE}"),
        (
            "GITAGENT_PREVIOUS_OUTPUT_FILE",
            f"{folder.inside_given}/{prompt.FEEDBACK_FILE}",
        ),
        ("GITAGENT_RETURN_FILE", f"{folder.inside_out}/{returns.NAME}"),
    )
