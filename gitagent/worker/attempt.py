"""One attempt at a task, in a straight line, and the way back into it after a crash.

    claim, workspace, setup, agent      until its agent ran, nothing is worth keeping
    leftovers, harvest, return          whatever the agent's end was
    end                                 written down, then the workspace goes

Each step can be cut off by a power cut. ``agent.json`` says that the agent was started,
``exit.json`` that it ended, ``end.json`` that all is decided; `recover_attempt` goes on
from the newest of them, and can be cut off in its turn.
"""

import errno
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from gitagent.core.task import AttemptEnd, Instruction, Outcome
from gitagent.core.usage import NOTHING
from gitagent.errors import Busy, GitagentError, LostRace
from gitagent.git.repository import Repository
from gitagent.git.sweep import remove_tree
from gitagent.host import clock, kin
from gitagent.host.boot import boot_id
from gitagent.host.engine import MARK
from gitagent.host.failpoint import failpoint
from gitagent.worker import (
    agent,
    ahead,
    claim,
    conversation,
    ended,
    exchanges,
    harvest,
    heard,
    leftovers,
    proposals,
    statement,
    taught,
    transcript,
    workspace,
)
from gitagent.worker.folder import Folder, folder_of
from gitagent.worker.log import Log
from gitagent.worker.loop import printed
from gitagent.worker.order import Ending, Order, Stop
from gitagent.worker.setup import Setup

__all__ = ["Order", "Stop", "discard", "log_path", "recover_attempt", "run_attempt"]

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})

# `down` keeps the worktrees of the workers that it stops.
_WORKSPACE_STAYS = frozenset({Outcome.INTERRUPTED})


def run_attempt(
    order: Order, stop: Stop, *, started: Callable[[int, int], None]
) -> AttemptEnd:
    """Make one attempt and return how it ended.

    ``started`` gets pid and start ticks of the agent's outermost process as soon as it
    is there. Has to be called from a thread that lives until it returns: what it
    starts dies with that thread. Whatever a task can cause is an outcome, not an error.
    """
    folder = _folder(order)
    try:
        _make(order.repo, folder)
    except OSError as error:
        why = f"The folder {folder.path} could not be made: {error.strerror}."
        full = error.errno in _FULL
        return _end(
            order, Ending(Outcome.INTERRUPTED if full else Outcome.REFUSED, why)
        )
    with Log(folder.log) as log:
        try:
            ending = _begin(order, folder, log, stop, started)
        except (GitagentError, OSError) as error:
            ending = _failed(folder, error)
        end = _close(order, folder, log, ending)
    _sweep(order)
    return end


def recover_attempt(order: Order, stop: Stop) -> AttemptEnd:  # noqa: ARG001
    """Account for an attempt whose daemon went away; again gives the same.

    If its agent had ended, it is as if it had just done so; else it is interrupted, and
    what it had done is harvested.
    """
    end = _recover(order)
    _sweep(order)
    return end


def _recover(order: Order) -> AttemptEnd:
    folder = _folder(order)
    known = ended.load(folder)
    if known is not None:
        end, safe = known
        _leave(order, folder, end, safe=safe)
        return end
    _kill(order, folder)
    if not folder.path.is_dir():
        workspace.strip(order.repo, folder)
        return _end(order, _interrupted("its folder is gone"), tip=_branch_tip(order))
    with Log(folder.log) as log:
        ending = agent.load_exit(folder) or _interrupted("the daemon went away")
        return _close(order, folder, log, ending)


def discard(
    repo: Repository, task_id: str, number: int, *, settled: bool = False
) -> None:
    """Remove what is left of an attempt, unless work may be in it that no ref holds.

    To be called when the end is recorded; whatever it was, and again without harm. The
    worktree of an interrupted attempt, and a saved conversation, stay until the next
    attempt at the task ends, or the task is ``settled``.
    """
    if settled:
        with suppress(OSError):
            remove_tree(printed.folder(repo.common_dir, task_id))
    folder = folder_of(repo.common_dir, task_id, number, confined=True)
    if not folder.path.is_dir():
        return
    known = ended.load(folder)
    stays = known is not None and (
        known[0].attempt.outcome in _WORKSPACE_STAYS or known[0].attempt.session
    )
    if settled or not stays:
        _remove(repo, folder)


