"""How documents are cut, and which lines of a passage are shown."""

from hypothesis import given
from hypothesis import strategies as st

from gitagent.core.cutting import PASSAGES, cut, excerpt

GUIDE = """\
+++
title = "x"
+++
Before.

# Guide

Hello.

```
# no heading
```

## Deep ##

Text.

# Other
"""


def test_a_heading_begins_a_passage_and_front_matter_is_none():
    found = [(each.title, each.text, each.first) for each in cut(GUIDE)]

    assert [
        ("", "Before.", 4),
        ("Guide", "# Guide\n\nHello.\n\n```\n# no heading\n```", 6),
        ("Guide Deep", "## Deep ##\n\nText.", 14),
        ("Other", "# Other", 18),
    ] == found


def test_a_long_section_is_cut_between_its_paragraphs():
    parts = ["word " * 20 + f"{n}." for n in range(6)]
    found = cut("\n\n".join(parts), 260)

    assert ["\n\n".join(parts[n : n + 2]) for n in (0, 2, 4)] == [e.text for e in found]


def test_a_long_paragraph_is_cut_between_its_lines():
    lines = [f"{n} " + "word " * 10 for n in range(9)]
    found = cut("\n".join(lines), 200)

    assert [(1, 3), (4, 6), (7, 9)] == [(each.first, each.last) for each in found]


def test_a_line_is_never_cut_and_a_document_has_an_end():
    assert ["x" * 5000] == [each.text for each in cut("x" * 5000)]
    assert PASSAGES == len(cut("# Heading\n" * 1000))
    assert [] == cut("") == cut("\n\n  \n") == cut("+++\na = 1\n+++\n")


@given(
    st.lists(st.sampled_from(["", "#", "# A", "## B", "```", "+++", "text", "x" * 50])),
    st.integers(20, 120),
)
def test_a_passage_is_the_lines_that_it_names(lines, characters):
    text = "\n".join(lines)
    found = cut(text, characters)

    assert [each.text for each in found] == [
        "\n".join(lines[each.first - 1 : each.last]) for each in found
    ]
    ends = [each.last for each in found]
    assert all(end < each.first for end, each in zip(ends, found[1:], strict=False))


def test_the_lines_that_say_most_are_shown_whole():
    text = "\n".join(f"line {n}" for n in range(20)) + "\nlocks\nlast"

    assert (16, "\n".join(text.split("\n")[15:21])) == excerpt(text, 1, 22, {"lock": 1})
    assert (3, "line 2\nline 3") == excerpt(text, 3, 4, {})
    assert (1, "y" * 900) == excerpt("y" * 900 + "\nz", 1, 2, {"z": 1.0})
