"""A task's state for whoever goes on."""

from dataclasses import replace

from gitagent.core.candidate import Change, PathChange
from gitagent.core.exposure import Exposure, Received, Way
from gitagent.core.handoff import handoff
from gitagent.core.question import Answer, Asker, Card, Question
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.core.task import Attempt, Outcome, TaskRecord, TaskState

_ATTEMPT = Attempt(
    1,
    "b" * 40,
    "c" * 40,
    "2026-01-01T00:00:00Z",
    ended="2026-01-01T00:09:00Z",
    outcome=Outcome.OK,
    exit_code=0,
    tip="d" * 40,
    summary="All done, every test passes.",
)
_RECORD = TaskRecord(
    "login",
    TaskState.FAILED,
    "b" * 40,
    "2026-01-01T00:10:00Z",
    title="Mend the login",
    reason="The check unit failed.",
    attempt=1,
    attempts=(_ATTEMPT,),
)
_REJECTED = Submission(
    "s-0123456789ab",
    "d" * 40,
    SubmissionState.REJECTED,
    "2026-01-01T00:09:10Z",
    "2026-01-01T00:10:00Z",
    task="login",
    reason="unit failed.",
    checks=(CheckLine("unit", "failed", 1.0, "refs/gitagent/receipts/2026-01:x"),),
    output="first\n" + "noise\n" * 500 + "AssertionError: ```no``` cookie",
)
_CHANGES = (
    PathChange("src/a.py", Change.MODIFIED, 0o100644, 0o100644),
    PathChange("src/b\n.py", Change.ADDED, 0, 0o100644),
)


def test_a_task_that_was_never_tried_has_nothing_to_hand_over():
    assert "" == handoff(replace(_RECORD, attempts=()), None, ())


def test_a_handoff_says_what_was_asked_tried_and_changed_and_who_owes_what():
    text = handoff(_RECORD, _REJECTED, _CHANGES)

    assert (
        'Asked for is "Mend the login", by .agent/tasks/login.md@bbbbbbbbbbbb.' in text
    )
    assert "It is failed since 2026-01-01T00:10:00Z." in text
    assert "- 1: ok at 2026-01-01T00:09:00Z, exit code 0." in text
    assert "Its work is commit dddddddddddd." in text
    assert (
        "2 paths: 1 added, 1 modified.\n- modified src/a.py\n- added src/b\\n.py"
        in (text)
    )
    assert text.endswith("To go on with it: gitagent task retry login")


def test_the_words_of_an_agent_are_a_claim_beside_what_the_receipts_say():
    text = handoff(_RECORD, _REJECTED, _CHANGES)

    assert 'It said (a claim): "All done, every test passes."' in text
    assert "unit failed. Its receipt is refs/gitagent/receipts/2026-01:x.\n```" in text


def test_a_failing_output_is_cut_to_its_end_and_cannot_leave_its_fence():
    text = handoff(_RECORD, _REJECTED, ())

    assert "characters left out]\nnoise" in text
    assert "AssertionError: ```no``` cookie\n````" in text
    assert "first\n" not in text
    assert 3500 > len(text)


def test_what_failed_before_is_past_once_the_work_has_landed():
    landed = replace(_RECORD, state=TaskState.LANDED, feedback="old noise")

    text = handoff(landed, replace(_REJECTED, state=SubmissionState.LANDED), ())

    assert "old noise" not in text
    assert "### What failed last" not in text


def test_without_a_submission_the_output_of_the_last_attempt_is_what_failed():
    text = handoff(replace(_RECORD, feedback="no such file"), None, ())

    assert "The attempt before ended with:\n```\nno such file\n```" in text


def test_questions_are_handed_over_with_their_answers_and_what_is_open():
    record = replace(
        _RECORD,
        state=TaskState.QUESTION,
        answers=(Answer("Which port?", "8080", "Ann <a@x>", because="it is free"),),
        card=Card(Asker.AGENT, (Question("Which host?"),), "2026-01-01T00:10:00Z"),
    )

    text = handoff(record, None, ())

    assert (
        '- "Which port?"\n  Answered by Ann <a@x>: "8080" because "it is free"\n'
        '- "Which host?"\n  Not answered yet.'
    ) in text
    assert text.endswith("A person owes answers: gitagent answer login 1=…")


def test_what_the_lander_owes_is_next_of_what_was_submitted():
    record = replace(_RECORD, state=TaskState.SUBMITTED)
    queued = replace(_REJECTED, state=SubmissionState.QUEUED, reason="It is second.")

    text = handoff(record, queued, ())

    assert text.endswith(
        "The lander owes an answer to submission s-0123456789ab. It is second."
    )


def test_what_an_attempt_differs_in_is_handed_over_as_a_claim():
    attempt = replace(_ATTEMPT, divergence="b.py is new")

    text = handoff(replace(_RECORD, attempts=(attempt,)), None, ())

    assert "(a claim)\n```\nb.py is new\n```" in text


def test_two_tasks_in_one_folder_have_two_handoffs():
    other = replace(_RECORD, id="logout", title="Mend the logout")

    one, two = (handoff(each, None, _CHANGES) for each in (_RECORD, other))

    assert "the task login stands" in one
    assert "the task logout stands" in two


def test_what_an_attempt_was_told_and_is_withdrawn_since_is_said():
    told = Exposure(received=(Received("cookie-fact", "b", Way.BRIEF),))
    record = replace(_RECORD, attempts=(replace(_ATTEMPT, memory=told),))

    text = handoff(record, None, (), {"cookie-fact"})

    assert "It was told `cookie-fact`, which is withdrawn since." in text


def test_many_attempts_and_paths_are_counted():
    attempts = tuple(replace(_ATTEMPT, number=n) for n in range(1, 21))
    changes = [replace(_CHANGES[0], path=f"p{n}") for n in range(100)]

    text = handoff(replace(_RECORD, attempts=attempts), None, changes)

    assert "- 12 earlier ones, which the task's record tells" in text
    assert "100 paths: 100 modified." in text
    assert "- and 60 more" in text
