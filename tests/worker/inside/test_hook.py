"""The hooks before a tool's call and at the end, as Claude Code calls them."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from gitagent.worker import hooklog
from gitagent.worker.inside import hook, stopping
from gitagent.worker.inside.hook import answer

ENVIRON = {"PATH": "/usr/bin:/bin"}


@pytest.fixture
def pre_tool(where, give):
    give(tree="/workspace", protected=["ci.yml"], writable=["/tmp"])  # noqa: S108

    def ask(tool, **given):
        data = {"hook_event_name": "PreToolUse", "tool_name": tool, "cwd": "/workspace"}
        return answer(
            "pre-tool", json.dumps({**data, "tool_input": given}).encode(), where, {}
        )

    return ask


@pytest.fixture
def stop(where):
    def ask(**given):
        data = {"hook_event_name": "Stop", "stop_hook_active": False, **given}
        return answer("stop", json.dumps(data).encode(), where, ENVIRON)

    return ask


def noted(where):
    path = where.out / hooklog.NAME
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def verdicts(where):
    return [each["verdict"] for each in noted(where)]


# --- pre-tool


def test_what_cannot_work_is_denied_with_the_reason(pre_tool, where):
    said = pre_tool("Bash", command="git push")["hookSpecificOutput"]
    (line,) = noted(where)

    assert "PreToolUse" == said["hookEventName"]
    assert "deny" == said["permissionDecision"]
    assert "nothing to push" in said["permissionDecisionReason"]
    assert ("pre-tool", "deny") == (line["hook"], line["verdict"])
    assert "Bash: git push" == line["what"]


def test_a_note_comes_along_with_what_is_allowed(pre_tool):
    said = pre_tool("Write", file_path="ci.yml")["hookSpecificOutput"]

    assert "approve" in said["additionalContext"]
    assert "permissionDecision" not in said


@pytest.mark.parametrize(
    ("command", "verdict"), [("ls", "allow"), ("make", "not_evaluated")]
)
def test_of_the_rest_nothing_is_said(pre_tool, where, command, verdict):
    assert {} == pre_tool("Bash", command=command)
    assert [verdict] == verdicts(where)


BROKEN = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"a": ' + b"9" * 9000 + b"}",
]


@pytest.mark.parametrize("data", [*BROKEN, b"{}", b'{"tool_name": "Bash"}'])
def test_what_cannot_be_read_is_not_evaluated(pre_tool, where, data):
    assert pre_tool
    assert {} == answer("pre-tool", data, where, {})
    assert ["not_evaluated"] == verdicts(where)


@pytest.mark.parametrize("name", ["pre-tool", "stop"])
def test_without_the_task_nothing_is_evaluated(where, name):
    data = b'{"tool_name": "Bash", "tool_input": {"command": "git push"}}'

    assert {} == answer(name, data, where, {})
    assert ["not_evaluated"] == verdicts(where)


@pytest.mark.parametrize("name", ["pre-tool", "stop"])
def test_an_evaluator_that_fails_is_not_evaluated(where, monkeypatch, capsys, name):
    def fail(*_):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    monkeypatch.setattr(hook, "answer", fail)
    monkeypatch.setattr(hook, "place", lambda _: where)

    assert 0 == hook.main([name])
    assert "" == capsys.readouterr().out
    assert ["not_evaluated"] == verdicts(where)
    assert "ZeroDivisionError" in noted(where)[0]["said"]


def test_an_unknown_hook_stands_in_nobodys_way(capsys):
    assert 0 == hook.main(["post-tool"])
    assert 0 == hook.main([])
    assert "usage" in capsys.readouterr().err


def test_the_log_is_bounded_and_keeps_room_for_the_end(pre_tool, stop, where, give):
    path = where.out / hooklog.NAME
    path.write_bytes((b"x" * 5000 + b"\n") * 10)
    pre_tool("Bash", command="ls")
    size = path.stat().st_size
    give(accept=["true"])
    stop()

    assert 10 * 5001 == size
    assert b"passed" in path.read_bytes()
    assert path.stat().st_size < hooklog.LIMIT


@pytest.mark.parametrize("kind", ["folder", "link", "gone"])
def test_a_log_that_cannot_be_written_changes_no_answer(pre_tool, where, kind):
    path = where.out / hooklog.NAME
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("nowhere/at/all")
    else:
        where.out.rmdir()

    assert "hookSpecificOutput" in pre_tool("Bash", command="git push")


# --- stop


def test_an_agent_is_sent_back_with_what_fails(stop, where, give):
    give(accept=["true", "echo too bad; exit 3", "true"], retries=1)
    said = stop()

    assert "block" == said["decision"]
    assert "`echo too bad; exit 3` ended with exit code 3" in said["reason"]
    assert "too bad\n```" in said["reason"]
    assert ["passed", "failed"] == verdicts(where)
    assert noted(where)[1]["sent"]
    assert 3 == noted(where)[1]["code"]


def test_it_is_sent_back_no_more_often_than_retries(stop, where, give):
    give(accept=["false"], retries=2, attempt=1)
    said = [bool(stop()), bool(stop(stop_hook_active=True)), bool(stop()), bool(stop())]
    give(accept=["false"], retries=2, attempt=2)

    assert [True, True, False, False] == said
    assert ["failed"] * 4 == verdicts(where)
    assert stop()


def test_without_retries_it_may_stop_and_the_verdict_stays(stop, where, give):
    give(accept=["false"])

    assert {} == stop()
    assert ["failed"] == verdicts(where)


def test_what_passes_lets_it_stop(stop, where, give):
    give(accept=["test -d .", "true"], retries=5)

    assert {} == stop()
    assert ["passed", "passed"] == verdicts(where)


def test_it_runs_in_the_worktree(stop, where, give):
    (Path(where.tree) / "here").touch()
    give(accept=["test -f here"])
    stop(cwd="/")

    assert ["passed"] == verdicts(where)


def test_a_command_past_its_time_limit_has_failed(stop, where, give):
    give(accept=["exec sleep 1000"], accept_timeout=1, retries=1)
    said = stop()

    assert "ran past its time limit of 1s" in said["reason"]
    assert ["failed"] == verdicts(where)


def test_a_task_without_accept_is_not_evaluated(stop, where, give):
    give(retries=3)

    assert {} == stop()
    assert ["not_evaluated"] == verdicts(where)


def test_a_command_that_cannot_be_started_is_not_evaluated(where, give):
    give(accept=["true"], retries=3, tree="/nonexistent/tree")

    assert {} == answer("stop", b"{}", where, ENVIRON)
    assert ["not_evaluated"] == verdicts(where)


def test_who_asked_is_never_sent_back(stop, where, give):
    give(accept=["false"], retries=3)
    where.question.write_text("{}")

    assert {} == stop()
    assert ["not_evaluated"] == verdicts(where)


def test_who_is_blocked_is_never_sent_back(stop, where, give):
    give(accept=["false"], retries=3)
    where.returned.write_text('{"status": "blocked", "summary": "no compiler"}')

    assert {} == stop()
    assert ["not_evaluated"] == verdicts(where)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 5000])
def test_a_return_that_cannot_be_read_says_nothing(stop, where, give, content):
    give(accept=["true"])
    where.returned.write_bytes(content)
    stop()

    assert ["passed"] == verdicts(where)


def test_who_cannot_be_counted_is_not_sent_back(where, give):
    give(accept=["false"], retries=3)
    home = where.home / "file"
    home.touch()
    odd = replace(where, home=home)

    assert {} == answer("stop", b"{}", odd, ENVIRON)
    (where.home / ".gitagent").mkdir()
    (where.home / ".gitagent" / "stopped-0").write_bytes(b"\xff")

    assert {} == answer("stop", b"{}", where, ENVIRON)
    assert ["failed", "failed"] == verdicts(where)


@pytest.mark.parametrize("data", BROKEN)
def test_an_end_that_cannot_be_read_is_not_evaluated(where, give, data):
    give(accept=["false"], retries=3)

    assert {} == answer("stop", data, where, ENVIRON)
    assert ["not_evaluated"] == verdicts(where)


def test_the_end_of_a_long_output_is_what_is_sent(stop, give):
    give(accept=["seq 100000; exit 1"], retries=1)
    reason = stop()["reason"]

    assert len(reason) < 6000
    assert "\n100000\n" in reason
    assert "left out" in reason


def test_odd_numbers_in_the_task_are_not_believed(stop, give):
    give(accept=["false"], retries="many", accept_timeout=-3)

    assert {} == stop()
    assert 600 == stopping._LIMIT_S
