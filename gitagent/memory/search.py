"""What a search finds, and what it is called."""

from dataclasses import dataclass
from typing import Final

ITEM: Final = "item"
LANDING: Final = "landing"
EPISODE: Final = "episode"
DOCUMENT: Final = "document"
KINDS: Final = (ITEM, LANDING, EPISODE, DOCUMENT)

SECONDS: Final = 3.0  # that a search may take
POOL: Final = 50  # passages of each ranking, to be fused


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that was found; it is there at the commit that was searched."""

    kind: str  # one of KINDS
    name: str  # slug, submission, "task#attempt" or path
    blob: str  # that says it; of an EPISODE the record
    score: float  # 0..1: how much of the query it answers
    text: str  # whole lines of it; of an ITEM the line in which it is told everywhere
    first: int = 1  # line of its file that the text begins at
    path: str = ""  # of its file; "": it has none
    at: str = ""  # UTC: updated, landed or ended; "": a document
