"""What web_fetch makes of pages, and of servers that are slow, large or elsewhere."""

import gzip
import http.server
import json
import threading
from dataclasses import dataclass, field
from importlib.metadata import version

import pytest

from gitagent.core.conversation import CallState, Origin
from gitagent.host.cancel import Cancel
from gitagent.worker.inside import web
from gitagent.worker.inside.doing import DONE, FAILED, INTERRUPTED, Slip
from gitagent.worker.loop.bodies import Output, Way
from gitagent.worker.loop.fetching import Fetching, split

PAGE = """<!DOCTYPE html><html><head><title>T</title><style>p {}</style></head><body>
<h1>Grüße</h1><p>One   <b>bold</b> claim\nover lines, see <a href="/x">here</a>.</p>
<img src="a.png" alt="none"><script>alert(1)</script></body></html>""".encode()
HTML = "text/html; charset=utf-8"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path == "/slow":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            self.server.slow.set()
            self.server.over.wait(30)
            return
        status, headers, body = self.server.pages[self.path]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self):
        self.server.asked.append(self.path)
        self.send_response(403, "Not in sandbox.network")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        made.daemon_threads = True
        made.over, made.slow = threading.Event(), threading.Event()
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.over.set()
        made.shutdown()
        thread.join()


@pytest.fixture
def here(server, monkeypatch):
    server.asked, server.pages = [], {}
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    return f"http://127.0.0.1:{server.server_port}"


@dataclass
class Doing:
    seconds: float = 30.0
    cancel: Cancel = field(default_factory=Cancel)


def fetch(url, doing=None, **given):
    whole, how = web.fetch({"url": url, **given}, doing or Doing())
    said, snapshot = split(whole)
    return said.decode(), snapshot, how


def test_a_page_is_its_text_with_links_and_without_images_and_scripts(server, here):
    server.pages["/"] = (200, {"Content-Type": HTML}, PAGE)

    said, snapshot, how = fetch(f"{here}/#part")

    head, _, rest = said.partition("\n")
    text, _, last = rest.rstrip("\n").rpartition("\n")
    assert f"[{here}/#part: 200 OK]" == head
    assert "# Grüße\n\nOne **bold** claim over lines, see [here](/x)." == text
    maker = f"markdownify {version('markdownify')}"
    assert f"[extracted by {maker} from {len(PAGE)} bytes of text/html]" == last
    assert (PAGE, DONE) == (snapshot, how)


def test_a_quote_is_looked_up_whatever_the_white_space_in_it(server, here):
    server.pages["/"] = (200, {"Content-Type": HTML}, PAGE)

    said, snapshot, _ = fetch(f"{here}/", find=["claim  over\nlines", "no such"])

    assert said.split("\n")[1:3] == [
        'at characters 22-38: "claim  over\\nlines"',
        'not there: "no such"',
    ]
    assert PAGE == snapshot


def test_another_text_is_given_as_it_came_in_its_own_encoding(server, here):
    kind = {"Content-Type": "application/json; charset=latin-1"}
    server.pages["/j"] = (200, kind, '{"ü": 1}'.encode("latin-1"))

    said, _, how = fetch(f"{here}/j")

    assert '{"ü": 1}' == said.split("\n")[1]
    assert DONE == how


def test_what_is_no_text_is_told_and_not_shown(server, here):
    server.pages["/p"] = (200, {"Content-Type": "image/png"}, b"\x89PNG\0")

    said, snapshot, _ = fetch(f"{here}/p")

    assert "[not shown, since it is no text: 5 bytes of image/png]" in said
    assert b"\x89PNG\0" == snapshot


def test_a_page_that_is_too_large_is_cut(server, here):
    body = b"a" * (web.BYTES + 9)
    server.pages["/l"] = (200, {"Content-Type": "text/plain"}, body)

    said, snapshot, _ = fetch(f"{here}/l")

    assert body[: web.BYTES] == snapshot
    assert said.endswith("the rest was not read]\n")


def test_a_packed_page_is_unpacked_no_further_than_the_limit(server, here):
    headers = {"Content-Type": "text/plain", "Content-Encoding": "gzip"}
    server.pages["/z"] = (200, headers, gzip.compress(b"b" * (8 << 20)))

    _, snapshot, _ = fetch(f"{here}/z")

    assert b"b" * web.BYTES == snapshot


@pytest.mark.parametrize("name", ["br", "gzip"])
def test_a_page_that_cannot_be_unpacked_is_none(server, here, name):
    server.pages["/b"] = (200, {"Content-Encoding": name}, b"junk")

    said, snapshot, how = fetch(f"{here}/b")

    assert "it is packed" in said
    assert (b"", FAILED) == (snapshot, how)


def test_an_error_of_the_server_is_told_with_its_page(server, here):
    server.pages["/n"] = (404, {"Content-Type": "text/plain"}, b"gone")

    said, _, how = fetch(f"{here}/n")

    assert said.startswith(f"[{here}/n: 404 Not Found]\ngone\n")
    assert FAILED == how


