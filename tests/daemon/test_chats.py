"""Which process somebody is led to who wants a chat."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from gitagent.core import chats as words
from gitagent.core.chats import Name
from gitagent.daemon import chats
from gitagent.daemon.chats import Chats

NOW = SimpleNamespace(target=SimpleNamespace(commit="new"))


class Ahead:
    def __init__(self):
        self.closed = False

    def close(self):
        self.closed = True


def opened(where, target, *, free):
    made = chats._Open(Name("talk"), Path(where), Ahead(), target=target)
    made.heard(f"{words.LISTENING}\n{words.FREE}\n".encode())
    if not free:
        made.heard(f"{words.TAKEN}\n".encode())
    made.thread = threading.Thread(target=lambda: None)
    made.thread.start()
    return made


@pytest.mark.parametrize(
    ("target", "free", "socket"),
    [
        ("old", True, "/second/chat"),
        ("old", False, "/first/chat"),
        ("new", True, "/first/chat"),
    ],
)
def test_a_chat_that_nobody_looks_at_is_begun_anew_for_a_newer_target(
    monkeypatch, target, free, socket
):
    first = opened("/first", target, free=free)
    led = [first, opened("/second", "new", free=True)]
    monkeypatch.setattr(Chats, "_opened", lambda *_, **__: led.pop(0))
    monkeypatch.setattr(chats, "_listens", lambda _: True)
    answer = Chats(None, None, None, None).answer({"id": "talk"}, NOW)

    assert {"ok": True, "socket": socket, "id": "talk"} == answer
    assert (socket == "/second/chat") is first.ahead.closed


def test_a_daemon_that_is_just_starting_is_worth_another_try():
    answer = Chats(None, None, None, None).answer({"id": ""}, None)

    assert answer["again"]
    assert "just starting" in answer["error"]
