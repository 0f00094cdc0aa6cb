"""What a request wants besides an answer of its model, in every form that has one."""

import json

import pytest

from gitagent.core.exchange import Api
from gitagent.model.beyond import refused
from gitagent.model.request import Asked, read

AT = "http://there.example/x?data=1"


def user(*blocks):
    return {"messages": [{"role": "user", "content": list(blocks)}]}


def items(*blocks):
    return {"input": [{"role": "user", "content": list(blocks)}]}


def tools(*found):
    return {"tools": list(found)}


LONG = {"type": "ephemeral", "ttl": "1h"}
FUNCTION = {"type": "function", "name": "f", "parameters": {"url": AT, "Type": 1}}

SERVED = [
    (Api.MESSAGES, tools({"type": "web_search_20250305", "name": "web_search"})),
    (Api.MESSAGES, tools({"type": "web_fetch_20250910", "name": "web_fetch"})),
    (Api.MESSAGES, tools({"type": "code_execution_20250825", "name": "c"})),
    (Api.MESSAGES, tools({"type": "mcp_toolset", "mcp_server_name": "x"})),
    (Api.MESSAGES, tools({"type": "some_newer_one_20990101"})),
    (Api.MESSAGES, tools({"name": "web_search"})),
    (Api.MESSAGES, tools("web_search")),
    (Api.MESSAGES, {"mcp_servers": [{"type": "url", "url": AT}]}),
    (Api.MESSAGES, {"container": {"skills": ["x"]}}),
    (Api.MESSAGES, user({"type": "image", "source": {"type": "url", "url": AT}})),
    (Api.MESSAGES, user({"type": "document", "source": {"type": "url", "url": AT}})),
    (Api.MESSAGES, user({"type": "image", "source": {"file_id": "f"}})),
    (
        Api.MESSAGES,
        user(
            {
                "type": "tool_result",
                "content": [{"type": "image", "source": {"type": "url", "url": AT}}],
            }
        ),
    ),
    (Api.COUNT, tools({"type": "web_search_20250305", "name": "web_search"})),
    (Api.CHAT, {"web_search_options": {"search_context_size": "low"}}),
    (Api.CHAT, {"plugins": [{"id": "web"}]}),
    (Api.CHAT, tools({"type": "web_search"})),
    (Api.CHAT, tools({"google_search": {}})),
    (Api.CHAT, tools({"function": {}, "googleSearch": {}})),
    (Api.CHAT, user({"type": "image_url", "image_url": {"url": AT}})),
    (Api.CHAT, user({"type": "image_url", "image_url": "file:///etc/passwd"})),
    (Api.CHAT, user({"type": "file", "file": {"file_id": "f"}})),
    (Api.RESPONSES, tools({"type": "web_search"})),
    (Api.RESPONSES, tools({"type": "web_search_preview"})),
    (Api.RESPONSES, tools({"type": "code_interpreter", "container": {}})),
    (Api.RESPONSES, tools({"type": "mcp", "server_url": AT})),
    (Api.RESPONSES, tools({"type": "file_search", "vector_store_ids": []})),
    (Api.RESPONSES, tools({"type": "image_generation"})),
    (Api.RESPONSES, tools({"type": "shell", "environment": {"type": "container"}})),
    (Api.RESPONSES, tools({"type": "namespace", "tools": [{"type": "mcp"}]})),
    (
        Api.RESPONSES,
        {"input": [{"type": "tool_search_output", **tools({"type": "mcp"})}]},
    ),
    (Api.RESPONSES, items({"type": "input_image", "image_url": AT})),
    (Api.RESPONSES, items({"type": "input_file", "file_url": AT})),
    (Api.RESPONSES, items({"type": "input_file", "file_id": "f"})),
    (
        Api.RESPONSES,
        {
            "input": [
                {
                    "type": "function_call_output",
                    "output": [{"type": "input_image", "image_url": AT}],
                }
            ]
        },
    ),
]


@pytest.mark.parametrize(("api", "fields"), SERVED)
def test_what_the_provider_does_itself_takes_a_grant(api, fields):
    why = refused(api, fields, server_tools=False)

    assert "past the sandbox" in why
    assert '"network"' in why
    assert "" == refused(api, fields, server_tools=True)


