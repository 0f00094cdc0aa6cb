"""Structured output in any pieces, as entries in a file and lines in the log."""

import json
from pathlib import Path

import pytest

from gitagent.worker import transcript
from gitagent.worker.backends.stream import ANSWER, Entry, Final, shortened
from gitagent.worker.folder import Folder
from gitagent.worker.log import Log
from gitagent.worker.transcript import Reader


class Words:
    """A stream whose lines are ``session NAME``, ``call TEXT`` or something said."""

    def __init__(self) -> None:
        self.session = ""
        self.said = ""

    def feed(self, line):
        kind, _, text = line.decode(errors="replace").partition(" ")
        if kind == "session":
            self.session = text
        elif kind == "call":
            yield Entry("call", text, name="Bash", call="1")
        elif kind == "result":
            yield Entry("result", text, call="1")
        else:
            self.said = line.decode(errors="replace")
            yield Entry("say", self.said)

    def final(self):
        return Final(answer=self.said, session=self.session)


@pytest.fixture
def made(tmp_path: Path):
    with Log(tmp_path / "log") as log:
        sessions: list[str] = []
        reader = Reader(Words(), Folder(tmp_path, confined=True), log, sessions.append)
        yield reader, sessions, tmp_path


def entries(path):
    return [json.loads(line) for line in transcript.load(path).splitlines()]


def test_lines_are_found_in_whatever_pieces_they_come(made):
    reader, _, path = made
    for piece in (b"hel", b"lo\nyou", b"", b"\nlast"):
        reader.write(piece)

    final = reader.end()

    assert ["hello", "you", "last"] == [each["text"] for each in entries(path)]
    assert "last" == final.answer


def test_a_session_is_told_once_and_as_soon_as_it_is_known(made):
    reader, sessions, _ = made
    reader.write(b"session one\n")

    assert ["one"] == sessions

    reader.write(b"hello\nsession one\nsession two\n")

    assert ["one", "two"] == sessions


def test_the_log_reads_as_a_story(made):
    reader, _, path = made
    reader.write(b"I look\ncall ls\nresult a.txt\n")

    assert "I look\n> Bash ls\n  a.txt\n" == (path / "log").read_text()


def test_a_line_that_is_too_long_is_left_out_and_what_follows_is_not(made, monkeypatch):
    monkeypatch.setattr(transcript, "_LINE", 10)
    reader, _, path = made
    for piece in (b"x" * 8, b"x" * 8, b"x" * 30, b"\nafter\n"):
        reader.write(piece)

    kinds = [(each["kind"], each["text"][:5]) for each in entries(path)]

    assert [("note", "a lin"), ("say", "after")] == kinds


def test_a_transcript_that_is_full_says_so_once_and_the_log_goes_on(made, monkeypatch):
    monkeypatch.setattr(transcript, "LIMIT", 100)
    reader, _, path = made
    for number in range(20):
        reader.write(b"line %d\n" % number)

    found = entries(path)

    assert "note" == found[-1]["kind"]
    assert 1 == sum(each["kind"] == "note" for each in found)
    assert "line 19\n" in (path / "log").read_text()


def test_bytes_of_no_encoding_are_kept_readable(made):
    reader, _, path = made
    reader.write(b"\xff\xfe\n")

    assert ["\ufffd\ufffd"] == [each["text"] for each in entries(path)]


def test_without_output_there_is_no_transcript(tmp_path):
    assert b"" == transcript.load(tmp_path)


def test_a_long_text_keeps_both_ends():
    text = shortened("a" * ANSWER + "b" * ANSWER, ANSWER)

    assert text.startswith("a")
    assert text.endswith("b")
    assert len(text) < ANSWER + 40


def test_a_program_that_renames_its_conversation_all_the_time_is_not_followed(made):
    reader, sessions, _ = made
    reader.write(b"".join(b"session %d\n" % each for each in range(1000)))

    assert [str(each) for each in range(100)] == sessions
