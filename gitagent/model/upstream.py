"""Where requests to models go: the interface, and the real providers.

A request is sent once; whether it is sent again, and to whom, is decided elsewhere. A
redirect is an answer like any other: it is never followed with a key.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import SplitResult, urlsplit

from gitagent.core.exchange import Api
from gitagent.core.failure import Failure
from gitagent.core.models import ModelRef, is_here
from gitagent.core.settings import Provider
from gitagent.errors import UserError
from gitagent.host import until
from gitagent.model.credentials import Credentials
from gitagent.model.scrub import Scrub

if TYPE_CHECKING:
    from gitagent.model.wire import Wire

_PATHS = {
    Api.MESSAGES: "/v1/messages",
    Api.COUNT: "/v1/messages/count_tokens",
    Api.CHAT: "/chat/completions",
    Api.RESPONSES: "/responses",
    Api.EMBEDDINGS: "/embeddings",
}
_VERSION = ("anthropic-version", "2023-06-01")


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to one model."""

    task: str
    attempt: int
    number: int  # of the exchange
    ref: ModelRef
    provider: Provider
    api: Api
    body: bytes  # as it is sent
    headers: tuple[tuple[str, str], ...] = ()  # of the agent, those that pass
    query: str = ""
    patience_s: float = 300.0


@dataclass(frozen=True, slots=True)
class Lost:
    """Why there is no answer, or no further part of it."""

    failure: Failure
    reason: str  # a sentence
    status: int | None = None
    body: bytes = b""  # the provider's own error
    told: float | None = None  # seconds that the provider asks to wait


@dataclass(frozen=True, slots=True)
class Sending:
    """A request as it goes over the wire."""

    name: str  # of the provider
    address: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    proxy: str  # "": none
    patience_s: float


class Answer(Protocol):
    """An answer that has begun; of one thread."""

    @property
    def status(self) -> int:
        """Its HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""

    def read(self) -> bytes | Lost:
        """Return the next bytes as they come, empty at the end."""

    def close(self) -> None:
        """Want no more of it; more than once is harmless."""


class Upstream(Protocol):
    """Sends requests; for all threads."""

    def send(self, ask: Ask, stops: Sequence[until.Watched]) -> Answer | Lost:
        """Return the answer once its head is there; a stop makes it `Lost`.

        The stops count for reading the answer, too.
        """

    def scrub(self) -> Scrub:
        """Return what keeps the keys that were used out of a text."""


class Whole:
    """An answer that is known already."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self._body = body

    def read(self) -> bytes | Lost:
        """Return all of it, then nothing."""
        body, self._body = self._body, b""
        return body

    def close(self) -> None:
        """Nothing is held."""


class Providers:
    """The real ones, over HTTP; one per daemon."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._lock = threading.Lock()
        self._wire: Wire | None = None

    def send(self, ask: Ask, stops: Sequence[until.Watched]) -> Answer | Lost:
        """See `Upstream`."""
        name = ask.ref.provider
        try:
            key = self._credentials.key(name, ask.provider)
        except UserError as error:
            line = error.line()
            return Lost(Failure.AUTH, f"{line[0].upper()}{line[1:]}.")
        address = url(ask.ref, ask.provider, ask.api, ask.query)
        if isinstance(address, Lost):
            return address
        headers = [*ask.headers, ("accept-encoding", "identity")]
        if ask.provider.kind == "anthropic":
            if not any(each == _VERSION[0] for each, _ in headers):
                headers.append(_VERSION)
            if key:
                headers.append(("x-api-key", key))
        elif key:
            headers.append(("authorization", f"Bearer {key}"))
        sending = Sending(
            name, address, tuple(headers), ask.body, _proxy(address), ask.patience_s
        )
        return self._open().send(sending, stops)

    def scrub(self) -> Scrub:
        """See `Upstream`."""
        return Scrub(self._credentials.seen)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()

    def _open(self) -> "Wire":
        with self._lock:
            if self._wire is None:
                from gitagent.model.wire import Wire  # noqa: PLC0415 - 100 ms

                self._wire = Wire()
            return self._wire


def url(ref: ModelRef, provider: Provider, api: Api, query: str = "") -> str | Lost:
    """Return the address of an API at a provider.

    An address of kind "openai" without any path has its API at ``/v1``.
    """
    base = provider.base_url.rstrip("/")
    bare = _split(base)
    if bare is None:
        return Lost(
            Failure.INVALID, f"The base_url of the provider of {ref} cannot be used."
        )
    if provider.kind == "anthropic":
        base = base.removesuffix("/v1")
    elif not bare.path:
        base += "/v1"
    return f"{base}{_PATHS[api]}{'?' if query else ''}{query}"


def _split(base: str) -> SplitResult | None:
    try:
        bare = urlsplit(base)
        usable = bool(bare.hostname) and bare.port != 0
    except ValueError:
        return None
    extra = bare.query or bare.fragment or "@" in bare.netloc
    return bare if usable and not extra else None


def _proxy(address: str) -> str:
    """Return the proxy that the environment names for an address, "" for none."""
    from urllib.request import (  # noqa: PLC0415 - 40 ms, for who asks a provider
        getproxies,
        proxy_bypass,
    )

    there = urlsplit(address)
    if is_here(address) or proxy_bypass(there.netloc):
        return ""
    known = getproxies()
    return known.get(there.scheme) or known.get("all") or ""