def log_path(repo: Repository, task_id: str, number: int) -> Path:
    """Return where the output of an attempt is written as it comes.

    It is there from the attempt's start until `discard`; then the record has it.
    """
    return folder_of(repo.common_dir, task_id, number, confined=True).log


def _make(repo: Repository, folder: Folder) -> None:
    """Make the folder. Raises OSError.

    One that is there already is of another repository that was at this path, or of a
    record that was deleted; what it holds that no ref holds is moved aside.
    """
    if folder.path.is_dir():
        _remove(repo, folder)
    if folder.path.is_dir():
        stamp = clock.stamp_us().replace(":", "")
        folder.path.rename(folder.path.with_name(f"{folder.path.name}.{stamp}"))
    folder.path.mkdir(mode=0o700, parents=True)


def _begin(
    order: Order,
    folder: Folder,
    log: Log,
    stop: Stop,
    started: Callable[[int, int], None],
) -> Ending:
    lost = claim.take(order)
    if lost is not None:
        return lost
    with ahead.ahead(order, stop) as waiting:
        with order.repo.objects() as objects:
            covered = workspace.make(order, objects, folder)
            if isinstance(covered, Ending):
                return covered
            unready = Setup(order, folder, covered, log, stop).run(objects)
        if unready is not None:
            return unready
        return agent.run(order, folder, covered, log, stop, started, waiting)


def _close(order: Order, folder: Folder, log: Log, ending: Ending) -> AttemptEnd:
    """Keep what there is of the work, write down the end, clear up."""
    taken = harvest.Harvest()
    try:
        if folder.load_state(agent.AGENT) is not None:
            ending, taken = _gather(order, folder, log, ending)
            failpoint("attempt-harvested")
    except (GitagentError, OSError) as error:
        problem = _failed(folder, error)
        ending = replace(ending, outcome=problem.outcome, reason=problem.reason)
        taken = harvest.Harvest(safe=False)
    end = _end(order, ending, folder, log, tip=taken.tip)
    with suppress(OSError):
        ended.write(folder, end, safe=taken.safe)
    _leave(order, folder, end, safe=taken.safe)
    return end


def _gather(
    order: Order, folder: Folder, log: Log, ending: Ending
) -> tuple[Ending, harvest.Harvest]:
    covered = agent.load_covered(folder)
    left = leftovers.commit(order, folder, covered, log)
    taken = harvest.harvest(order, folder, left)
    hooks = bool((folder.load_state(agent.AGENT) or {}).get("hooks"))
    ending = statement.heard(folder, log, ending, hooks=hooks)
    problem = taken.problem or left.problem
    outcome = ending.outcome
    if problem and outcome in {Outcome.OK, Outcome.NOTHING}:
        outcome = Outcome.FAILED
    kept = "" if taken.safe else f"The workspace is kept: {folder.path}."
    parts = (ending.reason, problem, taken.note, kept)
    reason = " ".join(part for part in parts if part)
    return replace(ending, outcome=outcome, reason=reason), taken


