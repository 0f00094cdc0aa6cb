"""The way of the programs of an attempt to what its daemon knows: the gateway's door.

Nobody waits for it long, and whatever goes wrong is a value.
"""

import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from gitagent.host.socket import stream

# As `model.gateway` has it, which takes long to load.
PATH: Final = "/gitagent/memory/"  # an operation follows
ANSWER: Final = 1 << 20  # bytes
AWAY: Final = "away"  # key of an answer that did not come; its value is a sentence
NONE: Final = "none"  # key beside it, where there is nobody who could answer


class Unix(http.client.HTTPConnection):
    """A connection to a socket of this machine."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = Path(path)

    def connect(self) -> None:
        """Connect. Raises OSError."""
        self.sock = stream(self._path, self.timeout)


def beside(url: str, seconds: float) -> http.client.HTTPConnection:
    """Return a connection to where an address is. Raises ValueError if it is none."""
    parts = urlsplit(url)
    return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)


def ask(
    line: http.client.HTTPConnection, token: str, op: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Ask for one operation, and close the connection.

    The answer is the daemon's; ``{"error": sentence}`` if it refuses, and
    ``{"away": sentence}`` if there is none to be had.
    """
    body = json.dumps(given).encode("utf-8", "backslashreplace")
    headers = {"x-api-key": token, "content-type": "application/json"}
    try:
        try:
            line.request("POST", PATH + op, body, headers)
            answer = line.getresponse()
            data = answer.read(ANSWER + 1)
        finally:
            line.close()
        if len(data) > ANSWER:
            return {AWAY: "The memory answered too much."}
        said = json.loads(data)
    except OSError as error:
        return {AWAY: f"The memory is away ({error.strerror or error})."}
    except (http.client.HTTPException, ValueError, RecursionError):
        return {AWAY: "The memory answered something else."}
    if not isinstance(said, dict):
        return {AWAY: "The memory answered something else."}
    if answer.status not in {http.client.OK, http.client.BAD_REQUEST}:
        none = answer.status == http.client.NOT_FOUND
        return {AWAY: "The memory is not to be had here.", NONE: none}
    return said
