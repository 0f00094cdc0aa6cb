"""The landing note, ``.agent/landings/<yyyy>/<mm>/<submission>.md``.

Front matter for programs, Markdown for people. All that others wrote is shown inside
code fences or escaped, so that a note holds no link, image or heading of theirs.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import tomli_w

from gitagent.core.candidate import PathChange
from gitagent.core.layout import LANDINGS
from gitagent.core.submission import CheckLine, Submission
from gitagent.core.task import TaskRecord
from gitagent.files import clean

_PATHS = 100  # shown by name; the others are counted
_MESSAGE = (200, 20_000)  # lines, characters; the commit itself has the rest
_OUTPUT = (40, 4_000)  # of a failing run; the receipt has the rest


@dataclass(frozen=True, slots=True)
class Landing:
    """What a note says about a landing, beside the submission itself."""

    title: str  # the task's, or the subject of the tip
    message: str  # the submitter's own words
    base: str  # target commit that it landed on
    landed: str  # UTC
    strategy: str
    checked: str  # product tree whose receipts cover it
    config: str  # blob of the settings used
    sandbox: str  # "required" or "off"
    changes: tuple[PathChange, ...] = ()
    failing: tuple[tuple[str, str], ...] = ()  # (check, output of its failed run)
    receipts: tuple[tuple[str, str], ...] = ()  # (check, blob of its receipt)
    weakened: tuple[tuple[str, str], ...] = ()  # (test, what happened to it)
    hint: str = ""  # what has to be restarted; empty: nothing
    worker: TaskRecord | None = None  # of the task whose worker made it


def note_path(submission: str, landed: str) -> str:
    """Return where the note of a landing at ``landed`` (UTC, ISO 8601) is kept."""
    return f"{LANDINGS}{landed[:4]}/{landed[5:7]}/{submission}.md"


def note(submission: Submission, landing: Landing) -> str:
    """Return the landing note of ``submission``."""
    head = tomli_w.dumps(_front(submission, landing))
    parts = [
        f"+++\n{head}+++",
        f"# {clean.markdown(landing.title) or submission.id}",
    ]
    if landing.message.strip():
        parts.append(clean.fenced(clean.tail(landing.message, *_MESSAGE)))
    parts += ["## What changed", _changes(landing.changes)]
    if landing.weakened:
        parts += ["## Tests that judge less than before", _weakened(landing.weakened)]
    if landing.worker is not None:
        parts += ["## Who made it", _worker(landing.worker)]
    parts += ["## Divergence", _divergence(submission.divergence)]
    parts += ["## Checks", *_checks(submission.checks, dict(landing.failing))]
    if landing.hint:
        parts += ["## Restart", clean.sentence(landing.hint, 1000)]
    return "\n\n".join(parts) + "\n"


def _front(submission: Submission, landing: Landing) -> dict[str, object]:
    known = {
        "submission": submission.id,
        "task": submission.ends or "",
        "tip": submission.tip,
        "base": landing.base,
        "landed": landing.landed,
        "author": submission.submitter,
        "strategy": landing.strategy,
        "checked": landing.checked,
        "config": landing.config,
        "sandbox": landing.sandbox,
        "agent": landing.worker.agent if landing.worker else "",
    }
    front: dict[str, object] = {
        key: clean.line(value) for key, value in known.items() if value
    }
    if submission.checks:
        blobs = dict(landing.receipts)
        front["check"] = [_check(line, blobs) for line in submission.checks]
    return front


def _check(line: CheckLine, blobs: dict[str, str]) -> dict[str, object]:
    known: dict[str, object] = {"name": clean.line(line.name), "result": line.state}
    if line.seconds is not None:
        known["seconds"] = round(line.seconds, 3)
    if line.receipt:
        known["receipt"] = clean.line(line.receipt)
    if line.name in blobs:
        known["blob"] = blobs[line.name]
    return known


def _changes(changes: Sequence[PathChange]) -> str:
    if not changes:
        return "No path of the target changed."
    counts = Counter(change.change for change in changes)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    rows = [f"{len(changes)} {'path' if len(changes) == 1 else 'paths'}: {kinds}.", ""]
    rows += [f"- {each.change} {clean.code(each.path)}" for each in changes[:_PATHS]]
    if len(changes) > _PATHS:
        rows.append(f"- and {len(changes) - _PATHS} more")
    return "\n".join(rows)


def _worker(record: TaskRecord) -> str:
    count = len(record.attempts)
    attempts = "attempt" if count == 1 else "attempts"
    rows = [f"Agent {clean.code(record.agent)}, in {count} {attempts}."]
    usage = record.usage
    models = dict.fromkeys(each.model for each in record.attempts if each.model)
    if models:
        read = usage.input + usage.cache_read + usage.cache_write
        rows.append(
            f"Models: {', '.join(map(clean.code, models))}; {usage.requests} requests, "
            f"{read:,} tokens in, {usage.output:,} out, {usage.usd:.4f} usd."
        )
    if usage.unpriced:
        rows.append(f"Of {usage.unpriced} requests the price is not known.")
    if record.newest is not None and record.newest.answer:
        rows += ["", "Its last words, which are a claim:", ""]
        rows.append(clean.fenced(clean.tail(record.newest.answer, *_MESSAGE)))
    return "\n".join(rows)


def _weakened(weakened: Sequence[tuple[str, str]]) -> str:
    rows = [f"- {clean.code(path)}: {what}" for path, what in weakened[:_PATHS]]
    if len(weakened) > _PATHS:
        rows.append(f"- and {len(weakened) - _PATHS} more")
    return "\n".join(rows)


def _divergence(statement: str | None) -> str:
    if not statement or not statement.strip():
        return "The submitter stated none."
    return clean.fenced(clean.tail(statement, *_MESSAGE))


def _checks(lines: Sequence[CheckLine], failing: dict[str, str]) -> list[str]:
    if not lines:
        return ["No check was run: the settings have none."]
    parts = ["\n".join(_result(line) for line in lines)]
    for line in lines:
        if output := failing.get(line.name, "").strip("\n"):
            about = f"The run of {clean.code(line.name)} that failed ended with:"
            parts += [about, clean.fenced(clean.tail(output, *_OUTPUT))]
    return parts


def _result(line: CheckLine) -> str:
    took = "" if line.seconds is None else f" in {line.seconds:.1f} s"
    return f"- {clean.code(line.name)}: {line.state}{took}"
