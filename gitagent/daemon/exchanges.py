"""What an attempt sent to models, as its task's records tell it, archived or not."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gitagent.core.exchange import Block, Exchange
from gitagent.core.layout import EXCHANGES
from gitagent.core.manifest import TOOLS, text_of
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord
from gitagent.daemon.outputs import find, require_attempt
from gitagent.errors import UserError
from gitagent.git.archived import Archived
from gitagent.git.objects import Objects
from gitagent.worker import exchanges

# What stands before a block's words, or all that stands after them.
_AROUND = re.compile(
    r'\A"(?:\s*[,}].*)?\Z|\A(?:\{(?:"[a-z]+":\s*"[a-z_]+",\s*)*"text":\s*)?"', re.DOTALL
)
_LOOKED_AT = 4000  # characters of a block, for its first line


@dataclass(frozen=True, slots=True)
class Piece:
    """A block of a request, and what is in it."""

    block: Block
    data: bytes

    @property
    def line(self) -> str:
        """Return its first words, for people."""
        return _first_line(self.block.kind, self.data)


def task_of(objects: Objects, name: str) -> TaskRecord:
    """Return the task that an id means, or that a submission is of.

    Raises:
        UserError: there is none.
    """
    found = find(objects, name)
    if isinstance(found, Submission):
        if found.task is None:
            raise UserError(f"{found.id} is of no task, so no agent was asked for it")
        found = find(objects, found.task)
    if isinstance(found, Submission):
        raise UserError(f"there is no task {found.id}")
    return found


def of_attempt(objects: Objects, task: TaskRecord, number: int) -> list[Exchange]:
    """Return the exchanges of an attempt, oldest first; none if it made none.

    Raises:
        UserError: there is no such attempt, or a record cannot be read.
    """
    require_attempt(task, number)
    ref = EXCHANGES + task.id
    tip = objects.ref(ref) or Archived().record(objects, ref)
    return exchanges.exchanges(objects, tip, number) if tip else []


def require(found: list[Exchange], task: str, number: int | None) -> Exchange:
    """Return a request by its number, without one the newest. Raises UserError."""
    if not found:
        raise UserError(f"this attempt at {task} has made no request to a model")
    if number is None:
        return found[-1]
    for each in found:
        if each.number == number:
            return each
    raise UserError(
        f"this attempt at {task} has made no request {number}; it made"
        f" {found[0].number} to {found[-1].number}"
    )


def pieces(objects: Objects, exchange: Exchange) -> Iterator[Piece]:
    """Yield the blocks of a request in order.

    Raises:
        UserError: its bytes are not there, or are not what the record says.
    """
    body, at = exchanges.body(objects, exchange), 0
    for block in exchange.blocks:
        yield Piece(block, body[at : at + block.size])
        at += block.size


def _first_line(kind: str, data: bytes) -> str:
    text = data.decode(errors="replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        words = _unescaped(text[:_LOOKED_AT])
    else:
        words = text_of(value) or _told(kind, value)
    return next((line.strip() for line in words.splitlines() if line.strip()), "")


def _told(kind: str, value: object) -> str:
    if kind == TOOLS and isinstance(value, list):
        return ", ".join(_name(each) for each in value)
    if isinstance(value, dict):
        for key in ("thinking", "content", "output"):
            inner = value.get(key)
            inner = inner[0] if isinstance(inner, list) and inner else inner
            if text := text_of(inner):
                return text
        given = value.get("input", value.get("arguments"))
        if given is None and isinstance(function := value.get("function"), dict):
            given = function.get("arguments")
        if given is not None:
            shown = given if isinstance(given, str) else json.dumps(given)
            return f"{_name(value)} {shown}"
    return json.dumps(value, ensure_ascii=False)


def _name(value: object) -> str:
    if not isinstance(value, dict):
        return "?"
    inner = value.get("function")
    inner = inner if isinstance(inner, dict) else {}
    return str(value.get("name") or inner.get("name") or value.get("type") or "?")


def _unescaped(text: str) -> str:
    """Return a piece of a block's string, and what is around it, as what it means."""
    text = _AROUND.sub("", text)
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text.replace("\\n", "\n").replace('\\"', '"')
