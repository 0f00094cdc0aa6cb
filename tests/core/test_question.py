"""What people answer, as they write it."""

import pytest

from gitagent.core.question import Amount, Misfit, Question, amount, choose, parse

COLOUR = Question("Which colour?", ("Red", "dark blue", "B"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["1=b"], {1: "b"}),
        (["2=a text = with marks", "1= x "], {2: "a text = with marks", 1: "x"}),
        ([" 03 =c"], {3: "c"}),
        (["1=two\nlines"], {1: "two\nlines"}),
        ([], {}),
    ],
)
def test_a_word_is_a_number_and_a_text(words, said):
    assert said == parse(words)


@pytest.mark.parametrize(
    "words", [["b"], ["=b"], ["x=b"], ["1="], ["1= "], ["-1=b"], ["1=a", "01=b"], [""]]
)
def test_what_answers_nothing_is_said_to_have_no_form(words):
    found = parse(words)

    assert isinstance(found, Misfit)
    assert found.form


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("a", "Red"),
        ("A", "Red"),
        ("red", "Red"),
        ("Dark  Blue", "dark blue"),
        ("b", "B"),  # the text of an option comes before a letter
        ("c", "B"),
    ],
)
def test_a_letter_or_the_text_of_an_option_chooses_it(text, answer):
    assert (answer, True) == choose(COLOUR, 1, text)


def test_any_other_text_is_an_answer_of_its_own_and_known_to_be_none_of_them():
    assert ("green, as the logo", False) == choose(COLOUR, 1, "green, as the logo")


def test_a_letter_that_no_option_has_is_a_slip():
    found = choose(COLOUR, 1, "d")

    assert isinstance(found, Misfit)
    assert not found.form
    assert "a, b, c" in found.mend


def test_without_options_every_text_is_an_answer():
    assert ("b", True) == choose(Question("What?"), 1, "b")


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("2.50", Amount(usd=2.5)),
        ("$2.50", Amount(usd=2.5)),
        (".5 usd", Amount(usd=0.5)),
        ("3 USD", Amount(usd=3.0)),
        ("200000 tokens", Amount(tokens=200000)),
        ("1 token", Amount(tokens=1)),
        ("Stop", Amount()),
    ],
)
def test_an_amount_is_money_or_tokens_or_stop(text, added):
    assert added == amount(text)


@pytest.mark.parametrize(
    "text",
    ["", "much", "0", "0 tokens", "-1", "1e9", "nan", "inf", "1,5", "٣", "9" * 400],
)
def test_what_is_no_amount_adds_nothing(text):
    assert isinstance(amount(text), Misfit)
