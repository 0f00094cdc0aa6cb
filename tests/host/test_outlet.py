"""What a confined command reaches of the network, and every way around that tried."""

import contextlib
import http.server
import socket
import socketserver
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gitagent.host import outlet, proxy
from gitagent.host.confinement import Confinement, Door
from gitagent.host.engine import LocalEngine
from gitagent.host.process import Cancel

# In front of each script for the Python inside.
TALK = f"""
import os, socket, sys, threading
def raw(data, wait=20):
    with socket.create_connection(("127.0.0.1", {outlet.PORT})) as s:
        s.settimeout(wait)
        s.sendall(data)
        got = b""
        while more := s.recv(65536):
            got += more
        return got
def first(data):
    return raw(data).split(b"\\r\\n")[0].decode()
"""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"{self.path} for {self.headers['Host']}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        self.server.asked.append(f"{self.command} {self.path}")


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256


@contextlib.contextmanager
def serving():
    with Server(("127.0.0.1", 0), Handler) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def server():
    with serving() as server:
        yield server


@pytest.fixture
def port(server):
    return server.server_address[1]


def run(argv, *network, **more):
    inside = Confinement("/", network=network, network_setting="`network` of check n")
    return LocalEngine().run(argv, inside, **({"timeout": 60} | more))


def sh(script, *network, **more):
    return run(["sh", "-c", script], *network, **more)


def python(code, *network, **more):
    return run([sys.executable, "-I", "-c", TALK + code], *network, **more)


def first(line, *network):
    """Return the first line of the answer to a request, and the whole run."""
    done = python(f"print(first({line!r}))", *network)
    return done.output.decode().splitlines()[0], done


def test_curl_reaches_a_listed_host_by_the_environment(port):
    script = f"curl -sS http://localhost:{port}/a --noproxy ''"
    done = sh(script, f"localhost:{port}")

    assert done.code == 0
    assert done.output.decode().splitlines() == [
        f"/a for localhost:{port}",
        f"gitagent: connected to localhost:{port}",
    ]


def test_curl_tunnels_to_a_listed_host(port):
    script = f"curl -sSp http://localhost:{port}/a --noproxy ''"
    done = sh(script, f"localhost:{port}")

    assert done.output.startswith(b"/a for localhost")


def test_bodies_pass_counted_and_in_chunks(port):
    script = (
        f"head -c 300000 /dev/zero | tr '\\0' x >/tmp/x; cd /tmp;"
        f" set -- --noproxy '' -sS http://localhost:{port}/;"
        " curl --data-binary @x $@ | wc -c;"
        " curl -H 'Transfer-Encoding: chunked' --data-binary @x $@ | wc -c;"
        " curl -p --data-binary @x $@ | wc -c"
    ).replace("$@", '"$@"')
    done = sh(script, f"localhost:{port}")

    assert done.output.split()[:3] == [b"300000"] * 3


def test_what_is_not_listed_is_denied_by_name_and_said_in_the_output(server, port):
    done = sh(
        f"curl -sS http://localhost:{port}/a --noproxy ''; curl -sS https://a.org/",
        "pypi.org:443",
    )
    said = f"localhost:{port} is not in `network` of check n"

    assert done.code != 0
    assert f"gitagent: {said}" == done.output.decode().splitlines()[0]
    assert f"gitagent: not connected: {said}" in done.output.decode()
    assert "not connected: a.org:443 is not in" in done.output.decode()
    assert [] == server.asked


def test_lines_go_to_who_asks_for_them_and_not_into_the_output(port):
    said = []
    script = f"curl -sS http://localhost:{port}/a --noproxy '';" * 3
    done = sh(script, f"localhost:{port}", on_network=said.append)

    assert done.output == f"/a for localhost:{port}\n".encode() * 3
    assert said == [
        f"connected to localhost:{port}",
        f"connected to localhost:{port} (3 times)",
    ]


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("exit 7", 7),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
        ("(sleep 0.01; kill -PIPE $$) & wait; sleep 9", 141),
    ],
)
def test_the_exit_is_that_of_the_command(script, code):
    assert sh(script, "a.org:443").code == code


def test_the_command_has_no_child_and_no_descriptor_that_is_not_its_own():
    code = (
        "print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])\n"
        "try: print(os.wait())\n"
        "except ChildProcessError: print('none')"
    )
    done = python(code, "a.org:443")

    assert done.output == b"[0, 1, 2]\nnone\n"


