"""When a person has to decide, what they are asked, and what their answer allows."""

import json
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitagent.core.conversation import Entry, Kind, Origin
from gitagent.core.effect import (
    NO,
    YES,
    Context,
    Effect,
    Effects,
    agreed,
    decided,
    judge,
    question,
    taint,
)
from gitagent.core.question import Answer
from gitagent.core.reach import Facts, Verdict
from gitagent.core.reach import Kind as Verdicts
from gitagent.worker.questions import parse

HOST = "api.example.org:443"
LEAD = Facts(task="fix", may=("write", "shell", "start_task", "remember"))
ONLINE = replace(LEAD, network=(HOST,))
TAINTED = Context(origins=frozenset({Origin.WEB}))
START = Effect(Effects.START_TASK, "tidy-up", content="Delete what is unused.")


def card(made):
    """Return a question as the file of a card has it."""
    value = {"text": made.text, "options": list(made.options)}
    return json.dumps({"questions": [value]}).encode()


def asked(effect, facts=LEAD, context=TAINTED):
    """Return the question that an effect needs an answer to; None: it needs none."""
    verdict = judge(effect, facts, context)

    assert (verdict.kind is Verdicts.NEEDS_DECISION) == (verdict.question is not None)
    return verdict.question


@pytest.mark.parametrize("origin", [Origin.WEB, Origin.MCP])
@pytest.mark.parametrize(
    ("effect", "needs"),
    [
        (START, True),
        (Effect(Effects.REMEMBER, "use-tabs", content="Tabs."), True),
        (Effect(Effects.WRITE, ".agent/tasks/more.md", content="Go."), True),
        (Effect(Effects.WRITE, "x/../.agent/tasks/more.md"), True),
        (Effect(Effects.SHELL, "echo go > .agent/tasks/more.md"), True),
        (Effect(Effects.SHELL, "cp x .agent/tasks/more.md && make"), True),
        (Effect(Effects.WRITE, "src/a.py"), False),
        (Effect(Effects.SHELL, "make test"), False),
        (Effect(Effects.NETWORK, HOST), False),
        (Effect(Effects.READ, "src/a.py"), False),
    ],
)
def test_what_outlives_the_attempt_needs_a_decision_after_words_of_others(
    origin, effect, needs
):
    context = Context(origins=frozenset({origin}))

    assert needs is (asked(effect, ONLINE, context) is not None)
    assert None is asked(effect, ONLINE, Context())


@pytest.mark.parametrize("origin", sorted(set(Origin) - {Origin.WEB, Origin.MCP}))
def test_words_of_anybody_else_ask_for_nothing(origin):
    assert None is asked(START, LEAD, Context(origins=frozenset({origin})))


@pytest.mark.parametrize(
    ("decide", "effect", "needs"),
    [
        ("read", Effect(Effects.READ, "a"), True),
        ("write", Effect(Effects.WRITE, "a"), True),
        ("shell", Effect(Effects.SHELL, "make"), True),
        ("network", Effect(Effects.NETWORK, HOST), True),
        ("start_task", START, True),
        ("start_task", Effect(Effects.WRITE, ".agent/tasks/more.md"), True),
        ("start_task", Effect(Effects.SHELL, "touch .agent/tasks/more.md"), True),
        ("remember", Effect(Effects.REMEMBER, "use-tabs"), True),
        # A command does what the sandbox lets it do.
        ("write", Effect(Effects.SHELL, "make"), True),
        ("read", Effect(Effects.SHELL, "make"), True),
        ("network", Effect(Effects.SHELL, "make"), True),
        ("remember", Effect(Effects.SHELL, "make"), False),
        ("write", Effect(Effects.READ, "a"), False),
        ("shell", Effect(Effects.WRITE, "a"), False),
    ],
)
def test_what_a_definition_wants_decided_needs_a_decision(decide, effect, needs):
    assert needs is (asked(effect, ONLINE, Context(decide=(decide,))) is not None)


def test_a_command_needs_no_decision_for_what_it_cannot_do():
    reader = Facts(may=("shell",))
    context = Context(decide=("write", "network"))

    assert None is asked(Effect(Effects.SHELL, "make"), reader, context)
    assert asked(
        Effect(Effects.SHELL, "make"), replace(reader, confined=False), context
    )


def test_no_decision_makes_up_for_a_grant():
    text = asked(START).text
    context = replace(TAINTED, decisions={text: YES})

    for facts, profile in ((Facts(task="fix"), ""), (LEAD, "plan"), (LEAD, "side")):
        held = replace(context, profile=profile)

        assert Verdicts.DENY is judge(START, facts, held).kind


