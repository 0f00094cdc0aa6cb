"""The gateway of one attempt: the only way from an agent to a model, and to the memory.

It decides who may ask what, keeps within budgets, and sees that every request is
recorded before a byte of it goes to a provider, and its end before the agent acts on
it.
"""

import hmac
import json
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from gitagent.core.budget import Limits, Short
from gitagent.core.exchange import Exchange
from gitagent.core.failure import Failure
from gitagent.core.models import Route
from gitagent.core.settings import Model
from gitagent.core.usage import NOTHING, Usage
from gitagent.errors import GitagentError
from gitagent.host import serving, until
from gitagent.host.cancel import Cancel
from gitagent.model import form, request, server
from gitagent.model.breaker import Breaker
from gitagent.model.exchanging import Exchanging
from gitagent.model.ledger import Ledger
from gitagent.model.passing import JSON
from gitagent.model.upstream import Upstream

MEMORY = "/gitagent/memory/"  # an operation follows
_ASKED = 256 * 1024  # bytes of what is asked of the memory
_NO_RETRY = ("x-should-retry", "false")  # the vendors' own libraries heed it
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
    b"Connection: close\r\n\r\n"
)


class Journal(Protocol):
    """Keeps exchanges; called by one thread at a time, though not always the same."""

    def sent(self, exchange: Exchange, body: bytes) -> Exchange:
        """Record a request before a byte of it is sent; return it as stored.

        An error refuses the request.
        """

    def ended(self, exchange: Exchange, answer: bytes) -> Exchange:
        """Record its end, once, with what was passed on."""


