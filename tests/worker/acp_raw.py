"""An agent that speaks ACP without a library, and badly if it is told to: a script."""

import json
import os
import sys
from typing import Any

MODE = sys.argv[1]
LOGGED_IN = []
CHOSEN = []


def write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def send(**values: Any) -> None:
    write(json.dumps({"jsonrpc": "2.0", **values}))


def tell(text: str) -> None:
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    send(method="session/update", params={"sessionId": "r", "update": update})


def opened() -> dict[str, Any]:
    if MODE == "options":
        choice = {"id": "m", "category": "model", "currentValue": "a/other"}
        values = [{"group": "g", "options": [{"value": "a/m-1", "name": "M"}]}]
        return {"sessionId": "r", "configOptions": [{**choice, "options": values}]}
    if MODE == "models":
        known = [{"modelId": "other"}, {"modelId": "m-1"}]
        return {
            "sessionId": "r",
            "models": {"currentModelId": "other", "availableModels": known},
        }
    return {"sessionId": "r"}


def answer(method: str, params: dict[str, Any]) -> Any:
    if method == "initialize":
        methods = [{"id": "browser"}, {"id": "api-key"}]
        if MODE == "browser":
            del methods[1]
        version = 9 if MODE == "version" else 1
        return {"protocolVersion": version, "authMethods": methods}
    if method == "authenticate":
        LOGGED_IN.append(params["methodId"])
        return {}
    if method in ("session/set_config_option", "session/set_model"):
        CHOSEN.append(params)
        return {}
    if method == "session/new":
        return opened()
    return ended()


def ended() -> Any:
    if MODE == "dies":
        os._exit(3)
    if MODE == "list":
        write("[1, 2]")
        return None
    if MODE == "waits":
        tell("Waiting.")
        while "session/cancel" not in sys.stdin.readline():
            pass
        return {"stopReason": "cancelled"}
    if MODE == "noise":
        write("Welcome!")
        write('{"jsonrpc": "2.0", "method": 7}')
        send(method="session/update", params=[1])
        send(method="session/update", params={"update": {"sessionUpdate": "new kind"}})
        send(id=99, method="terminal/create", params={"command": "sh"})
        assert -32601 == json.loads(sys.stdin.readline())["error"]["code"]
    tell(json.dumps({"logins": LOGGED_IN, "chosen": CHOSEN}))
    return {"stopReason": sys.argv[2] if MODE == "stops" else "end_turn"}


for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message or "id" not in message:
        continue
    wants = MODE in ("login", "browser") and not LOGGED_IN
    if MODE == "fails" and message["method"] == "session/prompt":
        error = {"code": -32603, "message": "Internal error", "data": {"details": "no"}}
        send(id=message["id"], error=error)
    elif wants and message["method"] == "session/new":
        send(id=message["id"], error={"code": -32000, "message": "Log in"})
    else:
        result = answer(message["method"], message["params"])
        send(id=message["id"], result=result)
