"""The client of an agent that speaks ACP, as the process of its attempt.

Run inside the sandbox by the Python of gitagent, with the prompt on standard input::

    python -I acp.py ORDER

ORDER is a JSON file: argv, cwd, session, model, mcp, shell, write. The agent is its
child. What the agent tells goes to standard output, a JSON object a line, for
`acp_stream`; exit code 0 says that its turn ended by itself. Whatever the grants allow
is granted without asking: the sandbox is the permission. SIGTERM cancels the turn.

It works on the bare messages, not on the library's models of them: real agents are
older, newer and less strict. ``-I`` is not for safety alone: next to this file lie
modules with the names of libraries.
"""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acp import AGENT_METHODS, PROTOCOL_VERSION, RequestError, spawn_stdio_connection
from acp.connection import Connection

_PATIENCE_S = 120  # for each step before the prompt; some programs start in 10
_CANCEL_S = 1.0  # for the answer to a cancel; whoever sent SIGTERM waits 2
_LEAVE_S = 5.0  # for the program to end by itself afterwards
_DEATH_S = 1.0  # between the end of its output and its own
_LINE = 1 << 20  # bytes read at once; longer messages come in parts

_SET_MODEL = "session/set_model"  # of before there were options of configuration
_LOGIN = -32000  # code of the error that says that a login is wanted
_CANCELLED = 128 + signal.SIGTERM


@dataclass(frozen=True, slots=True)
class Spec:
    """What the daemon wants done."""

    argv: list[str]
    cwd: str
    session: str  # to go on with; "": begin anew
    model: str
    mcp: list[str]
    shell: bool
    write: bool


class Trouble(Exception):
    """A sentence for people."""


def say(kind: str, **values: object) -> None:
    """Write a line of output."""
    try:
        line = json.dumps({"type": kind, **values})
    except RecursionError:
        line = json.dumps({"type": "note", "text": "a message is nested too deeply"})
    sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.buffer.flush()


class Client:
    """Answers what the agent asks, and tells what it says."""

    def __init__(self, spec: Spec) -> None:
        self._root = Path(spec.cwd).resolve()
        self._write = spec.write
        self._denied = set() if spec.shell else {"execute"}
        if not spec.write:
            self._denied |= {"edit", "delete", "move"}
        self.live = False  # before, an old conversation is told once more

    async def handle(
        self,
        method: str,
        params: object,
        notification: bool,  # noqa: FBT001  # so the library calls it
    ) -> dict[str, Any] | None:
        """Take a request or a notification; return the result of a request."""
        given = _object(params)
        match method:
            case "session/update":
                if self.live:
                    say("update", update=given.get("update"))
                return None
            case "session/request_permission":
                return {"outcome": self._permit(given)}
            case "fs/read_text_file":
                return {"content": self._text(given)}
            case "fs/write_text_file" if self._write:
                return self._put(given)
            case _:
                if notification:
                    return None
                raise RequestError.method_not_found(method)

    def _permit(self, params: dict[str, Any]) -> dict[str, Any]:
        denied = _object(params.get("toolCall")).get("kind") in self._denied
        if denied:
            say("note", text="a tool that the grants do not allow was refused")
        wanted = "reject" if denied else "allow"
        options = _objects(params.get("options"))
        for kind in (f"{wanted}_once", f"{wanted}_always"):
            for each in options:
                if each.get("kind") == kind:
                    return {"outcome": "selected", "optionId": each.get("optionId")}
        return {"outcome": "cancelled"}

    def _text(self, params: dict[str, Any]) -> str:
        path = self._place(params)
        if not path.is_file():
            raise RequestError.resource_not_found(str(path))
        text = path.read_text(encoding="utf-8", errors="replace")
        line, limit = params.get("line"), params.get("limit")
        if not isinstance(line, int) and not isinstance(limit, int):
            return text
        start = max(line - 1, 0) if isinstance(line, int) else 0
        end = start + limit if isinstance(limit, int) else None
        return "".join(text.splitlines(keepends=True)[start:end])

    def _put(self, params: dict[str, Any]) -> dict[str, Any]:
        path, content = self._place(params), params.get("content")
        if not isinstance(content, str):
            raise RequestError.invalid_params({"details": "content is no text"})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", errors="replace", newline="")
        return {}

    def _place(self, params: dict[str, Any]) -> Path:
        path = Path(str(params.get("path")))
        real = path.resolve()
        if not path.is_absolute() or not real.is_relative_to(self._root):
            raise RequestError.invalid_params(
                {"details": f"{path} is not in {self._root}"}
            )
        return real


