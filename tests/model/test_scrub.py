"""No key passes."""

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.model.scrub import HIDDEN, Scrub

KEY = "sk-abcabc-42"


def test_every_key_in_a_text_is_replaced():
    text = f"before {KEY} between {KEY}{KEY} after sk-abc é"

    assert "before [key] between [key][key] after sk-abc é" == Scrub([KEY]).text(text)


@given(st.lists(st.sampled_from([b"sk-", b"abc", b"abcabc-42", b"-", b"4", b" "])))
def test_no_key_comes_out_of_any_bytes(parts):
    out = Scrub([KEY, "abcabc-4"]).whole(b"".join(parts))

    assert KEY.encode() not in out
    assert b"abcabc-4" not in out


def test_the_longer_of_two_keys_goes_as_one():
    assert HIDDEN + b"." == Scrub(["sk-aaaaa", "sk-aaaaa-b", ""]).whole(b"sk-aaaaa-b.")


ODD = 'sk-1/2+3="4&5<6%7'


@pytest.mark.parametrize(
    "written",
    [
        json.dumps(ODD),
        json.dumps(json.dumps(ODD)),
        json.dumps(ODD).replace("/", "\\/"),
        ODD.replace("/", "\\u002F").replace("+", "\\u002B"),
        ODD.replace("/", "\\u002f").replace("<", "\\u003c"),
        "".join(f"\\u{ord(each):04x}" for each in ODD),
        "".join(f"\\u{ord(each):04X}" for each in ODD),
        quote(ODD, safe=""),
        quote(ODD, safe="").lower(),
    ],
)
def test_a_key_is_found_however_it_is_escaped(written):
    assert "a [key] b" == Scrub([ODD]).text(f"a {written} b").replace('"', "").replace(
        "\\", ""
    )


@pytest.mark.parametrize("before", ["", "a", "ab", "abc", "user:"])
@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
def test_a_key_is_found_in_base64_wherever_it_begins(before, encode):
    key = "sk-" + "~?>" * 6 + "-0123456789"
    out = Scrub([key]).whole(encode(f"{before}{key} and more".encode()))

    assert HIDDEN in out
    assert len(out) < len(HIDDEN) + 4 * len(f"{before}and more") // 3 + 8


@pytest.mark.parametrize("word", ["ollama", "EMPTY", "x"])
def test_a_word_that_stands_for_a_key_is_none(word):
    assert f"pull {word}" == Scrub([word]).text(f"pull {word}")
