"""Agents ask, providers answer: who may, what passes, what it costs, what is kept."""

import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace

import httpx
import pytest

from gitagent.core import failure
from gitagent.core.budget import Limits, Which
from gitagent.core.exchange import State
from gitagent.core.usage import NOTHING, Usage
from gitagent.model import server
from gitagent.model.gateway import Bounds
from tests.model.house import (
    KEY,
    MODEL,
    TOKEN,
    Memory,
    asking,
    chat,
    connect,
    house,
    messages,
    responses,
)
from tests.support.provider import Fault, Gate, Provider, Say
from tests.support.waiting import wait_for

APIS = {
    "messages": ("anthropic", "/v1/messages", messages),
    "chat": ("openai", "/v1/chat/completions", chat),
    "responses": ("openai", "/v1/responses", responses),
}
WORDS = "Some words that come in a few pieces."


@contextmanager
def served(path, script, api="messages", **options):
    kind = APIS[api][0]
    with Provider(key=KEY) as provider:
        provider.script("it", script, bare=True)
        with house(path, provider.url, kind=kind, **options) as found:
            yield provider, found


def post(found, api, **more):
    _, path, body = APIS[api]
    return found.client.post(path, json=body(**more))


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(failure, "FIRST_S", 0.01)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_an_answer_passes_is_metered_and_is_recorded_whole(tmp_path, api, stream):
    with served(tmp_path, [Say(WORDS)], api) as (provider, found):
        answer = post(found, api, stream=stream)

        (seen,) = provider.requests
        (sent, body), (ended, recorded) = found.journal.records
        assert 200 == answer.status_code
        assert KEY not in str(answer.headers)
        said = answer.text.replace('"}}\n\nevent: content_block_delta\ndata: {', "")
        assert "Some words" in said
        assert answer.content == recorded
        assert seen.body == body
        assert (State.SENT, State.DONE) == (sent.state, ended.state)
        assert ended.usage.input > 0
        assert ended.usage.output > 0
        assert ended.usage.usd == pytest.approx(
            (ended.usage.input * 3 + ended.usage.output * 15) / 1e6
        )
        assert ended.usage == found.gateway.usage == found.ledger.spent("fix")
        assert sent.reserved.usd >= ended.usage.usd
        assert (sent.reserved, ended.usage) == (sent.spent, ended.spent)
        assert (1, 1, "one:" + MODEL) == (ended.number, ended.tries, ended.model)
        assert "" == found.gateway.trouble
        assert [] == found.lines


def test_only_the_credentials_of_the_provider_go_there(tmp_path):
    with served(tmp_path, [Say("Hi")]) as (provider, found):
        found.client.post(
            "/v1/messages?beta=true",
            json=messages(),
            headers={
                "anthropic-beta": "some-beta",
                "x-api-key": TOKEN,
                "cookie": "a=b",
                "x-forwarded-for": "10.0.0.1",
                "user-agent": "agent/1",
                "content-type": "application/json; charset=utf-16",
            },
        )

    (seen,) = provider.requests
    assert KEY == seen.headers["x-api-key"]
    assert ("agent/1", "some-beta", "2023-06-01") == (
        seen.headers["user-agent"],
        seen.headers["anthropic-beta"],
        seen.headers["anthropic-version"],
    )
    assert "application/json" == seen.headers["content-type"]
    assert not {"authorization", "cookie", "x-forwarded-for"} & set(seen.headers)
    assert TOKEN not in str(seen.headers)


def test_a_stream_of_a_chat_tells_its_usage_only_to_who_asked(tmp_path):
    with served(tmp_path, [Say("Hi")], "chat") as (provider, found):
        quiet = found.chat(stream=True)
        loud = found.chat(stream=True, stream_options={"include_usage": True})

    assert '"prompt_tokens"' not in quiet.text
    assert '"prompt_tokens"' in loud.text
    assert all(
        {"include_usage": True} == each.json["stream_options"]
        for each in provider.requests
    )
    assert all(each.usage.output for each in found.journal.ends)


