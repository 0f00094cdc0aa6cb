"""The coin that withholds memory from a part of the tasks, to see whether it helps.

It is seeded by the task's id, so that every attempt at a task is treated alike, and
whoever looks later can toss it again.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

_SPAN: Final = 1 << 64


def toss(task: str, slugs: Iterable[str], rate: float) -> tuple[bool, tuple[str, ...]]:
    """Return whether a task may recall, and the slugs that are kept from it, sorted.

    With the probability ``rate`` it may not recall at all. Otherwise each item is kept
    from it with that probability, whatever becomes of the others.
    """
    if _drawn(task, "recall") < rate:
        return False, ()
    kept_back = {slug for slug in slugs if _drawn(task, f"item\0{slug}") < rate}
    return True, tuple(sorted(kept_back))


def _drawn(task: str, what: str) -> float:
    """Return a number from 0 up to 1 that these texts always give."""
    seed = f"{task}\0{what}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(seed).digest()[:8]) / _SPAN
