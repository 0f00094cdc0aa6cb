"""What ``codex exec --json`` says, a JSON object a line.

A run is one turn of items: what the model says, thinks and does. The words after which
it did nothing more are the answer. Errors that it goes on from are told like those that
end the turn; only ``turn.failed`` counts.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from gitagent.files import clean
from gitagent.worker.backends.stream import (
    ANSWER,
    Entry,
    Final,
    as_json,
    as_object,
    as_text,
    parsed,
    shortened,
)

# It becomes an argument of a command line.
SESSION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_IN_THE_MIDDLE = "codex ended before its turn was over."
_NOTED = 500  # characters of a line that is not understood
_CALLS = frozenset({"command_execution", "file_change", "mcp_tool_call", "web_search"})


class CodexStream:
    """Reads one run."""

    def __init__(self) -> None:
        self._session = ""
        self._answer = ""
        self._error = _IN_THE_MIDDLE
        self._trouble = ""  # the newest error, which it may go on from
        self._turns = 0
        self._begun: set[str] = set()  # items whose call was told

    def feed(self, line: bytes) -> Iterable[Entry]:
        """Take a line; return what it tells."""
        values = parsed(line)
        if values is None:
            text = line.decode(errors="replace").strip()
            return [Entry("note", shortened(text, _NOTED))] if text else []
        return list(self._told(values, line))

    def final(self) -> Final:
        """Return how it ended, as far as it said so."""
        error = self._error
        if error == _IN_THE_MIDDLE and self._trouble:
            error = self._trouble
        return Final(
            answer="" if error else self._answer,
            session=self._session,
            error=error,
            turns=self._turns,
        )

    def _told(self, values: dict[str, Any], line: bytes) -> Iterator[Entry]:
        match values.get("type"):
            case "thread.started":
                session = as_text(values.get("thread_id"))
                if SESSION.fullmatch(session):
                    self._session = session
            case "turn.started":
                self._turns += 1
                self._answer, self._error = "", _IN_THE_MIDDLE
            case "turn.completed":
                self._error = ""
            case "turn.failed":
                self._error = _sentence(as_object(values.get("error")).get("message"))
                yield Entry("error", self._error)
            case "error":
                self._trouble = _sentence(values.get("message"))
                yield Entry("note", self._trouble)
            case "item.started" | "item.updated" | "item.completed" as kind:
                done = kind == "item.completed"
                yield from self._item(as_object(values.get("item")), done=done)
            case _:
                yield Entry("note", shortened(line.decode(errors="replace"), _NOTED))

    def _item(self, item: dict[str, Any], *, done: bool) -> Iterator[Entry]:
        kind = as_text(item.get("type"))
        if kind in _CALLS:
            self._answer = ""
            yield from self._called(kind, item, done=done)
        elif not done:
            return
        elif kind == "agent_message":
            text = as_text(item.get("text")).strip()
            self._answer = shortened(clean.visible(text), ANSWER)
            if text:
                yield Entry("say", text)
        elif kind == "reasoning":
            text = as_text(item.get("text")).strip()
            if text:
                yield Entry("think", text)
        elif kind == "error":  # a warning: the turn goes on
            yield Entry("note", _sentence(item.get("message")))
        elif kind == "todo_list":
            yield Entry("note", _plan(item.get("items")))
        else:
            yield Entry("note", shortened(as_json(item), _NOTED))

    def _called(
        self, kind: str, item: dict[str, Any], *, done: bool
    ) -> Iterator[Entry]:
        number = as_text(item.get("id"))
        name, text = _call(kind, item)
        if number not in self._begun:
            self._begun.add(number)
            yield Entry("call", text, name, number)
        if done:
            self._begun.discard(number)
            yield Entry("result", _result(kind, item), name, number)


def _call(kind: str, item: dict[str, Any]) -> tuple[str, str]:
    """Return the name of the tool that was called, and with what."""
    match kind:
        case "command_execution":
            return "shell", as_text(item.get("command"))
        case "file_change":
            return "apply_patch", _changes(item.get("changes"))
        case "mcp_tool_call":
            server, tool = as_text(item.get("server")), as_text(item.get("tool"))
            return f"{server}.{tool}", as_json(item.get("arguments"))
        case _:
            return kind, as_text(item.get("query"))


def _result(kind: str, item: dict[str, Any]) -> str:
    match kind:
        case "command_execution":
            output = as_text(item.get("aggregated_output"))
            code = item.get("exit_code")
            return output if code == 0 else f"exit code {as_json(code)}\n{output}"
        case "mcp_tool_call":
            failed = as_object(item.get("error"))
            if failed:
                return f"error: {as_text(failed.get('message'))}"
            content = as_object(item.get("result")).get("content")
            return "\n".join(_texts(content)) or as_json(item.get("result"))
        case _:
            return as_text(item.get("status"))


def _texts(content: object) -> list[str]:
    parts = content if isinstance(content, list) else []
    return [text for part in parts if (text := as_text(as_object(part).get("text")))]


def _changes(changes: object) -> str:
    listed = [as_object(each) for each in changes] if isinstance(changes, list) else []
    return "\n".join(
        f"{as_text(each.get('kind'))} {as_text(each.get('path'))}" for each in listed
    )


def _plan(items: object) -> str:
    listed = [as_object(each) for each in items] if isinstance(items, list) else []
    return "\n".join(
        f"[{'x' if each.get('completed') is True else ' '}] {as_text(each.get('text'))}"
        for each in listed
    )


def _sentence(value: object) -> str:
    return f"codex: {clean.sentence(as_text(value) or 'an error', _NOTED)}"
