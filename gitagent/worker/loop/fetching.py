"""The tool ``web_fetch``, as the loop outside of the sandbox has it.

What comes out of the sandbox is the text for the model and the bytes that the page was;
the bytes are kept as the snapshot, so that a quote can be looked up in them later.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gitagent.core.conversation import Origin
from gitagent.worker.loop.bodies import Bodies, Output, Way


class Fetching:
    """Bodies of ``web_fetch`` alone; ``hands`` carry it out."""

    def __init__(self, hands: Bodies) -> None:
        self._hands = hands

    def execute(self, tool: str, given: Mapping[str, Any], way: Way) -> Output:
        """Fetch one page."""
        # What is printed meanwhile is the bytes too.
        output = self._hands.execute(tool, given, replace(way, printed=None))
        said, snapshot = split(output.whole)
        return replace(output, whole=said, snapshot=snapshot, origin=Origin.WEB)


def split(whole: bytes) -> tuple[bytes, bytes]:
    """Return the text and the bytes of a page; before them others may have spoken."""
    body, _, last = whole.rpartition(b"\n")
    try:
        sizes = json.loads(last)
        words, data = int(sizes["text"]), int(sizes["snapshot"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return whole, b""
    if not 0 <= words + data <= len(body) or min(words, data) < 0:
        return whole, b""
    at = len(body) - data
    return body[:at], body[at:]
