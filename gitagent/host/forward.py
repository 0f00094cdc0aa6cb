"""The inner end of a sandbox's way out: ports of loopback that lead to Unix sockets.

Run as a script by the Python of gitagent inside the sandbox, before the command::

    forward.py FD PORT=SOCKET [PORT=SOCKET ...] -- COMMAND [ARGUMENT ...]

It listens, leaves a child behind that relays, and becomes the command, whose exit code
and signals are thereby its own. To descriptor FD it writes ``run`` just before, and why
the command could not be started if it could not; the command itself never has it. The
child dies with the sandbox's pid 1.

It imports nothing of gitagent's and only modules written in C, since it delays every
command that may reach a network: `socket`, `selectors` and `signal` cost 12 ms.
"""

import _signal  # type: ignore[import-not-found]  # typeshed has none
import _socket
import errno
import os
import select
import sys

CONNECTIONS = 256  # at once; further ones wait in the kernel's queue
_QUEUE = 1024
_CHUNK = 65536  # bytes on their way in one direction
_AGAIN_MS = 20  # when the queue of the Unix socket is full

Socket = _socket.socket


class Flow:
    """What goes from one connected socket to another; both do not block."""

    def __init__(self, source: Socket, sink: Socket) -> None:
        self.source = source
        self.sink = sink
        self.waiting = b""
        self.ended = False  # nothing more is read
        self.done = False  # and all of it is written

    def move(self) -> int:
        """Read and write what can be; return how many bytes moved.

        Raises:
            OSError: The sink takes no more.
        """
        moved = 0
        if not self.waiting and not self.ended:
            self._read()
            moved = len(self.waiting)
        if self.waiting:
            try:
                sent = self.sink.send(self.waiting)
            except BlockingIOError:
                sent = 0
            self.waiting = self.waiting[sent:]
            moved += sent
        if self.ended and not self.waiting and not self.done:
            self.done = True
            self.end()
        return moved

    def take(self, data: bytes) -> bytes:
        """Return what of the data that was read is to be passed on."""
        return data

    def end(self) -> None:
        """Tell the sink that nothing more comes."""
        self.sink.shutdown(_socket.SHUT_WR)

    def _read(self) -> None:
        try:
            data = self.source.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self.waiting = self.take(data)
        else:
            self.ended = True


class Link:
    """Two connected sockets, each of which gets what the other one sends."""

    def __init__(self, there: Flow, back: Flow) -> None:
        self.flows = (there, back)

    def wanted(self) -> dict[int, int]:
        """Return the events of poll(2) that are waited for, by descriptor."""
        found: dict[int, int] = {}
        for flow in self.flows:
            if flow.waiting:
                fd = flow.sink.fileno()
                found[fd] = found.get(fd, 0) | select.POLLOUT
            elif not flow.ended:
                fd = flow.source.fileno()
                found[fd] = found.get(fd, 0) | select.POLLIN
        return found

    def move(self) -> int:
        """Move what can be; return how many bytes, or -1 when the link is over."""
        moved = 0
        try:
            for flow in self.flows:
                moved += flow.move()
        except OSError:
            return -1
        return -1 if all(flow.done for flow in self.flows) else moved

    def close(self) -> None:
        """Close both sockets."""
        for flow in self.flows:
            flow.source.close()


class Forwarder:
    """Accepts on ports of loopback, and relays each connection to a Unix socket."""

    def __init__(self, doors: list[tuple[Socket, str]]) -> None:
        self._doors = {door.fileno(): (door, path) for door, path in doors}
        self._links: dict[int, Link] = {}  # by descriptor, so each is there twice
        self._polled: dict[int, int] = {}
        self._refused: list[tuple[Socket, str]] = []  # by a queue that is full
        self._poll = select.poll()

    def serve(self) -> None:
        """Relay for ever."""
        while True:
            full = len(self._links) >= 2 * CONNECTIONS or bool(self._refused)
            for fd in self._doors:
                self._watch(fd, 0 if full else select.POLLIN)
            for fd, _ in self._poll.poll(_AGAIN_MS if self._refused else None):
                if fd in self._doors:
                    self._accept(*self._doors[fd])
                elif fd in self._links:
                    self._move(self._links[fd])
            again, self._refused = self._refused, []
            for client, path in again:
                self._connect(client, path)

    def _accept(self, door: Socket, path: str) -> None:
        try:
            fd, _ = door._accept()  # type: ignore[attr-defined]  # noqa: SLF001
        except OSError:
            # The client has gone again, or there is no descriptor left for it: the
            # poll then says so anew until there is one.
            return
        self._connect(Socket(fileno=fd), path)

    def _connect(self, client: Socket, path: str) -> None:
        client.settimeout(0)
        server = Socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        server.settimeout(0)
        try:
            server.connect(path)
        except BlockingIOError:
            server.close()
            self._refused.append((client, path))
            return
        except OSError:
            server.close()
            client.close()
            return
        link = Link(Flow(client, server), Flow(server, client))
        self._links[client.fileno()] = self._links[server.fileno()] = link
        self._move(link)

    def _move(self, link: Link) -> None:
        over = link.move() < 0
        wanted = {} if over else link.wanted()
        for flow in link.flows:
            fd = flow.source.fileno()
            self._watch(fd, wanted.get(fd, 0))
            if over:
                del self._links[fd]
        if over:
            link.close()

    def _watch(self, fd: int, events: int) -> None:
        if self._polled.get(fd, 0) == events:
            return
        if events:
            self._poll.register(fd, events)
            self._polled[fd] = events
        else:
            # A descriptor that is polled for nothing still tells that it was closed.
            self._poll.unregister(fd)
            del self._polled[fd]


def listen(port: int) -> Socket:
    """Return a socket that listens on a port of loopback."""
    door = Socket(_socket.AF_INET, _socket.SOCK_STREAM)
    door.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", port))
    door.listen(_QUEUE)
    door.settimeout(0)
    return door


def main(argv: list[str]) -> int:
    """Listen, leave the relay behind, and become the command."""
    status = int(argv[0])
    rest = argv.index("--")
    doors = []
    for each in argv[1:rest]:
        port, _, path = each.partition("=")
        doors.append((listen(int(port)), path))
    # Two forks, so that the command has no child that it did not start.
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            _detach(status)
            Forwarder(doors).serve()
        os._exit(0)
    os.waitpid(child, 0)
    for door, _ in doors:
        door.close()
    os.set_inheritable(status, False)  # noqa: FBT003  # its own name is no keyword
    os.write(status, b"run\n")
    return _become(argv[rest + 1 :], status)


def _detach(status: int) -> None:
    """Leave the session and the files of the command."""
    os.setsid()
    os.close(status)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.chdir("/")


def _become(argv: list[str], status: int) -> int:
    # Python ignores both, and what is ignored stays so in the command.
    _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
    _signal.signal(_signal.SIGXFSZ, _signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)  # noqa: S606
    except OSError as error:
        os.write(status, os.fsencode(f"{argv[0]}: {error.strerror}\n"))
        return 127 if error.errno == errno.ENOENT else 126


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
