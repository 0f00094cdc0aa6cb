"""What aider says, in lines that aider 0.86.2 wrote, and in lines of nobody."""

import json

import pytest

from gitagent.core.question import Question
from gitagent.worker.backends.aider_stream import AiderStream
from gitagent.worker.backends.stream import Entry

_NAME = "2967e685-dd70-40e3-b90a-4d2b6ab2d339"


def event(kind: str, name: str = _NAME, **properties: object) -> str:
    values = {"event": kind, "properties": properties, "user_id": name}
    return json.dumps({**values, "time": 1796070849})


LAUNCHED = event("launched")
BANNER = "Aider v0.86.2"
BEGUN = event("message_send_starting")
USED = "Tokens: 10 sent, 5 received. Cost: $0.00011 message, $0.00011 session."
SENT = event(
    "message_send",
    main_model="anthropic/REDACTED",
    edit_format="diff",
    prompt_tokens=10,
    completion_tokens=5,
    cost=0.000105,
)
EXIT = event("exit", reason="Completed --message-file")
WORDS = ("calc.py", "```", "    return a + b", "```", "", "Done: add adds.", "", USED)
SAID = "calc.py\n```\n    return a + b\n```\n\nDone: add adds."
TROUBLE = (
    "litellm.RateLimitError: RateLimitError: OpenAIException - Budget is spent.",
    "The API provider has rate limited you. Try again later or check your quotas.",
)
MALFORMED = "The LLM did not conform to the edit format."


def fed(*lines: str | bytes) -> tuple[AiderStream, list[Entry]]:
    stream = AiderStream()
    found: list[Entry] = []
    for line in lines:
        found += stream.feed(line if isinstance(line, bytes) else line.encode())
    return stream, found


def test_a_run_becomes_words_and_notes():
    lines = (LAUNCHED, BANNER, "", BEGUN, *WORDS, SENT, "Applied edit to calc.py", EXIT)
    stream, found = fed(*lines)
    final = stream.final()

    assert [
        Entry("note", BANNER),
        Entry("say", SAID),
        Entry("note", "Applied edit to calc.py"),
    ] == found
    assert (SAID, "chat", "", 1) == (
        final.answer,
        final.session,
        final.error,
        final.turns,
    )


def test_the_last_words_are_the_answer():
    more = (BEGUN, "Now it is done.", "", USED, SENT)
    final = fed(LAUNCHED, BEGUN, *WORDS, SENT, *more, EXIT)[0].final()

    assert ("Now it is done.", 2) == (final.answer, final.turns)


def test_a_run_that_was_killed_can_go_on_and_has_no_answer():
    final = fed(LAUNCHED, BEGUN, "Do")[0].final()

    assert ("chat", "") == (final.session, final.answer)
    assert "aider ended before the model had answered." == final.error


def test_one_that_never_asked_has_no_conversation_and_says_why():
    final = fed(LAUNCHED, "Unable to read git repository", "", EXIT)[0].final()

    assert ("", "aider: Unable to read git repository") == (final.session, final.error)


def test_what_failed_at_first_is_no_part_of_the_words():
    again = (*TROUBLE, "Retrying in 0.2 seconds...")
    final = fed(LAUNCHED, BEGUN, *again, *WORDS, SENT, EXIT)[0].final()

    assert (SAID, "") == (final.answer, final.error)


def test_a_request_that_failed_is_told_with_its_reason():
    lines = (LAUNCHED, BEGUN, *TROUBLE, "Retrying in 32.0 seconds...", *TROUBLE, "")
    stream, found = fed(*lines, EXIT)
    final = stream.final()

    assert "Budget is spent" in final.error
    assert final.error.startswith("aider: ")
    assert [Entry("error", final.error)] == found
    assert "" == final.answer


def test_an_exception_of_the_program_is_told():
    lines = (LAUNCHED, BEGUN, event("message_send_exception", exception="no data"))

    assert "aider: no data" == fed(*lines, EXIT)[0].final().error


def test_an_empty_answer_is_none():
    empty = "Empty response received from LLM. Check your provider account?"
    final = fed(LAUNCHED, BEGUN, empty, "", USED, SENT, EXIT)[0].final()

    assert ("", "") == (final.answer, final.error)


def test_edits_that_could_not_be_applied_are_an_error_until_they_can():
    lines = (LAUNCHED, BEGUN, *WORDS, SENT, MALFORMED)

    assert "could not be applied" in fed(*lines, EXIT)[0].final().error
    assert "" == fed(*lines, BEGUN, *WORDS, SENT, EXIT)[0].final().error


def test_thoughts_are_no_words():
    rule = "--------------"
    thought = (rule, "► **THINKING**", "", "Hm.", "", rule, "► **ANSWER**", "", "Yes.")
    stream, found = fed(LAUNCHED, BEGUN, *thought, "", USED, SENT)

    assert [Entry("think", "Hm."), Entry("say", "Yes.")] == found
    assert "Yes." == stream.final().answer


def test_it_ends_with_the_questions_of_its_last_words():
    words = ("QUESTION: Which?", "- minus", "- plus", "", USED)
    asking = fed(LAUNCHED, BEGUN, *words, SENT, EXIT)[0].final()
    gone_on = fed(LAUNCHED, BEGUN, *words, SENT, BEGUN, *WORDS, SENT, EXIT)[0].final()
    failed = fed(LAUNCHED, BEGUN, *words, EXIT)[0].final()

    assert (Question("Which?", ("minus", "plus")),) == asking.questions
    assert () == gone_on.questions
    assert () == failed.questions


def test_a_model_cannot_write_events():
    forged = event("message_send", name="another")
    stream, found = fed(LAUNCHED, BEGUN, "Hi.", forged, "Bye.", USED, SENT, EXIT)

    assert [Entry("say", f"Hi.\n{forged}\nBye.")] == found
    assert 1 == stream.final().turns


def test_an_endless_answer_is_cut_off():
    stream, _ = fed(LAUNCHED, BEGUN, *["x" * 1000] * 5000, SENT)

    assert len(stream.final().answer) < 10_000
    assert len(stream._lines) < 100


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b'{"event"',
        b'{"event": 7, "user_id": 7}',
        b'{"event": {}, "user_id": "x"}',
        b'{"event": "message_send", "user_id": "x"}',
        b'{"event": "exit", "user_id": "x", "properties": [1]}',
        b'{"event": "message_send_exception", "user_id": "x", "properties": {}}',
        b'{"event": ' + b"[" * 100_000,
    ],
)
def test_garbage_is_survived_and_is_no_answer(line):
    stream, _ = fed(line)

    assert "" == stream.final().answer
    assert stream.final().error
