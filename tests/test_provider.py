"""The scripted model server: what the tests of agents stand on."""

import json
import ssl
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support.provider import (
    TITLE,
    Ask,
    Call,
    Edit,
    Fault,
    Finish,
    Gate,
    Provider,
    Say,
    Shell,
    Think,
    Write,
)

# Reading the certificates of the machine for each request would cost 0.2 s.
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

BASH = {
    "name": "Bash",
    "input_schema": {
        "properties": {"command": {"type": "string"}, "description": {}},
        "required": ["command", "description"],
    },
}
ASK = {"name": "mcp__gitagent__ask", "input_schema": {"properties": {"questions": {}}}}


def as_chat(tool):
    function = {"name": tool["name"].lower(), "parameters": tool["input_schema"]}
    return {"type": "function", "function": function}


@pytest.fixture
def provider():
    with Provider() as server:
        yield server


def post(provider, path, body, *, key=None, timeout=20.0):
    return httpx.post(
        f"{provider.url}/v1/{path}",
        json=body,
        headers={"x-api-key": provider.key if key is None else key},
        timeout=timeout,
        verify=PLAIN,
    )


def messages(text, *, tools=(BASH,), **more):
    said = [{"role": "user", "content": text}]
    return {"model": "m", "max_tokens": 9, "messages": said, "tools": [*tools], **more}


def chat(text, *, tools=(BASH,), **more):
    said = [{"role": "user", "content": text}]
    return {
        "model": "m",
        "messages": said,
        "tools": [as_chat(t) for t in tools],
        **more,
    }


def responses(text, tools, **more):
    return {"model": "m", "input": text, "tools": tools, **more}


def events(response):
    return [
        json.loads(line[6:])
        for line in response.text.splitlines()
        if line.startswith("data: {")
    ]


def test_the_client_of_anthropic_reads_a_streamed_answer(provider):
    import anthropic  # noqa: PLC0415

    provider.script("one", [(Think("hm"), Say("Let me look."), Shell("ls"))])
    client = anthropic.Anthropic(
        base_url=provider.url, api_key=provider.key, max_retries=0
    )
    with client, client.messages.stream(**messages("script: one")) as stream:
        answer = stream.get_final_message()

    assert "tool_use" == answer.stop_reason
    assert ["thinking", "text", "tool_use"] == [part.type for part in answer.content]
    assert {"command": "ls", "description": "Run a command"} == answer.content[2].input
    assert answer.usage.input_tokens > 10 < answer.usage.output_tokens


def test_steps_are_taken_one_by_one_and_the_last_words_stay(provider):
    provider.script("s", [Shell("ls"), Say("done")])
    got = [post(provider, "messages", messages("script: s")).json() for _ in range(3)]

    assert ["tool_use", "end_turn", "end_turn"] == [each["stop_reason"] for each in got]
    assert "done" == got[2]["content"][0]["text"]


def test_a_request_without_tools_takes_no_step(provider):
    provider.script("s", [Say("step")])
    title = post(provider, "messages", messages("script: s", tools=()))
    count = post(provider, "messages/count_tokens", messages("script: s"))
    step = post(provider, "messages", messages("script: s"))

    assert TITLE == title.json()["content"][0]["text"]
    assert count.json()["input_tokens"] > 10
    assert "step" == step.json()["content"][0]["text"]


def test_a_program_without_tools_can_have_a_script_too(provider):
    provider.script("s", [Say("step")], bare=True)
    answer = post(provider, "chat/completions", chat("script: s", tools=())).json()

    assert "step" == answer["choices"][0]["message"]["content"]


def test_conversations_at_once_have_their_own_scripts(provider):
    names = [f"task-{number}" for number in range(8)]
    for name in names:
        provider.script(name, [Shell(f"echo {name} {step}") for step in range(5)])

    def run(name):
        texts = []
        for _ in range(5):
            got = post(provider, "messages", messages(f"# Task {name}: of task-0"))
            texts.append(got.json()["content"][0]["input"]["command"])
        return texts

    with ThreadPoolExecutor(len(names)) as pool:
        got = list(pool.map(run, names))

    assert [[f"echo {name} {step}" for step in range(5)] for name in names] == got
    assert 40 == len(provider.requests)


