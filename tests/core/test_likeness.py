"""What no two runs share is left blank, and the first difference is told."""

import json

import pytest

from gitagent.core.exchange import Api
from gitagent.core.likeness import difference, messages, normal, normal_body


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "session 123e4567-e89b-12d3-a456-426614174000",
            "session 00000000-1111-4222-8333-444444444444",
        ),
        ("on 2026-11-30T12:00:00Z", "on 2027-01-02T03:04:05.678Z"),
        ("Today's date is 2026-11-30.", "Today's date is 2026-12-01."),
        ("Mon Nov 30 2026, 12:03", "Tue, Dec 1 2026, 9:15:01"),
        ("date: 11/30/2026", "date: 1/2/2027"),
        ("http://127.0.0.1:3130/v1", "http://127.0.0.1:40001/v1"),
        ("cd /tmp/claude-1a2b/x && ls", "cd /tmp/other && ls"),
        ("2 passed in 0.03s", "2 passed in 1.2s"),
        ("[main 1a2b3c4] fix", "[main 99fedcb] fix"),
        ("ses_0123456789AbCd", "ses_zyxwvut987654"),
    ],
)
def test_what_differs_from_run_to_run_is_left_blank(one, other):
    assert normal(one) == normal(other)


@pytest.mark.parametrize(
    "text", ["2 passed", "added beef", "line 12 of 14", "/home/x/tmp", "a/b/c.py:12"]
)
def test_what_means_something_stays(text):
    assert text == normal(text)


def test_the_name_of_the_model_and_the_order_of_keys_do_not_count():
    one = b'{"model": "a", "max_tokens": 3, "messages": []}'
    other = b'{"messages":[],"max_tokens":3,"model":"b"}'

    assert normal_body(one) == normal_body(other)
    assert normal_body(b'{"max_tokens": 4}') != normal_body(b'{"max_tokens": 3}')
    assert "[1]" == normal_body(b"[1]")
    assert "no JSON" == normal_body(b"no JSON")


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (b'{"messages": [1, 2]}', 2),
        (b'{"input": [1]}', 1),
        (b'{"input": "x"}', 1),
        (b"{}", 1),
        (b"[]", 0),
        (b"?", 0),
    ],
)
def test_messages_are_counted(body, count):
    assert count == messages(body)


def chat(*texts, **more):
    said = [{"role": "user", "content": text} for text in texts]
    return json.dumps({**more, "messages": said}).encode()


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        (
            chat("one", "two"),
            chat("one", "too"),
            '/messages/1/content was `"two"` and is `"too"`',
        ),
        (chat("one"), chat("one", "two"), '/messages/1/content is new: `"two"`'),
        (
            chat("one", "two"),
            chat("one"),
            '/messages/1/content is not there: `"two"`',
        ),
        (chat("a", n=1), chat("a", n=2), "what is around its messages"),
        (
            chat("a" * 100 + "b" + "c" * 100),
            chat("a" * 100 + "x"),
            f'/messages/0/content was `…{"a" * 20}b{"c" * 39}…` and is `…{"a" * 20}x"`',
        ),
    ],
)
def test_the_first_difference_is_told(old, new, where):
    assert where == difference(old, new, Api.CHAT)
