import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.files.message import (
    RECORDS,
    annotated,
    escape,
    landing_message,
    record_message,
    trailers,
)

TIP, CONFIG, TREE = (digit * 40 for digit in "abc")

# Text made to look like ours, and what Git itself cuts a message at.
rows = st.sampled_from(
    [
        "Gitagent-Task: other",
        "gitagent-checked: x",
        "  GITAGENT-Tip : y",
        "\tGitagent-Submission=z",
        "\u3000Gitagent-Tip: w",
        "Signed-off-by: A <a@b>",
        "Fixes: #1",
        "folded",
        " folded: on",
        "---",
        "--- a/file",
        "# ------------------------ >8 ------------------------",
        "; ------------------------ >8 ------------------------",
        "# comment",
        "Conflicts:",
        "(cherry picked from commit 123)",
        "> Gitagent-Task: x",
        "",
        " ",
        "\t",
    ]
) | st.text(st.characters(exclude_categories=()), max_size=12)
messages = st.lists(rows, max_size=9).map("\n".join)


def submission(task="fix-login"):
    return Submission(
        id="s-0123456789ab",
        tip=TIP,
        state=SubmissionState.CHECKING,
        created="",
        since="",
        task=task,
    )


def landing(subject, body, checks=(), task="fix-login"):
    return landing_message(
        submission(task), subject, body, config=CONFIG, checked=TREE, checks=checks
    )


def parsed_by_git(message):
    done = subprocess.run(
        ["git", "interpret-trailers", "--parse"],
        input=message.encode(),
        capture_output=True,
        check=True,
    )
    return tuple(
        tuple(line.split(": ", 1)) for line in done.stdout.decode().splitlines()
    )


def test_a_landing_says_what_landed_and_what_was_checked():
    checks = (CheckLine("lint", "passed", 0.25), CheckLine("tests", "flaky", 12))
    message = landing("Fix the login", "It was broken.\n\nNow it is not.", checks)

    assert message == (
        "Fix the login\n\nIt was broken.\n\nNow it is not.\n\n"
        "Gitagent-Submission: s-0123456789ab\n"
        "Gitagent-Task: fix-login\n"
        f"Gitagent-Tip: {TIP}\n"
        f"Gitagent-Config: {CONFIG}\n"
        f"Gitagent-Checked: {TREE}\n"
        "Gitagent-Check: lint passed 0.2s\n"
        "Gitagent-Check: tests flaky 12.0s\n"
    )
    assert parsed_by_git(message) == trailers(message)


def test_a_persons_submission_has_no_task():
    message = landing("Fix", "", task=None)

    assert "Gitagent-Task" not in dict(trailers(message))
    assert message.startswith("Fix\n\nGitagent-Submission: ")


def test_a_landing_without_a_subject_still_has_one():
    assert landing(" \n", "").startswith("Land s-0123456789ab\n\n")


def test_trailers_of_other_people_stay_trailers():
    message = landing("Fix", "Why.\n\nFixes: #12\nSigned-off-by: A <a@b>\n")

    assert ("Signed-off-by", "A <a@b>") in trailers(message)
    assert trailers(message) == parsed_by_git(message)


@settings(max_examples=300)
@given(rows, messages)
@example("Gitagent-Task: x", "Gitagent-Task: x")
def test_whatever_people_write_our_trailers_are_ours_alone(subject, body):
    checks = (CheckLine("tests", "passed", 1),)
    ours = trailers(landing("x", "", checks))
    found = trailers(landing(subject, body, checks))

    assert ours == found[-len(ours) :]
    assert not [k for k, _ in found[: -len(ours)] if k.lower().startswith("gitagent")]


@settings(max_examples=60)
@given(messages)
def test_git_reads_the_same_trailers_as_we_do(text):
    message = annotated(text, [("Gitagent-Submission", "s-1"), ("Gitagent-Tip", TIP)])

    assert trailers(message) == parsed_by_git(message)


@given(messages)
def test_escaping_again_changes_nothing(text):
    escaped = escape(text)

    assert escaped == escape(escaped)


@pytest.mark.parametrize(
    "text",
    ["Fix\n\n- a\n\n| a: b |\n", "Use gitagent-daemon? No: `Gitagent-Tip` it is.", "ä"],
)
def test_honest_text_is_not_touched(text):
    assert text == escape(text)


def test_a_value_with_line_feeds_stays_one_trailer():
    message = annotated("x", [("Gitagent-Check", "a\nGitagent-Tip: b")])

    assert trailers(message) == (("Gitagent-Check", "a Gitagent-Tip: b"),)


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("", ()),
        ("Gitagent-Tip: a\n", ()),
        ("x\n\nGitagent-Tip: a\n\nlast words\n", ()),
        ("x\n\nGitagent-Tip: a\nno trailer\n", ()),
        ("x\n\nA: 1\n \t\nGitagent-Tip: a\n\n", (("Gitagent-Tip", "a"),)),
        ("x\r\n\r\nGitagent-Tip: a\r\n  b\r\n", (("Gitagent-Tip", "a b"),)),
        ("x\n\n  Gitagent-Tip: a\n", ()),
    ],
)
def test_only_the_last_paragraph_holds_trailers(message, found):
    assert found == trailers(message)


@pytest.mark.parametrize("kind", RECORDS)
def test_a_record_commit_says_what_happened_and_of_what_kind_it_is(kind):
    message = record_message("Attempt 1 started", kind)

    assert message.startswith("Attempt 1 started\n\n")
    assert dict(trailers(message)).keys() == {"Gitagent-Record", "Gitagent-Release"}
    assert dict(trailers(message))["Gitagent-Record"] == kind


def test_a_record_of_no_kind_is_a_bug():
    with pytest.raises(ValueError, match="novel"):
        record_message("x", "novel")
