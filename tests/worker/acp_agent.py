"""A small agent that speaks ACP, by the library's own side for agents: a script.

It keeps what it was told in HOME, tells that anew when it is asked to load it, asks for
two permissions, writes files by way of its client, and says what it saw as JSON.
"""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from acp import (
    Agent,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
    run_agent,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_tool_call,
    update_user_message_text,
)
from acp.schema import (
    AgentCapabilities,
    Implementation,
    PermissionOption,
    ToolCallUpdate,
)

SAVED = Path(os.environ["HOME"], "saved.json")
OPTIONS = [
    PermissionOption(option_id="ever", name="Always", kind="allow_always"),
    PermissionOption(option_id="once", name="Once", kind="allow_once"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]


def keep(told: list[str]) -> None:
    SAVED.write_text(json.dumps(told))


def kept() -> list[str]:
    found: list[str] = json.loads(SAVED.read_text()) if SAVED.exists() else []
    return found


class Small(Agent):
    def __init__(self) -> None:
        self.client: Any = None
        self.seen: dict[str, Any] = {}

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(
        self, protocol_version: int, client_capabilities: Any = None, **_: Any
    ) -> InitializeResponse:
        self.seen["files"] = client_capabilities.fs.model_dump(exclude_none=True)
        return InitializeResponse(
            protocol_version=protocol_version,
            agent_capabilities=AgentCapabilities(load_session=True),
            agent_info=Implementation(name="Small", version="0.1"),
        )

    async def new_session(
        self, cwd: str, mcp_servers: Any = None, **_: Any
    ) -> NewSessionResponse:
        self.note(cwd, mcp_servers)
        keep([])
        return NewSessionResponse(session_id="s-1")

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Any = None, **_: Any
    ) -> LoadSessionResponse:
        told = kept()
        if session_id != "s-1":
            raise RequestError.resource_not_found(session_id)
        self.note(cwd, mcp_servers)
        for each in told:
            await self.client.session_update(session_id, update_user_message_text(each))
            await self.client.session_update(
                session_id, update_agent_message_text("old words")
            )
        return LoadSessionResponse()

    def note(self, cwd: str, servers: Any) -> None:
        self.seen["cwd"] = cwd
        self.seen["mcp"] = [each.model_dump(exclude_none=True) for each in servers]
        self.seen["url"] = os.environ.get("ANTHROPIC_BASE_URL")

    async def prompt(
        self, session_id: str, prompt: list[Any], **_: Any
    ) -> PromptResponse:
        told = kept()
        keep([*told, prompt[0].text])
        self.seen["before"] = told

        async def tell(update: Any) -> None:
            await self.client.session_update(session_id, update)

        await tell(update_agent_thought_text("Let me "))
        await tell(update_agent_thought_text("see."))
        await tell(start_tool_call("t1", "Run it", kind="execute", status="pending"))
        self.seen["granted"] = {
            kind: await self.ask(session_id, kind) for kind in ("execute", "edit")
        }
        done = [tool_content(text_block("done"))]
        await tell(
            update_tool_call(
                "t1", status="completed", content=done, raw_input={"command": "make"}
            )
        )
        cwd = Path(self.seen["cwd"])
        self.seen["wrote"] = [
            await self.tried(self.client.write_text_file, session_id, path)
            for path in (cwd / "new/made.txt", cwd / "link/out", Path("/etc/out"))
        ]
        self.seen["read"] = [
            await self.tried(self.client.read_text_file, session_id, path)
            for path in (cwd / "new/made.txt", cwd / "link/passwd", cwd / "none")
        ]
        text = json.dumps(self.seen)
        for start in range(0, len(text), 16):
            await tell(update_agent_message_text(text[start : start + 16]))
        return PromptResponse(stop_reason="end_turn")

    async def ask(self, session_id: str, kind: Any) -> str:
        call = ToolCallUpdate(tool_call_id="t1", title="Run it", kind=kind)
        answer = await self.client.request_permission(session_id, call, OPTIONS)
        return str(answer.outcome.option_id)

    async def tried(self, what: Any, session_id: str, path: Path) -> str:
        more = {} if "read" in what.__name__ else {"content": "one\ntwo\nthree\n"}
        if "read" in what.__name__:
            more = {"line": 2, "limit": 1}
        try:
            answer = await what(session_id=session_id, path=str(path), **more)
        except RequestError as error:
            return str(error)
        return getattr(answer, "content", "ok")


if __name__ == "__main__":
    asyncio.run(run_agent(Small()))
