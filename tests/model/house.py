"""A gateway on a socket of its own, with a journal in memory, and a client of it."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from gitagent.core.budget import Limits, Short
from gitagent.core.exchange import Exchange, State
from gitagent.core.models import ModelRef, Route
from gitagent.core.settings import Model, Provider
from gitagent.host.socket import address
from gitagent.model.breaker import Breaker
from gitagent.model.credentials import Credentials
from gitagent.model.gateway import Access, Bounds, Gateway
from gitagent.model.ledger import Ledger
from gitagent.model.upstream import Providers, Upstream

TOKEN = "token-of-an-attempt"  # noqa: S105 - of nothing
KEY = "sk-planted-0123456789abcdef-0123456789"
MODEL = "claude-sonnet-4-5"
PRICE = {"input": 3.0, "output": 15.0}


@dataclass
class Memory:
    """A journal that keeps all in memory; ``broken`` names calls that fail."""

    records: list[tuple[Exchange, bytes]] = field(default_factory=list)
    broken: tuple[str, ...] = ()
    changed: threading.Condition = field(default_factory=threading.Condition)
    during: Callable[[Exchange], None] = lambda _: None

    def sent(self, exchange: Exchange, body: bytes) -> Exchange:
        return self._put("sent", exchange, body)

    def ended(self, exchange: Exchange, answer: bytes) -> Exchange:
        return self._put("ended", exchange, answer)

    def _put(self, what: str, exchange: Exchange, data: bytes) -> Exchange:
        if what in self.broken:
            raise OSError(28, "No space left on device")
        self.during(exchange)
        with self.changed:
            self.records.append((exchange, data))
            self.changed.notify_all()
        return exchange

    @property
    def ends(self) -> list[Exchange]:
        with self.changed:
            return [each for each, _ in self.records if each.state is not State.SENT]

    def wait(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.records) >= count, 30)

    def wait_ends(self, count: int) -> list[Exchange]:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.ends) >= count, 30)
            return self.ends


@dataclass(repr=False)
class House:
    """One gateway and all that it told."""

    gateway: Gateway
    journal: Memory
    ledger: Ledger
    breaker: Breaker
    path: Path
    lines: list[str]
    shorts: list[Short]
    client: httpx.Client

    def messages(self, *, stream: bool = False, **more: Any) -> httpx.Response:
        return self.client.post("/v1/messages", json=messages(stream=stream, **more))

    def chat(self, **more: Any) -> httpx.Response:
        return self.client.post("/v1/chat/completions", json=chat(**more))

    def responses(self, **more: Any) -> httpx.Response:
        return self.client.post("/v1/responses", json=responses(**more))


def messages(**more: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": "script: it"}]
    return {"model": MODEL, "max_tokens": 100, "messages": said, "tools": TOOLS, **more}


TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}}]


def chat(**more: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": "script: it"}]
    return {"model": MODEL, "max_tokens": 100, "messages": said, **more}


def responses(**more: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_output_tokens": 100, "input": "script: it", **more}


def connect(path: Path, token: str = TOKEN, **options: Any) -> httpx.Client:
    return httpx.Client(
        # Certificates, which nothing here looks at, take 50 ms to load.
        transport=httpx.HTTPTransport(uds=str(path), verify=False),
        base_url="http://gateway",
        headers={"authorization": f"Bearer {token}"},
        timeout=30,
        **options,
    )


def asking(path: Path, body: Mapping[str, Any], token: str = TOKEN) -> socket.socket:
    """Send a request and leave it to the test to go on."""
    data = json.dumps(body).encode()
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(30)
    with address(path) as there:
        client.connect(there)
    client.sendall(
        b"POST /v1/messages HTTP/1.1\r\nhost: gateway\r\nx-api-key: %s\r\n"
        b"content-length: %d\r\n\r\n%s" % (token.encode(), len(data), data)
    )
    return client


@contextmanager
def house(
    path: Path,
    url: str = "http://127.0.0.1:9",
    *,
    kind: str = "anthropic",
    key: str = KEY,
    price: Mapping[str, float] | None = PRICE,
    fallback: Mapping[str, str] | None = None,
    patience: int = 30,
    task: Limits | None = None,
    day: Limits | None = None,
    upstream: Upstream | None = None,
    journal: Memory | None = None,
    ledger: Ledger | None = None,
    breaker: Breaker | None = None,
    bounds: Bounds | None = None,
    server_tools: bool = False,
    asked: Callable[[str, Mapping[str, Any]], Mapping[str, Any]] | None = None,
) -> Iterator[House]:
    """Serve one provider at ``url``, and others by name for ``fallback``."""
    prices = {} if price is None else {MODEL: dict(price)}
    one = Provider(kind=kind, base_url=url, key_env="PLANTED", prices=prices)
    others = {
        name: replace(one, base_url=there) for name, there in (fallback or {}).items()
    }
    refs = (ModelRef("one", MODEL), *(ModelRef(name, MODEL) for name in others))
    model = Model(patience=patience, providers={"one": one, **others})
    access = Access(
        task="fix",
        attempt=1,
        route=Route(refs, kind, pinned=not others),
        model=model,
        limits_task=task or Limits(),
        limits_day=day or Limits(),
        token=TOKEN,
        server_tools=server_tools,
    )
    lines: list[str] = []
    shorts: list[Short] = []
    mine = None if upstream else Providers(Credentials({"PLANTED": key}))
    used = Memory() if journal is None else journal
    books = ledger or Ledger()
    breaks = breaker or Breaker()
    gateway = Gateway(
        path / "s",
        access,
        upstream=upstream or mine,
        ledger=books,
        journal=used,
        told=lines.append,
        short=shorts.append,
        breaker=breaks,
        status=lambda: {"task": "fix"},
        asked=asked,
        bounds=bounds,
    )
    with gateway, connect(path / "s") as client:
        yield House(gateway, used, books, breaks, path / "s", lines, shorts, client)
    if mine:
        mine.close()