def _end(
    order: Order,
    ending: Ending,
    folder: Folder | None = None,
    log: Log | None = None,
    *,
    tip: str = "",
) -> AttemptEnd:
    output, blob = ending.output or ending.reason, ""
    if log is not None:
        output = ending.output or "\n\n".join(filter(None, (ending.reason, log.tail())))
        if ending.reason:
            log.say(ending.reason)
    process = (folder.load_state(agent.AGENT) if folder else None) or {}
    done, asked, usage = b"", b"", NOTHING
    memory = order.attempt.memory
    if folder is not None:
        done = transcript.load(folder.path)
        memory = taught.load(folder)
        asked = proposals.harvest(order, folder, log) if log else b""
    kept, proposed = "", ""
    with order.repo.objects() as objects:
        if log is not None:
            with suppress(GitagentError, OSError):
                blob = objects.write_blob(log.blob())
                kept = objects.write_blob(done) if done else ""
                proposed = objects.write_blob(asked) if asked else ""
        with suppress(GitagentError):
            usage = exchanges.usage(objects, order.task.id, order.attempt.number)
        untrusted = heard.untrusted(order, objects)
        target = objects.ref(order.target_ref) or order.target
        changed = bool(tip) and not objects.ancestor(tip, target)
    attempt = replace(
        order.attempt,
        pid=process.get("pid") or order.attempt.pid,
        ticks=process.get("ticks") or order.attempt.ticks,
        ended=clock.stamp(),
        outcome=ending.outcome,
        exit_code=ending.exit_code,
        tip=tip,
        reason=ending.reason,
        log=blob,
        summary=ending.summary,
        divergence=ending.divergence,
        commands=ending.commands,
        model=process.get("model", ""),
        program=ending.program or str(process.get("program", "")),
        session=conversation.session_of(folder) if folder else "",
        resumed=bool(process.get("resumed")),
        answer=ending.answer,
        usage=usage,
        transcript=kept,
        instructions=tuple(
            Instruction(**each) for each in process.get("instructions", ())
        ),
        questions=ending.questions,
        untrusted=untrusted,
        memory=memory,
        proposed=proposed,
    )
    return AttemptEnd(
        order.task.id, attempt, order.attempt.base, changed, output, ending.asker
    )


def _leave(order: Order, folder: Folder, end: AttemptEnd, *, safe: bool) -> None:
    stays = not safe or end.attempt.outcome in _WORKSPACE_STAYS
    if not stays or not folder.path.is_dir():
        workspace.strip(order.repo, folder, whole=not end.attempt.session)


def _sweep(order: Order) -> None:
    """Remove what earlier attempts at the task left, where nothing needs it."""
    for number in range(1, order.attempt.number):
        folder = folder_of(
            order.repo.common_dir, order.task.id, number, confined=order.confined
        )
        if folder.path.is_dir():
            _remove(order.repo, folder)


def _remove(repo: Repository, folder: Folder) -> None:
    known = ended.load(folder)
    in_use = known is None and folder.load_state(agent.AGENT) is not None
    if in_use or (known is not None and not known[1]):
        return
    if workspace.strip(repo, folder) is None:
        with suppress(OSError):
            remove_tree(folder.path)


def _kill(order: Order, folder: Folder) -> None:
    """End what may still live of an attempt of this boot."""
    attempt = order.attempt
    seen = folder.load_state(agent.AGENT) or {}
    if seen.get("boot") == boot_id():
        kin.kill_tree(int(seen["pid"]), int(seen["ticks"]))
    if attempt.boot == boot_id() and attempt.pid:
        kin.kill_tree(attempt.pid, attempt.ticks)
    if not order.confined:
        kin.kill_marked(MARK, folder.mark)


def _branch_tip(order: Order) -> str:
    with order.repo.objects() as objects:
        return objects.ref(order.branch) or ""


def _folder(order: Order) -> Folder:
    return folder_of(
        order.repo.common_dir,
        order.task.id,
        order.attempt.number,
        confined=order.confined,
    )


def _interrupted(why: str) -> Ending:
    return Ending(Outcome.INTERRUPTED, f"It was interrupted: {why}.")


def _failed(folder: Folder, error: GitagentError | OSError) -> Ending:
    """Return what an error of a step means; only the task's own fault costs a retry."""
    if not folder.path.is_dir():
        return _interrupted("its folder was deleted")
    if isinstance(error, Busy | LostRace):
        return _interrupted(error.line())
    if isinstance(error, GitagentError):
        return Ending(Outcome.FAILED, f"The attempt could not go on: {error.line()}.")
    if error.errno in _FULL:
        return _interrupted(f"{error.strerror} at {error.filename or folder.path}")
    return Ending(Outcome.FAILED, f"The attempt could not go on: {error}.")
