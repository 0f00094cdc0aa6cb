"""How failures are told apart, and what is done about each: the tables, row by row."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.core import failure
from gitagent.core.failure import RULES, SIGNS, Failure, classify, pause, said, told

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def anthropic(kind, message):
    return {"type": "error", "error": {"type": kind, "message": message}}


def openai(message, kind, code=None):
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


BODIES = [
    # anthropic
    (
        Failure.RATE_LIMITED,
        429,
        anthropic(
            "rate_limit_error",
            "This request would exceed your organization's rate limit of 50,000 input "
            "tokens per minute",
        ),
    ),
    (Failure.OVERLOADED, 529, anthropic("overloaded_error", "Overloaded")),
    (Failure.OVERLOADED, 200, anthropic("overloaded_error", "Overloaded")),
    (Failure.SERVER, 500, anthropic("api_error", "Internal server error")),
    (Failure.SERVER, 200, anthropic("api_error", "Internal server error")),
    (Failure.TIMEOUT, 200, anthropic("timeout_error", "Request timed out")),
    (
        Failure.OVERFLOW,
        400,
        anthropic(
            "invalid_request_error",
            "prompt is too long: 213462 tokens > 200000 maximum",
        ),
    ),
    (
        Failure.OVERFLOW,
        400,
        anthropic(
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 198000 + 20000 > "
            "200000, decrease input length or `max_tokens` and try again",
        ),
    ),
    (
        Failure.OVERFLOW,
        413,
        anthropic("request_too_large", "Request exceeds the maximum size"),
    ),
    (
        Failure.FUNDS,
        400,
        anthropic(
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API. Please go to "
            "Plans & Billing to upgrade or purchase credits.",
        ),
    ),
    (Failure.FUNDS, 402, anthropic("billing_error", "Your account is past due")),
    (Failure.AUTH, 401, anthropic("authentication_error", "invalid x-api-key")),
    (
        Failure.AUTH,
        403,
        anthropic("permission_error", "Your API key does not have permission"),
    ),
    (Failure.NO_MODEL, 404, anthropic("not_found_error", "model: claude-none-9")),
    (
        Failure.INVALID,
        400,
        anthropic("invalid_request_error", "messages: at least one message is needed"),
    ),
    # openai
    (
        Failure.RATE_LIMITED,
        429,
        openai(
            "Rate limit reached for gpt-5 in organization org-x on tokens per min",
            "tokens",
            "rate_limit_exceeded",
        ),
    ),
    (
        Failure.FUNDS,
        429,
        openai(
            "You exceeded your current quota, please check your plan and billing",
            "insufficient_quota",
            "insufficient_quota",
        ),
    ),
    (
        Failure.OVERFLOW,
        400,
        openai(
            "This model's maximum context length is 128000 tokens. However, your "
            "messages resulted in 130000 tokens.",
            "invalid_request_error",
            "context_length_exceeded",
        ),
    ),
    (
        Failure.AUTH,
        401,
        openai(
            "Incorrect API key provided: sk-ab***yz.",
            "invalid_request_error",
            "invalid_api_key",
        ),
    ),
    (
        Failure.NO_MODEL,
        404,
        openai(
            "The model `gpt-none` does not exist or you do not have access to it.",
            "invalid_request_error",
            "model_not_found",
        ),
    ),
    (Failure.SERVER, 503, openai("The engine is starting", "server_error")),
    (
        Failure.OVERFLOW,
        200,
        {
            "type": "response.failed",
            "response": {
                "status": "failed",
                "error": {"code": "context_length_exceeded", "message": "too long"},
            },
        },
    ),
    (
        Failure.RATE_LIMITED,
        200,
        {
            "type": "response.failed",
            "response": {"error": {"code": "rate_limit_exceeded", "message": "later"}},
        },
    ),
    (
        Failure.OVERLOADED,
        200,
        {"type": "error", "code": "server_is_overloaded", "message": "later"},
    ),
    # servers that speak an API alike
    (
        Failure.OVERFLOW,
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size",
                "type": "exceed_context_size_error",
            }
        },
    ),
    (Failure.NO_MODEL, 404, {"error": "model 'none' not found"}),
    (
        Failure.OVERFLOW,
        400,
        {"object": "error", "message": "This model's maximum context length is 4096"},
    ),
    (Failure.INVALID, 422, {"detail": [{"loc": ["body"], "msg": "field required"}]}),
]


@pytest.mark.parametrize(
    ("expected", "status", "body"),
    BODIES,
    ids=[f"{number}-{row[0]}" for number, row in enumerate(BODIES)],
)
def test_each_body_of_an_error_is_of_its_kind(expected, status, body):
    assert expected == classify(status, said(json.dumps(body).encode()))


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, Failure.INVALID),
        (401, Failure.AUTH),
        (402, Failure.FUNDS),
        (403, Failure.AUTH),
        (404, Failure.INVALID),
        (408, Failure.TIMEOUT),
        (409, Failure.INVALID),
        (413, Failure.OVERFLOW),
        (429, Failure.RATE_LIMITED),
        (500, Failure.SERVER),
        (502, Failure.SERVER),
        (503, Failure.SERVER),
        (529, Failure.OVERLOADED),
        (307, Failure.INVALID),
    ],
)
@pytest.mark.parametrize("body", [b"", b"<html>no</html>", b"[]", b'"text"', b"\xff"])
def test_a_status_alone_tells_the_kind_when_the_body_says_nothing(
    status, expected, body
):
    assert expected == classify(status, said(body))


def test_every_kind_has_a_rule_and_each_that_is_an_answer_a_sign():
    connection = {
        Failure.UNREACHABLE,
        Failure.HUNG,
        Failure.CUT,
        Failure.GARBAGE,
    }

    assert set(Failure) == set(RULES)
    assert set(Failure) - connection == {each.failure for each in SIGNS}


@pytest.mark.parametrize("kind", Failure)
def test_each_kind_is_tried_as_often_as_its_rule_says(kind):
    rule = RULES[kind]
    pauses = [pause(rule, tried, None) for tried in (1, 2, 3)]

    assert ([2.0, 4.0, None] if rule.retry else [None] * 3) == pauses


@pytest.mark.parametrize("kind", Failure)
def test_the_provider_s_word_counts_for_the_kinds_that_are_told(kind):
    rule = RULES[kind]
    if not rule.retry:
        assert pause(rule, 1, 7.0) is None
        return

    assert (7.0 if rule.told else 2.0) == pause(rule, 1, 7.0)
    assert (None if rule.told else 2.0) == pause(rule, 1, failure.PATIENCE_S + 1)


def test_a_pause_grows_to_a_minute_and_no_further(monkeypatch):
    monkeypatch.setattr(failure, "TRIES", 10)
    rule = RULES[Failure.SERVER]

    assert [2, 4, 8, 16, 32, 60, 60] == [pause(rule, n, None) for n in range(1, 8)]


def _date(seconds):
    return (NOW + timedelta(seconds=seconds)).strftime("%a, %d %b %Y %H:%M:%S GMT")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "17"}, 17.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": _date(90)}, 90.0),
        ({"retry-after": _date(-90)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "9" * 400}, None),
        ({}, None),
    ],
)
def test_how_long_a_provider_asks_to_wait(headers, expected):
    assert expected == told(headers, NOW)


@given(st.binary(max_size=300), st.integers(100, 599))
def test_any_body_of_an_error_is_of_some_kind(body, status):
    assert classify(status, said(body)) in RULES
