"""The built-in agent, from a committed task to its landing, on a scripted model.

What becomes of a call that is interrupted is in `test_builtin_kills`.
"""

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.builtin import CLAUDE, World
from tests.support.daemon import gitagent
from tests.support.provider import (
    Ask,
    Call,
    Fault,
    Finish,
    Provider,
    Say,
    Shell,
)
from tests.support.repos import Repo

DONE = Finish(summary="It is done.", divergence="None")
FILES = {
    "src/add.py": "def add(a, b):\n    return a - b\n",
    "src/names.py": "OLD = 1\n",
    "src/uses.py": "from src.names import OLD\n\nprint(OLD, OLD)\n",
    "big.txt": "".join(f"line {number} of many\n" for number in range(5000)),
    "a.txt": "one\n",
    "mcp_raw.py": (Path(__file__).parents[1] / "support/mcp_raw.py").read_text(),
}
SETTINGS = """\
[worker]
parallel = 4

[sandbox]
network = ["{host}"]

[loop]
turns = 12
context = 30000
reserve = 6000
keep = 500

[mcp.raw]
command = ["python3", "-I", "/workspace/mcp_raw.py", "/tmp/counts"]
tools = ["echo"]
"""


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        data = b"<h1>Numbers</h1><p>The answer is <b>42</b>.</p>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    host = f"127.0.0.1:{server.server_address[1]}"
    with contextlib.ExitStack() as stack:
        stack.callback(server.server_close)
        stack.callback(thread.join)
        stack.callback(server.shutdown)
        provider = stack.enter_context(Provider())
        made = World(Repo.make(tmp_path / "repo", FILES), provider, host)
        made.start(SETTINGS.format(host=host))
        stack.callback(made.close)
        yield made


# Each story starts a task, and after that looks at what came of it. They share one
# daemon; a client of the API "anthropic" takes two seconds to import, so one has it.


def a_file_is_edited(world: World) -> Iterator[None]:
    world.task(
        "edit",
        [
            [Call("read", {"path": "src/add.py"}), Call("grep", {"pattern": "add"})],
            Call("edit", {"path": "src/add.py", "old": "a - b", "new": "a + b"}),
            [Shell("git add -A && git commit -qm 'Add, do not subtract'"), DONE],
            Say("It adds now."),
        ],
        model=CLAUDE,
        accept=["! grep -rq 'a - b' src"],
    )

    yield
    landed = world.landed("edit")

    assert "return a + b" in world.show("src/add.py")
    assert "It adds now." == landed["attempts"][-1]["answer"]
    kinds = [each["kind"] for each in world.entries("edit")]
    assert ["begin", "input", "say", "result", "result", "say", "intent"] == kinds[:7]
    assert "end" == kinds[-1]


def several_files_are_changed(world: World) -> Iterator[None]:
    world.task(
        "files",
        [
            [Call("read", {"path": f"src/{name}.py"}) for name in ("names", "uses")],
            [
                Call("edit", {"path": "src/names.py", "old": "OLD", "new": "NEW"}),
                Call(
                    "edit",
                    {"path": "src/uses.py", "old": "OLD", "new": "NEW", "all": True},
                ),
                Call("write", {"path": "src/more/new.py", "content": "MORE = 2\n"}),
            ],
            DONE,
            Say("Renamed."),
        ],
        accept=["! grep -rq OLD src"],
    )

    yield
    world.landed("files")

    assert "print(NEW, NEW)" in world.show("src/uses.py")


def slips_are_told_and_mended(world: World) -> Iterator[None]:
    world.task(
        "slip",
        [
            Call("edit", {"path": "a.txt", "old": "not there", "new": "x"}),
            Call("no_such_tool", {}),
            Call("write", '{"path": "a.txt", "content": '),
            Shell("echo seen; exit 3"),
            Call("write", {"path": "slip.txt", "content": "mended\n"}),
            DONE,
            Say("Mended."),
        ],
    )

    yield
    world.landed("slip")

    assert "mended\n" == world.show("slip.txt")
    states = [each["state"] for each in world.results("slip")]
    assert ["failed"] * 4 + ["done"] * 2 == states
    assert "one\n" == world.show("a.txt")


def a_question_is_answered_and_the_conversation_goes_on(world: World) -> Iterator[None]:
    world.task(
        "ask",
        [
            [
                Call("write", {"path": "ask.txt", "content": "begun\n"}),
                Ask(("Which colour?", ["red", "blue"])),
            ],
            Call("write", {"path": "ask.txt", "content": "blue\n"}),
            DONE,
            Say("It is blue."),
        ],
    )

    yield
    world.daemon.wait_task("ask", "question")
    gitagent(world.repo, "answer", "ask", "1=b")
    world.landed("ask")

    assert "blue\n" == world.show("ask.txt")
    newest = world.requests("ask")[-1]
    assert "Which colour?" in json.dumps(newest["messages"])
    assert "begun" in json.dumps(newest["messages"])


