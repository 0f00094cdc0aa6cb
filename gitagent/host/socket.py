"""Requests to the daemon over a Unix socket: a line of JSON each way.

The socket belongs to one user: its mode is 600, and the kernel says who connected. It
is always addressed through a descriptor of its folder, because a socket's path may not
be longer than 107 bytes. Source: unix(7).
"""
# the name is of the noun; imports are absolute

import contextlib
import errno
import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gitagent.errors import Busy, UserError
from gitagent.host.clock import monotonic, sleep

Message = dict[str, Any]

_REQUEST_LIMIT = 64 * 1024  # bytes
_ANSWER_LIMIT = 64 * 1024 * 1024
_READ_S = 5.0  # for a whole request to arrive
_CLIENTS = 16  # served at once; further ones wait in the kernel's queue
_QUEUE = 128
PASSING = frozenset(  # errors of accept(2) after which to go on
    {errno.ECONNABORTED, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)
_PAUSE_S = 0.1  # after one of these
_RETRY_S = 0.01
_PEER = struct.Struct("3i")  # struct ucred: pid, uid, gid


class Listener:
    """Answers each request with what ``on_message`` returns for it.

    ``on_message`` is called in a thread of the connection, for several at once. If it
    raises, the answer is ``{"error": …}``.
    """

    def __init__(self, path: Path, on_message: Callable[[Message], Message]) -> None:
        self._path = path
        self._on_message = on_message
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._free = threading.BoundedSemaphore(_CLIENTS)
        self._inode = 0

    def start(self) -> None:
        """Make the socket, replacing one that nobody answers, and begin to serve.

        Raises:
            Busy: Another process answers there.
            UserError: The socket cannot be made.
        """
        if _answers(self._path):
            raise Busy(f"another daemon answers at {self._path}")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._socket = self._bind()
        except OSError as error:
            raise UserError(f"cannot make {self._path}: {error.strerror}") from None
        self._thread = threading.Thread(
            target=self._accept, args=(self._socket,), name="socket", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Take no more requests and remove the socket; more than once is harmless."""
        if self._socket is None or self._thread is None:
            return
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()
        self._socket = None
        with contextlib.suppress(OSError):
            if self._path.lstat().st_ino == self._inode:
                self._path.unlink()

    def _bind(self) -> socket.socket:
        server = socket.socket(socket.AF_UNIX)
        new = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            new.unlink(missing_ok=True)
            with address(new) as there:
                server.bind(there)
            # Nobody listens yet, so nobody can connect before the mode is right.
            new.chmod(0o600)
            server.listen(_QUEUE)
            self._inode = new.lstat().st_ino
            new.replace(self._path)
        except OSError:
            server.close()
            new.unlink(missing_ok=True)
            raise
        return server

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError as error:
                if error.errno not in PASSING:
                    return
                sleep(_PAUSE_S)
                continue
            self._free.acquire()
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client:
                if peer_uid(client) != os.geteuid():
                    return
                answer = self._answer(client)
                client.sendall(json.dumps(answer).encode() + b"\n")
        except OSError:
            # The client went away, or was too slow to be told so.
            pass
        finally:
            self._free.release()

    def _answer(self, client: socket.socket) -> Message:
        line = _read_line(client, _REQUEST_LIMIT, _READ_S)
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return {"error": "the request is not JSON"}
        if not isinstance(message, dict):
            return {"error": "the request is not an object"}
        try:
            return self._on_message(message)
        except Exception as error:  # noqa: BLE001  # told to who asked
            return {"error": f"{type(error).__name__}: {error}"}


def ask(path: Path, message: Message, timeout: float = 10.0) -> Message | None:
    """Return the answer to one request; None: nobody listens there.

    Raises:
        Busy: Whoever listens gave no answer within ``timeout`` seconds, or none that
            can be read.
    """
    client = _connect(path, timeout)
    if client is None:
        return None
    try:
        with client:
            client.sendall(json.dumps(message).encode() + b"\n")
            answer = json.loads(_read_line(client, _ANSWER_LIMIT, timeout))
    except (OSError, ValueError) as error:
        raise Busy(f"the daemon at {path} did not answer ({error})") from None
    if not isinstance(answer, dict):
        raise Busy(f"the daemon at {path} gave an answer that is no object")
    return answer


def _answers(path: Path) -> bool:
    try:
        client = _connect(path, _READ_S)
    except Busy:
        return True
    if client is not None:
        client.close()
    return client is not None


def _connect(path: Path, timeout: float) -> socket.socket | None:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(timeout)
    try:
        with address(path) as there:
            _join_queue(client, there, monotonic() + timeout)
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
        client.close()
        return None
    except OSError as error:
        client.close()
        raise Busy(f"cannot reach the daemon at {path}: {error}") from None
    return client


def _join_queue(client: socket.socket, address: str, deadline: float) -> None:
    while True:
        try:
            client.connect(address)
        except BlockingIOError:
            # The kernel does not wait for room in a queue that is full just now.
            if monotonic() > deadline:
                raise
            sleep(_RETRY_S)
        else:
            return


def stream(path: Path, seconds: float | None) -> socket.socket:
    """Return a connection to who listens at ``path``. Raises OSError."""
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(seconds)
    try:
        with address(path) as there:
            made.connect(there)
    except OSError:
        made.close()
        raise
    return made


@contextmanager
def address(path: Path) -> Iterator[str]:
    """Yield a short name for the socket, through a descriptor of its folder."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def _read_line(peer: socket.socket, limit: int, timeout: float) -> bytes:
    """Return what comes up to the line feed; raises OSError when it does not come."""
    deadline = monotonic() + timeout
    data = bytearray()
    while not data.endswith(b"\n"):
        left = deadline - monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        peer.settimeout(left)
        more = peer.recv(65536)
        if not more:
            raise ConnectionError("the connection was closed")
        data += more
        if len(data) > limit:
            raise ConnectionError("the message is too long")
    return bytes(data)


def cut(peer: socket.socket) -> None:
    """End a connection both ways: whoever waits for it in another thread wakes up."""
    with contextlib.suppress(OSError):
        peer.shutdown(socket.SHUT_RDWR)


def peer_uid(client: socket.socket) -> int:
    """Return the user, as this process sees them, who connected."""
    data = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    uid: int = _PEER.unpack(data)[1]
    return uid
