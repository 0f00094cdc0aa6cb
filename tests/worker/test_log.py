"""The log's two bounds and its end."""

import pytest

from gitagent.worker import log as logs
from gitagent.worker.log import Log


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "FILE_BYTES", 100)
    monkeypatch.setattr(logs, "BLOB_BYTES", 40)
    monkeypatch.setattr(logs, "_HALF", 20)
    with Log(tmp_path / "log") as log:
        yield log


def test_a_short_log_is_kept_whole(small):
    small.write(b"one\n")
    small.say("two")

    assert b"one\ngitagent: two\n" == small.blob()
    assert "one\ngitagent: two" == small.tail()


def test_a_line_of_our_own_starts_a_line(small):
    small.write(b"no newline")
    small.say("x")

    assert b"no newline\ngitagent: x\n" == small.blob()


@pytest.mark.parametrize("size", [41, 99, 100, 101, 119, 120, 121, 500])
def test_beginning_and_end_are_kept_and_what_is_left_out_is_counted(
    small, tmp_path, size
):
    data = bytes(ord("a") + n % 26 for n in range(size))
    for start in range(0, size, 7):
        small.write(data[start : start + 7])
    blob = small.blob()

    assert blob.startswith(data[:20])
    assert blob.endswith(data[-20:])
    assert f"{size - 40} bytes are left out" in blob.decode()
    assert min(size, 100) == (tmp_path / "log").stat().st_size


def test_a_log_that_is_opened_again_goes_on(small, tmp_path):
    small.write(b"one\n")
    with Log(tmp_path / "log") as again:
        again.write(b"two\n")

        assert b"one\ntwo\n" == again.blob()


def test_the_tail_is_for_people(small):
    small.write(b"\x1b[31mred\x1b[0m \xff\n")

    assert "red \N{REPLACEMENT CHARACTER}" == small.tail()