@pytest.mark.parametrize(
    ("api", "fields", "why"),
    [
        (Api.CHAT, {"Model": "b"}, "lower case"),
        (Api.CHAT, {"max_to\u212aens": 9}, "lower case"),
        (Api.CHAT, {"\u017ftream": True}, "lower case"),
        (Api.RESPONSES, tools({"type": "function", "Type": "mcp"}), "lower case"),
        (Api.CHAT, user({"type": "x", "Image_url": AT}), "lower case"),
        (Api.CHAT, {"models": ["b"]}, "the only one"),
        (Api.CHAT, {"fallbacks": ["b"]}, "the only one"),
        (Api.CHAT, {"api_base": AT}, "the only one"),
        (Api.RESPONSES, {"previous_response_id": "r"}, "stored"),
        (Api.RESPONSES, {"conversation": "c"}, "stored"),
        (Api.RESPONSES, {"prompt": {"id": "p"}}, "stored"),
        (Api.RESPONSES, {"service_tier": "priority"}, "another price"),
        (Api.MESSAGES, {"speed": "fast"}, "another price"),
        (Api.MESSAGES, user({"type": "text", "cache_control": LONG}), "five minutes"),
        (Api.MESSAGES, {"system": [{"cache_control": LONG}]}, "five minutes"),
        (Api.MESSAGES, tools({"name": "x", "cache_control": LONG}), "five minutes"),
        (Api.MESSAGES, {"cache_control": LONG}, "five minutes"),
        (
            Api.MESSAGES,
            {"context_management": {"edits": [{"type": "compact_20260112"}]}},
            "compacted",
        ),
    ],
)
def test_no_grant_leads_to_another_model_or_past_the_budget(api, fields, why):
    for server_tools in (False, True):
        assert why in refused(api, fields, server_tools=server_tools)


@pytest.mark.parametrize(
    ("api", "fields"),
    [
        (Api.MESSAGES, tools({"name": "Bash", "input_schema": {"Type": AT}})),
        (Api.MESSAGES, tools({"type": "custom", "name": "x", "input_schema": {}})),
        (Api.MESSAGES, tools({"type": "bash_20250124", "name": "bash"})),
        (Api.MESSAGES, tools({"type": "text_editor_20250728", "name": "edit"})),
        (
            Api.MESSAGES,
            user({"type": "tool_use", "input": {"url": AT, "Type": "x", "tools": [1]}}),
        ),
        (
            Api.MESSAGES,
            user({"type": "image", "source": {"type": "base64", "data": "QQ=="}}),
        ),
        (Api.MESSAGES, {"service_tier": "auto", "metadata": {"User": "x"}}),
        (
            Api.MESSAGES,
            {"context_management": {"edits": [{"type": "clear_thinking_20251015"}]}},
        ),
        (Api.MESSAGES, user({"type": "text", "text": AT})),
        (Api.MESSAGES, user({"type": "text", "cache_control": {"type": "ephemeral"}})),
        (Api.CHAT, tools({"type": "function", "function": {"name": "f"}})),
        (Api.CHAT, {"tools": None, "plugins": [], "models": None}),
        (
            Api.CHAT,
            user({"type": "image_url", "image_url": {"url": "data:image/png,x"}}),
        ),
        (Api.RESPONSES, tools(FUNCTION, {"type": "custom", "name": "apply_patch"})),
        (Api.RESPONSES, tools({"type": "namespace", "tools": [FUNCTION]})),
        (Api.RESPONSES, tools({"type": "local_shell"}, {"type": "shell"})),
        (Api.RESPONSES, {"input": AT, "previous_response_id": None}),
    ],
)
def test_what_agents_ask_for_passes(api, fields):
    assert "" == refused(api, fields, server_tools=False)


def test_a_request_is_read_with_the_grant_or_without():
    body = json.dumps({"model": "m", **tools({"type": "web_search"})}).encode()

    assert "past the sandbox" in str(read(Api.RESPONSES, body))
    assert isinstance(read(Api.RESPONSES, body, server_tools=True), Asked)
