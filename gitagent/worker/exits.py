"""What the end of a process of an attempt means, in a sentence."""

import signal
from collections.abc import Sequence

from gitagent.core.task import Outcome
from gitagent.files import clean
from gitagent.host.process import Exit
from gitagent.host.sandbox import probe
from gitagent.worker.backends.launch import STEP_FILE
from gitagent.worker.folder import Folder
from gitagent.worker.order import Order, Stop

_SIGNALLED = 128  # a shell's exit code for signal n is 128 + n


def explain(
    order: Order, stop: Stop, done: Exit, where: str, limit: str
) -> tuple[Outcome, str]:
    """Return outcome and reason of a process that has ended.

    ``where`` names what ran (``setup``, ``block 2 of 3``), ``limit`` its time limit.
    """
    subject = where[0].upper() + where[1:]
    if done.cancelled:
        outcome = stop.outcome or Outcome.INTERRUPTED
        return outcome, f"{subject} was under way when it was {outcome}."
    if done.timed_out:
        return Outcome.TIMEOUT, f"{subject} ran past its time limit of {limit}."
    if not done.started:
        problem = probe() if order.confined else None
        if problem is not None:
            return Outcome.REFUSED, problem
        said = clean.sentence(clean.plain(done.stderr or done.output), 300)
        return Outcome.FAILED, f"{subject} could not be started: {said}."
    if done.code == 0:
        return Outcome.OK, ""
    how = f"{subject} {_code(order, done.code)}."
    return Outcome.FAILED, f"{how} {done.note}" if done.note else how


def step(folder: Folder, names: Sequence[str]) -> str:
    """Return the name of the step that was under way; empty if that is not known."""
    try:
        number = int(folder.load_out(STEP_FILE, 8) or b"0")
    except ValueError:
        return ""
    return names[number - 1] if 0 < number <= len(names) else ""


def _code(order: Order, code: int | None) -> str:
    if code is None:
        return "was killed"
    if code == _SIGNALLED + signal.SIGXFSZ:
        limit = order.settings.sandbox.file_limit
        return (
            f"wrote a file past `sandbox.file_limit` of {limit} MiB (exit code {code})"
        )
    if code > _SIGNALLED and (name := _signal(code - _SIGNALLED)):
        return f"ended with exit code {code} ({name})"
    return f"ended with exit code {code}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""