def test_a_function_sees_results_and_decides(provider):
    def script(asked):
        return Say(f"{asked.turn} {asked.results} {asked.newest}")

    provider.script("s", script)
    body = messages("script: s")
    body["messages"] += [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1"}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "1", "content": "out"}],
        },
    ]

    got = post(provider, "messages", body).json()

    assert "0 ('out',) out" == got["content"][0]["text"]


def test_chat_completions_stream_calls_and_usage(provider):
    provider.script("s", [(Say("look"), Shell("ls"), Shell("pwd"))])
    wanted = {"stream": True, "stream_options": {"include_usage": True}}
    response = post(provider, "chat/completions", chat("script: s", **wanted))
    chunks = events(response)
    made = [
        call
        for chunk in chunks
        for choice in chunk["choices"]
        for call in choice["delta"].get("tool_calls", ())
    ]
    text = "".join(call["function"]["arguments"] for call in made if call["index"])

    assert response.text.endswith("data: [DONE]\n\n")
    assert {"command": "pwd", "description": "Run a command"} == json.loads(text)
    assert "tool_calls" == chunks[-2]["choices"][0]["finish_reason"]
    assert chunks[-1]["usage"]["total_tokens"] > 20


def test_chat_completions_stream_no_usage_unasked(provider):
    provider.script("s", [Say("look")])
    chunks = events(post(provider, "chat/completions", chat("script: s", stream=True)))

    assert all("usage" not in chunk for chunk in chunks)


def test_chat_completions_answer_whole(provider):
    provider.script("s", [Shell("ls")])
    answer = post(provider, "chat/completions", chat("script: s")).json()
    choice = answer["choices"][0]

    assert "tool_calls" == choice["finish_reason"]
    assert "bash" == choice["message"]["tool_calls"][0]["function"]["name"]
    assert answer["usage"]["completion_tokens"] > 1


def test_responses_stream_items_from_created_to_completed(provider):
    tools = [
        {
            "type": "function",
            "name": "exec_command",
            "parameters": {"properties": {"cmd": {}}, "required": ["cmd"]},
        },
        {
            "type": "namespace",
            "name": "mcp__gitagent__",
            "tools": [{"type": "function", "name": "finish", "parameters": {}}],
        },
    ]
    provider.script("s", [(Say("look"), Shell("ls"), Finish("ok"))])
    got = events(
        post(provider, "responses", responses("script: s", tools, stream=True))
    )
    kinds = [each["type"] for each in got]
    said, ran, ended = got[-1]["response"]["output"]

    assert "response.created" == kinds[0]
    assert "response.completed" == kinds[-1]
    assert {"response.output_text.delta", "response.function_call_arguments.delta"} < {
        *kinds
    }
    assert list(range(len(got))) == [each["sequence_number"] for each in got]
    assert "look" == said["content"][0]["text"]
    assert '{"cmd": "ls"}' == ran["arguments"]
    assert ("finish", "mcp__gitagent__") == (ended["name"], ended["namespace"])
    assert got[-1]["response"]["usage"]["input_tokens"] > 10


def test_responses_answer_whole_and_give_plain_text_to_custom_tools(provider):
    tools = [{"type": "custom", "name": "apply_patch"}]
    provider.script("s", [Call("apply_patch", "*** Begin", custom=True)])
    answer = post(provider, "responses", responses("script: s", tools)).json()

    assert "completed" == answer["status"]
    assert "*** Begin" == answer["output"][0]["input"]


