"""What an attempt asks of the memory, from a file that anybody may have written."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitagent.core.remembering import Op, Operation, Ruled
from gitagent.files import proposed
from gitagent.files.proposed import Proposed

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
OPERATIONS = st.builds(
    Operation,
    op=st.sampled_from(Op),
    slug=TEXTS.filter(bool),
    kind=TEXTS,
    line=TEXTS,
    body=TEXTS,
    sources=st.lists(TEXTS, max_size=3).map(tuple),
    supersedes=st.lists(TEXTS, max_size=3).map(tuple),
    verify=TEXTS,
    because=TEXTS,
    against=TEXTS,
    of=TEXTS,
)
KEYS = st.sampled_from(["op", "slug", "line", "sources", "operation", "other"])


def refused(value: object) -> str:
    found = proposed.operation(value)

    assert isinstance(found, Ruled)
    assert not found.admitted
    return found.reason


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(KEYS, some, max_size=4),
    max_leaves=12,
)


@given(JSON)
@example({"op": []})
def test_of_any_json_an_operation_is_made_or_the_reason_why_not(value):
    assert isinstance(proposed.operation(value), Operation | Ruled)


@given(st.lists(OPERATIONS, max_size=4), st.lists(OPERATIONS, max_size=2))
def test_what_was_written_is_what_is_read(asked, gone):
    dropped = tuple(Ruled(each, admitted=False, reason="It dangles.") for each in gone)
    made = Proposed(tuple(asked), dropped, dropped[:1])

    assert made == proposed.parse(proposed.dump(made))


def test_a_bare_list_is_one_of_operations():
    found = proposed.parse(b'[{"op": "withdraw", "slug": "a", "because": "gone"}]')

    assert Proposed((Operation(Op.WITHDRAW, "a", because="gone"),)) == found


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\xff", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"3", "it is no JSON object"),
        (b'{"operations": 3}', "operations is no list"),
        (json.dumps([{}] * 51).encode(), "it has 51 operations, and 50 are the most"),
        (b" " * 524_289, "it has 524,289 bytes, and 524,288 are the most"),
    ],
)
def test_what_is_no_such_file_is_refused(data, why):
    with pytest.raises(ValueError, match=why):
        proposed.parse(data)


def test_what_no_operation_can_be_made_of_is_dropped_with_the_reason():
    assert "It is no JSON object." == refused("add")
    assert "Its op is none of" in refused({"slug": "a"})
    assert "It names no slug." == refused({"op": "add"})
    assert "Its line is no text." == refused({"op": "add", "slug": "a", "line": 3})
    said = refused({"op": "add", "slug": "a", "sources": "x"})
    assert "Its sources are no list of texts." == said
    assert "It has no key colour" in refused({"op": "add", "slug": "a", "colour": "x"})


def test_one_that_is_none_takes_no_other_along():
    good = {"op": "add", "slug": "a", "line": "It is so."}
    found = proposed.parse(json.dumps([good, {"op": "add", "slug": ["b"]}]).encode())

    assert (Operation(Op.ADD, "a", line="It is so."),) == found.operations
    assert ["Its slug is no text."] == [each.reason for each in found.dropped]


def test_what_nobody_mended_is_dropped_in_the_end():
    good = Operation(Op.ADD, "good", line="It is so.")
    first, second, other, gone = (
        Ruled(Operation(Op.ADD, slug), admitted=False, reason=why)
        for slug, why in (("bad", "a"), ("bad", "b"), ("good", "c"), ("gone", "d"))
    )
    made = Proposed((good,), (gone,), (first, other, second, gone))

    assert Proposed((good,), (gone, second)) == proposed.ended(made)
