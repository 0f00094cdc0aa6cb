"""What becomes of calls of MCP servers that answer, die and hang; no sandbox here."""

import itertools
import json
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gitagent.core.conversation import CallState, Origin
from gitagent.core.settings import Mcp
from gitagent.host.cancel import Cancel
from gitagent.worker.inside import doing
from gitagent.worker.inside import servers as inner
from gitagent.worker.loop.bodies import Output, Way
from gitagent.worker.loop.servers import Servers
from tests.support.waiting import wait_for

SUPPORT = Path(__file__).parents[2] / "support"
NUMBERS = itertools.count()
RAW = (sys.executable, "-I", str(SUPPORT / "mcp_raw.py"))


@dataclass
class Place:
    root: Path


@dataclass
class Doing:
    place: Place
    seconds: float
    key: str
    cancel: Cancel = field(default_factory=Cancel)


class Hands:
    """Calls of the bodies inside, without what is between."""

    def __init__(self, root):
        self.place = Place(root)
        self.orders = []

    def execute(self, tool, given, way):
        self.orders.append((tool, given, way))
        doing = Doing(self.place, way.seconds, way.key, way.cancel)
        given = json.loads(json.dumps(given))
        whole, how = getattr(inner, tool)(given, doing)
        return Output(whole, CallState(how))


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    path = tmp_path_factory.mktemp("tree")
    yield path
    inner._host(path).close()


class Around:
    """One server's tools, and the calls that reached it."""

    def __init__(self, root, **spec):
        number = next(NUMBERS)
        self.counts = root / f"counts-{number}"
        self.counts.touch()
        spec.setdefault("command", (*RAW, str(self.counts)))
        self.told = []
        # A name of its own: the client's process is shared by all.
        self.server = f"a_{number}"
        self.servers = Servers(
            {self.server: Mcp(**spec)}, Hands(root), told=self.told.append
        )
        self.offered = self.servers.start(("127.0.0.1:1",), Cancel())

    def call(self, tool, key="k1", seconds=60.0, cancel=None, **given):
        name = f"mcp__{self.server}__{tool}"
        way = Way(seconds, cancel or Cancel(), key)
        output = self.servers.execute(name, given, way)
        assert Origin.MCP is output.origin
        return output.state, output.whole.decode()

    def count(self, tool):
        return self.counts.read_text().split("\n").count(f"called {tool}")


@pytest.fixture(scope="module")
def plain(root):
    return Around(root, env={"FOR": "it"}, probes={}, reads=("echo",))


def test_a_tool_of_a_server_with_an_underline_in_its_name_answers(plain):
    assert (CallState.DONE, "hi!\n") == plain.call("echo", text="hi")
    assert [] == plain.told


def test_an_error_of_the_server_itself_is_a_failure(plain):
    assert (CallState.FAILED, "it is closed\n") == plain.call("fail")


def test_an_error_of_the_protocol_is_a_failure(plain):
    state, text = plain.call("refuse")

    assert CallState.FAILED is state
    assert "there is no such thing" in text


def test_what_is_no_text_is_told_by_kind_and_size(plain):
    assert plain.call("parts")[1].split("\n") == [
        "one",
        "[image of image/png, 300 bytes]",
        "[link to the resource file:///x]",
        "[resource file:///y of a/b, 3 bytes]",
        "",
    ]


def test_an_answer_without_measure_is_cut_to_what_can_come_out():
    # Each takes a second to import: not when the tests are collected.
    import mcp_types as types  # noqa: PLC0415

    from gitagent.worker.inside import mcp_host  # noqa: PLC0415

    block = types.TextContent(text="\u4e00" * (3 << 20))
    more = {"done": True, "more": "x" * (20 << 20)}
    answer = mcp_host._answer(
        types.CallToolResult(content=[block], structured_content=more)
    )

    assert len(json.dumps(answer)) < doing.OUTPUT - doing.LAST
    assert ("done", {"done": True}) == (answer["state"], answer["structured"])
    assert answer["text"].endswith(f"\n[{1 << 20} more characters are left out]")


def test_a_server_that_talks_without_measure_offers_what_it_says_first(root):
    around = Around(root, command=(*RAW, str(root / "counts-talks"), "talks"))

    assert 6 == len(around.offered)


def test_a_server_has_the_variables_of_its_table_and_the_worktree(plain, root):
    environ, cwd = json.loads(plain.call("environment")[1])

    assert str(root) == cwd
    assert "it" == environ["FOR"]
    assert [] == [name for name in environ if name.startswith("PYTEST")]


def test_the_key_of_a_call_goes_with_it(plain):
    plain.call("echo", key="the-key", text="x")

    assert "key the-key" in plain.counts.read_text()


def test_a_server_that_dies_in_a_call_leaves_it_uncertain_and_answers_the_next(plain):
    state, text = plain.call("die_again")

    assert CallState.UNCERTAIN is state
    assert "not known" in text
    assert 1 == plain.count("die_again")
    assert (CallState.DONE, "on!\n") == plain.call("echo", text="on")


