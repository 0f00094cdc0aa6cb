"""A provider of a conversation, behind a real gateway, in front of a scripted model."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitagent.host.cancel import Cancel
from gitagent.model import making
from gitagent.model.provider import Ask, Heard, Message, NoTurn, Provider, Tool, Turn
from tests.model.house import KEY, MODEL, TOKEN, House, house
from tests.support.provider import Provider as Server

BASH = Tool("bash", "Run a command", {"type": "object", "properties": {}})
SAID = (Message("user", "script: it"),)


@dataclass
class Line:
    """Who asks, and what was heard."""

    provider: Provider
    house: House
    heard: list[str] = field(default_factory=list)

    def ask(
        self, *messages: Message, cancel: Cancel | None = None, **more: Any
    ) -> Turn | NoTurn:
        ask = Ask("Be brief.", messages or SAID, **{"tools": (BASH,), **more})
        return self.provider.ask(ask, Heard(self.heard.append), cancel or Cancel())

    def turn(self, *messages: Message, **more: Any) -> Turn:
        found = self.ask(*messages, **more)
        assert isinstance(found, Turn), found
        return found

    def none(self, *messages: Message, **more: Any) -> NoTurn:
        found = self.ask(*messages, **more)
        assert isinstance(found, NoTurn), found
        return found


@contextmanager
def line(path: Path, url: str, api: str, **options: Any) -> Iterator[Line]:
    with house(path, url, kind=api, **options) as found:
        provider = making.make(api, str(found.path), TOKEN, MODEL)
        try:
            yield Line(provider, found)
        finally:
            provider.close()


@contextmanager
def scripted(
    path: Path, api: str, *script: Any, strict: bool = True, **options: Any
) -> Iterator[tuple[Line, Server]]:
    with Server(key=KEY, strict=strict) as server:
        server.script("it", script)
        with line(path, server.url, api, **options) as found:
            yield found, server


def own(turn: Turn, api: str) -> Message:
    """What the loop makes of a turn, at the API that it came from."""
    return Message("assistant", turn.text, calls=turn.calls, api=api, raw=turn.raw)
