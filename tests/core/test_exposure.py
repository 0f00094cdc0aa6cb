"""What is told of the memory, in pieces with who put each there."""

import pytest

from gitagent.core.exposure import Received, Told, Way, cut, producer, received


def test_an_item_is_named_with_its_object():
    assert "memory: tabs@0123456789ab" == producer("tabs", "0123456789abcdef")
    assert "memory: gone" == producer("gone", "")


def test_a_text_is_cut_into_who_put_what_there():
    text = "Head\n\n```\none\ntwo\n```\n\nTail"
    found = cut(text, [("a", "one"), ("b", "two")], "brief")

    assert (
        Told("brief", "Head\n\n```", "\n"),
        Told("a", "one", "\n"),
        Told("b", "two", "\n"),
        Told("brief", "```\n\nTail", "\n\n"),
    ) == found


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("one", [("a", "one")]),
        ("one two", [("a", "one"), ("b", "two")]),
        ("one\none", [("a", "one"), ("b", "one")]),
        ("\n\none\n", [("a", "one")]),
        ("x\n one \n\n\nlast", [("a", "one"), ("b", "missing"), ("c", "")]),
    ],
)
def test_put_together_again_it_is_the_same_text(text, pieces):
    found = cut(text, pieces, "brief")
    together = "".join(each.text + each.ends for each in found[:-1])

    assert text.strip("\n") == (together + (found[-1].text if found else ""))
    assert all(each.text for each in found)


def test_the_items_of_an_answer_are_read():
    answer = {"items": [["tabs", "a" * 40, "lookup"]]}

    assert (Received("tabs", "a" * 40, Way.LOOKUP),) == received(answer)
    assert () == received({})