class Turn:
    """One prompt to one agent."""

    def __init__(self, spec: Spec, client: Client, connection: Connection) -> None:
        self._spec = spec
        self._client = client
        self._connection = connection
        self._session = ""

    async def run(self, prompt: str) -> str:
        """Return why the agent stopped. Raises Trouble, RequestError, OSError."""
        hello = await self._hello()
        opened = await self._open(hello)
        say("session", id=self._session, resumed=self._session == self._spec.session)
        await self._choose_model(opened)
        self._client.live = True
        done = await self._ask(
            "session_prompt",
            {
                "sessionId": self._session,
                "prompt": [{"type": "text", "text": prompt}],
            },
        )
        return str(done.get("stopReason"))

    async def cancel(self) -> None:
        """Ask the agent to stop, if it has begun."""
        if self._session:
            await self._connection.send_notification(
                AGENT_METHODS["session_cancel"], {"sessionId": self._session}
            )

    async def _ask(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        method = AGENT_METHODS.get(name, name)
        return _object(await self._connection.send_request(method, params))

    async def _soon(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        try:
            return await asyncio.wait_for(self._ask(name, params), _PATIENCE_S)
        except TimeoutError:
            text = f"it did not answer `{name}` within {_PATIENCE_S} s"
            raise Trouble(text) from None

    async def _hello(self) -> dict[str, Any]:
        files = {"readTextFile": True, "writeTextFile": self._spec.write}
        hello = await self._soon(
            "initialize",
            {
                "protocolVersion": PROTOCOL_VERSION,
                "clientCapabilities": {"fs": files, "terminal": False},
                "clientInfo": {"name": "gitagent", "version": "1"},
            },
        )
        version = hello.get("protocolVersion")
        if version != PROTOCOL_VERSION:
            raise Trouble(
                f"it speaks version {version} of ACP, and this is {PROTOCOL_VERSION}"
            )
        info = _object(hello.get("agentInfo"))
        say("agent", name=info.get("name"), version=info.get("version"))
        return hello

    async def _open(self, hello: dict[str, Any]) -> dict[str, Any]:
        """Begin or go on with a conversation; return what the agent says of it."""
        where: dict[str, Any] = {"cwd": self._spec.cwd, "mcpServers": self._servers()}
        method = _going_on(_object(hello.get("agentCapabilities")))
        if self._spec.session and method:
            try:
                old = {**where, "sessionId": self._spec.session}
                opened = await self._soon(method, old)
            except RequestError as error:
                say("note", text=f"the saved conversation is not there: {error}")
            else:
                self._session = self._spec.session
                return opened
        try:
            opened = await self._soon("session_new", where)
        except RequestError as error:
            if error.code != _LOGIN:
                raise
            await self._log_in(hello)
            opened = await self._soon("session_new", where)
        self._session = str(opened.get("sessionId"))
        return opened

    async def _log_in(self, hello: dict[str, Any]) -> None:
        """Log in with the key of the environment, where the agent can."""
        names = [str(each.get("id")) for each in _objects(hello.get("authMethods"))]
        for name in names:
            if "key" in name:
                await self._soon("authenticate", {"methodId": name})
                return
        raise Trouble(
            "it wants a login, and offers none by a key of the environment (it offers"
            f" {', '.join(names) or 'nothing'})"
        )

    def _servers(self) -> list[dict[str, Any]]:
        if not self._spec.mcp:
            return []
        command, *args = self._spec.mcp
        # Many agents hand on nothing of their own environment.
        env = [
            {"name": name, "value": value}
            for name, value in os.environ.items()
            if name.startswith("GITAGENT_")
        ]
        return [{"name": "gitagent", "command": command, "args": args, "env": env}]

    async def _choose_model(self, opened: dict[str, Any]) -> None:
        """Ask for the model; an agent that offers no choice is left alone."""
        session = {"sessionId": self._session}
        asked: list[tuple[str, dict[str, Any]]] = []
        for each in _objects(opened.get("configOptions")):
            if "model" not in (each.get("category"), each.get("id")):
                continue
            values = [
                inner.get("value")
                for outer in _objects(each.get("options"))
                for inner in (outer, *_objects(outer.get("options")))
            ]
            value = _same(values, self._spec.model)
            if value and value != each.get("currentValue"):
                choice = {"configId": each.get("id"), "value": value}
                asked.append(("session_set_config_option", choice))
        models = _object(opened.get("models"))
        known = [
            each.get("modelId") for each in _objects(models.get("availableModels"))
        ]
        value = _same(known, self._spec.model)
        if value and value != models.get("currentModelId") and not asked:
            asked.append((_SET_MODEL, {"modelId": value}))
        for method, choice in asked:
            try:
                await self._soon(method, {**session, **choice})
            except RequestError as error:
                say("note", text=f"the model could not be chosen: {error}")


def _going_on(can: dict[str, Any]) -> str:
    if can.get("loadSession") is True:
        return "session_load"
    resumes = "resume" in _object(can.get("sessionCapabilities"))
    return "session_resume" if resumes else ""


def _same(values: list[object], model: str) -> str:
    """Return the value that means the model, be it after the name of a provider."""
    ends = (f"/{model}", f":{model}")
    for each in values:
        if isinstance(each, str) and (each == model or each.endswith(ends)):
            return each
    return ""


async def attempt(spec: Spec, prompt: str) -> int:
    """Start the agent, give it the prompt; return the exit code."""
    client = Client(spec)
    started = spawn_stdio_connection(
        client.handle,
        *spec.argv,
        env=os.environ,
        cwd=spec.cwd,
        stderr=None,
        limit=_LINE,
        shutdown_timeout=_LEAVE_S,
    )
    try:
        connection, process = await started.__aenter__()
    except OSError as error:
        say("error", text=f"it cannot be started: {error.strerror}")
        return 127
    try:
        turn = Turn(spec, client, connection)
        return await _ended(turn, turn.run(prompt), process)
    finally:
        await started.__aexit__(None, None, None)


async def _ended(
    turn: Turn, run: Awaitable[str], process: asyncio.subprocess.Process
) -> int:
    work = asyncio.ensure_future(run)
    loop = asyncio.get_running_loop()
    cancelling: list[asyncio.Task[None]] = []

    def cancel() -> None:
        if not cancelling:
            cancelling.append(loop.create_task(turn.cancel()))
            loop.call_later(_CANCEL_S, work.cancel)

    loop.add_signal_handler(signal.SIGTERM, cancel)
    try:
        reason = await work
    except asyncio.CancelledError:
        reason = "cancelled"
    except Trouble as error:
        say("error", text=str(error))
        return 1
    except RequestError as error:
        say("error", text=f"{error}{_details(error.data)}")
        return 1
    except OSError:
        say("error", text=f"it ended in the middle{await _code(process)}")
        return 1
    say("stop", reason=reason)
    if cancelling:
        return _CANCELLED
    return 0 if reason == "end_turn" else 1


async def _code(process: asyncio.subprocess.Process) -> str:
    try:
        code = await asyncio.wait_for(process.wait(), _DEATH_S)
    except TimeoutError:
        return " of its output"
    return f", with exit code {code}" if code >= 0 else f", by signal {-code}"


def _details(data: object) -> str:
    values = _object(data)
    text = next((values[key] for key in ("message", "details") if key in values), "")
    return f": {text}" if isinstance(text, str) and text else ""


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[dict[str, Any]]:
    found = value if isinstance(value, list) else []
    return [each for each in found if isinstance(each, dict)]


def main(argv: list[str]) -> int:
    """Do what the file says."""
    logging.disable()  # the library's, with tracebacks, about what an agent sends
    spec = Spec(**json.loads(Path(argv[0]).read_bytes()))
    prompt = sys.stdin.buffer.read().decode(errors="replace")
    return asyncio.run(attempt(spec, prompt))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
