"""What a request asks for, and what is changed in it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.core.exchange import Api
from gitagent.model.request import MOST_OUT, Asked, api_of, prepared, read


def asked(api=Api.MESSAGES, **more) -> Asked:
    found = read(api, json.dumps({"model": "m", **more}).encode())
    assert isinstance(found, Asked)
    return found


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/v1/messages", Api.MESSAGES),
        ("/messages?beta=true", Api.MESSAGES),
        ("/v1/messages/count_tokens?beta=true", Api.COUNT),
        ("/v1/chat/completions", Api.CHAT),
        ("/responses/", Api.RESPONSES),
        ("/v1/files", None),
        ("/v2/messages", None),
        ("", None),
    ],
)
def test_a_path_says_which_api_is_meant(target, expected):
    assert expected == api_of(target)


@pytest.mark.parametrize(
    ("api", "fields", "expected"),
    [
        (Api.MESSAGES, {"max_tokens": 7}, 7),
        (Api.MESSAGES, {}, MOST_OUT),
        (Api.COUNT, {"max_tokens": 7}, 0),
        (Api.CHAT, {"max_tokens": 7, "max_completion_tokens": 9}, 9),
        (Api.CHAT, {"max_tokens": 7, "n": 3}, 21),
        (Api.CHAT, {"n": None}, MOST_OUT),
        (Api.CHAT, {"max_tokens": 7, "n": 2, "best_of": 5}, 35),
        (Api.CHAT, {"max_tokens": 7, "n_predict": 50}, 50),
        (Api.RESPONSES, {"max_output_tokens": 5}, 5),
        (Api.RESPONSES, {"max_tokens": 5}, MOST_OUT),
    ],
)
def test_the_limit_of_an_answer_is_where_its_api_has_it(api, fields, expected):
    assert expected == asked(api, **fields).most_out


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[1]", "no JSON object"),
        (b"{}", "names no model"),
        (b'{"model": 3}', "names no model"),
        (b'{"model":"a","model":"b"}', "one key twice"),
        (b'{"model":"a","x":{"y":1,"y":2}}', "one key twice"),
        (b'{"model":"a","temperature":NaN}', "NaN is no number"),
        (b'{"model":"a","max_tokens":-1}', "no whole number from 1"),
        (b'{"model":"a","max_tokens":true}', "no whole number from 1"),
        (b'{"model":"a","max_tokens":"9"}', "no whole number from 1"),
        (b'{"model":"a","background":true}', "in the background"),
        (b'{"model":"a","stream":"true"}', "neither true nor false"),
        (b'{"model":"a","stream":1}', "neither true nor false"),
        (b'{"model":"a","Model":"b"}', "lower case"),
        (b'\xef\xbb\xbf{"model":"a"}', "no JSON"),
        ('{"model":"a"}'.encode("utf-16"), "no JSON"),
        ('{"model":"a"}'.encode("utf-16-le"), "no JSON"),
        (b'{"model":"\xed\xa0\x80"}', "no JSON"),
        (b'{"model":"a"} {"model":"b"}', "no JSON"),
        (b'{"model":"a","x":' + b"[" * 100_000, "no JSON"),
        (b'{"model":"a","x":[' + b"[]," * 600_000 + b"1]}", "1000000 values"),
    ],
)
def test_what_cannot_be_metered_is_refused_with_the_reason(body, why):
    found = read(Api.MESSAGES, body)

    assert isinstance(found, str)
    assert why in found


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_a_sentence(body):
    assert isinstance(read(Api.CHAT, body), Asked | str)


def test_the_input_is_estimated_high_and_a_picture_by_its_kind():
    text = asked(messages=[{"role": "user", "content": "word " * 1000}])
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 3_000_000}
    picture = asked(messages=[{"content": [{"type": "image", "source": source}]}])

    assert text.most_in > 1250
    assert 3000 < picture.most_in < 4000


def test_only_what_is_shown_as_a_picture_counts_as_one():
    data = {"media_type": "image/png", "data": "A" * 1_000_000}
    call = {"type": "tool_use", "name": "f", "input": data}
    schema = {"name": "f", "input_schema": {"properties": data}}

    for more in ({"messages": [{"content": [call]}]}, {"tools": [schema]}):
        assert asked(**more).most_in > 250_000


def test_a_request_passes_byte_for_byte():
    body = b'{ "model" : "m",\n "x": [1, 2.50] }'
    found = read(Api.MESSAGES, body)

    assert isinstance(found, Asked)
    assert body == prepared(found, body, "m")


def test_a_stream_of_a_chat_is_asked_for_its_usage():
    body = b'{"model":"m","stream":true,"stream_options":{"x":1}}'
    found = read(Api.CHAT, body)
    assert isinstance(found, Asked)

    assert not found.usage
    assert {"x": 1, "include_usage": True} == json.loads(prepared(found, body, "m"))[
        "stream_options"
    ]
    assert asked(Api.CHAT, stream=True, stream_options={"include_usage": True}).usage
    assert asked(Api.CHAT).usage
    assert asked(Api.RESPONSES, stream=True).usage is False
