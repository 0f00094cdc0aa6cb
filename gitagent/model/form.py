"""Errors of the gateway, in the form of the API that an agent speaks."""

import json
from typing import Any

from gitagent.core.exchange import Api

_ANTHROPIC = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def error(kind: str, status: int, message: str, code: str = "gitagent") -> bytes:
    """Return the body of an error for programs that speak to a kind of provider."""
    return json.dumps(_value(kind, status, message, code)).encode()


def event(api: Api, message: str, code: str) -> bytes:
    """Return an error as an event in the middle of a stream."""
    if api in (Api.MESSAGES, Api.COUNT):
        return _event("error", _value("anthropic", 502, message, code))
    if api is Api.CHAT:
        return _event("", _value("openai", 502, message, code))
    inner = {"code": code, "message": message}
    failed = {"object": "response", "status": "failed", "output": [], "error": inner}
    return _event("response.failed", {"type": "response.failed", "response": failed})


def is_error(kind: str, body: bytes) -> bool:
    """Whether a body is an error in the form of its API."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict) or not isinstance(value.get("error"), dict):
        return False
    return kind != "anthropic" or value.get("type") == "error"


def _value(kind: str, status: int, message: str, code: str) -> dict[str, Any]:
    if kind == "anthropic":
        name = _ANTHROPIC.get(status, "api_error")
        inner = {"type": name, "message": message, "details": {"error_code": code}}
        return {"type": "error", "error": inner}
    name = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": name, "param": None, "code": code}}


def _event(name: str, value: dict[str, Any]) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()
