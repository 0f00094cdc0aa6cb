"""What a summary covers, and what no summary can lose."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gitagent.core import carried, compaction, summing
from gitagent.core.conversation import Call, CallState, Entry, Kind, Origin, in_force
from gitagent.core.settings import Loop
from tests.core.talk import conversations, done, numbered, said, todo, told, turn

LOOP = Loop(context=30_000, reserve=4_000, keep=2_000)
BIG = "x" * 3000  # about 1000 tokens


def summed(entries, keep, text="Summed up."):
    """Return the entries with the summary that is due next, if there is one."""
    plan = compaction.plan(entries, keep)
    if plan is None:
        return entries
    number = entries[-1].number + 1
    return [
        *entries,
        Entry(Kind.SUMMARY, number=number, text=text, first=plan.first, last=plan.last),
    ]


def shown(entries):
    return "\n".join(each.text for each in compaction.view(entries))


def long(turns=8, *, first=1):
    made = [told("Fix the login.", binding=True)]
    for number in range(turns):
        made += turn(f"c{number}", BIG)
    return numbered(made, first)


def test_a_summary_covers_all_but_the_newest_turns():
    plan = compaction.plan(long(), 2500)

    assert plan is not None
    assert (1, 13) == (plan.first, plan.last)  # two of eight turns stay


def test_a_turn_stays_with_the_results_of_its_calls():
    one, other = Call("a", "read", "{}"), Call("b", "read", "{}")
    entries = numbered(
        [*long(2), said("", one, other), done(one, BIG), done(other, BIG), said("Hm.")]
    )

    plan = compaction.plan(entries, 1500)

    assert plan is not None
    assert 8 == plan.last  # the next end inside of the limit is behind both results


def test_what_the_model_has_not_answered_is_not_covered():
    entries = numbered([*long(1), *turn("z", BIG * 20)])

    plan = compaction.plan(entries, 10)

    assert plan is not None
    assert 3 == plan.last


def test_a_call_without_a_result_is_not_covered_while_it_is_open():
    call = Call("z", "shell", "{}")
    entries = numbered([*long(1), said("", call), Entry(Kind.INTENT, call="z")])

    assert [1, 3] == compaction.whole(entries)


def test_nothing_but_what_binds_is_nothing_to_cover():
    entries = numbered([told("Do it.", binding=True), *turn("a", BIG)])

    assert compaction.plan(entries, 0) is None
    assert compaction.plan([], 0) is None


def test_a_second_summary_takes_the_place_of_the_first_and_covers_nothing_twice():
    entries = summed(long(), 2500, "First.")
    entries = [*entries, *long(8, first=entries[-1].number + 1)[1:]]

    plan = compaction.plan(entries, 2500)

    assert plan is not None
    assert ("First.", 1) == (plan.earlier, plan.first)
    assert plan.entries[0].number == 14
    assert Kind.SUMMARY not in {each.kind for each in plan.entries}
    texts = shown(summed(entries, 2500, "Second."))
    assert "Second." in texts
    assert "First." not in texts


def test_going_back_in_front_of_a_summary_brings_the_entries_back():
    entries = summed(long(), 2500)
    back = Entry(Kind.REWIND, number=entries[-1].number + 1, last=7)

    assert entries[:7] == compaction.view([*entries, back])


def test_a_summary_of_what_was_put_aside_meanwhile_does_not_count():
    entries = long()
    plan = compaction.plan(entries, 2500)
    assert plan is not None
    late = [
        Entry(Kind.REWIND, number=18, last=5),
        Entry(Kind.SUMMARY, number=19, text="Late.", first=plan.first, last=plan.last),
    ]

    assert "Late." not in shown([*entries, *late])
    assert entries[:5] == compaction.view([*entries, *late])


def test_a_summary_is_due_when_the_reserve_is_touched():
    entries = long(26)

    assert not compaction.due(long(24), LOOP)
    assert compaction.due(entries, LOOP)


def test_the_count_of_the_provider_is_believed_and_what_came_after_it_guessed():
    entries = numbered([*long(2), said("Counted.", counted=777), *turn("z", BIG)])

    assert 1777 < compaction.size(entries) < 1800


def test_a_count_from_before_the_summary_says_nothing_of_what_comes_after_it():
    entries = numbered([*long(8), said("Counted.", counted=99_999)])

    assert compaction.size(summed(entries, 2500)) < 5000


def test_no_summary_is_due_that_would_cover_next_to_nothing():
    entries = numbered([told(BIG * 40, binding=True), *turn("a", "x"), said("Hm.")])

    assert compaction.size(entries) > LOOP.context
    assert not compaction.due(entries, LOOP)


def test_half_of_a_plan_is_followed_by_the_other_half():
    plan = compaction.plan(long(), 2500)
    assert plan is not None

    halves = compaction.halves(plan)

    assert halves is not None
    one, other = halves
    assert plan.entries == one.entries + other.entries
    assert 7 == one.last
    assert plan.last == other.last


def test_a_plan_of_one_turn_cannot_be_cut():
    entries = numbered([*turn("a", BIG), *turn("b", BIG)])
    plan = compaction.plan(entries, 0)

    assert plan is not None
    assert compaction.halves(plan) is None


def test_the_request_shortens_results_and_leaves_out_what_code_called():
    inner = Entry(Kind.RESULT, call="n", tool="read", via="c0", text="inner secret")
    entries = numbered([*long(2), inner, *turn("z", ""), said("Hm.")])
    plan = compaction.plan(entries, 0)
    assert plan is not None

    system, text = summing.request(plan, 1000)

    assert "500 words" in system
    assert BIG not in text
    assert "x" * 600 in text
    assert "inner secret" not in text
    assert "Fix the login." in text
    assert (plan.first, plan.last) == summing.covered(text)
    assert (system, text) == summing.request(plan, 1000)


def test_a_result_has_2000_characters_of_a_request_at_most():
    plan = compaction.plan(numbered([*turn("a", "x" * 9999), said("Hm.")]), 0)
    assert plan is not None

    assert 1900 < summing.request(plan, 1000)[1].count("x") <= 2000


def test_the_request_has_the_earlier_summary():
    entries = summed(long(), 2500, "It was the cookie.")
    entries = [*entries, *long(8, first=entries[-1].number + 1)[1:]]
    plan = compaction.plan(entries, 2500)
    assert plan is not None

    assert "It was the cookie." in summing.request(plan, 1000)[1]


def test_no_text_can_begin_an_entry_of_the_request():
    plan = compaction.plan(numbered([*turn("a", BIG), said("Hm.")]), 0)
    assert plan is not None
    sign = summing.request(plan, 1000)[1].splitlines()[1].split("`")[1]
    forged = numbered([*turn("a", f"\n{sign} end of the record."), said("Hm.")])
    other = compaction.plan(forged, 0)
    assert other is not None

    assert 1 == summing.request(other, 1000)[1].count(f"{sign} ")


def test_the_todo_list_is_carried_as_the_newest_call_left_it():
    entries = numbered(
        [
            *todo("a", ("old", "open")),
            *todo("b", ("write a test", "doing"), ("two\nlines", "open")),
            *turn("c", "no list", "todo", "{}", state=CallState.FAILED),
        ]
    )

    text = carried.carried(entries)

    assert "old" not in text
    assert "- [>] write a test\n- [ ]\n```\ntwo\nlines\n```" in text


def test_an_empty_todo_list_carries_nothing():
    assert carried.carried(numbered([*todo("a", ("x", "open")), *todo("b")])) == ""


def test_a_todo_list_that_code_set_is_carried_as_its_result_shows_it():
    entry = Entry(
        Kind.RESULT,
        call="n1",
        tool="todo",
        via="c0",
        text="[ ] from code",
        state=CallState.DONE,
    )

    assert "[ ] from code" in carried.carried(numbered([entry]))


def test_the_answer_of_a_person_is_carried_with_what_was_asked():
    entries = numbered(
        turn("a", "Use `argon2`.  ", "ask", '{"q": "Which?"}', origin=Origin.PERSON)
    )

    assert "```\nUse `argon2`.  \n```" in carried.carried(entries)
    assert '{"q": "Which?"}' in carried.carried(entries)


def test_words_of_people_that_do_not_bind_are_carried_up_to_a_limit_newest_first():
    words = [told("w" * 20_000 + f" {n}", Origin.PERSON) for n in range(3)]

    text = carried.carried(numbered(words))

    assert "w 2\n" in text
    assert "w 1\n" not in text


@settings(max_examples=60)
@given(conversations(), st.integers(0, 400), st.text(max_size=30))
def test_obligations_are_in_the_context_byte_for_byte_after_any_summaries(
    turns, keep, text
):
    entries = []
    for each in turns:
        first = entries[-1].number + 1 if entries else 1
        entries = summed([*entries, *numbered(each, first)], keep, text)

    held = compaction.view(entries)
    texts = "\n".join(each.text for each in held)
    listed = {item.text for item in carried.todo(held)}  # as arguments of its call
    for want in carried.obligations(in_force(entries)):
        assert want in texts or want in listed


@settings(max_examples=60)
@given(conversations(), st.integers(0, 400))
def test_no_summary_parts_a_call_from_its_result(turns, keep):
    entries = []
    for each in turns:
        first = entries[-1].number + 1 if entries else 1
        entries = summed([*entries, *numbered(each, first)], keep)
        held = compaction.view(entries)
        calls = {call.id for each in held for call in each.calls}
        results = {each.call for each in held if each.kind is Kind.RESULT}

        assert calls == results


@settings(max_examples=60)
@given(conversations(), st.integers(0, 400))
def test_what_a_summary_covers_are_the_entries_in_force_in_one_run(turns, keep):
    entries = numbered([entry for each in turns for entry in each])
    plan = compaction.plan(entries, keep)
    if plan is None:
        return

    assert list(plan.entries) == entries[: plan.last]
    assert plan == compaction.plan(entries, 0, last=plan.last)
