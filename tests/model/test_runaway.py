"""The guard cuts off what has no end, and nothing else, however it is cut in pieces."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitagent.model.runaway import BLANK, MOST, SAME, Guard

ROOT = Path(__file__).resolve().parent.parent.parent
_LATE = 1100  # characters that may come before a pattern is looked for

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
endless = st.one_of(
    st.sampled_from([" ", "\n", "\t", "\n  ", "\u3000", "\r\n"]),
    st.text(min_size=1, max_size=64),
)


def fed(text, sizes, *, escaped=False):
    """After how many characters the guard says so; None: it does not."""
    guard, place, number = Guard(), 0, 0
    while place < len(text):
        delta = text[place : place + sizes[number % len(sizes)]]
        place, number = place + len(delta), number + 1
        if guard.feed("x", delta, escaped=escaped):
            return place
    return None


sizes = st.lists(st.integers(1, 400), min_size=1, max_size=5)


@settings(max_examples=40)
@given(value=st.lists(values, max_size=15), indent=st.integers(0, 8), cut=sizes)
def test_json_does_not_run_away(value, indent, cut):
    assert fed(json.dumps(value, indent=indent), cut, escaped=True) is None


@given(text=st.text(max_size=3000), cut=sizes)
def test_text_does_not_run_away(text, cut):
    inner = json.dumps({"content": text})

    assert fed(text, cut) is None
    assert fed(inner, cut, escaped=True) is None


@pytest.mark.parametrize("escaped", [False, True])
@pytest.mark.parametrize(
    "name", ["gitagent/core/decide.py", "LICENSE", "pyproject.toml", "docs/states.md"]
)
def test_the_files_of_a_repository_do_not_run_away(name, escaped):
    text = (ROOT / name).read_text()
    given = json.dumps({"path": name, "content": text}) if escaped else text

    assert fed(given, [7, 61, 3]) is None


@given(before=st.text(max_size=300), again=endless, cut=sizes)
def test_what_has_no_end_is_cut_off_soon(before, again, cut):
    text = before + again * ((SAME + 2 * _LATE) // len(again) + 1)
    found = fed(text, cut)

    assert found is not None
    assert found <= len(before) + SAME + _LATE


@pytest.mark.parametrize("blank", ["\\n", "\\t", " ", "\\r\\n  ", "\n"])
def test_whitespace_in_a_string_of_json_counts_written_out(blank):
    text = '{"content": "x' + blank * 3000
    found = [fed(text, [size], escaped=True) for size in (1, 2, 3, 1000)]

    assert all(each is not None and each < 20 + BLANK + 1000 for each in found)


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_a_backslash_before_a_letter_is_no_whitespace(size):
    # \n\n..., two characters each, written out for JSON
    assert fed("\\\\n" * 2000, [size], escaped=True) is None


def test_whitespace_in_the_middle_of_one_delta_counts():
    assert fed("a" + " " * (BLANK + 1) + "b", [10**6]) is not None
    assert fed("a" + " " * BLANK + "b", [10**6]) is None


def test_a_pattern_in_the_middle_of_one_delta_counts():
    varied = "".join(map(str, range(2000)))

    assert fed(varied + "ab, " * 4000 + varied, [10**6]) is not None
    assert fed(varied + "ab, " * 400 + varied, [10**6]) is None


def test_one_piece_has_a_bound():
    text = "".join(map(str, range(MOST // 6)))
    guard = Guard()
    found = [guard.feed("x", text) for _ in range(MOST // len(text) + 1)]

    assert [*[False] * (len(found) - 1), True] == found


def test_each_piece_is_watched_for_itself():
    guard = Guard()

    assert not any(guard.feed(str(n), " " * 1500) for n in range(10))
    assert guard.feed("3", " " * 501)