def test_nobody_is_asked_for_what_cannot_be():
    context = Context(decide=("write", "shell", "network"))

    for effect in (
        Effect(Effects.WRITE, "../outside"),
        Effect(Effects.SHELL, "git push"),
        Effect(Effects.NETWORK, "other.example:443"),
    ):
        assert Verdicts.DENY is judge(effect, LEAD, context).kind


def test_a_yes_allows_what_was_asked_once():
    text = asked(START).text
    context = replace(TAINTED, decisions={text: YES})

    assert Verdict(Verdicts.ALLOW) == judge(START, LEAD, context)

    again = asked(START, LEAD, replace(context, made=(START,)))
    both = {text: YES, again.text: YES}

    assert text != again.text
    assert None is asked(START, LEAD, replace(context, made=(START,), decisions=both))
    assert asked(START, LEAD, replace(context, made=(START, START), decisions=both))


def test_a_yes_leaves_a_command_what_it_was():
    effect = Effect(Effects.SHELL, "make test")
    context = Context(decide=("shell",))
    yes = {asked(effect, LEAD, context).text: YES}

    assert judge(effect, LEAD) == judge(effect, LEAD, replace(context, decisions=yes))


@pytest.mark.parametrize("said", [NO, "Yes", "yes, but only the tests", ""])
def test_anything_but_yes_denies(said):
    context = replace(TAINTED, decisions={asked(START).text: said})

    assert Verdicts.DENY is judge(START, LEAD, context).kind


@pytest.mark.parametrize(
    "changed",
    [
        {"what": "tidy-up2"},
        {"content": "Delete what is unused!"},
        {"content": "Delete what is unused. "},
        {"content": "Delete  what is unused."},
        {"content": "Delete what is unused.\u200b"},
        {"cwd": "sub"},
    ],
)
def test_a_yes_is_for_no_other_effect(changed):
    context = replace(TAINTED, decisions={asked(START).text: YES})

    assert asked(replace(START, **changed), LEAD, context)


def test_a_file_is_asked_about_once_however_its_path_is_spelled():
    spelled = [
        Effect(Effects.WRITE, path, cwd, "Go.")
        for path, cwd in [
            (".agent/tasks/more.md", ""),
            ("/workspace/.agent/tasks/more.md", "/home"),
            ("../.agent/./tasks/more.md", "/workspace/src"),
        ]
    ]
    (text,) = {asked(each).text for each in spelled}

    assert "write “.agent/tasks/more.md”, with" in text
    again = asked(spelled[0], LEAD, replace(TAINTED, made=tuple(spelled)))
    assert "once more after 3 times" in again.text


MORE = Effect(Effects.WRITE, "/workspace/.agent/tasks/more.md", content="Go.")


@pytest.mark.parametrize(
    ("context", "decide"),
    [
        (TAINTED, ()),
        (TAINTED, ("start_task",)),
        (replace(TAINTED, made=(MORE, START)), ()),
        (Context(decide=("start_task",)), ("start_task",)),
        (Context(decide=("write", "start_task")), ("write", "start_task")),
    ],
)
def test_what_landed_was_agreed_to_if_that_very_file_was(context, decide):
    text = asked(MORE, LEAD, context).text
    others = (Answer("Which?", YES), Answer("Why?", NO))
    path = ".agent/tasks/more.md"

    assert agreed(path, "Go.", decide, (*others, Answer(text, YES)))
    assert not agreed(path, "Go.\n", decide, (*others, Answer(text, YES)))
    assert not agreed(path + ".md", "Go.", decide, (*others, Answer(text, YES)))
    assert not agreed(path, "Go.", decide, (*others, Answer(text, NO)))
    assert not agreed(path, "Go.", decide, (Answer(text, YES), Answer(text, NO)))


def test_only_the_gates_own_question_is_agreed_to():
    digest = asked(MORE).text.rpartition(" Effect ")[2]
    said = Answer(f"Is the sky blue? Effect {digest}", YES)

    assert not agreed(".agent/tasks/more.md", "Go.", (), (said,))


def test_parts_of_an_effect_cannot_be_taken_for_one_another():
    parts = [
        Effect(Effects.SHELL, "a\0b", "c"),
        Effect(Effects.SHELL, "a", "b\0c"),
        Effect(Effects.SHELL, "a", "b", "c"),
        Effect(Effects.SHELL, "a1:b", "c"),
    ]
    texts = [question(each, "so").text.rpartition("Effect")[2] for each in parts]

    assert len(texts) == len(set(texts))


def test_of_two_answers_the_later_one_counts():
    said = (Answer("a", "yes"), Answer("b", "no"), Answer("a", "no"))

    assert {"a": "no", "b": "no"} == decided(said)


