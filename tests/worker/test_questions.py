"""The form of an agent's questions."""

import json

import pytest

from gitagent.core.question import Question
from gitagent.worker.questions import FORM, LIMIT, parse
from gitagent.worker.strictjson import BadForm


def asked(*questions: object) -> bytes:
    return json.dumps({"questions": questions}).encode()


def test_questions_are_read_with_their_options():
    assert (Question("Which?", ("a", "b")), Question("Why?")) == parse(
        asked({"text": " Which? ", "options": ["a", " b "]}, {"text": "Why?"})
    )


def test_the_form_that_is_shown_is_one():
    assert 1 == len(parse(FORM.encode()))


def test_no_options_are_none():
    assert () == parse(asked({"text": "x", "options": None}))[0].options
    assert () == parse(asked({"text": "x", "options": []}))[0].options


def test_what_could_hide_or_move_becomes_visible():
    (found,) = parse(asked({"text": "\x1b[2J\u202eno", "options": ["\x07yes"]}))

    assert r"\x1b[2J\u202eno" == found.text
    assert (r"\x07yes",) == found.options


def test_half_a_surrogate_pair_can_be_kept():
    (found,) = parse(b'{"questions": [{"text": "a\\ud800"}]}')

    assert found.text.encode()


def test_the_most_that_is_taken_fits_in_any_alphabet():
    options = [f"{number:02}" + "\u6f22" * 298 for number in range(26)]
    whole = [{"text": "\U0001f600" * 2000, "options": options}] * 10
    data = json.dumps({"questions": whole}, ensure_ascii=False).encode()

    assert 10 == len(parse(data))


@pytest.mark.parametrize(
    ("data", "mend"),
    [
        (b"", "JSON"),
        (b"\xff", "UTF-8"),
        (b"[]", "object"),
        (b"{}", "questions has to be a list of questions, not null"),
        (b"[" * 60_000, "flat"),
        (b'{"questions": ' + b"1" * 5000 + b"}", "number"),
        (b" " * (LIMIT + 1), str(LIMIT)),
        (b'{"question": []}', "did you mean questions?"),
        (b'{"questions": [], "questions": []}', "twice"),
        (asked(), "at least one"),
        (asked(*[{"text": "x"}] * 11), "at most 10"),
        (asked("x"), "question 1 has to be an object"),
        (asked({"text": "x"}, {}), "text of question 2"),
        (asked({"text": 3}), "not 3"),
        (asked({"text": " \n"}), "empty"),
        (asked({"text": "x" * 2001}), "2001 characters; at most 2000"),
        (asked({"text": "x", "option": []}), "did you mean options?"),
        (asked({"text": "x", "options": "ab"}), "list of texts"),
        (asked({"text": "x", "options": {"a": 1}}), "list of texts"),
        (asked({"text": "x", "options": [1]}), "an option of question 1"),
        (asked({"text": "x", "options": [""]}), "empty"),
        (asked({"text": "x", "options": ["a\nb"]}), "more than one line"),
        (asked({"text": "x", "options": ["a", "a "]}), "twice"),
        (asked({"text": "x", "options": ["y" * 301]}), "at most 300"),
        (asked({"text": "x", "options": [str(n) for n in range(27)]}), "at most 26"),
    ],
)
def test_a_slip_is_refused_with_its_mend(data, mend):
    with pytest.raises(BadForm) as refused:
        parse(data)

    assert mend in str(refused.value)
    assert "\n" not in str(refused.value)
