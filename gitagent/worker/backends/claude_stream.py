"""What ``claude -p --output-format stream-json`` says, a JSON object a line.

How it ended is what its ``result`` line says. An error of the API comes as one that
calls itself a success, so ``is_error`` is what counts, never the exit code alone.
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

# It becomes an argument of a command line, and the name of a file.
SESSION = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_KNOWN = ("system", "assistant", "user", "result")
_IN_THE_MIDDLE = "Claude Code ended before the model had said its last words."
_EMPTY = "The model ended without an answer."
_SUBTYPES = {
    "error_max_turns": "Claude Code ended at its limit of turns.",
    "error_max_budget_usd": "Claude Code ended at its own limit of cost.",
}
_STOPS = {
    "max_tokens": "The model's answer was cut off at its limit of tokens.",
    "model_context_window_exceeded": "The conversation is too long for the model.",
    "refusal": "The model refused to answer.",
}
_CALLS = 256  # under way at once, of which the tool is remembered
_NOTED = 500  # characters of a line that is not understood


class ClaudeStream:
    """Reads one run."""

    def __init__(self) -> None:
        self._session = ""
        self._program = ""
        self._answer = ""
        self._error = _IN_THE_MIDDLE
        self._turns = 0
        self._tools: dict[str, str] = {}

    def feed(self, line: bytes) -> Iterable[Entry]:
        """Take a line; return what it tells."""
        values = parsed(line)
        kind = values.get("type") if values else None
        if values is None or kind not in _KNOWN:
            text = line.decode(errors="replace").strip()
            return [Entry("note", shortened(text, _NOTED))] if text else []
        session = values.get("session_id")
        if isinstance(session, str) and SESSION.fullmatch(session):
            self._session = session
        inner = as_object(values.get("message"))
        if kind == "system":
            return list(self._system(values))
        if kind == "assistant":
            return list(self._assistant(inner, values))
        if kind == "user":
            return list(self._user(inner, values))
        return list(self._result(values))

    def final(self) -> Final:
        """Return how it ended, as far as it said so."""
        return Final(
            answer="" if self._error else self._answer,
            session=self._session,
            error=self._error,
            turns=self._turns,
            program=self._program,
        )

    def _system(self, values: dict[str, Any]) -> Iterator[Entry]:
        match values.get("subtype"):
            case "init":
                self._program = shortened(
                    as_text(values.get("claude_code_version")), 40
                )
                model = as_text(values.get("model"))
                yield Entry("note", f"Claude Code {self._program} with {model}")
                yield from _servers(values.get("mcp_servers"))
            case "api_retry":
                why = as_text(values.get("error")) or "an error"
                yield Entry("note", f"asks the model again: {why}")
            case "compact_boundary":
                yield Entry("note", "the conversation so far was shortened")
            case _:
                pass

    def _assistant(
        self, message: dict[str, Any], values: dict[str, Any]
    ) -> Iterator[Entry]:
        for block in _blocks(message):
            match block.get("type"):
                case "text":
                    text = as_text(block.get("text")).strip()
                    if text and values.get("error"):
                        yield Entry("error", text)
                    elif text:
                        yield Entry("note" if _helper(values) else "say", text)
                case "thinking":
                    if text := as_text(block.get("thinking")).strip():
                        yield Entry("think", text)
                case "tool_use":
                    name = as_text(block.get("name")) or "?"
                    call = as_text(block.get("id"))
                    if len(self._tools) < _CALLS:
                        self._tools[call] = name
                    yield Entry("call", as_json(block.get("input")), name, call)
                case _:
                    pass

    def _user(self, message: dict[str, Any], values: dict[str, Any]) -> Iterator[Entry]:
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in _blocks({"content": content}):
            if block.get("type") == "tool_result":
                call = as_text(block.get("tool_use_id"))
                text = _plain(block.get("content"))
                text = f"error: {text}" if block.get("is_error") is True else text
                yield Entry("result", text, self._tools.pop(call, ""), call)
            # Nobody types here: it is what hooks and the program itself tell it.
            elif (text := as_text(block.get("text")).strip()) and not _helper(values):
                yield Entry("note", text)

    def _result(self, values: dict[str, Any]) -> Iterator[Entry]:
        turns = values.get("num_turns")
        self._turns = turns if isinstance(turns, int) else 0
        said = as_text(values.get("result")).strip()
        self._answer = shortened(clean.visible(said), ANSWER)
        self._error = _problem(values, said)
        if self._error:
            yield Entry("error", self._error)


def _problem(values: dict[str, Any], said: str) -> str:
    """Return a sentence if a result is no good end."""
    subtype = as_text(values.get("subtype"))
    if subtype in _SUBTYPES:
        return _SUBTYPES[subtype]
    if subtype != "success" or values.get("is_error") is not False:
        errors = values.get("errors")
        first = as_text(errors[0]) if isinstance(errors, list) and errors else ""
        return f"Claude Code: {clean.sentence(said or first or subtype, _NOTED)}"
    return _STOPS.get(as_text(values.get("stop_reason")), "") or (
        "" if said else _EMPTY
    )


def _servers(listed: object) -> Iterator[Entry]:
    for each in listed if isinstance(listed, list) else []:
        server = as_object(each)
        if server.get("status") != "connected":
            name, status = as_text(server.get("name")), as_text(server.get("status"))
            yield Entry("error", f"the MCP server {name} is {status}: its tools lack")


def _helper(values: dict[str, Any]) -> bool:
    """Whether a helper that the agent started itself says it."""
    return bool(values.get("parent_tool_use_id"))


def _blocks(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    content = message.get("content")
    yield from (
        (as_object(each) for each in content if each)
        if isinstance(content, list)
        else ()
    )


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    texts = [as_text(block.get("text")) for block in _blocks({"content": content})]
    return "\n".join(text for text in texts if text)
