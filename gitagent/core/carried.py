"""What a conversation must not lose, told by code from its entries.

    input that binds    the task, its criteria and constraints, decisions of people
    answer of a person  to a call, such as of ``ask``
    todo list           as the newest call of ``todo`` left it
    words of a person   in a chat: the newest, up to a limit

Each text stands byte for byte. What has more than one line is fenced, so that no text
can pass itself off for ours.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gitagent.core.conversation import CallState, Entry, Kind, Origin

TODO = "todo"  # the tool

# Bytes of what people said in a chat; a summary has the sense of what is older.
_SAID = 30_000

MARKS = {"open": "[ ]", "doing": "[>]", "done": "[x]"}  # of an item, by its state
_BACKTICKS = re.compile(r"`+")


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the todo list."""

    text: str
    state: str  # "open", "doing" or "done"


def carried(entries: Sequence[Entry]) -> str:
    """Return what is to stand beside the summary of ``entries``, which are in force.

    Inputs that bind are not in it: they stay where they are. "" if there is nothing.
    """
    parts = []
    if items := todo(entries):
        lines = [_item(each) for each in items]
        parts.append("\n".join(["The todo list, as it stands:", *lines]))
    told = [*answers(entries), *_said(entries)]
    for each in sorted(told, key=lambda entry: entry.number):
        asked = _call(entries, each.call) if each.kind is Kind.RESULT else ""
        what = f" to {each.tool} {fence(asked)}" if asked else ""
        parts.append(
            f"A person's words{what} (entry {each.number}):\n{fence(each.text)}"
        )
    return "\n\n".join(parts)


def obligations(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return every text in force that no summary may change, each once."""
    entries = tuple(entries)
    binding = (each.text for each in entries if each.binding)
    answered = (each.text for each in answers(entries))
    items = (each.text for each in todo(entries))
    return tuple(dict.fromkeys(text for text in (*binding, *answered, *items) if text))


def todo(entries: Sequence[Entry]) -> tuple[Item, ...]:
    """Return the todo list as it stands."""
    for each in reversed(entries):
        if each.tool == TODO and each.state is CallState.DONE:
            given = _call(entries, each.call)
            # What code called: its arguments stand in no turn of the model.
            return _items(given) if given else (Item(each.text, "open"),)
    return ()


def answers(entries: Iterable[Entry]) -> list[Entry]:
    """Return the results that are the words of a person."""
    return [
        each
        for each in entries
        if each.kind is Kind.RESULT and each.origin is Origin.PERSON and each.text
    ]


def fence(text: str) -> str:
    """Return a text between fences that are not in it; not one byte of it changes."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text}\n{ticks}"


def _said(entries: Sequence[Entry]) -> list[Entry]:
    """Return the newest words of people that do not bind, each whole."""
    found: list[Entry] = []
    left = _SAID
    for each in reversed(entries):
        if (
            each.kind is Kind.INPUT
            and each.origin is Origin.PERSON
            and not each.binding
        ):
            left -= len(each.text.encode("utf-8", "replace"))
            if left < 0:
                break
            found.append(each)
    return found


def _item(item: Item) -> str:
    mark = MARKS.get(item.state, "[ ]")
    one = len(item.text.splitlines()) == 1 and item.text.isprintable()
    return f"- {mark} {item.text}" if one else f"- {mark}\n{fence(item.text)}"


def _call(entries: Iterable[Entry], call: str) -> str:
    """Return the arguments of a call as the model gave them."""
    for each in entries:
        for made in each.calls:
            if made.id == call:
                return made.given
    return ""


def _items(given: str) -> tuple[Item, ...]:
    try:
        items = json.loads(given)["items"]
        return tuple(
            Item(str(each["text"]), str(each.get("state", "open"))) for each in items
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ()
