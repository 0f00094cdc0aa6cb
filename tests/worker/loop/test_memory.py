"""What a conversation is told of the memory unasked, and by its tools."""

from dataclasses import replace
from math import inf

import pytest

from gitagent.core import compaction
from gitagent.core.carried import obligations
from gitagent.core.conversation import CallState, Entry, Kind, Origin, in_force
from gitagent.core.exposure import Received, Way
from gitagent.core.summing import request
from gitagent.host.cancel import Cancel
from gitagent.worker.loop import memory
from gitagent.worker.loop.bodies import Way as How
from gitagent.worker.loop.memory import Lookup, Reminding, given, lacking

OLD, GONE = "1" * 40, "2" * 40
TOLD = (Received("tabs", OLD, Way.RECALL),)
WHY = "tabs was withdrawn."
PROMPT = Entry(
    Kind.INPUT, 1, text="Do it.", origin=Origin.TASK, binding=True, items=TOLD
)


class Asked:
    """A daemon that knows which item is withdrawn, and what is recalled."""

    def __init__(self, *, withdrawn=True, recall=None):
        self.withdrawn = withdrawn
        self.recall = recall or {}
        self.calls = []

    def __call__(self, op, asked, seconds):
        self.calls.append((op, asked, seconds))
        if op != "corrections":
            return self.recall
        if not self.withdrawn or ["tabs", OLD] not in asked["given"]:
            return {"told": [], "items": []}
        told = [{"producer": "memory: tabs@2", "text": WHY}]
        return {"told": told, "items": [["tabs", GONE, "correction"]]}


def number(entries):
    return tuple(replace(each, number=n) for n, each in enumerate(entries, 1))


def person(text):
    return Entry(Kind.INPUT, text=text, origin=Origin.PERSON)


def test_a_correction_is_told_once_and_binds():
    ask = Asked()
    remind = Reminding(ask)
    (told,) = remind((PROMPT,))
    again = remind((PROMPT, replace(told, number=2)))

    assert (WHY, True, Origin.GITAGENT) == (told.text, told.binding, told.origin)
    assert (Received("tabs", GONE, Way.CORRECTION),) == told.items
    assert [] == again


def test_another_process_knows_from_the_record_what_was_told():
    (told,) = Reminding(Asked())((PROMPT,))

    assert [] == Reminding(Asked())((PROMPT, replace(told, number=2)))


def test_going_back_before_a_correction_has_it_told_again():
    (told,) = Reminding(Asked())((PROMPT,))
    entries = (PROMPT, replace(told, number=2), Entry(Kind.REWIND, 3, last=1))

    assert [WHY] == [each.text for each in Reminding(Asked())(entries)]


def test_who_was_given_nothing_asks_nothing():
    ask = Asked()

    assert [] == Reminding(ask)((Entry(Kind.INPUT, 1, text="Do it."),))
    assert [] == ask.calls


def test_what_a_tool_gave_counts_as_given():
    result = Entry(Kind.RESULT, 1, tool="show_memory", items=TOLD)

    assert [WHY] == [each.text for each in Reminding(Asked())((result,))]


def test_a_summary_of_before_is_followed_by_it_and_one_of_after_covers_it():
    say = Entry(Kind.SAY, origin=Origin.MODEL, text="I use tabs. " * 50)
    before = number([PROMPT, say, say, say])
    plan = compaction.plan(before, 0)
    entries = (*before, Entry(Kind.SUMMARY, 5, text="Tabs.", first=1, last=plan.last))
    (told,) = Reminding(Asked())(entries)
    entries = number([*entries, told, say, say, say])
    later = compaction.plan(entries, 0)
    shown = [each.text for each in compaction.view(entries)]

    assert shown.index(WHY) > next(n for n, x in enumerate(shown) if "Tabs." in x)
    assert WHY in [each.text for each in later.entries]
    assert WHY in request(later, 1000)[1]
    summed = (*entries, Entry(Kind.SUMMARY, 10, text="No tabs.", last=later.last))
    assert WHY in [each.text for each in compaction.view(summed)]
    assert WHY in obligations(in_force(summed))


RECALLED = {
    "told": [
        {"producer": "memory recall", "text": "Known:"},
        {"producer": "x", "text": "Spaces."},
    ],
    "items": [["spaces", "3" * 40, "recall"]],
    "skipped": "",
}


