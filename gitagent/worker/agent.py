"""The agent's run: from the prompt to an exit that survives the daemon."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial

from gitagent.core.exposure import Received
from gitagent.core.question import Asker, Question
from gitagent.core.task import Outcome
from gitagent.files import clean
from gitagent.files.duration import duration
from gitagent.host import clock, kin
from gitagent.host.boot import boot_id
from gitagent.host.failpoint import failpoint
from gitagent.worker import (
    backends,
    context,
    conversation,
    exits,
    home,
    prompt,
    returns,
    sandbox,
    talking,
    taskinfo,
)
from gitagent.worker.ahead import Ahead
from gitagent.worker.backends.stream import ANSWER, Final, shortened
from gitagent.worker.context import Context
from gitagent.worker.folder import Folder
from gitagent.worker.log import Log
from gitagent.worker.order import Ending, Order, Stop
from gitagent.worker.taught import Taught
from gitagent.worker.transcript import Reader
from gitagent.worker.workspace import give

AGENT = "agent.json"  # there is one: the agent was started, or was about to be
EXIT = "exit.json"  # there is one: it has ended

_PROGRAM = 80  # characters of what a program says that it is
_KEEP = 4096  # bytes for the reason why it could not be started; the log has the rest


@dataclass(frozen=True, slots=True)
class Told:
    """What an agent is told."""

    parts: tuple[prompt.Part, ...]
    known: Context
    items: tuple[Received, ...] = ()  # of the memory


def run(
    order: Order,
    folder: Folder,
    covered: tuple[str, ...],
    log: Log,
    stop: Stop,
    started: Callable[[int, int], None],
    ahead: Ahead | None,
) -> Ending:
    """Run the agent to its end; ``started`` gets pid and start ticks.

    ``ahead`` is the process of the built-in agent; None: the agent is another.
    """
    with order.repo.objects() as objects:
        known = context.context(order, objects)
    for each in known.notes:
        log.say(each)
    found = talking.way(order)
    if isinstance(found, backends.Refused):
        return Ending(Outcome.REFUSED, found.reason)
    session = "" if found is None else backends.session(order, folder)
    taught = Taught(order, folder)
    memory = taught.begin(resumed=bool(session))
    begun = prompt.parts(order, folder, known, memory=memory)
    parts = begun
    if session:
        parts = prompt.resumed(order, folder, known, memory=memory)
    told = Told(parts, known, taught.items)
    if found is None:
        return _run(order, folder, covered, log, stop, started, told, None, None)
    # A conversation that goes on still has in it what it began with.
    said = (*parts, *begun) if session else parts
    with talking.opened(order, folder, found, said, log, stop, session, taught) as talk:
        return _run(order, folder, covered, log, stop, started, told, talk, ahead)


def _give(order: Order, folder: Folder, text: str, launch: backends.Launch) -> None:
    give(folder, prompt.FILE, text.encode(errors="replace"))
    give(folder, prompt.FEEDBACK_FILE, order.feedback.encode(errors="replace"))
    give(folder, taskinfo.NAME, taskinfo.taskinfo(order, clock.stamp()))
    for name, data in launch.files:
        give(folder, name, data)
    home.put(folder.home, launch.home)


def _run(
    order: Order,
    folder: Folder,
    covered: tuple[str, ...],
    log: Log,
    stop: Stop,
    started: Callable[[int, int], None],
    told: Told,
    talk: talking.Talk | None,
    ahead: Ahead | None,
) -> Ending:
    text = prompt.joined(told.parts)
    means = replace(talk.means, items=told.items) if talk else None
    launch = backends.prepare(order, folder, text, means)
    if isinstance(launch, backends.Refused):
        return Ending(Outcome.REFUSED, launch.reason)
    _give(order, folder, text, launch)
    state = {
        "pid": 0,
        "ticks": 0,
        "boot": boot_id(),
        "covered": list(covered),
        "model": str(talk.means.route.first) if talk else "",
        "resumed": bool(talk and talk.means.session),
        "program": launch.program,
        "hooks": launch.hooks,
        "instructions": [asdict(each) for each in told.known.instructions],
    }
    folder.write_state(AGENT, state)

    def begun(pid: int) -> None:
        ticks = kin.ticks(pid) or 0
        folder.write_state(AGENT, {**state, "pid": pid, "ticks": ticks})
        started(pid, ticks)
        failpoint("attempt-spawned")

    reader = None
    if launch.stream is not None:
        keep = partial(conversation.keep, order, folder)
        reader = Reader(launch.stream, folder, log, keep)
    # An agent beside its sandbox has the way to the model, and nothing inside has it.
    to_model = talk if launch.beside is None else None
    inside = sandbox.workspace(
        order,
        folder,
        covered,
        env=(
            *_environment(order, folder),
            *(to_model.environment if to_model else ()),
            *launch.env,
        ),
        read=launch.read,
        network=order.network,
        doors=to_model.doors if to_model else (),
        writable="write" in order.agent.may,
    )
    if launch.beside is not None and reader is not None and ahead is not None:
        done = ahead.go(
            launch.beside(inside),
            seconds=order.timeout_s,
            on_start=begun,
            on_output=reader.write,
        )
    else:
        done = order.engine.run(
            launch.argv,
            inside,
            timeout=order.timeout_s,
            stdin=launch.stdin,
            keep=_KEEP,
            merge_stderr=reader is None,
            on_output=reader.write if reader else log.write,
            cancel=stop,
            on_start=begun,
            on_network=log.say,
        )
    where = exits.step(folder, launch.steps) or "the agent"
    limit = duration(order.timeout_s)
    outcome, reason = exits.explain(order, stop, done, where, limit)
    ending = Ending(outcome, reason, done.code if done.started else None)
    if reader is not None:
        log.write(done.stderr)
        ending = _told(ending, reader.end(), launch)
    if talk is not None:
        ending = talk.explain(ending)
    folder.write_state(EXIT, {**asdict(ending), "outcome": str(ending.outcome)})
    failpoint("attempt-exited")
    return ending


def _told(ending: Ending, final: Final, launch: backends.Launch) -> Ending:
    """Add what the program says of its end; it can only make it worse."""
    outcome, reason = ending.outcome, ending.reason
    error = clean.visible(final.error)
    if error and outcome in {Outcome.OK, Outcome.FAILED}:
        outcome = Outcome.TIMEOUT if final.timed_out else Outcome.FAILED
        reason = error
    return replace(
        ending,
        outcome=outcome,
        reason=reason,
        spoken=True,
        answer="" if error else shortened(clean.visible(final.answer).strip(), ANSWER),
        program=clean.sentence(final.program, _PROGRAM) or launch.program,
        questions=final.questions,
    )


def load_exit(folder: Folder) -> Ending | None:
    """Return how the agent ended, as far as it was written down; None: it was not."""
    values = folder.load_state(EXIT)
    if values is None:
        return None
    values["outcome"] = Outcome(values["outcome"])
    values["asker"] = Asker(values["asker"])
    values["commands"] = tuple(values["commands"])
    values["questions"] = tuple(
        Question(each["text"], tuple(each["options"])) for each in values["questions"]
    )
    return Ending(**values)


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
        # A repository that does not ignore byte code would get it committed.
        ("PYTHONDONTWRITEBYTECODE", "1"),
    )
