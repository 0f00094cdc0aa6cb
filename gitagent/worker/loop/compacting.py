"""A conversation made short enough for its model, by a summary that the model writes.

Only the summary is asked for; what must not be lost is told by `core.carried`. Where
there is no summary in the end, the conversation is as it was.
"""

from dataclasses import replace

from gitagent.core import compaction, summing
from gitagent.core.compaction import Plan
from gitagent.core.conversation import Entry, Kind, Origin
from gitagent.core.settings import Loop
from gitagent.host.cancel import Cancel
from gitagent.model.provider import (
    Ask,
    Heard,
    Message,
    NoTurn,
    Provider,
    Stop,
    Turn,
    Wrong,
)
from gitagent.worker.loop import asking, saved
from gitagent.worker.loop.record import Conversation

_SHORTER = 500  # characters of a result, where the request for a summary is too long

_CUT = "\n[The summary was cut off here, at its limit.]"
_NONE = {
    Stop.REFUSAL: "{} refused to sum the conversation up.",
    Stop.RUNAWAY: "{} repeated itself without end when it was to sum up.",
    Stop.CANCELLED: "It was stopped while {} summed the conversation up.",
}
_EMPTY = "{} gave an empty summary of the conversation."
_STALE = "The conversation went back while it was being summed up."


def compact(
    conversation: Conversation,
    provider: Provider,
    loop: Loop,
    cancel: Cancel,
    *,
    model: str,
    attempt: int,
) -> Entry | NoTurn | None:
    """Record a summary of the older part of a conversation and return its entry.

    A summary that was answered, and not recorded since the process ended, is taken
    from the record of exchanges. None: there is nothing that a summary could cover.

    Raises:
        GitagentError: the record cannot be written.
    """
    plan = compaction.plan(conversation.entries, compaction.kept(loop))
    if plan is None:
        return None
    found = saved.find(conversation, plan, loop, model)
    if found is not None:
        plan, text = found.plan, found.text
    else:
        made = summary(plan, provider, loop, cancel, model)
        if isinstance(made, NoTurn):
            return made
        text = made
    if compaction.plan(conversation.entries, 0, last=plan.last) != plan:
        return NoTurn(Wrong.OTHER, _STALE)
    return conversation.append(
        Entry(
            Kind.SUMMARY,
            attempt=attempt,
            origin=Origin.MODEL,
            text=text,
            model=model,
            first=plan.first,
            last=plan.last,
        )
    )


def summary(
    plan: Plan, provider: Provider, loop: Loop, cancel: Cancel, model: str
) -> str | NoTurn:
    """Ask for a summary; nothing is recorded.

    A request that is too long itself is made once more, in two parts and shortened.
    """
    found = _once(provider, plan, loop, cancel, model)
    if not (isinstance(found, NoTurn) and found.wrong is Wrong.OVERFLOW):
        return found
    text = plan.earlier
    for part in compaction.halves(plan) or (plan,):
        shorter = replace(part, earlier=text)
        found = _once(provider, shorter, loop, cancel, model, _SHORTER)
        if isinstance(found, NoTurn):
            return found
        text = found
    return text


def _once(
    provider: Provider,
    plan: Plan,
    loop: Loop,
    cancel: Cancel,
    model: str,
    results: int = summing.RESULT,
) -> str | NoTurn:
    most = summing.limit(loop)
    system, text = summing.request(plan, most, results)
    request = Ask(system, (Message("user", text),), (), most)
    found = asking.ask(provider, request, Heard(), cancel)
    return _text(found, model) if isinstance(found, Turn) else found


def _text(found: Turn, model: str) -> str | NoTurn:
    if sentence := _NONE.get(found.stop):
        return NoTurn(Wrong.OTHER, sentence.format(model), found.text)
    if not found.text.strip():
        return NoTurn(Wrong.OTHER, _EMPTY.format(model))
    return found.text.strip() + (_CUT if found.stop is Stop.LENGTH else "")
