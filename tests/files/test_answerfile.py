"""Answer files: what they say, and one line for each that cannot be used."""

import pytest

from gitagent.core.question import AnswerFile
from gitagent.core.task import Refusal
from gitagent.files import answerfile

PATH = ".agent/tasks/answers/fix-login.md"


def parse(text: str | bytes, task: str = "fix-login") -> AnswerFile | Refusal:
    data = text if isinstance(text, bytes) else text.encode()
    return answerfile.parse(task, "b1", data, PATH)


@pytest.mark.parametrize(
    "text",
    [
        '+++\n1 = "b"\n2 = "ten lines"\n+++\n\nIt is the logo\'s.\n',
        '---\n"1": b\n"2": ten lines\n---\nIt is the logo\'s.\n',
    ],
)
def test_keys_are_numbers_and_the_text_below_says_why(text):
    answers = ((1, "b"), (2, "ten lines"))

    assert AnswerFile("fix-login", "b1", answers, "It is the logo's.") == parse(text)


@pytest.mark.parametrize(
    ("value", "text"), [("2.50", "2.5"), ("200000", "200000"), ('"x=y"', "x=y")]
)
def test_a_number_is_the_text_that_it_is_written_as(value, text):
    found = parse(f"+++\n1 = {value}\n+++\n")

    assert ((1, text),) == found.answers


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("", "", "answers nothing"),
        ("1=b\n", "", "answers nothing"),
        ("+++\n+++\nbecause\n", "", "answers nothing"),
        ('+++\n01 = "b"\n+++\n', ":2", "no number"),
        ('+++\nfirst = "b"\n+++\n', ":2", "no number"),
        ("+++\n1 = true\n+++\n", ":2", "truth"),
        ("+++\n1 = []\n+++\n", ":2", "a list"),
        ('+++\n1 = " "\n+++\n', ":2", "the text"),
        ("---\n1: b\n---\n", ":2", "quotes"),
        ('+++\n1 = "b"\n', ":1", "does not end"),
        (b"\xff", ":1", "UTF-8"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_with_its_place(text, line, part):
    found = parse(text)

    assert isinstance(found, Refusal)
    assert found.reason.startswith(f"{PATH}{line}")
    assert part in found.reason.replace("is true", "is truth")
    assert 1 == len(found.reason.splitlines())


def test_it_is_named_after_its_task():
    assert isinstance(parse('+++\n1 = "b"\n+++\n', "Fix Login"), Refusal)