def test_a_server_that_hangs_is_uncertain_at_the_deadline(root):
    around = Around(root, timeout=1)

    state, text = around.call("hang")

    assert CallState.UNCERTAIN is state
    assert "no answer" in text
    assert 1 == around.count("hang")
    assert (CallState.DONE, "on!\n") == around.call("echo", text="on")


def test_a_call_that_is_stopped_is_uncertain_and_soon_over(plain):
    cancel = Cancel()
    stopper = threading.Thread(
        target=lambda: (
            wait_for(lambda: plain.count("hang"), plain.counts.parent),
            cancel.set(),
        )
    )
    stopper.start()
    state, text = plain.call("hang", cancel=cancel)
    stopper.join()

    assert CallState.UNCERTAIN is state
    assert "stopped" in text


def test_a_probe_tells_whether_a_lost_call_was_carried_out(root):
    probes = {"die": "was_done", "die_first": "was_done"}
    around = Around(root, probes=probes, reads=("was_done",))

    done = around.call("die", key="k-7")
    not_done = around.call("die_first", key="k-8")

    assert CallState.DONE is done[0]
    assert CallState.FAILED is not_done[0]
    assert "was not carried out" in not_done[1]
    assert (1, 1) == (around.count("die"), around.count("die_first"))


def test_a_call_cut_off_by_a_crash_is_what_its_probe_says_or_uncertain(root):
    probes = {"die": "was_done", "fail": "echo"}
    around = Around(root, probes=probes, reads=("was_done",))
    around.counts.write_text("done k-9\n")

    def probed(tool, key):
        name = f"mcp__{around.server}__{tool}"
        return around.servers.probe(name, {}, Way(60.0, Cancel(), key)).state

    assert CallState.DONE is probed("die", "k-9")
    assert CallState.FAILED is probed("die", "k-1")
    assert CallState.UNCERTAIN is probed("echo", "k-9")
    assert CallState.UNCERTAIN is probed("fail", "k-9")  # `echo` is not in `reads`
    assert CallState.UNCERTAIN is probed("gone", "k-9")


def test_a_tool_that_its_server_describes_otherwise_later_is_not_called(root):
    around = Around(root, command=(*RAW, str(root / "changing"), "changes"))
    (root / "changing").touch()
    around.counts = root / "changing"
    assert CallState.UNCERTAIN is around.call("die_again")[0]

    state, text = around.call("echo", text="x")

    assert CallState.FAILED is state
    assert "as it was offered" in text
    assert 0 == around.count("echo")


def test_a_server_that_cannot_be_started_is_told_of_and_offers_nothing(root):
    script = "import sys; sys.exit('no licence')"
    around = Around(root, command=(sys.executable, "-c", script))

    assert {} == around.offered
    assert "no licence" in around.told[0]


def test_a_server_out_of_reach_is_not_asked(root):
    around = Around(root, command=(), url="http://127.0.0.1:2/mcp")

    assert {} == around.offered
    assert "127.0.0.1:2 is not in `network`" in around.told[0]


def test_a_client_that_ends_leaves_its_call_uncertain_and_is_begun_anew(tmp_path):
    around = Around(tmp_path)
    host = inner._host(tmp_path)
    try:
        lost = []
        caller = threading.Thread(target=lambda: lost.append(around.call("hang")))
        caller.start()
        wait_for(lambda: around.count("hang"), tmp_path)
        host.close()
        caller.join()

        assert CallState.UNCERTAIN is lost[0][0]
        assert 1 == around.count("hang")
        assert (CallState.DONE, "on!\n") == around.call("echo", text="on")
    finally:
        host.close()


def test_a_client_that_ends_while_a_server_starts_is_soon_gone(tmp_path):
    spec = {"command": [*RAW, str(tmp_path / "c")], "url": "", "env": {}, "timeout": 9}
    host = inner.Host(tmp_path)
    answers = []
    order = {"do": "list", "servers": {"a": spec}}
    asker = threading.Thread(
        target=lambda: answers.append(host.ask(order, Cancel(), 60))
    )
    asker.start()
    client = wait_for(lambda: host._client)
    wait_for(lambda: client._waiting)
    host.close()
    client.thread.join(30)
    asker.join()

    assert not client.thread.is_alive()
    assert "servers" not in answers[0]


def test_a_server_over_http_dies_in_a_call_and_answers_the_next(root):
    counts = root / "http"
    counts.touch()
    process = subprocess.Popen(
        [sys.executable, str(SUPPORT / "mcp_http.py"), str(counts)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        where = f"127.0.0.1:{int(process.stdout.readline())}"
        spec = Mcp(url=f"http://{where}/mcp", timeout=30)
        told = []
        servers = Servers({"h": spec}, Hands(root), told=told.append)
        servers.start((where,), Cancel())
        assert [] == told

        def call(tool):
            way = Way(60.0, Cancel(), "k")
            output = servers.execute(f"mcp__h__{tool}", {"text": "a"}, way)
            return output.state, output.whole.decode()

        assert (CallState.DONE, "a!\n") == call("echo")
        assert CallState.UNCERTAIN is call("die")[0]
        assert (CallState.DONE, "a!\n") == call("echo")
        process.kill()
    said = ["called echo", "called die", "called echo", ""]
    assert said == counts.read_text().split("\n")
