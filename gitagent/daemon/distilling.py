"""What a task that distils is, and what its attempt begins with.

What others wrote is told as claims. Every line that a landing added is told with the
name by which an operation can cite it, so that nothing has to be remembered by heart.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import tomli_w

from gitagent.core.candidate import Change, PathChange
from gitagent.core.distil import KIND
from gitagent.core.exposure import Told, producer
from gitagent.core.layout import LANDINGS, RECORD_FOLDERS
from gitagent.core.memory import Item, shown, written
from gitagent.core.remembering import Operation
from gitagent.core.submission import Submission
from gitagent.core.task import Attempt, TaskRecord
from gitagent.errors import GitagentError, GitError, UserError
from gitagent.files import clean, proposed
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.git.tree import walk_changes
from gitagent.lander.revert import below
from gitagent.memory import ledger

if TYPE_CHECKING:
    from gitagent.memory.shelf import Shelf

PRODUCER: Final = "distilling"

_NOTE: Final = 6_000  # characters
_WORDS: Final = 4_000  # of what the agent said
_ADDED: Final = 16_000  # of the lines that the landing added
_PATHS: Final = 60  # of a landing that are looked at line by line
_OPERATIONS: Final = 12_000  # of what the attempts proposed
_GONE: Final = "It cannot be read here any more."
_HUNK: Final = re.compile(rb"@@ -\S+ \+(?P<first>\d+)(?:,(?P<count>\d+))? @@")


def task_file(submission: Submission, agent: str) -> bytes:
    """Return the file of the task that says what a landing teaches; always the same."""
    front: dict[str, object] = {"agent": agent, "kind": KIND, "forbidden": ["**"]}
    if submission.priority:
        front["priority"] = submission.priority
    commit = (submission.commit or "")[:12]
    text = f"""\
# What the landing {submission.id} teaches

