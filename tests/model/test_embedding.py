"""Vectors from a provider: what is asked, what it costs, and what goes wrong."""

import json
from array import array
from dataclasses import dataclass, field
from typing import Any

import pytest

from gitagent.core.budget import Limits
from gitagent.core.exchange import Api, Exchange, State
from gitagent.core.failure import Failure
from gitagent.core.models import ModelRef
from gitagent.core.settings import Model, Provider
from gitagent.errors import UserError
from gitagent.host import until
from gitagent.model.embedding import ACCOUNT, Embedding
from gitagent.model.ledger import Ledger
from gitagent.model.upstream import Ask, Lost, Whole, url

REF = ModelRef("near", "small")
NEAR = Provider(
    kind="openai",
    base_url="http://127.0.0.1:1/v1",
    prices={"small": {"input": 1000.0, "output": 0}},
)
PRICED = Model(providers={"near": NEAR})


@dataclass
class Upstream:
    """Answers with what it is given, and keeps what it was asked."""

    answer: Any
    status: int = 200
    asked: list[Ask] = field(default_factory=list)

    def send(self, ask: Ask, stops: object) -> Any:
        self.asked.append(ask)
        if callable(self.answer):
            return self.answer(ask, stops)
        if isinstance(self.answer, Lost):
            return self.answer
        raw = self.answer
        data = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
        return Whole(self.status, {}, data)


@dataclass
class Journal:
    """Keeps exchanges."""

    kept: list[Exchange] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def sent(self, exchange: Exchange, body: bytes) -> Exchange:
        self.kept.append(exchange)
        self.bodies.append(body)
        return exchange

    def ended(self, exchange: Exchange, answer: bytes) -> Exchange:
        assert b"" == answer
        self.kept.append(exchange)
        return exchange


def rows(*vectors: list[float]) -> list[dict[str, object]]:
    return [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]


def made(
    answer: Any, day: Limits | None = None, **more: Any
) -> tuple[Embedding, Any, Any, Any]:
    upstream, ledger, journal = Upstream(answer, **more), Ledger(), Journal()
    embedding = Embedding(
        REF, PRICED, day or Limits(), upstream=upstream, ledger=ledger, journal=journal
    )
    return embedding, upstream, ledger, journal


def test_one_vector_each_in_order_and_of_length_one():
    data = rows([3.0, 4.0], [0, 2])[::-1]
    embedding, upstream, _, _ = made({"data": data, "usage": {"prompt_tokens": 7}})

    found = embedding.embed(["one", "two"], 5)

    expected = [[0.6, 0.8], [0, 1]]
    assert expected == [pytest.approx(list(array("f", each))) for each in found]
    assert {"model": "small", "input": ["one", "two"]} == json.loads(
        upstream.asked[0].body
    )
    assert "http://127.0.0.1:1/v1/embeddings" == url(REF, NEAR, Api.EMBEDDINGS)
    assert "near:small" == embedding.name


def test_what_it_cost_is_in_the_ledger_and_recorded_without_texts():
    answer = {"data": rows([1.0]), "usage": {"prompt_tokens": 7}}
    embedding, _, ledger, journal = made(answer)

    embedding.embed(["a secret text"], 5)

    spent = ledger.spent(ACCOUNT)
    sent, ended = journal.kept
    assert (7, pytest.approx(0.007)) == (spent.input, spent.usd)
    assert (State.SENT, State.DONE, 7) == (sent.state, ended.state, ended.usage.input)
    assert b"secret" not in journal.bodies[0]


def test_a_provider_that_does_not_count_has_used_what_was_reserved():
    embedding, _, ledger, _ = made({"data": rows([1.0])})

    embedding.embed(["four", "é"], 5)

    assert 6 == ledger.spent(ACCOUNT).input


def test_beyond_the_budget_of_the_day_nothing_is_asked_for():
    embedding, upstream, _, journal = made({}, Limits(usd=0.001))

    found = embedding.embed(["some text"], 5)

    assert "day" in found
    assert ([], []) == (upstream.asked, journal.kept)


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (Lost(Failure.AUTH, "The key is missing."), 200, "The key is missing."),
        (b"<html>", 200, "The answer is no vectors: it is no JSON."),
        ([], 200, "The answer is no vectors: it is no object."),
        ({"error": "no"}, 500, "The answer is no vectors: it has the status 500."),
        ({}, 200, "not one vector for each text"),
        ({"data": rows([1.0])}, 200, "not one vector for each text"),
        ({"data": rows([1.0], [1.0, 2.0])}, 200, "not one vector for each text"),
        ({"data": rows([], [])}, 200, "not one vector for each text"),
        ({"data": rows(["a"], ["b"])}, 200, "not one vector for each text"),
        ({"data": [1, {"index": "0"}]}, 200, "not one vector for each text"),
    ],
)
def test_what_is_no_answer_is_a_sentence_and_recorded_as_failed(answer, status, said):
    embedding, _, _, journal = made(answer, status=status)

    found = embedding.embed(["one", "two"], 5)

    assert said in found
    assert State.FAILED is journal.kept[-1].state
    assert found == journal.kept[-1].reason


def test_a_refusal_costs_nothing_and_a_lost_answer_all_that_was_reserved():
    refused, _, ledger, _ = made({}, status=429)
    refused.embed(["text"], 5)
    lost, _, other, _ = made(Lost(Failure.CUT, "It broke off."))
    lost.embed(["text"], 5)

    assert (0, 4) == (ledger.spent(ACCOUNT).tokens, other.spent(ACCOUNT).tokens)


def test_its_time_limit_stops_the_request():
    def silent(_: Ask, stops: Any) -> Lost:
        assert 0 == until.first(stops, 30)
        return Lost(Failure.HUNG, "Nothing came.")

    embedding, upstream, _, _ = made(silent)

    assert "Nothing came." == embedding.embed(["text"], 0.05)
    assert 0.05 == upstream.asked[0].patience_s


def test_what_cannot_be_recorded_is_not_asked_for(monkeypatch):
    embedding, upstream, ledger, journal = made({})

    def full(*_: object) -> None:
        raise UserError("the disk is full")

    monkeypatch.setattr(journal, "sent", full)

    assert "No vectors were asked for: the disk is full." == embedding.embed(["x"], 5)
    assert [] == upstream.asked
    assert 0 == ledger.held(ACCOUNT, "2026-01-01")[1].tokens
