"""Receipts: what ran, on which tree, and how it ended.

A receipt is a fact about a key (tree, command, settings, environment), not about a
submission, so it serves every candidate with the same key.
"""

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum

from gitagent.core.settings import Check


class Result(StrEnum):
    """How one run of a check ended."""

    PASSED = "passed"
    FAILED = "failed"  # exit code other than 0
    TIMEOUT = "timeout"
    CHANGED = "changed"  # it changed what it was given to judge
    BROKEN = "broken"  # it could not be run at all (exit 126 or 127, no sandbox)


@dataclass(frozen=True, slots=True)
class Receipt:
    """One run of one check. Written once, never changed."""

    check: str
    key: str  # see check_key
    product: str  # product tree that was checked
    run: int  # 1: the first on this key; 2: the rerun on a pristine checkout
    command: str
    result: Result
    exit_code: int | None  # None: killed at its timeout, or never started
    seconds: float
    started: str  # UTC
    sandbox: str  # "required" or "off"
    environment: str  # digest; see check_key
    output: str  # blob of the whole output, up to the limit
    tail: str = ""  # end of the output, cleaned for people
    dropped: int = 0  # bytes of output over the limit
    changed: tuple[str, ...] = ()  # paths that the check changed
    submission: str | None = None
    base: str | None = None
    candidate: str | None = None
    place: str = ""  # "<ref>:<path>" where it is stored; empty until it is


def check_key(
    check: Check, product: str, environment: str, parents: tuple[str, ...] = ()
) -> str:
    """Return the key under which a run of ``check`` may stand for another.

    Equal product tree, command, check settings and environment give an equal key.
    With ``history = true`` the candidate's parents are part of it.
    """
    facts = {
        "product": product,
        "name": check.name,
        "run": check.run,
        "timeout": check.timeout,
        "network": list(check.network),
        "environment": environment,
        "parents": list(parents) if check.history else None,
    }
    text = json.dumps(facts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Verdict(StrEnum):
    """What the receipts of one key say together."""

    MISSING = "missing"  # no run yet
    PASSED = "passed"
    AGAIN = "again"  # failed once; it is run once more
    FLAKY = "flaky"  # failed once, then passed
    FAILED = "failed"  # failed twice, or a failure that a rerun cannot mend


def verdict(receipts: tuple[Receipt, ...]) -> Verdict:
    """Roll up the receipts of one key, in any order."""
    if any(receipt.result is Result.CHANGED for receipt in receipts):
        return Verdict.FAILED
    passed = sum(receipt.result is Result.PASSED for receipt in receipts)
    failed = len(receipts) - passed
    if passed:
        return Verdict.FLAKY if failed else Verdict.PASSED
    if not failed:
        return Verdict.MISSING
    return Verdict.AGAIN if failed == 1 else Verdict.FAILED