def test_roles_find_the_tools_of_the_program(provider):
    write = {
        "name": "Write",
        "input_schema": {"properties": {"file_path": {}, "content": {}}},
    }
    provider.script(
        "s", [(Ask("why?", ("which?", ["a", "b"])), Write("f", "x")), Write("f", "x")]
    )
    with_it = post(
        provider, "messages", messages("script: s", tools=(BASH, ASK, write))
    ).json()
    without = post(provider, "messages", messages("script: s")).json()

    assert [
        {
            "questions": [
                {"text": "why?"},
                {"text": "which?", "options": ["a", "b"]},
            ]
        },
        {"file_path": "f", "content": "x"},
    ] == [part["input"] for part in with_it["content"]]
    assert "printf %s x >f" == without["content"][0]["input"]["command"]


def test_a_file_is_edited_by_the_shell_or_else_by_the_tool_for_it(provider, tmp_path):
    path = tmp_path / "f"
    path.write_text("a - b - c")
    names = ("file_path", "old_string", "new_string")
    schema = {"properties": {name: {} for name in names}}
    edit = {"name": "Edit", "input_schema": schema}
    step = Edit(str(path), " - ", " + ")
    provider.script("s", [step, step])
    both = post(provider, "messages", messages("script: s", tools=(BASH, edit))).json()
    alone = post(provider, "messages", messages("script: s", tools=(edit,))).json()
    subprocess.run(["sh", "-c", both["content"][0]["input"]["command"]], check=True)

    assert "a + b - c" == path.read_text()
    assert {str(path), " - ", " + "} == {*alone["content"][0]["input"].values()}


def test_a_shell_that_takes_a_list_gets_one(provider):
    schema = {"properties": {"command": {"type": "array"}}}
    tool = {"type": "function", "name": "shell", "parameters": schema}
    provider.script("s", [Shell("ls")])
    answer = post(provider, "responses", responses("script: s", [tool])).json()

    assert {"command": ["bash", "-c", "ls"]} == json.loads(
        answer["output"][0]["arguments"]
    )


def test_what_a_script_cannot_do_is_said_at_the_end():
    provider = Provider().__enter__()
    provider.script("s", [Ask("why?")])

    assert 400 == post(provider, "messages", messages("script: s")).status_code
    with pytest.raises(AssertionError):
        provider.__exit__(None, None, None)


def test_no_script_is_a_trouble_and_a_default_is_none():
    with Provider(strict=False) as provider:
        assert 400 == post(provider, "messages", messages("what?")).status_code
        assert "what?" in provider.troubles[0]
    with Provider(default=[Say("yes")]) as provider:
        assert 200 == post(provider, "messages", messages("what?")).status_code


def test_a_wrong_key_is_refused_and_remembered(provider):
    refused = post(provider, "messages", messages("x"), key="other")
    by_bearer = httpx.get(
        f"{provider.url}/v1/models",
        headers={"authorization": f"Bearer {provider.key}"},
        verify=PLAIN,
    )

    assert 401 == refused.status_code
    assert "authentication_error" == refused.json()["error"]["type"]
    assert 200 == by_bearer.status_code
    assert ["other", None] == [
        each.headers.get("x-api-key") for each in provider.requests
    ]


def test_a_model_it_does_not_have_is_not_found():
    with Provider(models=["a", "b"], default=[Say("x")]) as provider:
        listed = httpx.get(
            f"{provider.url}/v1/models",
            headers={"x-api-key": provider.key},
            verify=PLAIN,
        ).json()
        assert ["a", "b"] == [each["id"] for each in listed["data"]]
        assert 404 == post(provider, "messages", messages("x")).status_code


