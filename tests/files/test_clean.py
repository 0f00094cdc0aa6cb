import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitagent.files import clean

any_text = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode 🙂", "plain ünïcode 🙂"),
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb", "a\nb"),
        ("a\rb", "a\\x0db"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\x00b\x7f", "a\\x00b\\x7f"),
        ("user\u202ecod.exe", "user\\u202ecod.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("one\u2028two\u0085three", "one\\u2028two\\x85three"),
        ("\ud800", "\\ud800"),
        ("de\u200bny\ufeff", "de\\u200bny\\ufeff"),
        ("a\U000e0041\U000e0100", "a\\U000e0041\\U000e0100"),
        ("👩\u200d💻 ❤\ufe0f", "👩\u200d💻 ❤\ufe0f"),
    ],
)
def test_what_hides_or_moves_is_shown_as_its_escape(text, shown):
    assert shown == clean.visible(text)


@given(any_text)
def test_visible_text_is_harmless_encodes_and_stays_as_it_is(text):
    shown = clean.visible(text)

    assert shown == clean.visible(shown)
    assert shown == shown.encode().decode()
    assert {"\n", "\t"} >= {c for c in shown if unicodedata.category(c) == "Cc"}
    assert shown.splitlines() == shown.removesuffix("\n").split("\n") or not shown


@given(any_text)
def test_a_line_and_a_sentence_are_one_line(text):
    for one in (clean.line(text), clean.sentence(text), clean.markdown(text)):
        assert len(one.splitlines()) <= 1
    assert len(clean.sentence(text, 20)) <= 20


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x1b[1;31mFAILED\x1b[0m tests", "FAILED tests"),
        (b"\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        (b"\x1b]0;t\x1b\\after", "after"),
        (b"\x1b(B\x1b=ok\x1bM", "ok"),
        (b"10%\r50%\r\ndone\r", "10%\n50%\ndone\n"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"\x1b]0;never ended\nFAILED", "\\x1b]0;never ended\nFAILED"),
        (b"\x1b[\x1b[31m", "\\x1b["),
    ],
)
def test_output_of_programs_is_plain_text(data, text):
    assert text == clean.plain(data)


@given(st.binary())
@example(b"\x1b" * 5000)
def test_any_output_becomes_visible_text(data):
    text = clean.plain(data)

    assert text == clean.visible(text)


def test_a_tail_keeps_the_end_and_says_what_it_left_out():
    text = "\n".join(str(number) for number in range(100)) + "\n"

    assert "1\n2" == clean.tail("1\n2\n")
    assert clean.tail(text, lines=2).endswith("]\n98\n99")
    assert clean.tail("x" * 100, chars=10).endswith("]\n" + "x" * 10)
    assert clean.tail(text, lines=2).startswith("[")


@given(any_text)
def test_a_fence_is_longer_than_any_run_in_its_text(text):
    first, *body, last = clean.fenced(text).split("\n")

    assert first == last + "text"
    assert last not in "\n".join(body)


@given(any_text)
def test_an_inline_code_span_ends_where_it_should(text):
    span = clean.code(text)
    ticks = span[: len(span) - len(span.lstrip("`"))]

    assert span.endswith(ticks)
    assert ticks not in span[len(ticks) : -len(ticks)].strip("`")


def test_markdown_of_other_people_holds_no_link_image_or_html():
    shown = clean.markdown("![x](http://e) <img src=x> `code`\n# two")

    assert r"!\[x\](http://e) \<img src=x\> \`code\` # two" == shown


@pytest.mark.parametrize(
    ("data", "bare", "coloured"),
    [
        (b"a \x1b[1;31mb\x1b[0m c", "a b c", "a \x1b[1;31mb\x1b[0m c"),
        (
            b"\x1b[32m1\n2\x1b[m",
            "1\n2",
            "\x1b[32m1\x1b[0m\n\x1b[32m2\x1b[0m",
        ),
        (b"\x1b[8mhidden", "hidden", "hidden"),
        (b"\x1b[30;41mblack", "black", "black"),
        (b"\x1b[38;2;31;31;31mgrey", "grey", "grey"),
        (b"\x1b[01;31m\x1b[Kgrep\x1b[m\x1b[K", "grep", "\x1b[1;31mgrep\x1b[0m"),
        (b"\x1b[2Kgone", "\\x1b[2Kgone", "\\x1b[2Kgone"),
        (b"\x1b[1Aup", "\\x1b[1Aup", "\\x1b[1Aup"),
        (b"10%\r50%\r\n", "10%\n50%\n", "10%\n50%\n"),
        (b"\x1b]0;title\x07", "\\x1b]0;title\\x07", "\\x1b]0;title\\x07"),
    ],
)
def test_what_people_look_at_has_colours_that_hide_nothing(data, bare, coloured):
    assert bare == clean.shown(data)
    assert coloured == clean.shown(data, colours=True)


@given(st.binary())
@example(b"\x1b[31m" * 3 + b"x\n\x1b[41my")
def test_no_line_leaves_a_colour_on(data):
    shown = clean.shown(data, colours=True)

    for line in shown.split("\n"):
        codes = re.findall("\x1b\\[([0-9;]*)m", line)
        assert not codes or codes[-1] == "0"
    assert clean.shown(data) == re.sub("\x1b\\[[0-9;]*m", "", shown)


def test_styles_without_an_end_take_no_more_than_their_room():
    assert len(clean.shown(b"\x1b[31m\x1b[1mx\n" * 1000, colours=True)) < 40_000