def a_spent_budget_asks_for_more_and_goes_on(world: World) -> Iterator[None]:
    world.task(
        "budget",
        [
            Call("write", {"path": "budget.txt", "content": "paid\n"}),
            DONE,
            Say("Paid."),
        ],
        budget={"tokens": 12_000},
    )

    yield
    asked = world.daemon.wait_task("budget", "question")
    assert "12,000 tokens" in asked["reason"]
    gitagent(world.repo, "answer", "budget", "1=500000 tokens")
    world.landed("budget")

    ends = [each["ended"] for each in world.entries("budget") if each["kind"] == "end"]
    assert ["budget_exhausted", "done"] == ends


def a_long_conversation_is_summed_up_and_goes_on(world: World) -> Iterator[None]:
    world.task(
        "long",
        [
            Call("todo", {"items": [{"text": "keep € this", "state": "open"}]}),
            Call("read", {"path": "big.txt"}),
            Call("read", {"path": "big.txt", "offset": 2000}),
            Call("write", {"path": "long.txt", "content": "read\n"}),
            DONE,
            Say("Read."),
        ],
        "Every number counts: ∑ 1…5000.\n",
    )

    yield
    world.landed("long")

    assert "summary" in [each["kind"] for each in world.entries("long")]
    newest = json.dumps(world.requests("long")[-1]["messages"], ensure_ascii=False)
    assert "Every number counts: ∑ 1…5000." in newest
    assert "keep € this" in newest


def what_overflows_is_summed_up_and_asked_once_more(world: World) -> Iterator[None]:
    world.task(
        "overflow",
        [
            Call("read", {"path": "big.txt", "limit": 900}),
            Call("read", {"path": "a.txt"}),
            Fault("overflow"),
            Call("write", {"path": "overflow.txt", "content": "fits\n"}),
            DONE,
            Say("It fits."),
        ],
    )

    yield
    world.landed("overflow")

    kinds = [each["kind"] for each in world.entries("overflow")]
    assert 1 == kinds.count("summary")


def code_calls_the_same_tools(world: World) -> Iterator[None]:
    source = (
        "text = tools.read(path='src/names.py')\n"
        "tools.write(path='code.txt', content='made by code\\n')\n"
        "try:\n    tools.write(path='.git/config', content='x')\n"
        "except ToolError as error:\n    emit('denied: ' + str(error))\n"
    )
    world.task("code", [Call("code", {"source": source}), DONE, Say("Run.")])

    yield
    world.landed("code")

    assert "made by code\n" == world.show("code.txt")
    nested = [each for each in world.results("code") if each["via"]]
    assert [("read", "done"), ("write", "done"), ("write", "denied")] == [
        (each["tool"], each["state"]) for each in nested
    ]
    (outer,) = world.results("code", "code")
    assert "denied: " in outer["text"]


def a_page_is_fetched_quoted_and_kept(world: World) -> Iterator[None]:
    url = f"http://{world.host}/numbers"
    world.task(
        "web",
        [
            Call("web_fetch", {"url": url}),
            Call("web_fetch", {"url": "http://other.example/"}),
            Call("write", {"path": "web.txt", "content": "42\n"}),
            DONE,
            Say("It is 42."),
        ],
    )

    yield
    world.landed("web")

    fetched, refused = world.results("web", "web_fetch")
    assert "The answer is" in fetched["text"]
    assert ("done", "web") == (fetched["state"], fetched["origin"])
    assert b"<b>42</b>" in world.repo.raw("cat-file", "blob", fetched["snapshot"])
    assert "denied" == refused["state"]


def a_tool_of_a_server_is_called(world: World) -> Iterator[None]:
    world.task(
        "mcp",
        [
            Call("mcp__raw__echo", {"text": "hi"}),
            Call("write", {"path": "mcp.txt", "content": "hi!\n"}),
            DONE,
            Say("It said hi."),
        ],
        agent='mcp = ["raw"]\n',
    )

    yield
    world.landed("mcp")

    (called,) = world.results("mcp", "mcp__raw__echo")
    assert ("done", "mcp", "hi!\n") == tuple(
        called[each] for each in ("state", "origin", "text")
    )
    intents = [
        each["tool"] for each in world.entries("mcp") if each["kind"] == "intent"
    ]
    assert ["mcp__raw__echo", "write"] == intents
    assert "hi!\n" == world.show("mcp.txt")


def the_last_request_that_is_allowed_is_a_state(world: World) -> Iterator[None]:
    world.task("endless", lambda asked: Call("glob", {"pattern": f"*{asked.turn}"}))

    yield
    failed = world.daemon.wait_task("endless", "failed", timeout=180)

    assert "turns_exhausted" in failed["reason"]


STORIES = (
    a_file_is_edited,
    several_files_are_changed,
    slips_are_told_and_mended,
    code_calls_the_same_tools,
    a_tool_of_a_server_is_called,
    a_question_is_answered_and_the_conversation_goes_on,
    a_spent_budget_asks_for_more_and_goes_on,
    a_long_conversation_is_summed_up_and_goes_on,
    what_overflows_is_summed_up_and_asked_once_more,
    a_page_is_fetched_quoted_and_kept,
    the_last_request_that_is_allowed_is_a_state,
)


def test_tasks_are_done_checked_and_landed(world: World) -> None:
    begun = [story(world) for story in STORIES]
    for each in begun:
        next(each)
    for each in begun:
        next(each, None)