def test_counting_tokens_reserves_and_costs_nothing(tmp_path):
    with served(tmp_path, [Say("Hi")], task=Limits(usd=0.0)) as (_, found):
        answer = found.client.post("/v1/messages/count_tokens", json=messages())

        (ended,) = found.journal.ends
        assert answer.json()["input_tokens"] > 0
        assert (NOTHING, NOTHING) == (ended.usage, ended.reserved)


@pytest.mark.parametrize("api", APIS)
def test_what_a_provider_does_itself_is_asked_only_by_who_may(tmp_path, api):
    kind = {"messages": "web_search_20250305"}.get(api, "web_search")
    more = {"tools": [{"type": kind, "name": "web_search"}]}
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with served(tmp_path / "a", [Say("Hi")], api) as (provider, found):
        refused = post(found, api, **more)
        asked = provider.requests
    with served(tmp_path / "b", [Say("Hi")], api, server_tools=True) as (_, found):
        passed = post(found, api, **more)

    assert (400, ()) == (refused.status_code, asked)
    assert "past the sandbox" in refused.text
    assert 200 == passed.status_code


@pytest.mark.parametrize("token", ["", " wrong", " é", TOKEN])
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
def test_without_the_token_nothing_is_served(tmp_path, token, method):
    with (
        served(tmp_path, []) as (provider, found),
        connect(found.path, "x") as other,
    ):
        headers = {"authorization": b"Bearer" + token.encode()}
        answer = other.request(method, "/v1/messages", headers=headers)

        assert 401 == answer.status_code
        assert () == provider.requests


def test_another_model_is_refused_and_nobody_pays_for_it(tmp_path):
    with served(tmp_path, []) as (provider, found):
        answer = found.messages(model="claude-opus-4-5")

        assert 404 == answer.status_code
        assert "claude-opus-4-5 may not be asked" in answer.json()["error"]["message"]
        assert MODEL in answer.json()["error"]["message"]
        assert () == provider.requests
        assert [] == found.journal.records


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("HEAD", "/", 404),
        ("GET", "/", 404),
        ("GET", "/v1/messages", 404),
        ("POST", "/v1/files", 404),
        ("POST", "/v1/chat/completions", 404),
        ("DELETE", "/v1/models/x", 404),
        ("GET", "/v1/models", 200),
        ("GET", "/models", 200),
        ("GET", "/gitagent/status", 200),
    ],
)
def test_what_else_is_asked_is_answered_here(tmp_path, method, path, status):
    with served(tmp_path, []) as (provider, found):
        answer = found.client.request(method, path)

        assert status == answer.status_code
        assert () == provider.requests


def test_the_model_and_the_state_of_the_task_can_be_asked_for(tmp_path):
    with served(tmp_path, []) as (_, found):
        assert MODEL == found.client.get("/v1/models").json()["data"][0]["id"]
        assert {"task": "fix"} == found.client.get("/gitagent/status").json()


def remembering(op, given):
    if op == "search":
        return {"text": f"{given['query']} is known"}
    return {"error": f"There is no {op}."}


@pytest.mark.parametrize(
    ("op", "content", "status", "said"),
    [
        ("search", b'{"query": "x"}', 200, {"text": "x is known"}),
        ("other", b"", 400, {"error": "There is no other."}),
        ("search", b"{", 400, {"error": "It is no JSON object."}),
        ("search", b"[]", 400, {"error": "It is no JSON object."}),
        ("search", b"[" * 9999, 400, {"error": "It is no JSON object."}),
        ("search", b" " * 300_000, 400, {"error": "It has more than 256 KiB."}),
    ],
)
def test_the_memory_is_asked_through_a_door(tmp_path, op, content, status, said):
    with house(tmp_path, asked=remembering) as found:
        answer = found.client.post(f"/gitagent/memory/{op}", content=content)

    assert status == answer.status_code
    assert said == answer.json()