def test_a_broken_pipe_and_a_big_file_end_the_command_as_ever():
    done = sh("yes | head -1; grep -i sigign /proc/self/status", "a.org:443")
    plain = sh("yes | head -1; grep -i sigign /proc/self/status")

    assert done.output == plain.output


def test_a_missing_command_is_not_started():
    done = run(["no-such-command"], "a.org:443")

    assert (done.code, done.started) == (127, False)
    assert b"no-such-command" in done.stderr


def test_with_an_empty_list_nothing_of_it_exists():
    done = sh(f"env | grep -ic proxy; ls /gitagent 2>&1; ls {outlet.NET}")

    assert done.output.split(b"\n")[0] == b"0"
    assert b"No such file" in done.stderr


def test_nothing_is_left_behind(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    threads = threading.active_count()
    done = sh("exit 3", "a.org:443")

    assert done.code == 3
    assert [] == list(tmp_path.iterdir())
    assert threads == threading.active_count()


def test_a_dead_daemons_folders_go_with_its_orphans(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "gitagent-net-me-x").mkdir()
    (tmp_path / "gitagent-net-you-x").mkdir()
    LocalEngine("me").end_orphans()

    assert ["gitagent-net-you-x"] == [each.name for each in tmp_path.iterdir()]


def test_a_run_that_is_stopped_ends_with_a_connection_open():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        cancel = Cancel()
        code = f"""
s = socket.create_connection(("127.0.0.1", {outlet.PORT}))
s.sendall(b"CONNECT localhost:{port} HTTP/1.1\\r\\n\\r\\n")
s.recv(100)
print("open", flush=True)
s.recv(100)
"""
        done = python(
            code,
            f"localhost:{port}",
            on_output=lambda data: b"open" in data and cancel.set(),
            cancel=cancel,
        )

        assert done.cancelled


# The ways around.


def test_a_raw_socket_finds_no_service_of_the_host(server, port):
    code = f"""
for host in ("127.0.0.1", "::1", "localhost", "10.0.0.1", "1.1.1.1"):
    try:
        socket.create_connection((host, {port}), 5)
        print("reached", host)
    except OSError as error:
        pass
print("done")
"""
    done = python(code, f"localhost:{port}")

    assert done.output == b"done\n"
    assert [] == server.asked


def test_no_other_socket_of_the_host_is_there(tmp_path):
    control = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
        one.bind(str(control))
        two.bind(f"\0{tmp_path.name}")
        one.listen()
        two.listen()
        code = f"""
for path in ({str(control)!r}, "\\0{tmp_path.name}"):
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        print("reached", path)
    except OSError as error:
        print(error.strerror)
print(os.listdir({outlet.NET!r}), os.access({outlet.NET!r}, os.W_OK))
"""
        done = python(code, "a.org:443")

    assert done.output.decode().splitlines() == [
        "No such file or directory",
        "Connection refused",
        "['proxy'] False",
    ]


@pytest.mark.parametrize(
    "request_line",
    [
        "CONNECT localhost:{other} HTTP/1.1",
        "CONNECT 127.0.0.1:{port} HTTP/1.1",
        "CONNECT [::1]:{port} HTTP/1.1",
        "CONNECT [::ffff:127.0.0.1]:{port} HTTP/1.1",
        "CONNECT localhost.evil.org:{port} HTTP/1.1",
        "GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: localhost:{port}",
        "GET http://evil.org/ HTTP/1.1\r\nHost: localhost:{port}",
        "GET http://localhost:{other}/ HTTP/1.1\r\nHost: localhost:{port}",
    ],
)
def test_what_the_list_does_not_name_is_forbidden(server, port, request_line):
    line = request_line.format(port=port, other=port ^ 1)
    got, done = first(f"{line}\r\n\r\n".encode(), f"localhost:{port}")

    assert got == "HTTP/1.1 403 Not in network of check n"
    assert b"not connected: " in done.output
    assert [] == server.asked


@pytest.mark.parametrize(
    "head",
    [
        "CONNECT 2130706433:{port} HTTP/1.1",
        "CONNECT 0x7f000001:{port} HTTP/1.1",
        "CONNECT 127.1:{port} HTTP/1.1",
        "CONNECT localhost HTTP/1.1",
        "CONNECT localhost:{port}@evil.org:{port} HTTP/1.1",
        "GET / HTTP/1.1\r\nHost: localhost:{port}",
        "GET http://localhost:{port}@evil.org/ HTTP/1.1",
        "GET https://localhost:{port}/ HTTP/1.1",
        "GET ftp://localhost:{port}/ HTTP/1.1",
        "GET http://localhost:{port}/ HTTP/1.1\nHost: x",
        "GET http://localhost:{port}/ HTTP/1.1\r\n x",
        "GET http://localhost:{port}/ HTTP/1.1\r\nHost : x",
        "GET http://localhost:{port}/ HTTP/1.1\r\nHost: a\r\nHost: b",
        "GET http://localhost:{port}/ HTTP/2.0",
        (
            "POST http://localhost:{port}/ HTTP/1.1\r\nContent-Length: 1\r\n"
            "Transfer-Encoding: chunked"
        ),
        (
            "POST http://localhost:{port}/ HTTP/1.1\r\nContent-Length: 1\r\n"
            "Content-Length: 1"
        ),
        "POST http://localhost:{port}/ HTTP/1.1\r\nContent-Length: +1",
        "POST http://localhost:{port}/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked",
        (
            "POST http://localhost:{port}/ HTTP/1.1\r\nConnection: content-length\r\n"
            "Content-Length: 1"
        ),
        "SSH-2.0-OpenSSH_9.2",
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(server, port, head):
    data = f"{head.format(port=port)}\r\n\r\n".encode()
    got, _ = first(data, f"localhost:{port}")

    assert got == "HTTP/1.1 400 Bad Request"
    assert [] == server.asked


def test_the_name_that_is_asked_for_is_the_one_that_the_server_gets(port):
    head = f"GET http://localhost:{port}/ HTTP/1.1\r\nHost: other.org\r\n\r\n"
    done = python(f"print(raw({head.encode()!r}).decode())", f"localhost:{port}")

    assert f"/ for localhost:{port}" in done.output.decode()
    assert "other.org" not in done.output.decode()


@pytest.mark.parametrize(
    "body",
    [
        "GET http://localhost:{port}/a HTTP/1.1\r\n\r\n",
        "POST http://localhost:{port}/a HTTP/1.1\r\nContent-Length: 2\r\n\r\nxx",
        (
            "POST http://localhost:{port}/a HTTP/1.1\r\n"
            "Transfer-Encoding: chunked\r\n\r\n2\r\nxx\r\n0\r\n\r\n"
        ),
    ],
)
def test_a_second_request_on_a_connection_goes_nowhere(server, port, body):
    one = body.format(port=port)
    data = f"{one}GET http://evil.org/ HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n"
    done = python(
        f"print(raw({data.encode()!r}).count(b'HTTP/1.'))", f"localhost:{port}"
    )

    assert done.output.startswith(b"1\n")
    assert [f"{one.split()[0]} /a"] == server.asked


def test_bad_chunks_end_the_connection(port):
    data = (
        f"POST http://localhost:{port}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        "zz\r\n"
    )
    got, _ = first(data.encode(), f"localhost:{port}")

    assert got == "HTTP/1.1 400 Bad Request"


def test_a_listed_name_does_not_lead_to_the_hosts_own_services(port, monkeypatch):
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda _, *a, **k: real("127.0.0.1", *a, **k)
    )
    inner = "GET / HTTP/1.0\r\n\r\n"
    line = f"CONNECT rebound.org:{port} HTTP/1.1\r\n\r\n{inner}".encode()
    got, done = first(line, "*.other.org:1", f"rebound.org:{port}")
    both, _ = first(line, f"rebound.org:{port}", f"127.0.0.1:{port}")

    assert got == "HTTP/1.1 403 Not in network of check n"
    assert f"rebound.org:{port} is at 127.0.0.1" in done.output.decode()
    assert both == "HTTP/1.1 200 Connection established"


def test_a_name_that_is_not_known_and_a_server_that_is_not_there_are_told():
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    lost, _ = first(
        b"CONNECT no.such.invalid:443 HTTP/1.1\r\n\r\n", "no.such.invalid:443"
    )
    refused, done = first(
        f"CONNECT localhost:{port} HTTP/1.1\r\n\r\n".encode(), f"localhost:{port}"
    )

    assert lost == "HTTP/1.1 502 Bad Gateway"
    assert refused == "HTTP/1.1 502 Bad Gateway"
    assert b"cannot be reached: Connection refused" in done.output


def test_two_hundred_connections_at_once_are_served_or_turned_away(port):
    code = f"""
data = b"GET http://localhost:{port}/ HTTP/1.1\\r\\n\\r\\n"
got = []
def one():
    try: got.append(first(data))
    except OSError as error: got.append(type(error).__name__)
threads = [threading.Thread(target=one) for _ in range(200)]
for each in threads: each.start()
for each in threads: each.join()
print(len(got), sum("200 OK" in each for each in got))
"""
    done = python(code, f"localhost:{port}")

    assert done.output.startswith(b"200 200\n")


def test_connections_that_say_nothing_do_not_keep_others_out_for_ever(
    port, monkeypatch
):
    few = proxy.Bounds(connections=8, turn=0.05, head_time=0.5)
    monkeypatch.setattr(proxy, "Bounds", lambda: few)
    code = f"""
held = [socket.create_connection(("127.0.0.1", {outlet.PORT})) for _ in range(20)]
for each in held:
    each.send(b"GET http://localhost:{port}/ HTT")
while True:
    got = first(b"GET http://localhost:{port}/ HTTP/1.1\\r\\n\\r\\n")
    print(got, flush=True)
    if "200" in got:
        break
print(held[0].recv(100))
"""
    done = python(code, f"localhost:{port}")

    assert b"HTTP/1.0 200 OK" in done.output
    assert b"408 Request Timeout" in done.output
    assert b"more than 8 connections at once" in done.output


def test_the_way_out_costs_little():
    def best(*network):
        times = []
        for _ in range(5):
            begun = time.monotonic()
            sh("true", *network)
            times.append(time.monotonic() - begun)
        return min(times)

    assert best("a.org:443") - best() < 0.2  # 0.02 on a machine at rest


def test_unconfined_there_is_no_proxy(tmp_path):
    inside = Confinement(str(tmp_path), network=("a.org:443",), mode="off")
    done = LocalEngine().run(["sh", "-c", "env"], inside, timeout=60)

    assert b"proxy" not in done.output.lower()


def test_the_script_that_forwards_is_where_it_is_looked_for():
    assert Path(outlet.forward.__file__).is_file()


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@pytest.fixture
def door(tmp_path):
    class Echo(socketserver.StreamRequestHandler):
        def handle(self):
            self.wfile.write(b"heard " + self.rfile.readline())

    with UnixServer(str(tmp_path / "here"), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield Door(4711, str(tmp_path), "here")
        finally:
            server.shutdown()
            thread.join()


def through(port):
    return f"""
with socket.create_connection(("127.0.0.1", {port})) as s:
    s.sendall(b"you\\n")
    print(s.makefile().readline().strip())
"""


def test_a_door_leads_from_loopback_to_a_socket_and_nowhere_else(door):
    script = f"""{TALK}
{through(4711)}
print("https_proxy" in os.environ)
try:
    socket.create_connection(("127.0.0.1", {outlet.PORT}))
except ConnectionRefusedError:
    print("no proxy")
"""
    inside = Confinement(cwd="/", doors=(door,))

    done = LocalEngine().run([sys.executable, "-c", script], inside, timeout=20)

    assert b"heard you\nFalse\nno proxy\n" == done.output, done


def test_a_door_is_there_beside_the_proxy(door, server):
    port = server.server_address[1]
    request = f"GET http://127.0.0.1:{port}/here HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"
    script = f'{TALK}{through(4711)}\nprint(first(b"{request}"))'
    hosts = (f"127.0.0.1:{port}",)
    inside = Confinement(cwd="/", doors=(door,), network=hosts)

    done = LocalEngine().run([sys.executable, "-c", script], inside, timeout=20)

    assert b"heard you\nHTTP/1.0 200 OK\n" in done.output, done


def test_what_is_behind_a_door_cannot_be_replaced_from_inside(door):
    script = "touch /gitagent/doors/4711/mine; rm -f /gitagent/doors/4711/here; true"
    inside = Confinement(cwd="/", doors=(door,))

    done = LocalEngine().run(["sh", "-c", script], inside, timeout=20)

    assert b"Read-only" in done.stderr
    assert ["here"] == [each.name for each in Path(door.folder).iterdir()]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_a_door_is_there_without_a_sandbox_too_and_gone_after_the_run(door, tmp_path):
    port = free_port()
    inside = Confinement(
        cwd=str(tmp_path), mode="off", doors=(replace(door, port=port),)
    )

    done = LocalEngine().run(
        [sys.executable, "-c", TALK + through(port)], inside, timeout=20
    )

    assert b"heard you\n" == done.output, done
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_what_cannot_be_started_behind_a_door_is_told(door, tmp_path):
    for mode in ("required", "off"):
        port = free_port()
        inside = Confinement(
            cwd=str(tmp_path) if mode == "off" else "/",
            mode=mode,
            doors=(replace(door, port=port),),
        )

        done = LocalEngine().run(["/no/such"], inside, timeout=20)

        assert not done.started, mode
        assert b"No such file" in done.stderr
