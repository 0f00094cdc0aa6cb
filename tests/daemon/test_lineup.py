"""The daemon's word on its queue, over its socket."""

from contextlib import contextmanager

import pytest

from gitagent.daemon import lineup
from gitagent.daemon.lineup import Lineup, RunNow
from gitagent.git.repository import discover
from gitagent.host import place
from gitagent.host.socket import Listener

LINEUP = Lineup(
    ("s-a", "s-b"), (RunNow(("s-a", "s-b"), "tests", 2, 1.5, "abc", "def"),)
)


@contextmanager
def listening(repo, answer):
    listener = Listener(place.socket_path(repo.common_dir), lambda _: answer)
    listener.start()
    try:
        yield discover(repo.path)
    finally:
        listener.stop()


def test_what_is_told_is_what_is_heard(repo):
    with listening(repo, lineup.answer(LINEUP)) as found:
        assert LINEUP == lineup.ask_for(found)


@pytest.mark.parametrize(
    "answer", [{}, {"ok": True}, {"error": "x"}, {"order": 1, "runs": [2]}]
)
def test_a_daemon_of_another_release_tells_nothing(repo, answer):
    with listening(repo, answer) as found:
        assert lineup.ask_for(found) is None


def test_without_a_daemon_there_is_no_lineup(repo):
    assert lineup.ask_for(discover(repo.path)) is None
