"""Where a conversation goes back to, what that does not undo, what is beside it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitagent.core import compaction, forking
from gitagent.core.conversation import (
    Call,
    CallState,
    Entry,
    Kind,
    Origin,
    in_force,
)
from gitagent.core.effect import taint
from gitagent.core.forking import NoRewind, Rewound, lasting, rewind
from gitagent.core.reach import Facts
from tests.core.talk import conversations, done, numbered, said, told, turn

ONE, OTHER = Call("a", "read", "{}"), Call("b", "read", "{}")


def spoken():
    return numbered(
        [
            told("Hello.", Origin.PERSON),  # 1
            said("", ONE, OTHER),  # 2
            done(ONE),  # 3
            done(OTHER),  # 4
            said("Both read."),  # 5
            told("And now?", Origin.PERSON),  # 6
            said("Nothing."),  # 7
        ]
    )


def effect(kind, what="it", state=CallState.DONE, **more):
    return turn("e", "", str(kind), effect=kind, what=what, state=state, **more)


@pytest.mark.parametrize(("to", "last"), [(6, 6), (5, 5), (4, 4), (1, 1)])
def test_it_goes_back_to_a_whole_turn(to, last):
    found = rewind(spoken(), to)

    assert Rewound(Entry(Kind.REWIND, last=last), ()) == found


@pytest.mark.parametrize("to", [2, 3])
def test_from_the_middle_of_a_turn_it_goes_to_before_it_and_says_so(to):
    found = rewind(spoken(), to)

    assert isinstance(found, Rewound)
    assert 1 == found.entry.last
    assert f"Entry {to} is in the middle of a turn" in found.sentence


@pytest.mark.parametrize(
    ("to", "words"),
    [
        (0, "There is no entry 0; the newest is 7."),
        (8, "There is no entry 8; the newest is 7."),
        (7, "The conversation is at entry 7."),
    ],
)
def test_it_does_not_go_where_nothing_is(to, words):
    assert NoRewind(words) == rewind(spoken(), to)


def test_it_does_not_go_to_what_was_put_aside():
    entries = [*spoken(), Entry(Kind.REWIND, number=8, last=4)]

    found = rewind(entries, 6)

    assert NoRewind("Entry 6 is no part of the conversation as it stands.") == found


def test_it_does_not_go_into_a_first_turn_with_nothing_before():
    entries = numbered([said("", ONE), done(ONE), said("Hm.")])

    assert isinstance(rewind(entries, 1), NoRewind)


def test_it_goes_back_over_a_summary():
    entries = spoken()
    summary = Entry(Kind.SUMMARY, number=8, text="S", first=1, last=5)
    found = rewind([*entries, summary], 4)

    assert isinstance(found, Rewound)
    back = Entry(Kind.REWIND, number=9, last=found.entry.last)
    assert entries[:4] == compaction.view([*entries, summary, back])


@pytest.mark.parametrize(
    ("entries", "lines"),
    [
        (effect("write", "src/a.py"), ["write src/a.py (in the worktree, not undone)"]),
        (effect("shell", "make"), ["shell make (in the worktree, not undone)"]),
        (effect("network", "a.org:443"), ["network a.org:443 (cannot be undone)"]),
        (effect("start_task", "fix"), ["start_task fix (cannot be undone)"]),
        (effect("remember", "tip"), ["remember tip (cannot be undone)"]),
        (
            turn("m", "", "mcp", what="db.drop", origin=Origin.MCP),
            ["mcp db.drop (cannot be undone)"],
        ),
        (
            turn("m", "", "mcp__db__drop", state=CallState.INTERRUPTED),
            ["mcp__db__drop, which was interrupted (cannot be undone)"],
        ),
        (
            effect("shell", "make", CallState.INTERRUPTED),
            ["shell make, which was interrupted (in the worktree, not undone)"],
        ),
        (
            effect("start_task", "fix", CallState.UNCERTAIN),
            ["start_task fix, and nobody knows whether it was done (cannot be undone)"],
        ),
        (
            effect("shell", "make", CallState.FAILED),
            ["shell make, which failed (in the worktree, not undone)"],
        ),
        (effect("start_task", "fix", CallState.FAILED), []),
        (effect("network", "a.org", CallState.DENIED), []),
        (effect("start_task", "fix", CallState.NEEDS_DECISION), []),
        (effect("read", "README.md"), []),
    ],
)
def test_it_tells_what_going_back_does_not_undo(entries, lines):
    found = rewind(numbered([told("Go."), *entries]), 1)

    assert isinstance(found, Rewound)
    assert lines == [each.line().partition(": ")[2] for each in found.lasting]


def test_a_call_whose_end_nobody_recorded_is_told_too():
    call = Call("a", "start_task", "{}")
    intent = Entry(
        Kind.INTENT, call="a", tool="start_task", effect="start_task", what="fix"
    )
    entries = numbered([told("Go."), said("", call), intent])

    assert ["nobody knows" in each.line() for each in lasting(entries, since=1)] == [
        True
    ]


def test_what_is_outside_is_told_first():
    made = [told("Go."), *effect("write", "a"), *effect("network", "b")]

    found = lasting(numbered(made), since=1)

    assert ["b", "a"] == [each.what for each in found]


def test_a_summary_of_a_side_chat_is_of_what_was_said_in_it_alone():
    entries = [
        *spoken(),
        *numbered(
            [
                Entry(Kind.BEGIN),
                Entry(Kind.INPUT, text="A side.", binding=True),
                told("What is X?", Origin.PERSON),
                *turn("s", "X"),
                said("It is Y."),
                said("", Call("open", "read", "{}")),
            ],
            8,
        ),
    ]

    plan = forking.later(entries, since=7)

    assert plan is not None
    assert [10, 11, 12, 13] == [each.number for each in plan.entries]


def test_a_side_chat_in_which_nothing_was_said_has_no_summary():
    entries = [*spoken(), told("What?", Origin.PERSON)]

    assert forking.later(numbered(entries), since=7) is None


def test_what_is_injected_is_said_to_be_of_a_side_chat_and_does_not_bind():
    entry = forking.injection("X is Y.")

    assert (Kind.INPUT, Origin.GITAGENT, False) == (
        entry.kind,
        entry.origin,
        entry.binding,
    )
    assert entry.text.endswith("\n\nX is Y.")
    assert frozenset() == taint([entry], Facts())


def test_what_is_injected_keeps_whose_words_are_in_it():
    entry = forking.injection("X is Y.", {Origin.WEB, Origin.MCP})

    assert {Origin.WEB, Origin.MCP} == taint([entry], Facts())


def test_a_side_that_only_reads_has_no_effect_that_would_last():
    entries = numbered([*spoken(), *turn("s", "X"), *turn("t", "Y", "grep")])

    assert () == lasting(entries, since=7)


@settings(max_examples=60)
@given(conversations(), st.integers(0, 40), st.integers(0, 40))
def test_wherever_it_goes_back_to_no_call_is_left_open(turns, first, second):
    entries = numbered([entry for each in turns for entry in each])
    for to in (first, second):
        found = rewind(entries, to)
        if isinstance(found, Rewound):
            number = entries[-1].number + 1
            entries.append(Entry(Kind.REWIND, number=number, last=found.entry.last))
            held = in_force(entries)

            assert found.entry.last == held[-1].number
            assert found.entry.last == compaction.whole(entries)[-1]