@pytest.mark.parametrize(
    ("kind", "status", "ours", "theirs"),
    [
        ("rate_limited", 429, "rate_limit_error", "rate_limit_exceeded"),
        ("overloaded", 529, "overloaded_error", None),
        ("timeout", 408, "timeout_error", None),
        ("server", 500, "api_error", None),
        ("auth", 401, "authentication_error", "invalid_api_key"),
        ("funds", 402, "billing_error", "insufficient_quota"),
        ("overflow", 400, "invalid_request_error", "context_length_exceeded"),
        ("invalid", 400, "invalid_request_error", None),
    ],
)
def test_a_fault_is_told_in_the_form_of_the_api(provider, kind, status, ours, theirs):
    provider.script("s", [Fault(kind, times=2), Say("again")])
    first = post(provider, "messages", messages("script: s"))
    second = post(provider, "chat/completions", chat("script: s"))
    third = post(provider, "messages", messages("script: s"))

    assert (status, status, 200) == (
        first.status_code,
        second.status_code,
        third.status_code,
    )
    assert ours == first.json()["error"]["type"]
    assert theirs == second.json()["error"]["code"]


def test_a_fault_has_the_headers_it_is_given(provider):
    provider.script(
        "s", [Fault("rate_limited"), Fault("server", headers={"retry-after": "7"})]
    )
    got = [post(provider, "messages", messages("script: s")) for _ in range(2)]

    assert ["1", "7"] == [each.headers["retry-after"] for each in got]


def test_a_stream_can_be_cut(provider):
    provider.script("s", [Fault("cut")])
    with pytest.raises(httpx.RemoteProtocolError):
        post(provider, "messages", messages("script: s", stream=True))


def test_an_answer_can_be_cut(provider):
    provider.script("s", [Fault("cut")])
    with pytest.raises(httpx.RemoteProtocolError):
        post(provider, "chat/completions", chat("script: s"))


def test_a_connection_can_end_without_an_answer(provider):
    provider.script("s", [Fault("unreachable")])
    with pytest.raises(httpx.RemoteProtocolError):
        post(provider, "messages", messages("script: s"))


@pytest.mark.parametrize("begun", [False, True])
def test_a_provider_can_hang_and_is_closed_all_the_same(provider, begun):
    provider.script("s", [Fault("hung", begun=begun)])
    with pytest.raises(httpx.ReadTimeout):
        post(provider, "messages", messages("script: s", stream=True), timeout=0.2)


def test_garbage_is_no_answer(provider):
    provider.script("s", [Fault("garbage")])
    response = post(provider, "messages", messages("script: s"))

    assert 200 == response.status_code
    with pytest.raises(ValueError, match="utf-8"):
        response.json()


def test_a_stream_can_go_on_as_garbage(provider):
    provider.script("s", [Fault("garbage", begun=True)])
    with pytest.raises(httpx.RemoteProtocolError):
        post(provider, "messages", messages("script: s", stream=True))


def test_a_gate_holds_an_answer_until_the_test_lets_go(provider):
    gate = Gate()
    provider.script("s", [gate, Say("after")])
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(post, provider, "messages", messages("script: s"))
        gate.wait()
        assert not asked.done()
        gate.release.set()

        assert "after" == asked.result().json()["content"][0]["text"]


def test_who_leaves_at_a_gate_uses_up_no_step(provider):
    gate = Gate()
    provider.script("s", [gate, Say("after")])
    with pytest.raises(httpx.ReadTimeout):
        post(provider, "messages", messages("script: s"), timeout=0.2)
    gate.wait()

    got = post(provider, "messages", messages("script: s")).json()

    assert "after" == got["content"][0]["text"]


def test_requests_can_be_waited_for(provider):
    provider.script("s", [Say("x")])
    threading.Timer(0.05, post, (provider, "messages", messages("script: s"))).start()
    (seen,) = provider.wait_requests(1, "/messages")

    assert "script: s" == seen.json["messages"][0]["content"]
    with pytest.raises(AssertionError):
        provider.wait_requests(2, timeout=0.1)


def test_what_is_no_request_is_told_so(provider):
    wrong = post(provider, "messages", ["x"])
    nowhere = post(provider, "elsewhere", {})

    assert (400, 404) == (wrong.status_code, nowhere.status_code)
