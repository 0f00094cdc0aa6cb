"""What a command has printed is known of a call that never came to its result."""

import pytest

from gitagent.core.conversation import CallState
from gitagent.host.cancel import Cancel
from gitagent.worker.loop import printed
from gitagent.worker.loop.bodies import Output, Way
from gitagent.worker.loop.printed import Printed


class Hands:
    """They print, and look at what is kept of that meanwhile."""

    def __init__(self, where):
        self.where = where
        self.kept = []

    def execute(self, tool, given, way):  # noqa: ARG002
        for each in given["prints"]:
            way.printed(each)
        self.kept.append(files(self.where))
        return Output(b"".join(given["prints"]))


@pytest.fixture
def where(tmp_path):
    return tmp_path / "printed" / "fix"


def files(where):
    return {each.name: each.read_bytes() for each in where.glob("*")}


def way(key, heard=None):
    return Way(60.0, Cancel(), key, printed=heard)


def test_it_is_kept_while_the_call_is_made_and_until_the_next_one(where):
    hands, heard = Hands(where), []
    body = Printed(hands, where)
    body.execute("shell", {"prints": [b"one\n", b"two\n"]}, way("k1", heard.append))
    between = files(where)
    body.execute("shell", {"prints": [b"three\n"]}, way("k2"))

    assert [{"k1": b"one\ntwo\n"}, {"k2": b"three\n"}] == hands.kept
    assert {"k1": b"one\ntwo\n"} == between
    assert [b"one\n", b"two\n"] == heard


def test_nothing_is_left_of_calls_with_results(where):
    body = Printed(Hands(where), where)
    body.execute("shell", {"prints": [b"one\n"]}, way("k1"))
    body.clear()

    assert not where.exists()


def test_a_call_that_was_cut_off_is_told_with_what_it_had_printed(where):
    Printed(Hands(where), where).execute("shell", {"prints": [b"so far"]}, way("k1"))
    later = Printed(Hands(where), where)
    found = later.probe("shell", {}, way("k1"))
    later.clear()

    assert CallState.INTERRUPTED is found.state
    assert found.whole.startswith(b"so far\n[interrupted] gitagent ended while")
    assert not where.exists()


def test_of_a_call_that_printed_nothing_nothing_is_known(where):
    Printed(Hands(where), where).execute("shell", {"prints": []}, way("k1"))

    assert None is Printed(Hands(where), where).probe("shell", {}, way("k1"))


def test_the_beginning_is_kept_of_one_that_prints_without_end(where, monkeypatch):
    monkeypatch.setattr(printed, "MOST", 5)
    body = Printed(Hands(where), where)
    output = body.execute("shell", {"prints": [b"one\n", b"two\n", b"3"]}, way("k1"))

    assert {"k1": b"one\nt"} == files(where)
    assert b"one\ntwo\n3" == output.whole


def test_where_nothing_can_be_kept_the_call_is_made_all_the_same(tmp_path):
    (tmp_path / "file").touch()
    body = Printed(Hands(tmp_path), tmp_path / "file" / "fix")
    output = body.execute("shell", {"prints": [b"one\n"]}, way("k1"))
    body.clear()

    assert b"one\n" == output.whole
