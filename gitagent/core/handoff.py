"""A task's state for whoever goes on: told by its record, its submission and its diff.

What an agent said of its work stands there as a claim. There is one for each task, so
two tasks in one folder have two.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from gitagent.core import answering
from gitagent.core.candidate import PathChange
from gitagent.core.carried import fence
from gitagent.core.episode import flag
from gitagent.core.glob import named
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import ENDED_WELL, Attempt, TaskRecord, TaskState

_NONE: Final[frozenset[str]] = frozenset()
_ATTEMPTS: Final = 8  # the newest; the record has all
_PATHS: Final = 40  # named; the others are counted
_ANSWERS: Final = 10
_LINES: Final = 30  # of a failing output; its receipt has the rest
_CHARS: Final = 3000
_CLAIM: Final = 400  # characters
_SAID: Final = 2000  # characters of a question, an answer or a divergence


def handoff(
    record: TaskRecord,
    submission: Submission | None,
    changes: Sequence[PathChange],
    withdrawn: Collection[str] = _NONE,
) -> str:
    """Return a task's state as Markdown; "" before its first attempt.

    ``changes`` is what its work does to the target so far, ``withdrawn`` the slugs of
    items that were taken back. All that others wrote is between fences or quoted, but
    not cleaned; see `files.clean`.
    """
    if not record.attempts:
        return ""
    parts = [
        _asked(record),
        "### Attempts\n" + "\n".join(_attempts(record, withdrawn)),
        "### What its work changes so far\n" + "\n".join(_changes(changes)),
        _failed(record, submission),
        _questions(record),
        _divergence(record, submission),
        "### What is next\n" + _next(record, submission),
    ]
    return "\n\n".join(part for part in parts if part)


def _asked(record: TaskRecord) -> str:
    title = _one_line(record.title) or record.id
    return (
        f"## Where the task {record.id} stands\n"
        f'Asked for is "{title}", by .agent/tasks/{record.id}.md'
        + (f"@{record.blob[:12]}" if record.blob else ", which was deleted")
        + f". It is {record.state} since {record.since}."
    )


def _attempts(record: TaskRecord, withdrawn: Collection[str]) -> Iterator[str]:
    left_out = len(record.attempts) - _ATTEMPTS
    if left_out > 0:
        yield f"- {left_out} earlier ones, which the task's record tells"
    for each in record.attempts[-_ATTEMPTS:]:
        yield f"- {' '.join(_attempt(each, withdrawn))}"


def _attempt(each: Attempt, withdrawn: Collection[str]) -> Iterator[str]:
    ended = f"{each.outcome} at {each.ended}" if each.outcome else "runs"
    code = "" if each.exit_code is None else f", exit code {each.exit_code}"
    yield f"{each.number}: {ended}{code}."
    if each.tip:
        yield f"Its work is commit {each.tip[:12]}."
    if each.reason and each.reason != each.summary:
        yield _one_line(each.reason, _CLAIM)
    if claim := _one_line(each.summary or each.answer, _CLAIM):
        yield f'It said (a claim): "{claim}"'
    if told := flag(each.memory.received, withdrawn):
        yield told


def _changes(changes: Sequence[PathChange]) -> Iterator[str]:
    if not changes:
        yield "Nothing."
        return
    counts = Counter(each.change for each in changes)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    yield f"{len(changes)} {'path' if len(changes) == 1 else 'paths'}: {kinds}."
    for each in changes[:_PATHS]:
        yield f"- {each.change} {named((each.path,))}"
    if len(changes) > _PATHS:
        yield f"- and {len(changes) - _PATHS} more"


def _failed(record: TaskRecord, submission: Submission | None) -> str:
    """Return what failed last, unless it is past."""
    if record.state in ENDED_WELL:
        return ""
    output, what = record.feedback, "The attempt before ended with:"
    if submission is not None and submission.state is SubmissionState.REJECTED:
        failing = [each for each in submission.checks if each.state == "failed"]
        output = submission.output or output
        what = _one_line(submission.reason or "It was rejected.", _CLAIM)
        for each in failing[:1]:
            if each.name not in what:
                what = f"The check {_one_line(each.name)} failed. {what}"
            if each.receipt:
                what += f" Its receipt is {each.receipt}."
    elif not output:
        return ""
    end = f"\n{fence(_end(output))}" if output.strip() else ""
    return f"### What failed last\n{what}{end}"


def _questions(record: TaskRecord) -> str:
    lines = [
        f"- {_quoted(each.question)}\n  Answered"
        + (f" by {_one_line(each.by)}" if each.by else "")
        + f": {_quoted(each.text)}"
        + (f" because {_quoted(each.because)}" if each.because else "")
        for each in record.answers[-_ANSWERS:]
    ]
    if record.card is not None:
        for number in answering.still_open(record):
            asked = record.card.questions[number - 1].text
            lines.append(f"- {_quoted(asked)}\n  Not answered yet.")
    return "### Questions\n" + "\n".join(lines) if lines else ""


def _divergence(record: TaskRecord, submission: Submission | None) -> str:
    said = (record.newest.divergence if record.newest else "") or (
        (submission.divergence or "") if submission else ""
    )
    if not said.strip():
        return ""
    return "### What differs from what was asked (a claim)\n" + fence(
        said.strip()[:_SAID]
    )


def _next(record: TaskRecord, submission: Submission | None) -> str:
    """Return who owes what."""
    if record.state is TaskState.QUESTION and answering.asks(record):
        return f"A person owes answers: {answering.command(record)}"
    if record.state is TaskState.SUBMITTED and submission and not submission.settled:
        said = _one_line(submission.reason or "The lander has it.", _CLAIM)
        return f"The lander owes an answer to submission {submission.id}. {said}"
    said = _one_line(record.reason or "", _CLAIM)
    match record.state:
        case TaskState.LANDED | TaskState.DONE:
            return said or "Nothing: it has ended well."
        case TaskState.FAILED | TaskState.STOPPED | TaskState.REFUSED:
            retry = f"To go on with it: gitagent task retry {record.id}"
            return f"{said} {retry}".strip() if record.blob else said
        case TaskState.RUNNING:
            return "The newest attempt goes on from the work so far."
        case _:
            return said or "Another attempt follows."


def _quoted(text: str) -> str:
    return f'"{_one_line(text, _SAID)}"'


def _one_line(text: str, most: int = 200) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def _end(text: str) -> str:
    """Return the end of an output, and how much of it is not there."""
    text = text.strip("\n")
    kept = "\n".join(text.split("\n")[-_LINES:])[-_CHARS:]
    left = len(text) - len(kept)
    return f"[{left} characters left out]\n{kept}" if left else kept
