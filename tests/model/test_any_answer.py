"""Whatever a provider sends, the exchange ends in a named state and is recorded."""

from collections.abc import Sequence

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitagent.core import failure
from gitagent.core.exchange import State
from gitagent.core.failure import Failure
from gitagent.host import until
from gitagent.model.scrub import Scrub
from gitagent.model.upstream import Answer, Ask, Lost
from tests.model.house import chat, house, messages, responses

_EVENTS = [
    b'data: {"type":"message_start","message":{"usage":{"input_tokens":5}}}\n\n',
    b'data: {"type":"content_block_delta","delta":{"text":"open-sesame"}}\n\n',
    b'data: {"type":"message_stop"}\n\n',
    b'data: {"type":"error","error":{"type":"overloaded_error"}}\n\n',
    b'data: {"choices":[{"delta":{"content":"open-sesame"}}]}\n\n',
    b'data: {"choices":[],"usage":{"prompt_tokens":1e99}}\n\n',
    b'data: {"choices":[{"finish_reason":"stop"}]}\n\n',
    b"data: [DONE]\n\n",
    b'data: {"type":"response.created"}\n\n',
    b'data: {"type":"response.completed","response":{"usage":{"input_tokens":-1}}}\n\n',
    b": ping\n\n",
    b"event: ping\ndata: {}\r\n\r\n",
    b"\n\n",
    b"data:\n\n",
    b'{"type":"message","usage":[]}',
    b'{"choices":[],"usage":{"completion_tokens":true}}',
    b'{"object":"response","usage":null}',
]
APIS = {
    "messages": ("anthropic", "/v1/messages", messages),
    "chat": ("openai", "/v1/chat/completions", chat),
    "responses": ("openai", "/v1/responses", responses),
}


class Scripted:
    """An upstream whose answers are made of given pieces."""

    def __init__(self):
        self.status = 200
        self.headers = {"retry-after": "0.001"}
        self.pieces: list[bytes | Lost] = []
        self.closed = 0

    def send(self, ask: Ask, stops: Sequence[until.Watched]) -> Answer | Lost:
        del ask, stops
        self._left = list(self.pieces)
        return self

    def scrub(self):
        return Scrub(["open-sesame"])

    def read(self):
        return self._left.pop(0) if self._left else b""

    def close(self):
        self.closed += 1


@pytest.fixture(scope="module", params=APIS)
def scripted(tmp_path_factory, request):
    upstream = Scripted()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(failure, "FIRST_S", 0.0)
        patch.setattr(failure, "LONGEST_S", 0.0)
        kind = APIS[request.param][0]
        folder = tmp_path_factory.mktemp("g")
        with house(folder, kind=kind, upstream=upstream) as found:
            yield upstream, found, APIS[request.param]


lost = st.sampled_from(Failure).map(lambda kind: Lost(kind, "It went wrong."))
pieces = st.lists(
    st.one_of(st.sampled_from(_EVENTS), st.binary(min_size=1, max_size=30), lost),
    max_size=8,
)


@settings(max_examples=100)
@given(pieces, st.booleans(), st.sampled_from([200, 200, 200, 204, 302, 400, 429, 529]))
def test_any_answer_ends_in_a_named_state(scripted, pieces, stream, status):
    upstream, found, (_, path, body) = scripted
    upstream.pieces, upstream.status = pieces, status
    before = len(found.journal.ends)
    whole = True
    try:
        answer = found.client.post(path, json=body(stream=stream))
    except httpx.RemoteProtocolError:
        whole, answer = False, None

    ends = found.journal.ends
    assert before + 1 == len(ends)
    ended = ends[-1]
    assert (ended.failure in set(Failure)) is (ended.state is State.FAILED)
    assert ended.state in {State.DONE, State.FAILED}
    assert whole or ended.state is State.FAILED
    assert answer is None or (answer.status_code == 200) is (ended.state is State.DONE)
    assert upstream.closed
    assert not [each for each in found.lines if "bug" in each]
    assert b"open-sesame" not in found.journal.records[-1][1]
    assert ended.usage.usd >= 0
