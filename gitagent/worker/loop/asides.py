"""What a person does with a conversation beside speaking in it.

Each of them is done between two turns, in the thread that lets the model speak.
"""

from collections.abc import Callable
from dataclasses import replace

from gitagent.core import chats, forking
from gitagent.core.chat import (
    Decide,
    Plan,
    Request,
    Rewind,
    Side,
    SideEnd,
    State,
    Trouble,
    Undone,
)
from gitagent.core.chats import Name, Proposal
from gitagent.core.conversation import Ended, Entry, Kind
from gitagent.core.effect import Effects, taint
from gitagent.errors import UserError
from gitagent.files import clean
from gitagent.model.provider import NoTurn
from gitagent.worker.loop import sides
from gitagent.worker.loop.bodies import Output
from gitagent.worker.loop.memory import lacking
from gitagent.worker.loop.record import Conversation
from gitagent.worker.loop.serving import Client
from gitagent.worker.loop.stage import Stage

# Does what a person has said yes to; the text names the effect.
Carry = Callable[[Proposal, str], Output]


def do(stage: Stage, client: Client, request: Request, carry: Carry) -> None:
    """Do what a client asks for, or tell it why not."""
    try:
        match request:
            case Plan(on=on):
                _plan(stage, on=on)
            case Side():
                _side(stage)
            case SideEnd(inject=inject):
                _side_end(stage, inject=inject)
            case Rewind(to=to, sure=sure):
                _rewind(stage, client, to, sure=sure)
            case Decide(number=number, yes=yes):
                _decide(stage, number, carry, yes=yes)
            case _:
                pass
    except UserError as error:
        client.tell([Trouble(f"{error.line()}.")])


def _plan(stage: Stage, *, on: bool) -> None:
    if stage.room.name.side:
        raise UserError("a side chat can only read as it is")
    outer = chats.began(stage.room.entries)
    stage.open(stage.room.name, "plan" if on else outer)


def _side(stage: Stage) -> None:
    here = stage.room.name
    if here.side:
        raise UserError("this is a side chat already", "end it first")
    with stage.repo.objects() as objects:
        number = max(sides.numbers(objects, here.chat), default=0) + 1
    new = Name(here.chat, number)
    # At its tip: with the end of the turn before, which the fork shall not repeat.
    at = stage.leading.conversation.tip
    Conversation.open(stage.repo, new.conversation, at=at)
    stage.open(new)
    stage.record(Entry(Kind.INPUT, text=forking.OPENING, binding=True))


def _side_end(stage: Stage, *, inject: bool) -> None:
    here = stage.room.name
    if not here.side:
        raise UserError("this is no side chat")
    since = chats.own(stage.room.entries)[0].number
    plan = forking.later(stage.room.entries, since) if inject else None
    if plan is not None:
        stage.room.do(State.ASKING)
        with stage.halting() as halt:
            text = stage.leading.sum_up(plan, halt)
        if isinstance(text, NoTurn):
            raise UserError(f"it is not summed up: {text.sentence.rstrip('.')}")
        _inject(stage, text)
    stage.record(Entry(Kind.END, ended=Ended.CLOSED))
    stage.open(replace(here, side=0))


def _inject(stage: Stage, text: str) -> None:
    """Put the summary of the side chat into the chat, once."""
    here = stage.room.name
    request = f"side {here.side}"
    main = replace(here, side=0).conversation
    parent = Conversation.open(stage.repo, main)
    if chats.requested(parent.entries, request) is None:
        untrusted = taint(stage.room.entries, stage.spec.facts)
        words = replace(
            forking.injection(text, untrusted),
            request=request,
            items=lacking(stage.room.entries, parent.entries),
        )
        parent.append(replace(words, attempt=stage.spec.attempt))


def _rewind(stage: Stage, client: Client, to: int, *, sure: bool) -> None:
    entries = stage.room.entries
    if stage.room.name.side and to < chats.own(entries)[0].number:
        raise UserError("a side chat does not go back to before it began")
    found = forking.rewind(entries, to)
    if isinstance(found, forking.NoRewind):
        raise UserError(found.sentence.rstrip("."))
    if sure:
        stage.record(found.entry)
        return
    lasting = [each.line() for each in found.lasting]
    lines = [found.sentence, *lasting] if found.sentence else lasting
    client.tell([Undone(found.entry.last, tuple(lines))])


def _decide(stage: Stage, number: int, carry: Carry, *, yes: bool) -> None:
    if stage.room.name.side:
        raise UserError("a side chat can only read", "end it first")
    found = chats.proposal(stage.room.entries, number)
    if isinstance(found, str):
        raise UserError(found.rstrip("."))
    tool, what = found.call.tool, found.what
    word = "yes" if yes else "no"
    # Recorded first: a crash after it leaves in doubt what was done, and what is in
    # doubt is not done again.
    stage.record(
        Entry(
            Kind.INPUT,
            text=f"[gitagent] The person said {word} to entry {number}: {tool} {what}.",
            request=found.request,
            binding=True,
        )
    )
    if yes and tool in {chats.PROPOSE, chats.START}:
        _carried_out(stage, found, carry)
    elif yes:
        _made(stage, found)


def _made(stage: Stage, found: Proposal) -> None:
    """Make the call that the gate has asked about."""
    stage.room.do(State.WORKING)
    with stage.halting() as halt:
        call = replace(found.call, id=found.request)
        result = stage.leading.confirmed(call, halt)
    # Whoever says it: what was fetched stays the web's.
    told = f"[gitagent] {result.tool} {result.what} ({result.state}): {result.text}"
    stage.record(Entry(Kind.INPUT, text=told, origin=result.origin))


def _carried_out(stage: Stage, found: Proposal, carry: Carry) -> None:
    """Do what a person has said yes to, as `Executor` does what a model calls."""
    # The receipt of what was proposed proposes nothing itself.
    tool = "answer" if found.call.tool == chats.PROPOSE else found.call.tool
    key = f"{stage.room.name.conversation}.{found.number}"
    effect = Effects.START_TASK if tool == chats.START else ""
    call = Entry(
        Kind.INTENT, call=found.request, tool=tool, effect=effect, what=found.what
    )
    if effect:
        stage.record(replace(call, text=found.call.given, key=key))
    output = carry(found, key)
    text = clean.visible(output.whole.decode("utf-8", "replace")).strip()
    stage.record(replace(call, kind=Kind.RESULT, text=text, state=output.state))
    told = f"[gitagent] {tool} {found.what} ({output.state}): {text}"
    stage.record(Entry(Kind.INPUT, text=told))