Task `{submission.task}` landed as `{commit}`.
Say by operations on the memory what of it whoever works here next has to know.
The landing and all items are told to you; most landings teach nothing, and then the
memory stays as it is.
"""
    return f"+++\n{tomli_w.dumps(front)}+++\n{text}".encode()


def material(
    repo: Repository, objects: Objects, shelf: "Shelf", submission: str
) -> tuple[Told, ...]:
    """Return what is known of a landing, for the attempt that distils it.

    ``submission`` is its id; of a task's id see `distil.landing_of`. The note, the
    claims of who did the work, what it changed, what its attempts have proposed, and
    all items with their sources. What cannot be read is said to be missing. The
    landing need not be on the target any more.
    """
    landed = ledger.submission(objects, submission)
    if landed is None or not landed.commit:
        return (Told(PRODUCER, f"# The landing {submission}\n\n{_GONE}"),)
    task = ledger.task(objects, landed.task) if landed.task else None
    changes = _changes(objects, landed)
    parts = (
        (f"The note of {submission}, commit {landed.commit}", _note(objects, changes)),
        ("What its agent said of it: claims, and no evidence", _claims(task)),
        ("What it changed", _changed(repo, objects, landed, changes)),
        ("What its attempts proposed: claims as well", _asked(objects, task)),
    )
    told = [Told(PRODUCER, f"# {title}\n\n{text}") for title, text in parts]
    return (*told, *_items(shelf))


def _changes(objects: Objects, landed: Submission) -> tuple[PathChange, ...] | None:
    """Return what a landing changed; None: that cannot be told here."""
    try:
        before = below(objects, landed)
        old = objects.commit(before).tree if before else None
        new = objects.commit(landed.commit or "").tree
        return tuple(walk_changes(objects, old, new))
    except (GitError, UserError):
        return None


def _note(objects: Objects, changes: tuple[PathChange, ...] | None) -> str:
    for each in changes or ():
        if each.path.startswith(LANDINGS) and each.change is Change.ADDED:
            try:
                text = objects.blob(each.new_blob).decode(errors="replace")
            except GitError:
                break
            # The end of a note is what the checks said, and the beginning its subject.
            return clean.fenced(_cut(text, _NOTE), "markdown")
    return _GONE


def _claims(task: TaskRecord | None) -> str:
    attempt = task.newest if task else None
    if attempt is None:
        return _GONE
    said = (
        ("Summary", attempt.summary),
        ("Divergence", attempt.divergence),
        ("Last words", attempt.answer),
    )
    parts = [
        f"{name}:\n\n{clean.fenced(_cut(text, _WORDS))}" for name, text in said if text
    ]
    return "\n\n".join(parts) or "It said nothing."


def _changed(
    repo: Repository,
    objects: Objects,
    landed: Submission,
    changes: tuple[PathChange, ...] | None,
) -> str:
    if changes is None or not landed.commit:
        return _GONE
    product = [e for e in changes if not e.path.startswith(RECORD_FOLDERS)]
    rows = [f"- {each.change} {clean.code(each.path)}" for each in product[:_PATHS]]
    if len(product) > _PATHS:
        rows.append(f"- and {len(product) - _PATHS} more")
    added = _Added(landed.commit)
    for each in product[:_PATHS]:
        if each.change is not Change.DELETED:
            added.take(repo, objects, each)
    said = added.text()
    return "\n".join(rows) + (f"\n\n{said}" if said else "")


@dataclass(slots=True)
class _Added:
    """The lines that a commit added, as far as there is room."""

    commit: str
    parts: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    size: int = 0

    def take(self, repo: Repository, objects: Objects, change: PathChange) -> None:
        for first, lines in _hunks(repo, objects, change):
            last = first + len(lines) - 1
            source = f"{self.commit}:{change.path}:{first}-{last}"
            body = clean.fenced("\n".join(lines))
            part = f"{clean.code(source)}\n\n{body}"
            if self.size + len(part) > _ADDED:
                self.left_out.append(source)
            else:
                self.size += len(part)
                self.parts.append(part)

    def text(self) -> str:
        if not self.parts and not self.left_out:
            return ""
        parts = ["The lines that it added, each by the source that cites it:"]
        parts += self.parts
        if self.left_out:
            rows = [f"- {clean.code(each)}" for each in self.left_out[:_PATHS]]
            more = len(self.left_out) - _PATHS
            rows += [f"- and {more} more"] if more > 0 else []
            parts.append("Left out for want of room:\n\n" + "\n".join(rows))
        return "\n\n".join(parts)


def _hunks(
    repo: Repository, objects: Objects, change: PathChange
) -> Iterator[tuple[int, list[str]]]:
    """Yield what a change added: number of the first line, and the lines."""
    old, new = change.old_blob or objects.write_blob(b""), change.new_blob
    try:
        done = repo.git.run(
            *("diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv"),
            *("--no-renames", "--end-of-options", old, new),
        )
    except GitagentError:
        return
    first, lines = 0, list[str]()
    for row in done.out.split(b"\n"):
        found = _HUNK.match(row)
        if found:
            if lines:
                yield first, lines
            first, lines = int(found["first"]), []
        elif first and row.startswith(b"+"):
            lines.append(row[1:].decode(errors="replace"))
    if lines:
        yield first, lines


def _asked(objects: Objects, task: TaskRecord | None) -> str:
    rows = [
        _row(operation)
        for attempt in (task.attempts if task else ())
        for operation in _operations(objects, attempt)
    ]
    text = "\n".join(rows)
    return _cut(text, _OPERATIONS) if text else "Nothing."


def _operations(objects: Objects, attempt: Attempt) -> tuple[Operation, ...]:
    if not attempt.proposed:
        return ()
    try:
        found = proposed.parse(objects.blob(attempt.proposed))
    except (GitError, ValueError):
        return ()
    return (*found.operations, *(each.operation for each in found.dropped))


def _row(operation: Operation) -> str:
    sources = ", ".join(map(clean.code, operation.sources)) or "no source"
    more = operation.line or operation.because
    return (
        f"- {operation.op} {clean.code(operation.slug)}: {clean.line(more)} ({sources})"
    )


def _items(shelf: "Shelf") -> Iterator[Told]:
    """Yield all items, each by itself, with who put it there."""
    items = shelf.told()
    said = "" if items else "\n\nThere are none yet."
    yield Told(PRODUCER, f"# The items of the memory{said}")
    for each in items:
        yield Told(producer(each.slug, each.blob), _item(each, shelf))


def _item(item: Item, shelf: "Shelf") -> str:
    rows = [clean.line(shown(item, shelf.marks.get(item.slug, ())))]
    rows += [f"  from {clean.code(written(source))}" for source in item.sources]
    if item.body:
        rows += ["", clean.fenced(item.body)]
    return "\n".join(rows)


def _cut(text: str, most: int) -> str:
    """Return the beginning of a text, up to a line's end, and say what is left out."""
    text = text.strip("\n")
    if len(text) <= most:
        return text
    kept = text[:most].rpartition("\n")[0] or text[:most]
    return f"{kept}\n[{len(text) - len(kept):,} characters left out]"
