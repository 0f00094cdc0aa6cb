"""A server on loopback that sends bytes as it is told, be they HTTP or not."""

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Act = Callable[[socket.socket], None]

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


@dataclass
class Raw:
    """Where it is, and what came."""

    url: str
    requests: list[bytes] = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)  # a client has left


def say(*parts: bytes) -> Act:
    """Send these bytes and end the connection."""

    def act(client: socket.socket) -> None:
        for each in parts:
            client.sendall(each)

    return act


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def answer(body: bytes, status: str = "200 OK", *more: bytes) -> Act:
    """Send a whole answer."""
    head = b"HTTP/1.1 %s\r\ncontent-length: %d\r\n" % (status.encode(), len(body))
    return say(head + b"".join(b"%s\r\n" % each for each in more) + b"\r\n" + body)


@contextmanager
def raw(*acts: Act) -> Iterator[Raw]:
    """Do one act for each connection, the last one again and again."""
    server = socket.create_server(("127.0.0.1", 0))
    found = Raw(f"http://127.0.0.1:{server.getsockname()[1]}")
    threads: list[threading.Thread] = []
    open_: list[socket.socket] = []

    def serve(client: socket.socket, act: Act) -> None:
        with client, suppress(OSError):
            found.requests.append(_request(client))
            act(client)

    def accept(acts: Sequence[Act]) -> None:
        number = 0
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            open_.append(client)
            act = acts[min(number, len(acts) - 1)]
            number += 1
            threads.append(threading.Thread(target=serve, args=(client, act)))
            threads[-1].start()

    accepting = threading.Thread(target=accept, args=(acts,))
    accepting.start()
    try:
        yield found
    finally:
        server.shutdown(socket.SHUT_RDWR)
        accepting.join(30)
        server.close()
        for each in open_:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for each in threads:
            each.join(30)


def _request(client: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        more = client.recv(65536)
        if not more:
            return data
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    while len(body) < length:
        more = client.recv(65536)
        if not more:
            break
        body += more
    return head + b"\r\n\r\n" + body
