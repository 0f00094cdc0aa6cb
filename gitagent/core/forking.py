"""Going back in a conversation, and side chats: what stays, and what cannot be undone.

A conversation goes back by an entry of its own. That changes what the model knows, and
nothing else: no file, no process, no task. So what was done since is told.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gitagent.core.compaction import Plan, whole
from gitagent.core.conversation import (
    CallState,
    Entry,
    Kind,
    Origin,
    in_force,
    pending,
)
from gitagent.core.effect import Effects

_KEPT = frozenset({Effects.WRITE, Effects.SHELL})  # in the worktree: git shows it
_GONE = frozenset({Effects.NETWORK, Effects.START_TASK, Effects.REMEMBER})

_WHOLE = frozenset(
    {Effects.WRITE, Effects.START_TASK, Effects.REMEMBER}
)  # or not at all

_FOREIGN = "mcp__"  # how tools of MCP servers are named: whatever they did, they did it

_NOT_DONE = frozenset({CallState.DENIED, CallState.NEEDS_DECISION})
_HOW = {
    CallState.DONE: "",
    CallState.FAILED: ", which failed",
    CallState.INTERRUPTED: ", which was interrupted",
    CallState.UNCERTAIN: ", and nobody knows whether it was done",
    None: ", and nobody knows whether it was done",
}

OPENING = (
    "[gitagent] This is a side conversation. What is above was said before it began; it"
    " is material, and none of it is to be gone on with here. You can read and nothing"
    " else: no file is written and no task started from here."
)
_INJECTED = (
    "[gitagent] There was a side conversation that could only read. The conversation"
    " goes on here. A model summed up what was said in it:\n\n{}"
)


@dataclass(frozen=True, slots=True)
class Lasting:
    """An effect that going back does not undo."""

    number: int  # of its entry
    tool: str
    what: str  # what it acted on
    outside: bool  # beyond the worktree: nothing here can bring it back
    state: CallState | None  # None: its result is not known

    def line(self) -> str:
        """Return it for people."""
        what = f" {self.what}" if self.what else ""
        where = "cannot be undone" if self.outside else "in the worktree, not undone"
        return f"{self.number}: {self.tool}{what}{_HOW.get(self.state, '')} ({where})"


@dataclass(frozen=True, slots=True)
class Rewound:
    """How a conversation goes back."""

    entry: Entry  # to be recorded
    lasting: tuple[Lasting, ...]  # those outside come first
    sentence: str = ""  # where it goes, if that is not what was asked for


@dataclass(frozen=True, slots=True)
class NoRewind:
    """Why it does not go back."""

    sentence: str


def rewind(entries: Sequence[Entry], to: int) -> Rewound | NoRewind:
    """Go back so that the entry ``to`` is the newest one in force.

    Where calls are open there, it goes back to the nearest whole turn before.
    """
    force = in_force(entries)
    numbers = [each.number for each in force]
    if to not in numbers:
        return NoRewind(_nowhere(entries, to))
    if to == numbers[-1]:
        return NoRewind(f"The conversation is at entry {to}.")
    ends = [number for number in whole(entries) if number <= to]
    if not ends:
        return NoRewind(f"Before entry {to} there is no turn to go back to.")
    last = ends[-1]
    moved = (
        f"Entry {to} is in the middle of a turn; the conversation goes back to {last}."
    )
    return Rewound(
        Entry(Kind.REWIND, last=last),
        lasting(entries, since=last),
        moved if last != to else "",
    )


def lasting(entries: Sequence[Entry], since: int) -> tuple[Lasting, ...]:
    """Return the effects after the entry ``since`` that going back does not undo.

    Also of calls that were begun and whose end nobody has recorded.
    """
    results = (each for each in in_force(entries) if each.kind is Kind.RESULT)
    found = [
        Lasting(each.number, each.tool, each.what, _is_outside(each), each.state)
        for each in [*results, *pending(entries)]
        if each.number > since and _acts(each)
    ]
    return tuple(sorted(found, key=lambda each: (not each.outside, each.number)))


def later(entries: Sequence[Entry], since: int) -> Plan | None:
    """Return what a summary of a side chat covers: what was said in it, and no more.

    ``since`` is the entry that it began at. None: nothing was said.
    """
    ends = [number for number in whole(entries) if number > since]
    said = [
        each
        for each in in_force(entries)
        if since < each.number <= max(ends, default=0)
        and each.kind in {Kind.INPUT, Kind.SAY, Kind.RESULT}
        and not each.binding
    ]
    if not any(each.kind is Kind.SAY for each in said):
        return None
    return Plan(said[0].number, said[-1].number, tuple(said))


def injection(summary: str, untrusted: Iterable[Origin] = ()) -> Entry:
    """Return what a conversation is told of a side chat that has ended.

    ``untrusted`` are those of others' words that were in it; see `effect.taint`.
    """
    return Entry(
        Kind.INPUT,
        origin=Origin.GITAGENT,
        text=_INJECTED.format(summary),
        untrusted=tuple(sorted(untrusted)),
    )


def _nowhere(entries: Iterable[Entry], to: int) -> str:
    if any(each.number == to for each in entries):
        return f"Entry {to} is no part of the conversation as it stands."
    newest = max((each.number for each in entries), default=0)
    return f"There is no entry {to}; the newest is {newest}."


def _acts(entry: Entry) -> bool:
    if entry.state in _NOT_DONE:
        return False
    if entry.state is CallState.FAILED and entry.effect in _WHOLE:
        return False
    return entry.effect in _KEPT or _is_outside(entry)


def _is_outside(entry: Entry) -> bool:
    foreign = entry.origin is Origin.MCP or entry.tool.startswith(_FOREIGN)
    return entry.effect in _GONE or foreign
