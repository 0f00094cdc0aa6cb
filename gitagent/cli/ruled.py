"""Rulings on operations on the memory, for people and as JSON."""

from collections.abc import Iterator
from typing import Any

from gitagent.cli import page
from gitagent.core.remembering import Ruled, Ruling
from gitagent.files import clean
from gitagent.git import rulings
from gitagent.git.objects import Objects
from gitagent.memory import ledger


def found(objects: Objects, task: str = "") -> list[Ruling]:
    """Return the rulings on operations, of a task or all, newest first.

    Raises:
        UserError: a newer release wrote them.
    """
    return [
        each
        for each in reversed(rulings.read_all(objects))
        if each.ruled and task in {"", each.task}
    ]


def state(objects: Objects, ruling: Ruling, target: str = "") -> str:
    """Return where the commit of a ruling is, in a word or two; "": it has none.

    ``target`` is the target's commit, which a person's command may have been killed
    before it moved; what a task asked for lands as a submission, whatever it is.
    """
    if not ruling.commit:
        return ""
    if not ruling.submission:
        there = target and objects.ancestor(ruling.commit, target)
        return "on the target" if there else "not on the target"
    made = ledger.submission(objects, ruling.submission)
    return str(made.state) if made else "not submitted yet"


def values(objects: Objects, ruling: Ruling, target: str = "") -> dict[str, Any]:
    """Return a ruling as JSON's values; ``target`` as in `state`."""
    return {
        "at": ruling.at,
        "by": ruling.by,
        "task": ruling.task or None,
        "attempt": ruling.attempt or None,
        "commit": ruling.commit or None,
        "submission": ruling.submission or None,
        "state": state(objects, ruling, target) or None,
        "operations": [_operation(each) for each in ruling.ruled],
        "record": ruling.oid,
    }


def lines(objects: Objects, ruling: Ruling, target: str = "") -> Iterator[str]:
    """Yield a ruling for people: what became of each operation, and why."""
    whose = f"{ruling.task} #{ruling.attempt}" if ruling.task else ruling.by
    count = sum(each.admitted for each in ruling.ruled)
    said = f"{count} of {len(ruling.ruled)} admitted"
    if where := state(objects, ruling, target):
        said += f", {ruling.submission or ruling.commit[:12]} {where}"
    yield f"{ruling.at}  {clean.line(whose)}  {said}"
    yield from page.table([_row(each) for each in ruling.ruled])


def _row(ruled: Ruled) -> tuple[str, ...]:
    operation = ruled.operation
    word = "admitted" if ruled.admitted else "refused"
    slug = ruled.slug or operation.slug
    about = f"{slug} against {operation.against}" if operation.against else slug
    return (word, operation.op, about, ruled.reason)


def _operation(ruled: Ruled) -> dict[str, Any]:
    operation = ruled.operation
    return {
        "op": str(operation.op),
        "slug": ruled.slug or operation.slug,
        "asked": operation.slug,
        "line": operation.line or None,
        "because": operation.because or None,
        "against": operation.against or None,
        "sources": list(operation.sources),
        "admitted": ruled.admitted,
        "reason": ruled.reason,
        "evidence": list(ruled.evidence),
        "blob": ruled.blob or None,
    }