def test_a_redirect_on_the_same_host_is_followed(server, here):
    server.pages["/a"] = (302, {"Location": "/b"}, b"")
    server.pages["/b"] = (200, {"Content-Type": "text/plain"}, b"there")

    assert fetch(f"{here}/a")[0].startswith(f"[{here}/b: 200 OK]\nthere\n")


def test_a_redirect_to_another_host_is_told_and_not_followed(server, here):
    target = "https://elsewhere.example/x?secret"
    server.pages["/a"] = (302, {"Location": target}, b"")

    said, _, how = fetch(f"{here}/a")

    assert "leads to the host elsewhere.example" in said
    assert FAILED == how


def test_redirects_without_end_end(server, here):
    server.pages["/a"] = (302, {"Location": "/a"}, b"")

    assert "without end" in fetch(f"{here}/a")[0]
    assert 5 == len(server.asked)


def test_a_server_that_sends_one_line_and_no_more_is_cut_at_the_deadline(here):
    said, _, how = fetch(f"{here}/slow", Doing(0.2))

    assert "cannot be fetched: it took too long" in said
    assert FAILED == how


def test_a_fetch_that_is_stopped_ends(server, here):
    server.slow.clear()
    doing = Doing()
    stopper = threading.Thread(
        target=lambda: (server.slow.wait(30), doing.cancel.set())
    )
    stopper.start()
    said, _, how = fetch(f"{here}/slow", doing)
    stopper.join()

    assert INTERRUPTED == how
    assert "it was stopped" in said


def test_a_page_that_ends_in_the_middle_is_none(server, here):
    server.pages["/h"] = (200, {"Content-Length": "99"}, b"half")

    said, snapshot, how = fetch(f"{here}/h")

    assert "lost in the middle" in said
    assert (b"", FAILED) == (snapshot, how)


@pytest.mark.usefixtures("here")
def test_a_server_that_is_not_there_is_told():
    said, _, how = fetch("http://127.0.0.1:1/")

    assert "http://127.0.0.1:1/ cannot be fetched: Connection refused.\n" == said
    assert FAILED == how


def test_everything_goes_through_the_proxy_also_to_loopback(server, here, monkeypatch):
    monkeypatch.setenv("http_proxy", here)
    monkeypatch.setenv("https_proxy", here)
    monkeypatch.setenv("no_proxy", "localhost,127.0.0.1")
    url = "http://127.0.0.1:9/x?y"
    server.pages[url] = (200, {"Content-Type": "text/plain"}, b"by proxy")

    assert "by proxy" in fetch(f"{url}#z")[0]
    said = fetch("https://docs.example:444/")[0]
    assert "403 Not in sandbox.network" in said
    assert [url, "docs.example:444"] == server.asked


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://x.example/",
        "http://",
        "x",
        "http://a b/",
        "http://user@x.example/",
        "http://x.example:99999/",
        "http://x.example/\r\nHost: y",
    ],
)
def test_what_is_no_address_of_the_web_is_a_slip(url):
    with pytest.raises(Slip):
        web.fetch({"url": url}, Doing())


@pytest.mark.parametrize("find", ["x", [""], [1], ["x"] * 21, ["x" * 2001]])
def test_what_cannot_be_looked_for_is_a_slip(find):
    with pytest.raises(Slip):
        web.fetch({"url": "http://x.example/", "find": find}, Doing())


def test_a_page_that_takes_all_memory_or_time_is_not_shown(monkeypatch):
    monkeypatch.setattr(web, "_EXTRACT_S", 0.5)
    page = web.Page("u", 200, "text/html", "", b"<a " * 600_000)

    assert (
        "",
        "not shown, since no text could be made of it: 1800000 bytes of text/html",
    ) == web.read(page, Cancel())


def test_the_snapshot_is_kept_apart_from_what_the_model_reads():
    last = json.dumps({"text": 3, "snapshot": 4}).encode()
    output = Output(b"[note]\nhi\n\0\n\xffx\n" + last, CallState.DONE)

    class Hands:
        def execute(self, _tool, _given, way):
            assert way.printed is None
            return output

    made = Fetching(Hands()).execute("web_fetch", {}, Way(1, Cancel(), printed=print))

    assert b"[note]\nhi\n" == made.whole
    assert b"\0\n\xffx" == made.snapshot
    assert Origin.WEB is made.origin


@pytest.mark.parametrize(
    "whole",
    [
        b"",
        b"cut off",
        b"x\n{}",
        b'x\n{"text": 9, "snapshot": 9}',
        b"x\n[1]",
        b"\n7",
        b'x\n{"text": -1, "snapshot": 1}',
    ],
)
def test_what_is_no_answer_is_text(whole):
    assert (whole, b"") == split(whole)
