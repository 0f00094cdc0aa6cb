"""What an item may be, how a source is written, and the line in which both are told."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.core.memory import (
    BODY,
    LINE,
    QUOTE,
    SOURCES,
    From,
    Item,
    Kind,
    Mark,
    Marks,
    Source,
    Status,
    problems,
    read_source,
    shown,
    written,
)

COMMIT, BLOB = "c" * 40, "b" * 40
LINES = Source(From.LINES, COMMIT, "src/app.py", 10, 14, "x = 1")
ITEM = Item(
    "deploy-order",
    Kind.LESSON,
    "Migrate first.",
    "2026-12-01T12:00:00Z",
    sources=(LINES,),
    blob=BLOB,
)


def test_a_sound_item_has_no_problem():
    assert () == problems(ITEM)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"line": "x" * (LINE + 11)},
            "Its line has 171 characters, and 160 are the most.",
        ),
        (
            {"body": "x" * (BODY + 1)},
            "Its body has 4,001 characters, and 4,000 are the most.",
        ),
        (
            {"sources": (replace(LINES, quote="x" * (QUOTE + 1)),)},
            "Its source 1 quotes 1,201 characters, and 1,200 are the most;",
        ),
        (
            {"sources": (LINES,) * (SOURCES + 1)},
            "It has 9 sources, and 8 are the most.",
        ),
        ({"sources": ()}, "It has no source."),
        ({"line": " "}, "Its line says nothing."),
        ({"line": "a "}, "Its line begins or ends with a space."),
        ({"line": "a\nb"}, "Its line has to be on one line, without tabs."),
        (
            {"line": "a\u202eb"},
            "Its line has the character U+202E, which nobody would see.",
        ),
        (
            {"line": "a\u200bb"},
            "Its line has the character U+200B, which nobody would see.",
        ),
        (
            {"because": "a\U000e0041"},
            "Its reason has the character U+E0041, which nobody would see.",
        ),
        (
            {"line": "a\ud800"},
            "Its line has the character U+D800, which nobody would see.",
        ),
        (
            {"body": "a\rb"},
            "Its body has the character U+000D, which nobody would see.",
        ),
        (
            {"body": "a\r\nb"},
            "Its body has the character U+000D, which nobody would see; end its lines",
        ),
        ({"body": "\na"}, "Its body begins or ends with an empty line."),
        ({"body": "  "}, "Its body says nothing."),
        (
            {"kind": Kind.DECISION},
            "It is a decision, and its body has to give the reasons.",
        ),
        ({"status": Status.WITHDRAWN}, "It is withdrawn, and does not say why."),
        ({"updated": "today"}, "Its date is not of the form 2026-01-31T12:00:00Z."),
        ({"supersedes": ("deploy-order",)}, "It supersedes itself."),
        ({"disputes": ("a", "a")}, "It disputes one item twice."),
        (
            {"slug": "Über"},
            'Its name cannot be "Über": an id is lower case: ',
        ),
        (
            {"sources": (replace(LINES, first=9, last=8),)},
            "Its source 1 names no lines of a committed file.",
        ),
        (
            {"sources": (replace(LINES, name="a\udcff"),)},
            "Its source 1 is not UTF-8.",
        ),
    ],
)
def test_what_cannot_be_kept_is_said_with_its_length(changes, said):
    (problem,) = problems(replace(ITEM, **changes))

    assert problem.startswith(said)


def test_a_decision_that_is_withdrawn_needs_no_reasons_any_more():
    gone = replace(
        ITEM, kind=Kind.DECISION, status=Status.WITHDRAWN, because="It was wrong."
    )

    assert () == problems(gone)


@pytest.mark.parametrize(
    "source",
    [
        Source(From.LINES, "main~2", "doc s/a:b.md", 1, 999),
        Source(From.RECEIPT, BLOB),
        Source(From.LANDING, "", "s-0123456789ab"),
        Source(From.DECISION, "", "fix-login", 2),
    ],
)
def test_a_source_is_read_as_it_is_written(source):
    assert source == read_source(written(source))


def test_one_line_can_be_named_by_its_number_alone():
    assert Source(From.LINES, "main", "a", 7, 7) == read_source("main:a:7")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a source is COMMIT:PATH:FIRST-LAST"),
        ("main:src/app.py", "a source is COMMIT:PATH:FIRST-LAST"),
        ("main::1-2", "a source is COMMIT:PATH:FIRST-LAST"),
        (":src/app.py:1-2", "a source is COMMIT:PATH:FIRST-LAST"),
        ("main:src/app.py:0-2", "a source is COMMIT:PATH:FIRST-LAST"),
        ("main:src/app.py:3-2", "its lines end before they begin: 3-2"),
        ("receipt:", "a receipt is named by its object"),
        ("landing:", "a landing is named by its submission"),
        ("decision:fix", "a decision is an answer of a task"),
        ("decision:fix:0", "a decision is an answer of a task"),
    ],
)
def test_what_names_no_source_says_how_one_is_written(text, said):
    found = read_source(text)

    assert isinstance(found, str)
    assert said in found


@given(st.text(max_size=60))
def test_whatever_is_given_for_a_source_is_one_or_is_told_why_not(text):
    found = read_source(text)

    assert isinstance(found, str) or found == read_source(written(found))


def test_an_item_is_told_with_its_blob_its_source_and_its_date():
    assert (
        "[deploy-order@bbbbbbbbbbbb · lesson · src/app.py:10-14 at cccccccccccc"
        " · 2026-12-01 · active] Migrate first."
    ) == shown(ITEM)


def test_its_marks_its_dispute_and_further_sources_are_told():
    receipt = Source(From.RECEIPT, "d" * 40)
    disputed = replace(
        ITEM,
        status=Status.DISPUTED,
        disputes=("other",),
        sources=(receipt, LINES, LINES),
    )
    marks = (
        Mark(Marks.CHANGED, "e" * 40),
        Mark(Marks.SUSPECT, "f" * 40),
        Mark(Marks.DERIVED, "old"),
    )

    assert (
        "[deploy-order@bbbbbbbbbbbb · lesson · receipt dddddddddddd +2 · 2026-12-01"
        " · disputed with other · evidence changed at eeeeeeeeeeee"
        " · suspect: rolled back at ffffffffffff"
        " · derived from old, which is withdrawn] Migrate first."
    ) == shown(disputed, marks)


def test_what_has_no_blob_or_no_source_is_told_nowhere():
    assert "" == shown(replace(ITEM, blob=""))
    assert "" == shown(replace(ITEM, sources=()))
