"""No key passes, however it is cut."""

from hypothesis import given
from hypothesis import strategies as st

from gitagent.model.scrub import HIDDEN, Scrub

KEY = "sk-abcabc-42"


def pieces(scrub, parts):
    return b"".join([*(scrub.feed(each) for each in parts), scrub.end()])


def test_a_key_is_replaced_wherever_it_is_cut():
    text = f"before {KEY} between {KEY}{KEY} after sk-abc".encode()
    whole = Scrub([KEY]).whole(text)

    for place in range(len(text) + 1):
        assert whole == pieces(Scrub([KEY]), [text[:place], text[place:]])
    assert whole == pieces(Scrub([KEY]), [bytes([each]) for each in text])


@given(st.lists(st.sampled_from([b"sk-", b"abc", b"abc-42", b"-", b"4", b" "])))
def test_no_key_comes_out_of_any_pieces(parts):
    out = pieces(Scrub([KEY, "abc-4"]), parts)

    assert KEY.encode() not in out
    assert b"abc-4" not in out


def test_the_longer_of_two_keys_goes_as_one():
    assert HIDDEN + b"." == Scrub(["sk-a", "sk-a-b", ""]).whole(b"sk-a-b.")