# With halves of surrogate pairs, which JSON can hold and UTF-8 cannot.
ANYTHING = st.text(st.characters())


@example(Effects.READ, "", "", "\U000e0100", 0)  # printable, and seen by nobody
@given(st.sampled_from(Effects), ANYTHING, ANYTHING, ANYTHING, st.integers(0, 3))
def test_what_is_asked_comes_back_from_a_card_as_it_was(kind, what, cwd, content, more):
    made = question(Effect(kind, what, cwd, content), "so", more)
    (back,) = parse(card(made))

    assert made == back
    assert made.text.isprintable()


@given(st.sampled_from(Effects), ANYTHING, ANYTHING)
def test_whatever_a_model_names_there_is_a_verdict(kind, what, cwd):
    for facts in (ONLINE, Facts(paths=("src/**",), forbidden=("*.py",), may=())):
        verdict = judge(Effect(kind, what, cwd), facts, Context(decide=tuple(Effects)))

        assert verdict.sentence.isprintable()


def test_a_question_is_as_long_as_a_card_takes_whatever_is_asked():
    long = "\x1b\u202e" * 70_000
    made = question(Effect(Effects.SHELL, long, long, long), "so")

    assert (made,) == parse(card(made))


def entries(*kinds):
    """Return entries of a conversation, numbered from 1."""
    return [replace(each, number=n) for n, each in enumerate(kinds, 1)]


SAID = Entry(Kind.INPUT, origin=Origin.PERSON, text="Go on.")
PAGE = Entry(Kind.RESULT, origin=Origin.WEB, effect="network")
SERVED = Entry(Kind.RESULT, origin=Origin.MCP, effect="shell")
RAN = Entry(Kind.RESULT, origin=Origin.WORKTREE, effect="shell")
READ = Entry(Kind.RESULT, origin=Origin.WORKTREE, effect="read")


@pytest.mark.parametrize(
    ("said", "facts", "expected"),
    [
        ((SAID, READ), ONLINE, set()),
        ((SAID, PAGE), LEAD, {Origin.WEB}),
        ((PAGE, SERVED, SAID, READ), LEAD, {Origin.WEB, Origin.MCP}),
        ((SAID, RAN), LEAD, set()),
        ((SAID, RAN), ONLINE, {Origin.WEB}),
        ((SAID, RAN), replace(LEAD, confined=False), {Origin.WEB}),
        ((SAID, PAGE, Entry(Kind.REWIND, last=1)), LEAD, set()),
        ((SAID, PAGE, Entry(Kind.REWIND, last=2)), LEAD, {Origin.WEB}),
        ((SAID, PAGE, Entry(Kind.SUMMARY, first=1, last=2)), LEAD, {Origin.WEB}),
        ((Entry(Kind.INPUT, origin=Origin.MCP),), LEAD, {Origin.MCP}),
        ((Entry(Kind.INPUT, untrusted=("mcp",)), SAID), LEAD, {Origin.MCP}),
    ],
)
def test_words_of_others_stay_until_they_are_rewound(said, facts, expected):
    assert expected == taint(entries(*said), facts)


URLS = [
    ("https://api.example.org/x", True),
    ("https://API.Example.org.:443/", True),
    ("api.example.org:443", True),
    ("https://user:pw@api.example.org/", True),
    ("http://api.example.org/", False),
    ("https://api.example.org:8443/", False),
    ("https://api.example.org.evil.example/", False),
    ("https://api.example.org@evil.example/", False),
    ("https://evil.example\\@api.example.org/", False),
    ("https://evil.example /@api.example.org/", False),
    ("file:///etc/passwd", False),
    ("api.example.org", False),
    ("http://[broken", False),
    ("", False),
]


@pytest.mark.parametrize(("url", "allowed"), URLS)
def test_a_host_is_reached_only_if_the_list_names_it(url, allowed):
    verdict = judge(Effect(Effects.NETWORK, url), ONLINE)

    assert (Verdicts.ALLOW if allowed else Verdicts.DENY) is verdict.kind


def test_without_a_sandbox_a_host_that_is_not_listed_was_not_looked_at():
    facts = replace(ONLINE, confined=False)
    found = [
        judge(Effect(Effects.NETWORK, each), facts).kind
        for each in (HOST, "other.example:443")
    ]

    assert [Verdicts.ALLOW, Verdicts.NOT_EVALUATED] == found


def test_a_path_is_meant_where_the_call_is_made():
    facts = Facts(paths=("sub/**",))
    effects = (Effect(Effects.WRITE, "a", cwd) for cwd in ("", "/workspace/sub"))
    kinds = [judge(each, facts).kind for each in effects]

    assert [Verdicts.DENY, Verdicts.ALLOW] == kinds
