"""The tools of gitagent that an agent calls."""

import json
import os
import socket
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from gitagent.core.question import Question
from gitagent.host.clock import now, stamp
from gitagent.worker import questions, returns
from gitagent.worker.inside import place, tools
from gitagent.worker.inside.tools import call

DONE = {"status": "done", "summary": "It works.", "divergence": "None"}
ASKED = {"questions": [{"text": "Which?", "options": ["a", "b"]}]}


@pytest.fixture
def use(where, give):  # noqa: ARG001 - the task's file
    def call_tool(name, given=None, **environ):
        return call(name, given or {}, where, environ)

    return call_tool


def test_a_question_is_recorded_and_the_agent_told_to_stop(use, where):
    text, done = use("ask", ASKED)

    assert done
    assert "Stop here now" in text
    assert "next message" in text
    assert (Question("Which?", ("a", "b")),) == questions.parse(
        where.question.read_bytes()
    )


def test_no_link_that_lies_there_is_followed(use, where, tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    names = (f".{each.name}.{os.getpid()}" for each in (where.question, where.returned))
    monkeypatch.setattr(place.secrets, "token_hex", lambda _: "guessed")
    for each in (*names, f".{where.returned.name}.guessed"):
        (where.out / each).symlink_to(victim)

    assert use("ask", ASKED)[1]
    assert use("ask", {"questions": []})[1]
    assert ("Nothing was recorded: File exists. Call finish once more.", False) == use(
        "finish", DONE
    )
    where.question.symlink_to(tmp_path / "nowhere")
    assert "waits for an answer" in use("finish", DONE)[0]
    assert "precious" == victim.read_text()


def test_a_later_question_replaces_an_earlier_one(use, where):
    use("ask", ASKED)
    use("ask", {"questions": [{"text": "Why?"}]})

    assert (Question("Why?"),) == questions.parse(where.question.read_bytes())


def test_a_return_is_recorded(use, where):
    text, done = use("finish", {**DONE, "evidence": ["x"], "commands": ["make"]})

    assert done
    assert "claim" in text
    assert returns.Return(
        "done", "It works.", "None", ("x",), ("make",)
    ) == returns.parse(where.returned.read_bytes())


def test_a_later_return_replaces_an_earlier_one(use, where):
    use("finish", DONE)
    use("finish", {**DONE, "status": "nothing"})

    assert "nothing" == returns.parse(where.returned.read_bytes()).status


def test_a_question_takes_back_a_return(use, where):
    use("finish", DONE)
    _, done = use("ask", ASKED)

    assert done
    assert not where.returned.exists()


def test_while_a_question_waits_nothing_is_finished(use, where):
    use("ask", ASKED)
    text, done = use("finish", DONE)

    assert not done
    assert "waits for an answer" in text
    assert not where.returned.exists()


def test_a_question_can_be_taken_back(use, where):
    use("ask", ASKED)
    _, taken = use("ask", {"questions": []})
    _, done = use("finish", DONE)

    assert taken
    assert done
    assert not where.question.exists()


@pytest.mark.parametrize(
    ("name", "given", "mend"),
    [
        ("ask", {}, "list of questions, not null"),
        ("ask", {"questions": []}, "at least one"),
        ("ask", {"questions": "x"}, "list of questions"),
        ("ask", {"questions": [{"text": "x" * 9000}]}, "at most 2000"),
        ("ask", {"question": "x"}, "did you mean questions?"),
        ("finish", {}, "status has to be one of"),
        ("finish", {"status": "done"}, "divergence is empty; say what differs"),
        ("finish", {"status": "done", "divergence": " "}, 'or "None"'),
        ("finish", {**DONE, "status": "blocked", "summary": ""}, "what is missing"),
        ("finish", {**DONE, "divergence": ["x"]}, "divergence has to be a text"),
        ("finish", {**DONE, "summary": "x" * 9000}, "at most 8000"),
        ("finish", {**DONE, "risk": "x"}, "did you mean risks?"),
        ("finish", {**DONE, "risks": ["x" * 7000] * 40}, "say less"),
        ("finish", {**DONE, "commands": ["a\nb"]}, "one line"),
        ("finish", {**DONE, "risks": float("nan")}, "list of texts"),
    ],
)
def test_a_slip_is_told_with_its_mend_and_records_nothing(
    use, where, name, given, mend
):
    text, done = use(name, given)

    assert not done
    assert "Nothing was recorded" in text
    assert mend in text
    assert f"call {name} again" in text
    assert [] == [*where.out.iterdir()]


def test_arguments_that_are_nested_without_end_are_a_slip(use):
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    text, done = use("finish", {**DONE, "risks": deep})

    assert not done
    assert "nested too deeply" in text


@pytest.mark.parametrize("text", ["\u6f22\u5b57 \U0001f600", "half \ud800", "\x1b[31m"])
def test_any_text_can_be_said(use, where, text):
    _, done = use("finish", {**DONE, "summary": text})

    assert done
    assert returns.parse(where.returned.read_bytes()).summary


def test_a_folder_that_cannot_be_written_is_said(use, where):
    where.out.rmdir()
    text, done = use("ask", ASKED)

    assert not done
    assert "No such file" in text


def test_other_tools_are_not_there(use):
    text, done = use("rm", {})

    assert not done
    assert "ask, finish and task_status" in text


# --- task_status


def status(use, **environ):
    text, done = use("task_status", **environ)

    assert done
    return json.loads(text)


def test_the_status_tells_the_task_and_the_time_left(use, give):
    give(deadline=stamp(now().replace(year=now().year + 1)), paths=["src/**"])
    use("ask", ASKED)
    told = status(use)

    assert "fix" == told["id"]
    assert ["src/**"] == told["paths"]
    assert told["left"][-1] in "mhd"
    assert told["asked"]
    assert not told["finished"]
    assert "gateway" not in told


@pytest.mark.parametrize(
    ("deadline", "left"),
    [("2020-01-01T00:00:00Z", "none"), ("soon", ""), (None, ""), (3, "")],
)
def test_a_deadline_that_is_past_or_odd(use, give, deadline, left):
    give(deadline=deadline)

    assert left == status(use)["left"]


@pytest.mark.parametrize("content", [None, b"", b"[]", b"{", b"\xff"])
def test_a_task_that_cannot_be_read_is_said(use, where, content):
    file = where.given / "task.json"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    text, done = use("task_status")

    assert not done
    assert "cannot be read" in text


class Gateway(BaseHTTPRequestHandler):
    def do_POST(self):
        given = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append((self.path.removeprefix("/gitagent/memory/"), given))
        body = json.dumps(self.server.said.get(self.server.asked[-1][0], {})).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        token = self.headers["x-api-key"]
        body = self.server.body if token == "secret" else b"{}"  # noqa: S105
        self.send_response(self.server.code if self.path == "/gitagent/status" else 404)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def gateway():
    with HTTPServer(("127.0.0.1", 0), Gateway) as server:
        server.asked, server.said = [], {}
        server.code, server.body = 200, b'{"usd": {"spent": 1.5, "left": 3.5}}'
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        server.url = f"http://127.0.0.1:{server.server_port}/gitagent/status"
        yield server
        server.shutdown()
        thread.join()


def asked_gateway(use, url):
    return status(use, GITAGENT_STATUS_URL=url, GITAGENT_TOKEN="secret")["gateway"]  # noqa: S106


def test_the_gateway_tells_the_budget(use, gateway):
    expected = {"usd": {"spent": 1.5, "left": 3.5}}

    assert expected == asked_gateway(use, gateway.url)


def test_a_gateway_that_does_not_answer_well_is_said(use, gateway):
    gateway.body = b"<html>"

    assert "something else" in asked_gateway(use, gateway.url)

    gateway.code = 500

    assert "it answered 500" in asked_gateway(use, gateway.url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:x/", "http://[", "nonsense", "//"])
def test_an_address_that_is_none_is_no_error(use, url):
    assert "gateway" in asked_gateway(use, url).lower()


def test_a_gateway_that_is_away_is_said(use):
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    assert "away" in asked_gateway(use, f"http://127.0.0.1:{port}/gitagent/status")


@pytest.fixture
def remembering(use, gateway, monkeypatch):
    """Give a function that calls a tool where the memory says what a test says."""
    monkeypatch.setattr(tools, "_heard", {})

    def ask(tool, given, **said):
        gateway.said = said
        environ = {"GITAGENT_STATUS_URL": gateway.url, "GITAGENT_TOKEN": "secret"}
        return (*use(tool, given, **environ), gateway.asked)

    return ask


ADD = {"op": "add", "slug": "tabs"}
GONE = {
    "told": [{"producer": "memory", "text": "One is withdrawn."}],
    "items": [["one", "9" * 40, "correction"]],
}


@pytest.mark.parametrize(
    ("tool", "given", "op", "asked"),
    [
        ("search_memory", {"query": "x"}, "search", {"query": "x"}),
        ("show_memory", {"slug": "x"}, "show", {"slug": "x"}),
        ("remember", ADD, "propose", {"operation": ADD}),
    ],
)
def test_the_memory_answers_after_what_does_not_hold_any_more(
    remembering, tool, given, op, asked
):
    said = {"text": "It is so.", "done": True, "corrections": GONE}
    text, done, calls = remembering(tool, given, **{op: said})

    assert ("One is withdrawn.\n\nIt is so.", True) == (text, done)
    assert [(op, asked)] == calls


def test_each_other_answer_begins_with_it_too(remembering, where):
    returned = {"status": "done", "divergence": "None"}
    text, done, _ = remembering("finish", returned, corrections=GONE)

    assert text.startswith("One is withdrawn.\n\nRecorded: done.")
    assert done
    assert where.returned.exists()


def test_a_change_is_told_once_and_the_daemon_hears_that_it_was(remembering):
    show = ("show_memory", {"slug": "x"})
    said = {"text": "It is so.", "corrections": GONE}
    first = remembering(*show, show=said)
    away = remembering(*show, show={"error": "No.", "corrections": GONE})
    again = remembering(*show, show=said)
    *_, calls = remembering(*show, show={"text": "It is so."})
    heard = {"slug": "x", "heard": [["one", "9" * 40]]}

    assert [True, False, False] == [
        "withdrawn" in text for text, *_ in (first, away, again)
    ]
    assert [{"slug": "x"}, heard, heard, {"slug": "x"}] == [asked for _, asked in calls]


def test_what_a_person_has_to_decide_is_asked(remembering, where):
    question = {"text": "May it?", "options": ["yes", "no"]}
    said = {"text": "Stop here.", "done": False, "question": question}
    text, done, _ = remembering("remember", ADD, propose=said)

    assert ("Stop here.", False) == (text, done)
    assert "May it?" == questions.parse(where.question.read_bytes())[0].text


@pytest.mark.parametrize(
    ("answer", "said"),
    [({"error": "No."}, "No."), ({}, "The memory said nothing.")],
)
def test_a_memory_that_has_no_answer_says_so(remembering, answer, said):
    assert (said, False) == remembering("show_memory", {}, show=answer)[:2]


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:x/"])
def test_without_a_way_to_it_there_is_no_memory(use, url):
    found = use("show_memory", {"slug": "x"}, GITAGENT_STATUS_URL=url)

    assert ("There is no memory here.", False) == found


def test_who_may_not_remember_is_not_offered_it(give, where):
    give(may=["write", "remember"])
    granted = tools.withheld(where)
    give(may=["write"])

    assert (frozenset(), frozenset({"remember"})) == (granted, tools.withheld(where))
    (where.given / "task.json").unlink()
    assert {"remember"} == tools.withheld(where)
