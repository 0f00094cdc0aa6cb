"""What of a conversation a summary stands for, when it is too long for its model.

A model's summary may leave out what it likes. So what has to stay does not depend on
it: what binds stays where it is, and the todo list and what people decided stand beside
the summary, put there by `carried`. Going back in front of a summary undoes it, since
the entries that it covers are all still recorded.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gitagent.core.carried import carried
from gitagent.core.conversation import Entry, Kind, in_force
from gitagent.core.settings import Loop

# Of text a token has at least so many on average. More is guessed too late: a request
# that is too long costs a round trip, a summary too early some detail.
_BYTES = 3
_LEAST = 2000  # tokens; to sum up less is asking a model for nothing

_SUMMED = (
    "[gitagent] What came before is too long to be shown. It is recorded as the entries"
    " {first} to {last} of this conversation. What binds stands above as it was said.\n"
    "{carried}"
    "\nA model summed up the rest:\n\n{text}"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A summary to be made."""

    first: int  # number of the first entry that it stands for
    last: int  # of the last one
    entries: tuple[Entry, ...]  # of these; what ``earlier`` covers is not among them
    earlier: str = ""  # summary that it takes the place of


def due(entries: Sequence[Entry], loop: Loop) -> bool:
    """Whether the context is so long that it is to be summed up before more is asked.

    Not where a summary would cover next to nothing: it would be made again each time.
    """
    if size(entries) <= max(loop.context - loop.reserve, loop.context // 2):
        return False
    found = plan(entries, kept(loop))
    return found is not None and sum(map(tokens, found.entries)) >= _LEAST


def kept(loop: Loop) -> int:
    """Return how many of the newest tokens a summary leaves as they are."""
    return min(loop.keep, max(0, loop.context - loop.reserve) // 2)


def size(entries: Sequence[Entry]) -> int:
    """Return about how many tokens the context has, without the tools' descriptions.

    The provider's own count where there is one, and a guess at what came after it.
    """
    shown = view(entries)
    since = max((each.number for each in shown if each.kind is Kind.SUMMARY), default=0)
    total = 0
    for each in reversed(shown):
        if each.counted and each.number > since:
            return total + each.counted
        total += tokens(each)
    return total


def tokens(entry: Entry) -> int:
    """Return about how many tokens an entry has in the context; guessed high."""
    if not _is_shown(entry):
        return 0
    texts = [
        entry.text,
        *(text for call in entry.calls for text in (call.tool, call.given)),
    ]
    return sum(len(text.encode("utf-8", "replace")) for text in texts) // _BYTES + 1


def view(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries that the model's context is made of, in its order.

    Those in force; where there is a summary, what it covers is left out but for the
    inputs that bind, and its text is all that stands in their place.
    """
    force = in_force(entries)
    summary = _newest(force)
    rest = [each for each in force if each.kind is not Kind.SUMMARY]
    if summary is None:
        return rest
    covered = [each for each in rest if each.number <= summary.last]
    text = _SUMMED.format(
        first=summary.first,
        last=summary.last,
        carried="".join(f"\n{part}\n" for part in [carried(covered)] if part),
        text=summary.text,
    )
    return [
        *(each for each in covered if each.binding),
        replace(summary, text=text),
        *rest[len(covered) :],
    ]


def whole(entries: Iterable[Entry]) -> list[int]:
    """Return the numbers of the entries in force after which no call is open."""
    open_: set[str] = set()
    found = []
    for each in in_force(entries):
        if each.kind is Kind.SAY:  # a call before it that has no result gets none
            open_ = {call.id for call in each.calls}
        elif each.kind is Kind.INTENT:
            open_.add(each.call)
        elif each.kind is Kind.RESULT:
            open_.discard(each.call)
        if not open_:
            found.append(each.number)
    return found


def plan(entries: Iterable[Entry], keep: int, *, last: int = 0) -> Plan | None:
    """Return what the next summary covers; None: there is nothing that it could.

    All but about the newest ``keep`` tokens, or up to the entry ``last``. What the
    model has not answered yet is never covered, and no turn without its results.
    """
    force = in_force(entries)
    earlier = _newest(force)
    done = earlier.last if earlier else 0
    rest = [
        each for each in force if each.number > done and each.kind is not Kind.SUMMARY
    ]
    ends = _ends(rest, set(whole(force)))
    if last:
        ends = [end for end in ends if rest[end - 1].number == last]
    if not ends:
        return None
    tail = sum(map(tokens, rest[ends[0] :]))
    end = ends[0]
    for further in ends[1:]:
        if tail <= keep:
            break
        tail -= sum(map(tokens, rest[end:further]))
        end = further
    covered = tuple(rest[:end])
    if not any(_is_shown(each) and not each.binding for each in covered):
        return None
    return Plan(
        earlier.first if earlier else force[0].number,
        covered[-1].number,
        covered,
        earlier.text if earlier else "",
    )


def halves(plan: Plan) -> tuple[Plan, Plan] | None:
    """Return a plan cut in two of about one length; None: it cannot be cut.

    The second takes the summary of the first in.
    """
    numbers = set(whole(plan.entries))
    ends = [
        number
        for number, each in enumerate(plan.entries, start=1)
        if each.number in numbers and number < len(plan.entries)
    ]
    total = sum(map(tokens, plan.entries))
    if not ends:
        return None
    end = min(ends, key=lambda at: abs(total - 2 * sum(map(tokens, plan.entries[:at]))))
    older, newer = plan.entries[:end], plan.entries[end:]
    if not all(any(map(_is_shown, part)) for part in (older, newer)):
        return None
    return replace(plan, last=older[-1].number, entries=older), replace(
        plan, entries=newer
    )


def _ends(rest: Sequence[Entry], numbers: set[int]) -> list[int]:
    """Return after how many entries a summary may end."""
    turns = [at for at, each in enumerate(rest) if each.kind is Kind.SAY]
    if not turns:
        return []
    most = turns[-1] + (not rest[turns[-1]].calls)
    return [at for at in range(1, most + 1) if rest[at - 1].number in numbers]


def _newest(force: Sequence[Entry]) -> Entry | None:
    """Return the summary that counts.

    One whose entries were put aside while it was made tells of what is not in force.
    """
    numbers = {each.number for each in force}
    found = (each for each in reversed(force) if each.kind is Kind.SUMMARY)
    return next((each for each in found if each.last in numbers), None)


def _is_shown(entry: Entry) -> bool:
    """Whether it is in the context at all; what code calls is told by that alone."""
    kinds = {Kind.INPUT, Kind.SAY, Kind.RESULT, Kind.SUMMARY}
    return entry.kind in kinds and not entry.via
