"""What the gateway adds to a model's answer, against a direct connection.

A server streams events that carry the moment they were sent; a client reads them from
it and through a gateway in turn, so that a machine that drifts hits both. Server and
gateway are processes of their own, as they are in real use. Records are left out: what
they cost is in the attempt's own figures.
"""

import json
import socketserver
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import measure
from gitagent.core.budget import Limits
from gitagent.core.exchange import Exchange
from gitagent.core.models import ModelRef, Route
from gitagent.core.settings import Model, Provider
from gitagent.model.breaker import Breaker
from gitagent.model.credentials import Credentials
from gitagent.model.gateway import Access, Gateway
from gitagent.model.ledger import Ledger
from gitagent.model.upstream import Providers

ROUNDS = 40
EVENTS = 50
PAUSE_S = 0.004  # between events; a quick model has one each 10 ms
BODY = 100_000  # bytes of a request, as a conversation of some length has
NAME = "scripted"
USAGE = {"input_tokens": 25_000, "output_tokens": 1}


class _Answer(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Answer one request after another."""
        while self._take():
            head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            self.wfile.write(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
            self._say({"type": "message_start", "message": {"usage": USAGE}})
            for number in range(EVENTS):
                time.sleep(PAUSE_S)
                delta = {"type": "text_delta", "text": f"word {number} "}
                self._say({"type": "content_block_delta", "delta": delta})
            self._say({"type": "message_stop"})
            self.wfile.write(b"0\r\n\r\n")

    def _take(self) -> bool:
        length = 0
        line = self.rfile.readline()
        if not line:
            return False
        while line not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
            line = self.rfile.readline()
        self.rfile.read(length)
        return True

    def _say(self, value: dict[str, object]) -> None:
        value["sent"] = time.monotonic()
        data = f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


class _Nothing:
    """A journal that keeps nothing."""

    def sent(self, exchange: Exchange, body: bytes) -> Exchange:
        """Take a request."""
        del body
        return exchange

    def ended(self, exchange: Exchange, answer: bytes) -> Exchange:
        """Take an end."""
        del answer
        return exchange


def serve() -> None:
    """Print the port and answer until standard input ends."""
    with _Server(("127.0.0.1", 0), _Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_address[1], flush=True)
        sys.stdin.read()


def gateway(url: str, path: str) -> None:
    """Lead ``path`` to ``url`` until standard input ends."""
    provider = Provider(
        base_url=url,
        key_env="KEY",
        prices={NAME: {"input": 3.0, "output": 15.0}},
    )
    access = Access(
        task="bench",
        attempt=1,
        route=Route((ModelRef("one", NAME),), "anthropic", pinned=True),
        model=Model(providers={"one": provider}),
        limits_task=Limits(usd=1e6),
        limits_day=Limits(usd=1e6),
        token="token",  # noqa: S106 - of nothing
    )
    with Gateway(
        Path(path),
        access,
        upstream=Providers(Credentials({"KEY": "sk-bench"})),
        ledger=Ledger(),
        journal=_Nothing(),
        told=lambda text: print(text, file=sys.stderr),
        short=lambda short: print(short, file=sys.stderr),
        breaker=Breaker(),
        status=dict,
    ):
        print("ready", flush=True)
        sys.stdin.read()


@contextmanager
def _process(*words: str) -> Iterator[str]:
    """Run this script; yield its first line."""
    child = subprocess.Popen(
        [sys.executable, __file__, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    if child.stdin is None or child.stdout is None:
        sys.exit("no pipes")
    try:
        yield child.stdout.readline().strip()
    finally:
        child.stdin.close()
        child.wait(30)
        child.stdout.close()


def _ask(client: httpx.Client) -> tuple[float, list[float]]:
    """Return the time to the first event, and for each later one how long it took."""
    said = [{"role": "user", "content": "x" * BODY}]
    body = {"model": NAME, "max_tokens": 100, "stream": True, "messages": said}
    start = time.monotonic()
    first, late, rest = 0.0, [], b""
    with client.stream("POST", "/v1/messages", json=body) as answer:
        for piece in answer.iter_raw():
            now = time.monotonic()
            *events, rest = (rest + piece).split(b"\n\n")
            for event in events:
                sent = json.loads(event.partition(b"data: ")[2])["sent"]
                if first:
                    late.append(now - sent)
                else:
                    first = now - start
    if len(late) != EVENTS + 1:
        sys.exit(f"{len(late)} events came")
    return first, late[:-1]  # the last waits for its record, on purpose


def _show(what: str, direct: list[float], through: list[float]) -> None:
    added = [t - d for t, d in zip(through, direct, strict=True)]
    ratio = statistics.median(through) / statistics.median(direct)
    print(f"{what}:")
    print(f"  direct               {measure.milliseconds(direct)}")
    print(f"  through the gateway  {measure.milliseconds(through)}")
    print(f"  added {statistics.median(added) * 1000:.2f} ms; {ratio:.1f} times")


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="gitagent-bench-") as folder:
        path = f"{folder}/s"
        with _process("serve") as port:
            url = f"http://127.0.0.1:{port}"
            with _process("gateway", url, path):
                _measure(url, path)


def _measure(url: str, path: str) -> None:
    def client(make: Callable[[], httpx.HTTPTransport]) -> httpx.Client:
        return httpx.Client(
            transport=make(),
            base_url=url,
            headers={"x-api-key": "token"},
            timeout=60,
        )

    with (
        client(httpx.HTTPTransport) as direct,
        client(lambda: httpx.HTTPTransport(uds=path)) as through,
    ):
        for each in (direct, through):
            _ask(each)  # connections are made, modules are read
        pairs = [(_ask(direct), _ask(through)) for _ in range(ROUNDS)]
    _show(
        f"first byte of an answer, of a request of {BODY // 1000} kB",
        [plain[0] for plain, _ in pairs],
        [ours[0] for _, ours in pairs],
    )
    _show(
        f"a streamed event, of {ROUNDS * EVENTS}",
        [late for plain, _ in pairs for late in plain[1]],
        [late for _, ours in pairs for late in ours[1]],
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve"]:
            serve()
        case ["gateway", url, path]:
            gateway(url, path)
        case _:
            main()
