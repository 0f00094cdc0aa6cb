"""Questions that an agent asks with its last words."""

import pytest

from gitagent.core.question import Question
from gitagent.worker.asked import FORM, asked

WHICH = Question("Which?", ("minus", "plus"))


def test_the_form_that_agents_are_told_is_read():
    text = "what a person has to decide"

    assert (Question(text, ("one answer", "another one")),) == asked(FORM)


@pytest.mark.parametrize(
    "words",
    [
        "I looked.\n\nQUESTION: Which?\n- minus\n- plus\n",
        "**QUESTION:** Which?\n\n* minus\n* plus\n\n",
        "QUESTION 1: Which?\na) minus\nb) plus",
        "> QUESTION: Which?\nOPTION: minus\nOPTION: plus",
        "### QUESTION: **Which?**\n- OPTION: minus\n- OPTION: plus",
    ],
)
def test_models_may_write_it_in_their_own_way(words):
    assert (WHICH,) == asked(words)


def test_there_can_be_several_and_some_without_options():
    words = "QUESTION: Who?\nQUESTION: Which?\n- minus\n- plus\n\nQUESTION: When?"

    assert (Question("Who?"), WHICH, Question("When?")) == asked(words)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "Done.",
        "I changed:\n- a\n- b",
        "QUESTION: Which?\n- minus\n\nI took minus.",
        "faq.md\n```\nQUESTION: Which?\n- minus\n```\n",
        "Is there a QUESTION: no",
        "QUESTION:",
        "QUESTION: " + "x" * 10_000,
        "QUESTION: Which?\n" + "- same\n" * 2,
        "QUESTION: Which?\n" * 100,
    ],
)
def test_what_is_elsewhere_or_unusable_asks_nothing(words):
    assert () == asked(words)