@dataclass(frozen=True, slots=True)
class Access:
    """What one attempt may use."""

    task: str
    attempt: int
    route: Route
    model: Model
    limits_task: Limits
    limits_day: Limits
    token: str
    server_tools: bool = False  # what a provider does itself, past the sandbox


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of connections and of the requests on them."""

    sockets: serving.Bounds = field(default_factory=serving.Bounds)
    http: server.Bounds = field(default_factory=server.Bounds)


class Gateway:
    """Serves ``socket`` within its context; ``told`` and ``short`` from its threads.

    ``told`` gets a sentence for each thing that went wrong. ``short`` is called once,
    when a budget is. ``asked`` answers what is asked of the memory; without it there is
    none.
    """

    def __init__(
        self,
        socket: Path,
        access: Access,
        *,
        upstream: Upstream,
        ledger: Ledger,
        journal: Journal,
        told: Callable[[str], None],
        short: Callable[[Short], None],
        breaker: Breaker,
        status: Callable[[], Mapping[str, Any]],
        asked: Callable[[str, Mapping[str, Any]], Mapping[str, Any]] | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.access = access
        self.upstream = upstream
        self.ledger = ledger
        self.breaker = breaker
        self._journal = journal
        self._told = told
        self._short = short
        self._status = status
        self._asked = asked
        self._bounds = bounds or Bounds()
        self._cancel = Cancel()
        self._lock = threading.Lock()
        self._recording = threading.Lock()
        self._count = 0
        self._usage = NOTHING
        self._trouble = ""
        self._failed: tuple[str, Failure] | None = None
        self._was_short = False
        self._room = server.Room(self._bounds.http.bodies)
        self._server = serving.Server(socket, self._serve, self._bounds.sockets, _FULL)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End all requests under way, record their ends, and serve no more."""
        self._cancel.set()
        self._server.stop()

    @property
    def usage(self) -> Usage:
        """What was used so far."""
        with self._lock:
            return self._usage

    @property
    def trouble(self) -> str:
        """A sentence about the newest failure that no later success followed, or ""."""
        with self._lock:
            return self._trouble

    @property
    def count(self) -> int:
        """How many exchanges were begun."""
        with self._lock:
            return self._count

    @property
    def stopping(self) -> until.Watched:
        """Its end, to wait for."""
        return until.set_(self._cancel)

    @property
    def stopped(self) -> bool:
        """Whether it was stopped."""
        return self._cancel.is_set()

    def next_number(self) -> int:
        """Return the number of an exchange that begins."""
        with self._lock:
            self._count += 1
            return self._count

    def sent(self, make: Callable[[], Exchange], body: bytes) -> Exchange | str:
        """Record a request; a sentence says why that cannot be.

        ``make`` is called when no other record is under way, so that the newest record
        has the newest sums.
        """
        return self._record(lambda: self._journal.sent(make(), body))

    def ended(self, make: Callable[[], Exchange], answer: bytes) -> Exchange | str:
        """Record an end, as `sent` does."""
        return self._record(lambda: self._journal.ended(make(), answer))

    @property
    def failed(self) -> tuple[str, Failure] | None:
        """Whose failure of what kind the `trouble` is, if a provider was asked."""
        with self._lock:
            return self._failed

    def add(
        self, usage: Usage, trouble: str | None, failed: tuple[str, Failure] | None
    ) -> None:
        """Note what a request has used, and which provider failed it in what way.

        ``trouble`` is what was wrong with it, "" if nothing was, None if it was left.
        """
        clean = self.upstream.scrub().text(trouble or "")
        with self._lock:
            self._usage += usage
            if trouble is not None:
                self._trouble = clean
                self._failed = failed
        if trouble:
            self.say(trouble)

    def say(self, text: str) -> None:
        """Tell what went wrong, without any key."""
        self._told(self.upstream.scrub().text(text))

    def is_short(self, short: Short) -> None:
        """Tell once that a budget is."""
        with self._lock:
            first, self._was_short = not self._was_short, True
            self._trouble = short.sentence
        if first:
            self._short(short)

    def refuse(
        self, to: server.Connection, status: int, sentence: str, code: str = "gitagent"
    ) -> None:
        """Answer with an error that no program should send again."""
        body = form.error(self.access.route.api, status, sentence, code)
        to.whole(status, [("content-type", JSON), _NO_RETRY], body)

    def _record(self, call: Callable[[], Exchange]) -> Exchange | str:
        try:
            with self._recording:
                return call()
        except (GitagentError, OSError) as error:
            why = error.line() if isinstance(error, GitagentError) else str(error)
            why = self.upstream.scrub().text(why)
            sentence = f"The request could not be recorded: {why}."
            self.say(sentence)
            return sentence

    def _serve(self, peer: serving.Peer) -> None:
        to = server.Connection(peer, self._bounds.http, self._room)
        try:
            while not self.stopped:
                found = to.request()
                if found is None:
                    return
                if isinstance(found, server.Refused):
                    body = form.error(
                        self.access.route.api, found.status, found.sentence
                    )
                    to.refuse(found, [("content-type", JSON), _NO_RETRY], body)
                    return
                self._answer(to, found)
                del found  # its body can be large, and the next one late
        except OSError:
            # The agent went away.
            pass
        except Exception as error:  # noqa: BLE001 - a bug is told and ends one request
            frames = traceback.extract_tb(error.__traceback__)
            at = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
            self.say(f"A request to a model hit a bug: {type(error).__name__} at {at}.")
        finally:
            to.close()

    def _answer(self, to: server.Connection, asked: server.Request) -> None:
        if not self._knows(asked):
            self.refuse(to, 401, "The token of this attempt is missing or wrong.")
            return
        where = asked.target.partition("?")[0]
        api = request.api_of(asked.target) if asked.method == "POST" else None
        if api is not None:
            if asked.headers.get("content-encoding", "identity") != "identity":
                self.refuse(to, 415, "Requests are not taken in an encoding.")
            elif request.speaks(api) != self.access.route.api:
                self.refuse(
                    to,
                    404,
                    f"{where} is not to be had here: {self.access.route.first} "
                    f"speaks the API {self.access.route.api}.",
                )
            else:
                Exchanging(self, to, api, asked).run()
        elif asked.method == "GET" and request.path(asked.target) == "/models":
            self._json(to, _models(self.access.route))
        elif asked.method == "GET" and where == "/gitagent/status":
            self._json(to, self._status())
        elif asked.method == "POST" and where.startswith(MEMORY) and self._asked:
            self._json(to, *self._remembered(where.removeprefix(MEMORY), asked.body))
        elif asked.method == "HEAD":
            to.whole(404, [_NO_RETRY], b"")
        else:
            line = f"{asked.method} {where}"[:200]
            self.refuse(to, 404, f"{line} is not to be had here.")

    def _knows(self, asked: server.Request) -> bool:
        token = self.access.token.encode()
        scheme, _, bearer = asked.headers.get("authorization", "").partition(" ")
        given = [asked.headers.get("x-api-key", "")]
        if scheme.lower() == "bearer":
            given.append(bearer.strip())
        return any(
            hmac.compare_digest(each.encode("utf-8", "replace"), token)
            for each in given
        )

    def _remembered(self, op: str, body: bytes) -> tuple[Mapping[str, Any], int]:
        """Return the answer to what is asked of the memory, and its status."""
        if len(body) > _ASKED:
            return {"error": f"It has more than {_ASKED >> 10} KiB."}, 400
        try:
            given = json.loads(body or b"{}")
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            return {"error": "It is no JSON object."}, 400
        assert self._asked is not None  # noqa: S101 - who calls this has looked
        said = self._asked(op, given)
        return said, 400 if "error" in said else 200

    def _json(
        self, to: server.Connection, value: Mapping[str, Any], status: int = 200
    ) -> None:
        body = json.dumps(value).encode()
        to.whole(status, [("content-type", JSON)], self.upstream.scrub().whole(body))


def _models(route: Route) -> Mapping[str, Any]:
    """Return the one model that may be asked for, in the forms of both APIs."""
    name = route.first.model
    one = {
        "id": name,
        "type": "model",
        "object": "model",
        "display_name": name,
        "created": 0,
        "created_at": "1970-01-01T00:00:00Z",
        "owned_by": route.first.provider,
    }
    ends = {"first_id": name, "last_id": name, "has_more": False}
    return {"object": "list", "data": [one], **ends}
