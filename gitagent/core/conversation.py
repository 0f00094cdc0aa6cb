"""What was said and done in one conversation with a model, whatever provider it has.

Records of ``refs/gitagent/conversations/<id>``, one commit an entry, in order. Nothing
is ever taken out: going back is an entry of its own, and so is what a model's summary
stands for. A conversation that goes on after a crash goes on from these alone.

    begin   a process starts to lead it: who, with which grants
    input   words to the model; their origin says whose
    say     a turn of the model: words and calls
    intent  a call that has passed the gate and has an effect, before it is made
    result  how a call ended: its receipt
    summary stands in the model's context for the entries that it covers
    rewind  the entries after one of them are out of the model's context
    end     the process stops, or a turn of a chat is over: the state that it ended in
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gitagent.core.exposure import Received


class Kind(StrEnum):
    """What an entry is; see the module."""

    BEGIN = "begin"
    INPUT = "input"
    SAY = "say"
    INTENT = "intent"
    RESULT = "result"
    SUMMARY = "summary"
    REWIND = "rewind"
    END = "end"


class Origin(StrEnum):
    """Whose words a text is, and with that how far it is believed."""

    GITAGENT = "gitagent"
    PERSON = "person"
    TASK = "task"  # the task file, the agent definition, instructions that landed
    MODEL = "model"
    WORKTREE = "worktree"  # files, and what commands print
    WEB = "web"
    MCP = "mcp"  # a server's answer


class CallState(StrEnum):
    """How a call ended."""

    DONE = "done"  # it was carried out
    FAILED = "failed"  # it was carried out, and says that it failed
    DENIED = "denied"  # by the gate or a policy hook: nothing was done
    NEEDS_DECISION = "needs_decision"  # of a person: nothing was done
    INTERRUPTED = "interrupted"  # cut off; its effect may be there in part
    UNCERTAIN = "uncertain"  # sent to somebody whose answer never came


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool that the model asks for."""

    id: str  # of the provider, or made up: unique in its conversation
    tool: str
    given: str  # its arguments as JSON, as they came


@dataclass(frozen=True, slots=True)
class Entry:
    """One commit of a conversation; what does not apply to its kind is empty."""

    kind: Kind
    number: int = 0  # from 1; given when it is recorded
    at: str = ""  # UTC; given when it is recorded
    attempt: int = 0  # of the task, or how often the chat was opened
    origin: Origin = Origin.GITAGENT
    text: str = ""  # what of it is for the model, or of BEGIN and END for people
    binding: bool = False  # INPUT: carried over every summary, byte for byte
    calls: tuple[Call, ...] = ()  # SAY
    model: str = ""  # BEGIN, SAY, SUMMARY: "provider:model"
    api: str = ""  # SAY: the API whose form `raw` has
    raw: str = ""  # SAY: blob of the provider's own content blocks, for the same API
    counted: int = 0  # SAY: tokens of the context with this turn, by the provider
    call: str = ""  # INTENT, RESULT: id of the call
    tool: str = ""  # INTENT, RESULT
    effect: str = ""  # INTENT, RESULT: one of `core.effect.Effects`
    what: str = ""  # for people: what a call acts on; BEGIN the agent; INPUT a recall
    key: str = ""  # INTENT: names the effect for whoever can tell whether it happened
    via: str = ""  # INTENT, RESULT: id of the call of `code` that makes this call
    state: CallState | None = None  # RESULT
    whole: str = ""  # RESULT: blob of all it printed, if `text` is not all
    size: int = 0  # RESULT: bytes of all it printed
    snapshot: str = ""  # RESULT: blob of what was fetched, as it came
    seconds: float = 0.0  # RESULT
    first: int = 0  # SUMMARY: number of the first entry that it covers
    last: int = 0  # SUMMARY: of the last one; REWIND: of the last one that stays
    request: str = ""  # INPUT: id that a person's request had; the same is never twice
    waits: bool = False  # INPUT: the model gets it when a later entry `places` it
    places: int = 0  # INPUT: number of the one that waited, whose words come here
    untrusted: tuple[str, ...] = ()  # INPUT: origins of others' words that it tells of
    items: tuple[Received, ...] = ()  # INPUT, RESULT: of the memory, that it tells
    profile: str = ""  # BEGIN: grant profile; see `core.profile`
    may: tuple[str, ...] = ()  # BEGIN: grants
    ended: str = ""  # END: one of `Ended`
    oid: str = field(default="", compare=False)  # commit it was read from


class Ended(StrEnum):
    """In which state a process stopped leading a conversation, or a turn of a chat."""

    DONE = "done"  # the model has nothing more to say
    QUESTION = "question"  # a person is asked
    TURNS = "turns_exhausted"  # it made as many requests as it may
    TIME = "time_exhausted"  # its time is over
    BUDGET = "budget_exhausted"  # the next request may cost more than is left
    CONTEXT = "context_exhausted"  # what has to stay is too long for the model
    REFUSED = "refused"  # the model refuses
    RUNAWAY = "runaway"  # answers without end, several in a row
    FAILED = "failed"  # no answer could be had, or another error
    STOPPED = "stopped"  # by a person, or with its daemon
    CLOSED = "closed"  # a chat was closed


def in_force(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries that no later REWIND has put aside, without the REWINDs.

    An INPUT that waits is not among them; what places it has its words.
    """
    kept: list[Entry] = []
    waiting: dict[int, Entry] = {}
    for each in entries:
        if each.kind is Kind.REWIND:
            while kept and kept[-1].number > each.last:
                kept.pop()
        elif each.waits:
            waiting[each.number] = each
        elif each.places in waiting:
            words = waiting[each.places]
            kept.append(replace(each, text=words.text, origin=words.origin))
        else:
            kept.append(each)
    return kept


def pending(entries: Iterable[Entry]) -> list[Entry]:
    """Return the intents without a result: nobody knows whether they were made.

    Also those that a REWIND has put aside: an effect stays whatever is thought of it.
    """
    open_: dict[str, Entry] = {}
    for each in entries:
        if each.kind is Kind.INTENT:
            open_[each.call] = each
        elif each.kind is Kind.RESULT:
            open_.pop(each.call, None)
    return [*open_.values()]


def unanswered(entries: Sequence[Entry]) -> list[Call]:
    """Return the calls of the newest turn in force that have no result yet."""
    answered: set[str] = set()
    for each in reversed(in_force(entries)):
        if each.kind is Kind.RESULT:
            answered.add(each.call)
        elif each.kind is Kind.SAY:
            return [call for call in each.calls if call.id not in answered]
    return []