def test_without_a_memory_or_the_token_there_is_no_door(tmp_path):
    with house(tmp_path) as found:
        none = found.client.post("/gitagent/memory/search", json={"query": "x"})
    with house(tmp_path, asked=remembering) as found:
        with connect(found.path, "another") as client:
            wrong = client.post("/gitagent/memory/search", json={"query": "x"})
        got = found.client.get("/gitagent/memory/search")

    assert (404, 401, 404) == (none.status_code, wrong.status_code, got.status_code)
    assert () == tuple(found.journal.records)


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{", {}, 400),
        (b'{"model":"a","model":"b"}', {}, 400),
        (b"{}", {"content-encoding": "gzip"}, 415),
    ],
)
def test_a_request_that_cannot_be_read_is_refused_in_the_form_of_the_api(
    tmp_path, content, headers, status
):
    with served(tmp_path, []) as (provider, found):
        answer = found.client.post("/v1/messages", content=content, headers=headers)

        assert status == answer.status_code
        assert "error" == answer.json()["type"]
        assert () == provider.requests


def test_a_body_that_is_too_large_is_refused(tmp_path):
    bounds = Bounds(http=server.Bounds(body=2**20))
    with served(tmp_path, [], bounds=bounds) as (_, found):
        answer = found.client.post("/v1/messages", content=b"x" * 2**21)

        assert 413 == answer.status_code
        assert "more than 1 MiB" in answer.json()["error"]["message"]
        assert [] == found.journal.records


def test_a_short_budget_refuses_and_is_told_once(tmp_path):
    with served(tmp_path, [Say("Hi")], task=Limits(usd=0.002)) as (provider, found):
        answers = [found.messages(max_tokens=200) for _ in range(3)]

        assert [400, 400, 400] == [each.status_code for each in answers]
        assert {"false"} == {each.headers["x-should-retry"] for each in answers}
        assert "0.0020 usd is short" in answers[0].json()["error"]["message"]
        (short,) = found.shorts
        assert Which.TASK == short.which
        assert () == provider.requests
        assert short.sentence == found.gateway.trouble


def test_a_missing_limit_of_the_answer_reserves_a_large_one(tmp_path):
    with served(tmp_path, [Say("Hi")]) as (_, found):
        body = messages()
        del body["max_tokens"]
        found.client.post("/v1/messages", json=body)

        assert 32_000 == found.journal.records[0][0].reserved.output


def test_a_model_without_a_price_counts_its_tokens(tmp_path):
    limits = Limits(usd=0.0, tokens=100_000)
    with served(tmp_path, [Say("Hi")], price=None, task=limits) as (_, found):
        answer = found.messages()

        (ended,) = found.journal.ends
        assert 200 == answer.status_code
        assert (0.0, 1) == (ended.usage.usd, ended.usage.unpriced)
        assert ended.usage.tokens > 0


@pytest.mark.parametrize("api", APIS)
def test_parallel_requests_never_pass_the_limit(tmp_path, api):
    gate = Gate()
    limits = Limits(usd=0.01)
    with served(tmp_path, [gate, Say("Hi")], api, task=limits) as (_, found):
        answers: list[int] = []

        def ask():
            with connect(found.path) as client:
                _, path, body = APIS[api]
                answers.append(client.post(path, json=body(n=1)).status_code)

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for each in threads:
            each.start()
        gate.wait()
        gate.release.set()
        for each in threads:
            each.join(60)

        assert {200} == set(answers)
        assert all(each.spent.usd <= 0.01 for each, _ in found.journal.records)


def test_an_agent_that_leaves_while_its_request_waits_is_not_sent(tmp_path):
    gate = Gate()
    limits = Limits(usd=0.0025)
    with served(tmp_path, [gate, Say("Hi")], task=limits) as (provider, found):
        first = asking(found.path, messages())
        gate.wait()
        second = asking(found.path, messages())
        wait_for(lambda: found.ledger._queue)
        second.close()
        wait_for(lambda: not found.ledger._queue)
        gate.release.set()

        assert first.recv(100).startswith(b"HTTP/1.1 200")
        assert 1 == len(provider.requests) == found.gateway.count
        first.close()


