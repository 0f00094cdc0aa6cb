"""The tools that the loop itself carries out: none of them touches the worktree."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gitagent.core.carried import MARKS
from gitagent.core.conversation import CallState, Entry, Kind, Origin, in_force
from gitagent.core.question import Question
from gitagent.worker import questions
from gitagent.worker.inside import tools
from gitagent.worker.inside.place import Place, write
from gitagent.worker.loop.bodies import Output, Way
from gitagent.worker.loop.record import Conversation

_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_VALUE = 32 * 1024  # bytes of JSON; what is larger belongs into a file


class Own:
    """Bodies; ``given`` and ``out`` are folders of the attempt on the host."""

    def __init__(self, conversation: Conversation, given: Path, out: Path) -> None:
        self._conversation = conversation
        self._place = Place(given=given, out=out, home=out, tree="")

    def execute(self, tool: str, given: Mapping[str, Any], _: Way) -> Output:
        """Carry out one call."""
        match tool:
            case "todo":
                return _todo(given)
            case "keep":
                return _keep(given)
            case "kept":
                return self._kept(given)
            case _:
                return self._of_task(tool, given)

    def _of_task(self, tool: str, given: Mapping[str, Any]) -> Output:
        said, ok = tools.call(tool, given, self._place, {})
        asked = _asked(given) if tool == "ask" and ok else None
        return _output(said, ok=ok, asked=asked)

    def _kept(self, given: Mapping[str, Any]) -> Output:
        values = {each.what: each for each in kept(self._conversation.entries)}
        key = str(given["key"])
        if key not in values:
            there = ", ".join(values) or "nothing"
            return _output(f"Nothing is kept as {key}; there is {there}.", ok=False)
        entry = values[key]
        data = self._conversation.blob(entry.whole) if entry.whole else b""
        value = json.loads(data or entry.text)
        return _output(value if isinstance(value, str) else json.dumps(value))


def kept(entries: Sequence[Entry]) -> list[Entry]:
    """Return the results that say what code keeps: `what` is the key, of JSON."""
    return [
        each
        for each in in_force(entries)
        if each.kind is Kind.RESULT
        and each.tool == "keep"
        and each.state is CallState.DONE
    ]


def pose(out: Path, asked: Sequence[Question]) -> None:
    """Write the question card of an attempt; raises OSError."""
    values = [
        {"text": each.text, "options": [*each.options]}
        for each in asked[: questions.QUESTIONS]
    ]
    write(out / questions.NAME, json.dumps({"questions": values}).encode())


def _todo(given: Mapping[str, Any]) -> Output:
    lines = [
        f"- {MARKS[each.get('state', 'open')]} {' '.join(each['text'].split())}"
        for each in given["items"]
    ]
    return _output("\n".join(lines) or "The list is empty.")


def _keep(given: Mapping[str, Any]) -> Output:
    key, value = str(given["key"]), json.dumps(given["value"])
    if not _KEY.fullmatch(key):
        said = "The key has to be 1 to 64 letters, digits or _.-"
        return _output(f"Nothing was kept: {said}.", ok=False)
    if len(value) > _VALUE:
        said = f"the value has {len(value)} bytes of JSON, and {_VALUE} are the most"
        return _output(f"Nothing was kept: {said}; write it to a file.", ok=False)
    return _output(value)


def _asked(given: Mapping[str, Any]) -> tuple[Question, ...]:
    """Return what `ask` has recorded; none: it took its question back."""
    return questions.parse(json.dumps(given).encode()) if given["questions"] else ()


def _output(
    said: str, *, ok: bool = True, asked: tuple[Question, ...] | None = None
) -> Output:
    state = CallState.DONE if ok else CallState.FAILED
    data = said.encode("utf-8", "backslashreplace")
    return Output(data, state, Origin.GITAGENT, asked=asked)
