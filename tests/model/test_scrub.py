"""No key passes."""

from hypothesis import given
from hypothesis import strategies as st

from gitagent.model.scrub import HIDDEN, Scrub

KEY = "sk-abcabc-42"


def test_every_key_in_a_text_is_replaced():
    text = f"before {KEY} between {KEY}{KEY} after sk-abc é"

    assert "before [key] between [key][key] after sk-abc é" == Scrub([KEY]).text(text)


@given(st.lists(st.sampled_from([b"sk-", b"abc", b"abc-42", b"-", b"4", b" "])))
def test_no_key_comes_out_of_any_bytes(parts):
    out = Scrub([KEY, "abc-4"]).whole(b"".join(parts))

    assert KEY.encode() not in out
    assert b"abc-4" not in out


def test_the_longer_of_two_keys_goes_as_one():
    assert HIDDEN + b"." == Scrub(["sk-a", "sk-a-b", ""]).whole(b"sk-a-b.")