def test_the_libraries_of_http_are_read_when_a_provider_is_asked():
    names = "('httpx', 'httpcore', 'urllib.request')"
    code = (
        f"import gitagent.model.gateway, sys; print(*{{*{names}}} & {{*sys.modules}})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert "\n" == done.stdout


def test_a_record_that_cannot_be_made_refuses_the_request(tmp_path):
    journal = Memory(broken=("sent",))
    with served(tmp_path, [Say("Hi")], journal=journal) as (provider, found):
        answer = found.messages()

        assert 500 == answer.status_code
        assert "could not be recorded" in answer.json()["error"]["message"]
        assert () == provider.requests
        assert NOTHING == found.ledger.spent("fix")
        assert found.lines


@pytest.mark.parametrize("stream", [False, True])
def test_an_end_that_cannot_be_recorded_is_no_end_for_the_agent(tmp_path, stream):
    journal = Memory(broken=("ended",))
    with served(tmp_path, [Say("Hi")], journal=journal) as (_, found):
        if stream:
            with pytest.raises(httpx.RemoteProtocolError):
                found.messages(stream=True)
        else:
            assert 500 == found.messages().status_code

        assert found.ledger.spent("fix").usd > 0


@pytest.mark.parametrize("api", APIS)
def test_the_agent_gets_the_end_only_when_it_is_recorded(tmp_path, api):
    release = threading.Event()
    reached = threading.Event()

    def during(exchange):
        if exchange.state is State.DONE:
            reached.set()
            assert release.wait(60)

    journal = Memory(during=during)
    _, path, body = APIS[api]
    end = {
        "messages": "message_stop",
        "chat": "[DONE]",
        "responses": "response.completed",
    }
    with (
        served(tmp_path, [Say(WORDS)], api, journal=journal) as (_, found),
        found.client.stream("POST", path, json=body(stream=True)) as answer,
    ):
        text = ""
        pieces = answer.iter_text()
        while "piece" not in text:
            text += next(pieces)
        assert reached.wait(60)
        assert end[api] not in text
        release.set()
        text += "".join(pieces)

        assert end[api] in text


@pytest.mark.parametrize("kind", failure.Failure)
def test_each_kind_of_failure_is_handled_as_the_table_says(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(failure, "LONGEST_S", 0.05)
    rule = failure.RULES[kind]
    fault = Fault(str(kind), times=9, headers={"retry-after": "0.01"})
    with served(tmp_path, [fault], patience=1) as (provider, found):
        answer = found.messages()

        (ended,) = found.journal.ends
        tries = failure.TRIES if rule.retry else 1
        assert tries == len(provider.requests) == ended.tries
        assert (State.FAILED, str(kind)) == (ended.state, ended.failure)
        assert ended.reason.endswith(".")
        assert ended.reason == found.gateway.trouble
        assert found.lines[-1] == ended.reason
        assert answer.status_code >= 400
        assert "error" == answer.json()["type"]
        assert "false" == answer.headers["x-should-retry"]
        if not rule.retry:
            assert (
                answer.status_code not in {408, 409, 429, 529} or ended.status is None
            )


@pytest.mark.parametrize("kind", [k for k, r in failure.RULES.items() if r.retry])
def test_what_is_tried_again_can_succeed(tmp_path, kind):
    fault = Fault(str(kind), times=2, headers={"retry-after": "0.01"})
    with served(tmp_path, [fault, Say("Hi")]) as (_, found):
        answer = found.messages(stream=True)

        (ended,) = found.journal.ends
        assert 200 == answer.status_code
        assert (State.DONE, 3) == (ended.state, ended.tries)
        assert 2 == len(found.lines)
        assert "" == found.gateway.trouble


def test_a_provider_that_asks_for_patience_is_left_alone_by_all(tmp_path):
    fault = Fault("rate_limited", headers={"retry-after": "3600"})
    with served(tmp_path, [fault, Say("Hi")]) as (provider, found):
        answers = [found.messages(), found.messages()]

        assert [400, 400] == [each.status_code for each in answers]
        assert 1 == len(provider.requests)
        assert [1, 0] == [each.tries for each in found.journal.ends]
        assert found.breaker.left("one") > 3500
        assert "left alone until" in found.gateway.trouble


def test_a_short_word_of_the_provider_is_waited_for(tmp_path):
    fault = Fault("rate_limited", headers={"retry-after": "0.05"})
    with served(tmp_path, [fault, Say("Hi")]) as (provider, found):
        assert 200 == found.messages().status_code
        assert 2 == len(provider.requests)
        assert "tried again in 0.05 s" in found.lines[0]


def test_a_fallback_stands_in_and_is_recorded(tmp_path):
    with (
        Provider(key=KEY) as second,
        served(
            tmp_path,
            [Fault("server", times=9)],
            fallback={"two": second.url},
        ) as (provider, found),
    ):
        second.script("it", [Say("Hi")], bare=True)
        answer = found.messages()

        (ended,) = found.journal.ends
        assert 200 == answer.status_code
        assert (3, 1) == (len(provider.requests), len(second.requests))
        assert (4, f"two:{MODEL}") == (ended.tries, ended.model)
        assert f"one:{MODEL}: The provider one answered server (500)" in ended.fallback
        assert "is asked instead of" in found.lines[-1]


def test_who_could_not_be_had_is_left_alone_while_another_stands_in(tmp_path):
    with (
        Provider(key=KEY) as second,
        served(tmp_path, [Fault("server", times=9)], fallback={"two": second.url}) as (
            provider,
            found,
        ),
    ):
        second.script("it", [Say("Hi"), Say("Again")], bare=True)
        found.messages()
        asked = len(provider.requests)
        answer = found.messages()

        _, ended = found.journal.ends
        assert 200 == answer.status_code
        assert asked == len(provider.requests)
        assert (1, f"two:{MODEL}") == (ended.tries, ended.model)
        assert "left alone until" in ended.fallback


@pytest.mark.parametrize(
    "kind", [k for k, r in failure.RULES.items() if not r.fallback]
)
def test_nothing_stands_in_where_the_table_says_so(tmp_path, kind):
    with (
        Provider(key=KEY) as second,
        served(tmp_path, [Fault(str(kind), times=9)], fallback={"two": second.url}) as (
            _,
            found,
        ),
    ):
        assert found.messages().status_code >= 400
        assert () == second.requests


def test_a_fallback_of_another_name_is_asked_by_its_name(tmp_path):
    with (
        Provider(key=KEY) as second,
        served(tmp_path, [Fault("server", times=9)], fallback={"two": second.url}) as (
            _,
            found,
        ),
    ):
        second.script("it", [Say("Hi")], bare=True)
        access = found.gateway.access
        other = replace(access.route.models[1], model="other-model")
        route = replace(access.route, models=(access.route.first, other))
        found.gateway.access = replace(access, route=route)
        found.messages()

        assert "other-model" == json.loads(second.requests[0].body)["model"]


def test_a_missing_key_fails_without_a_request(tmp_path):
    with served(tmp_path, [Say("Hi")], key="") as (provider, found):
        answer = found.messages()

        (ended,) = found.journal.ends
        assert 400 == answer.status_code
        assert "auth" == ended.failure
        assert "environment variable PLANTED" in answer.json()["error"]["message"]
        assert () == provider.requests


@pytest.mark.parametrize("stream", [False, True])
def test_an_agent_that_goes_away_is_recorded_and_its_provider_let_go(tmp_path, stream):
    gate = Gate()
    with served(tmp_path, [gate, Say("Hi")]) as (_, found):
        leaving = asking(found.path, messages(stream=stream))
        gate.wait()
        leaving.close()
        (ended,) = found.journal.wait_ends(1)

        assert State.LEFT == ended.state
        assert ended.usage.input > 0
        # One whose answer comes whole is answered to its end, though nobody hears it.
        assert (0 if stream else 100) == ended.usage.output
        assert ended.usage == found.ledger.spent("fix")


def test_a_stop_ends_everything_at_once_and_records_it(tmp_path):
    gate = Gate()
    with served(tmp_path, lambda _: gate) as (_, found):
        clients = [asking(found.path, messages()) for _ in range(5)]
        found.journal.wait(5)
        gate.wait()
        found.gateway.stop()

        assert [State.LEFT] * 5 == [each.state for each in found.journal.ends]
        assert not found.path.exists()
        assert found.ledger.spent("fix").usd > 0
        for each in clients:
            each.close()


def test_usage_adds_up_over_requests(tmp_path):
    with served(tmp_path, [Say("Hi")]) as (_, found):
        for _ in range(3):
            found.messages()

        ends = found.journal.ends
        assert 3 == found.gateway.count == found.gateway.usage.requests
        assert [1, 2, 3] == [each.number for each in ends]
        assert sum((each.usage for each in ends), Usage()) == ends[-1].spent