def test_what_a_person_says_is_recalled_by_once():
    ask = Asked(recall=RECALLED)
    remind = Reminding(ask)
    words = (replace(person("How to indent?"), number=1),)
    (told,) = remind(words)
    again = remind((*words, replace(told, number=2)))
    anew = Reminding(ask)((*words, replace(told, number=2)))

    assert ("Known:\n\nSpaces.", "recall", False) == (
        told.text,
        told.what,
        told.binding,
    )
    assert (Received("spaces", "3" * 40, Way.RECALL),) == told.items
    assert [] == again == anew
    assert "How to indent?" == ask.calls[0][1]["text"]


def test_recall_knows_what_was_given_and_all_that_was_said_since():
    ask = Asked(withdrawn=False, recall=RECALLED)
    waits = replace(person("Later."), number=3, waits=True)
    entries = (
        PROMPT,
        replace(person("First."), number=2),
        waits,
        Entry(Kind.INPUT, 4, places=3),
    )
    Reminding(ask)(entries)
    op, asked, _ = ask.calls[-1]

    assert ("recall", "First.\nLater.") == (op, asked["text"])
    assert [["tabs", OLD]] == asked["given"]


def test_a_reason_is_recorded_and_told_to_nobody():
    ask = Asked(recall={"told": [], "skipped": "Nothing is close to it."})
    (told,) = Reminding(ask)((replace(person("Hm?"), number=1),))

    assert ("", "recall: Nothing is close to it.", ()) == (
        told.text,
        told.what,
        told.items,
    )


@pytest.mark.parametrize("empty", [{"empty": True}, {"none": True, "away": "x"}])
def test_an_empty_memory_or_none_leaves_no_trace(empty):
    ask = Asked(recall=empty)
    remind = Reminding(ask)
    words = (replace(person("Hm?"), number=1),)

    assert [] == remind(words) == remind(words)
    assert 1 == len(ask.calls)


def test_a_door_that_does_not_answer_is_left_alone_for_a_while(monkeypatch):
    calls = []

    def away(op, *_):
        calls.append(op)
        return {"away": "The memory is away."}

    remind = Reminding(away)
    (found,) = remind((PROMPT, replace(person("Hm?"), number=2)))
    again = remind((PROMPT,))

    assert ("", "recall: The memory is away.") == (found.text, found.what)
    assert [] == again
    assert ["corrections"] == calls
    monkeypatch.setattr(memory.clock, "monotonic", lambda: inf)
    remind((PROMPT,))
    assert ["corrections"] * 2 == calls


def test_what_was_told_last_of_an_item_counts():
    later = Entry(Kind.INPUT, 2, items=(Received("tabs", GONE, Way.CORRECTION),))

    assert {"tabs": GONE} == given([PROMPT, later])


def test_what_only_a_side_conversation_was_told_goes_with_its_summary():
    spaces = Received("spaces", OLD, Way.LOOKUP)
    side = (PROMPT, Entry(Kind.RESULT, 2, items=(spaces,)))

    assert [("spaces", OLD)] == [(e.slug, e.blob) for e in lacking(side, (PROMPT,))]


WAY = How(10.0, Cancel())


def test_a_lookup_tells_its_items():
    ask = Asked(recall={"text": "Tabs.", "items": [["tabs", OLD, "lookup"]]})
    found = Lookup(ask).execute("show_memory", {"slug": "tabs"}, WAY)

    assert [("show", {"slug": "tabs"}, 10.0)] == ask.calls
    assert (b"Tabs.", CallState.DONE, Origin.WORKTREE) == (
        found.whole,
        found.state,
        found.origin,
    )
    assert (Received("tabs", OLD, Way.LOOKUP),) == found.items


@pytest.mark.parametrize(
    ("answer", "said", "state"),
    [
        ({"text": "Kept.", "done": True}, b"Kept.", CallState.DONE),
        ({"text": "Mend it.", "done": False}, b"Mend it.", CallState.FAILED),
        ({"error": "No."}, b"No.", CallState.FAILED),
        ({"away": "It is away."}, b"It is away.", CallState.FAILED),
        ({}, b"It said nothing.", CallState.FAILED),
    ],
)
def test_a_proposal_ends_as_the_daemon_says(answer, said, state):
    ask = Asked(recall=answer)
    found = Lookup(ask).execute("remember", {"op": "add", "slug": "tabs"}, WAY)

    assert "propose" == ask.calls[0][0]
    assert {"operation": {"op": "add", "slug": "tabs"}} == ask.calls[0][1]
    assert (said, state, Origin.GITAGENT) == (found.whole, found.state, found.origin)
