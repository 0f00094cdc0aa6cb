import re

from gitagent.host.log import log


def test_a_line_has_time_topic_and_text(capsys):
    log("fix-login", "started attempt 1\n")

    assert re.fullmatch(
        r"\d\d:\d\d:\d\d fix-login started attempt 1\n", capsys.readouterr().err
    )


def test_what_others_wrote_cannot_draw_on_the_terminal(capsys):
    """ANSI/OSC and Markdown injection through logs, commit subjects, file names."""
    log("task", "one\x1b[2Jtwo\nthree\u202e")
    said = capsys.readouterr().err

    assert said.count("\n") == 1
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_a_closed_terminal_is_no_error(monkeypatch):
    class Closed:
        def write(self, _):
            raise BrokenPipeError

    monkeypatch.setattr("sys.stderr", Closed())
    log("task", "words")
    monkeypatch.setattr("sys.stderr", None)
    log("task", "words")
