"""The hooks' log, which whoever is in the sandbox may write."""

import pytest

from gitagent.worker.hooklog import LATE, LIMIT, PRE_TOOL, STOP, entry, summary


def test_verdicts_are_counted():
    lines = [
        entry(PRE_TOOL, "allow"),
        entry(PRE_TOOL, "allow"),
        entry(PRE_TOOL, "not_evaluated"),
        entry(STOP, "failed", code=1),
        entry(STOP, "passed", code=0),
    ]

    assert (
        "Hooks: tool calls allowed 2, not evaluated 1; accept commands passed 1, "
        "failed 1."
    ) == summary(b"".join(lines), installed=True)


@pytest.mark.parametrize("data", [None, b""])
def test_without_a_log_nothing_was_evaluated(data):
    assert "Hooks: not evaluated; their log is missing." == summary(
        data, installed=True
    )


def test_without_hooks_nothing_is_said():
    assert "" == summary(entry(STOP, "passed"), installed=False)


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"\xff\xfe",
        b"[]",
        b"3",
        b"{}",
        b'{"hook": "pre-tool"}',
        b'{"hook": "pre-tool", "verdict": "passed"}',
        b'{"hook": [], "verdict": {}}',
        b'{"hook": "pre-tool", "verdict": []}',
        b"[" * 5000,
        b"9" * 5000,
    ],
)
def test_garbage_is_counted_and_believed_in_nothing(line):
    assert "Hooks: not evaluated; their log holds nothing that can be read." == summary(
        line, installed=True
    )
    assert "Hooks: tool calls denied 1; 1 unreadable." == summary(
        entry(PRE_TOOL, "deny") + line, installed=True
    )


def test_a_full_log_says_so():
    data = entry(PRE_TOOL, "allow") * (LIMIT // len(entry(PRE_TOOL, "allow")))

    assert len(data) > LIMIT - LATE
    assert "the log is full" in summary(data, installed=True)


def test_a_line_is_bounded_whatever_it_is_about():
    line = entry(PRE_TOOL, "deny", what="\x1b\n" * 9000, said="\U0001f600" * 9000)

    assert len(line) < 2048
    assert 1 == line.count(b"\n")
    assert b"\x1b" not in line
