"""Items of the memory, ``.agent/memory/<slug>.md``: text to value and back, exactly.

What cannot be kept exactly is refused with its length, never cut.
"""

import json
import re
from typing import Any, Final

from gitagent.core import memory
from gitagent.core.ident import id_problem, is_oid
from gitagent.core.layout import CHAPTERS, MEMORY
from gitagent.core.memory import From, Item, Kind, Source, Status
from gitagent.core.task import Refusal
from gitagent.files import clean
from gitagent.files.fields import Fields, found
from gitagent.files.frontmatter import LIMIT, split
from gitagent.files.text import Malformed

KEYS: Final = (
    "kind",
    "line",
    "updated",
    "status",
    "supersedes",
    "disputes",
    "verify",
    "work",
    "because",
    "source",
)
_SOURCE: Final = ("commit", "path", "lines", "receipt", "landing", "decision")
_SOURCE_KEYS: Final = frozenset({*_SOURCE, "record", "quote"})


def path_of(slug: str) -> str:
    """Return the path of an item's file."""
    return f"{MEMORY}{slug}.md"


def slug_of(path: str) -> str | None:
    """Return the stem of a file that is to be an item; None for what is none.

    Whether it can be a slug is not looked at.
    """
    name = path.removeprefix(MEMORY)
    if not path.startswith(MEMORY) or path.startswith(CHAPTERS) or "/" in name:
        return None
    return name.removesuffix(".md") if name.endswith(".md") else None


def parse(slug: str, blob: str, data: bytes, path: str) -> Item | Refusal:
    """Return the item that a file at ``path`` says, or why it cannot be used."""
    raise NotImplementedError


def dump(item: Item) -> bytes:
    """Return the file of an item that has no `problems`."""
    raise NotImplementedError


def problems(item: Item) -> tuple[str, ...]:
    """Return why no file can hold an item exactly, a sentence each; () if one can."""
    raise NotImplementedError
