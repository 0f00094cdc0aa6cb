"""The form of an agent's return, and what becomes of one."""

import json

import pytest

from gitagent.core.task import Outcome
from gitagent.worker.returns import BadReturn, Return, parse

WHOLE = {
    "status": "done",
    "summary": "It works.",
    "divergence": "None",
    "evidence": ["the test passes"],
    "commands": ["make test"],
    "risks": ["slow"],
}


def test_a_whole_return_is_read():
    assert Return(
        "done", "It works.", "None", ("the test passes",), ("make test",), ("slow",)
    ) == parse(json.dumps(WHOLE).encode())


def test_all_but_the_status_can_be_left_out():
    assert Return("nothing") == parse(b'{"status": "nothing"}')


def test_one_text_stands_for_a_list_of_one():
    assert ("a",) == parse(b'{"status": "done", "risks": "a"}').risks


def test_control_characters_become_visible():
    said = parse(b'{"status": "done", "summary": "\\u001b[31mred"}')

    assert r"\x1b[31mred" == said.summary


@pytest.mark.parametrize(
    ("data", "mend"),
    [
        (b"", "JSON"),
        (b"not json", "line 1, column 1"),
        (b"\xff{}", "UTF-8"),
        (b"[]", "object"),
        (b"[" * 60_000, "flat"),
        (b'{"summary": "x"}', "status"),
        (b'{"status": "finished"}', '"done", "nothing", "blocked"'),
        (b'{"status": ["done"]}', "status"),
        (b'{"status": "blocked"}', "summary"),
        (b'{"status": "done", "sumary": "x"}', "did you mean summary?"),
        (b'{"status": "done", "zzz": "x"}', "known are"),
        (b'{"status": "done", "status": "done"}', "twice"),
        (b'{"status": "done", "summary": 3}', "summary"),
        (b'{"status": "done", "commands": {"a": 1}}', "commands"),
        (b'{"status": "done", "commands": ["a\\nb"]}', "one line"),
        (b'{"status": "done", "evidence": ["a", 1]}', "evidence"),
        (b'{"status": "done", "summary": "' + b"x" * 9000 + b'"}', "8000"),
        (b" " * 70_000, "65536"),
        (json.dumps({"status": "done", "risks": ["x"] * 99}).encode(), "50"),
    ],
)
def test_a_slip_is_refused_with_its_mend(data, mend):
    with pytest.raises(BadReturn) as caught:
        parse(data)

    assert mend in str(caught.value)
    assert "\n" not in str(caught.value)


def told(values: object) -> str:
    return f"echo 1 > a; cat > $GITAGENT_RETURN_FILE <<'EOF'\n{json.dumps(values)}\nEOF"


def test_what_the_agent_says_goes_into_attempt_and_log(work):
    end = work.run(told(WHOLE))

    assert Outcome.OK is end.attempt.outcome
    assert "It works.\n\nRisks: slow" == end.attempt.summary
    assert "None" == end.attempt.divergence
    assert ("make test",) == end.attempt.commands
    assert "evidence: the test passes" in work.log(end)


def test_nothing_to_do_is_an_outcome_of_its_own(work):
    end = work.run(told({"status": "nothing", "summary": "Done already."}))

    assert Outcome.NOTHING is end.attempt.outcome
    assert "Done already." == end.attempt.summary


@pytest.mark.parametrize("code", [0, 3])
def test_blocked_says_what_is_missing_and_keeps_the_work(work, code):
    said = told({"status": "blocked", "summary": "The key is missing."})
    end = work.run(f"{said}\nexit {code}")

    assert Outcome.BLOCKED is end.attempt.outcome
    assert "The key is missing." == end.attempt.reason
    assert end.attempt.tip == work.branch


def test_a_claim_of_success_does_not_outweigh_the_exit_code(work):
    end = work.run(told({"status": "done"}) + "\nexit 3")

    assert Outcome.FAILED is end.attempt.outcome


def test_a_bad_return_fails_the_attempt_with_the_mend_and_keeps_the_work(work):
    end = work.run(told({"state": "done"}))

    assert Outcome.FAILED is end.attempt.outcome
    assert "status" in end.attempt.reason
    assert "status" in end.output
    assert end.attempt.tip == work.branch


@pytest.mark.parametrize(
    "trick",
    [
        "ln -s /etc/passwd $GITAGENT_RETURN_FILE",
        "ln -s {secret} $GITAGENT_RETURN_FILE",
        "mkfifo $GITAGENT_RETURN_FILE",
        "mkdir $GITAGENT_RETURN_FILE",
        "head -c 100000 /dev/zero > $GITAGENT_RETURN_FILE",
    ],
)
def test_a_return_that_is_no_plain_file_is_not_read(work, tmp_path, trick):
    secret = tmp_path / "secret"
    secret.write_text('{"status": "done", "summary": "secret"}')
    end = work.run("echo 1 > a; " + trick.replace("{secret}", str(secret)))

    assert Outcome.FAILED is end.attempt.outcome
    assert "secret" not in end.attempt.summary
    assert end.attempt.tip == work.branch
