"""A conversation is made shorter by a summary, or stays as it was."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitagent.core import compaction, summing
from gitagent.core.carried import obligations
from gitagent.core.conversation import Entry, Kind, Origin, in_force
from gitagent.core.models import ANTHROPIC, OPENAI
from gitagent.core.settings import Loop
from gitagent.git.repository import discover
from gitagent.host.cancel import Cancel
from gitagent.model.provider import NoTurn, Stop, Turn, Wrong
from gitagent.worker.loop import dialogue
from gitagent.worker.loop.compacting import compact
from gitagent.worker.loop.record import Conversation
from tests.core.talk import conversations, numbered, said, told, turn
from tests.support import exchanges

LOOP = Loop(context=20_000, reserve=4_000, keep=2_000)
MODEL = "anthropic:sonnet"
BIG = "x" * 3000
OVER = NoTurn(Wrong.OVERFLOW, "It is too long.")


class Scripted:
    """A provider that gives these answers, and keeps what it was asked."""

    def __init__(self, *answers, meanwhile=lambda: None):
        self.answers = list(answers)
        self.asked = []
        self.meanwhile = meanwhile

    def ask(self, ask, heard, cancel):
        del heard, cancel
        self.asked.append(ask)
        self.meanwhile()
        return self.answers.pop(0)


def begun(repo, turns=6):
    conversation = Conversation.open(discover(repo.path), "fix")
    conversation.append(told("Fix the login.", binding=True))
    for number in range(turns):
        for entry in turn(f"c{number}", BIG):
            conversation.append(entry)
    return conversation


def run(conversation, provider):
    return compact(conversation, provider, LOOP, Cancel(), model=MODEL, attempt=2)


def test_the_summary_is_recorded_with_what_it_covers(repo):
    conversation = begun(repo)
    provider = Scripted(Turn(" The cookie was it. \n"))

    made = run(conversation, provider)

    assert isinstance(made, Entry)
    assert conversation.entries[-1] == made
    assert (
        Entry(
            Kind.SUMMARY,
            number=14,
            at=made.at,
            attempt=2,
            origin=Origin.MODEL,
            text="The cookie was it.",
            model=MODEL,
            first=1,
            last=11,
        )
        == made
    )
    (ask,) = provider.asked
    assert ((), 3200) == (ask.tools, ask.most)
    assert ask.messages[0].text.startswith("The entries 1 to 11 of a conversation.\n")


def test_nothing_to_cover_asks_nobody(repo):
    provider = Scripted()

    assert run(begun(repo, 1), provider) is None
    assert [] == provider.asked


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Turn(" \n"), "an empty summary"),
        (Turn("I will not", stop=Stop.REFUSAL), "refused"),
        (Turn("na na", stop=Stop.RUNAWAY), "without end"),
        (Turn("The", stop=Stop.CANCELLED), "stopped"),
        (NoTurn(Wrong.BUDGET, "The budget is spent."), "The budget is spent."),
    ],
)
def test_no_summary_leaves_the_conversation_as_it_was(repo, answer, words):
    conversation = begun(repo)
    before = conversation.entries

    made = run(conversation, Scripted(answer))

    assert isinstance(made, NoTurn)
    assert words in made.sentence
    assert before == conversation.entries


def test_a_summary_that_was_cut_off_says_so(repo):
    made = run(begun(repo), Scripted(Turn("It was the", stop=Stop.LENGTH)))

    assert isinstance(made, Entry)
    assert made.text.startswith("It was the\n[The summary was cut off")


def test_a_request_that_is_too_long_is_made_again_in_two_parts(repo):
    conversation = begun(repo)
    provider = Scripted(OVER, Turn("Older."), Turn("Both."))

    made = run(conversation, provider)

    assert isinstance(made, Entry)
    assert ("Both.", 1, 11) == (made.text, made.first, made.last)
    whole, one, other = (each.messages[0].text for each in provider.asked)
    assert summing.covered(one) == (1, 5)
    assert "Older." in other
    assert max(len(one), len(other)) < len(whole) / 2


def test_parts_that_are_too_long_as_well_are_the_end_of_it(repo):
    conversation = begun(repo)

    assert run(conversation, Scripted(OVER, OVER)) == OVER
    assert Kind.SUMMARY not in {each.kind for each in conversation.entries}


def test_words_that_come_meanwhile_do_no_harm(repo):
    conversation = begun(repo)
    say = told("Hurry.", Origin.PERSON)
    provider = Scripted(Turn("Done."), meanwhile=lambda: conversation.append(say))

    made = run(conversation, provider)

    assert isinstance(made, Entry)
    held = compaction.view(conversation.entries)
    assert "Hurry." == held[-1].text


def test_a_summary_of_what_was_put_aside_meanwhile_is_not_recorded(repo):
    conversation = begun(repo)
    back = Entry(Kind.REWIND, last=3)
    provider = Scripted(Turn("Done."), meanwhile=lambda: conversation.append(back))

    made = run(conversation, provider)

    assert isinstance(made, NoTurn)
    assert "went back" in made.sentence
    assert Kind.REWIND is conversation.entries[-1].kind


def anthropic(system, text):
    cached = {"cache_control": {"type": "ephemeral"}}
    return {
        "model": "sonnet",
        "system": [{"type": "text", "text": system, **cached}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": text, **cached}]}
        ],
    }


def streamed(*texts, stop="end_turn"):
    events = [{"type": "message_start", "message": {"id": "m1", "content": []}}]
    events += [
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": text},
        }
        for text in texts
    ]
    events.append({"type": "message_delta", "delta": {"stop_reason": stop}})
    return b"".join(
        f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode()
        for each in events
    )


def left(repo, conversation, answer, change=lambda text: text):
    """Write down the exchange of a summary whose process then ended; go on after it."""
    plan = compaction.plan(conversation.entries, compaction.kept(LOOP))
    system, text = summing.request(plan, summing.limit(LOOP))
    body = json.dumps(anthropic(system, change(text)), ensure_ascii=False).encode()
    exchanges.write(repo, [(body, answer)])
    conversation.append(Entry(Kind.BEGIN, attempt=2))
    conversation.append(told("You were interrupted. " + "y" * 4000, binding=True))


def test_an_answer_that_was_not_recorded_is_used_and_nobody_is_asked_again(repo):
    conversation = begun(repo)
    left(repo, conversation, streamed("It was ", "the cookie. ✓\n"))
    provider = Scripted()

    made = run(conversation, provider)

    assert [] == provider.asked
    assert isinstance(made, Entry)
    assert ("It was the cookie. ✓", 11) == (made.text, made.last)


@pytest.mark.parametrize(
    ("answer", "change"),
    [
        (streamed("It was", stop="max_tokens"), lambda text: text),
        (streamed("It was")[:-30], lambda text: text),
        (streamed("It was."), lambda text: text + " "),
        (streamed("It was."), lambda text: text.replace("1 to 11", "1 to 12")),
    ],
)
def test_another_question_or_half_an_answer_is_not_used(repo, answer, change):
    conversation = begun(repo)
    left(repo, conversation, answer, change)
    provider = Scripted(Turn("Anew."))

    made = run(conversation, provider)

    assert isinstance(made, Entry)
    assert "Anew." == made.text


def test_an_answer_for_entries_that_were_put_aside_is_not_used(repo):
    conversation = begun(repo)
    left(repo, conversation, streamed("It was."))
    conversation.append(Entry(Kind.REWIND, last=9))
    conversation.append(said("Hm. " + "z" * 9000))
    conversation.append(said("Hm. " + "z" * 9000))
    provider = Scripted(Turn("Anew."))

    made = run(conversation, provider)

    assert isinstance(made, Entry)
    assert "Anew." == made.text


def context(entries, api):
    found = dialogue.messages(entries, lambda _: b"", api)
    given_ = [item for m in found for call in m.calls for item in listed(call)]
    texts = [text for m in found for text in (m.text, *(r.text for r in m.results))]
    return "\n".join(texts), given_


def listed(call):
    return [each["text"] for each in json.loads(call.given).get("items", [])]


@settings(max_examples=40)
@given(conversations(), st.integers(0, 400), st.text(max_size=30))
def test_every_provider_is_told_every_obligation_byte_for_byte(turns, keep, text):
    entries = []
    for each in turns:
        first = entries[-1].number + 1 if entries else 1
        entries += numbered(each, first)
        plan = compaction.plan(entries, keep)
        if plan is not None:
            number = entries[-1].number + 1
            part = (plan.first, plan.last)
            entries.append(
                Entry(
                    Kind.SUMMARY, number=number, text=text, first=part[0], last=part[1]
                )
            )

    for api in (ANTHROPIC, OPENAI):
        told_, items = context(entries, api)
        wanted = [x for x in obligations(in_force(entries)) if x.strip()]

        assert [x for x in wanted if x not in told_ and x not in items] == []
