"""Whether a request to a model may be made within what may still be spent.

An account (a task's, a day's) holds what was spent and what requests under way may
still use. A request is granted only if all of its need fits beside both, so that what
was spent and reserved never passes a limit. Who is only in the way of others' requests
waits, in the order of arrival.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

UNITS = ("usd", "tokens")


class Which(StrEnum):
    """Whose account is short."""

    TASK = "task"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be spent of one account; None: no limit."""

    usd: float | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """What was used, or may be; a model without a price needs no usd."""

    usd: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Account:
    """What may be spent, what was, and what requests under way may use."""

    limits: Limits
    spent: Need = Need()
    reserved: Need = Need()


@dataclass(frozen=True, slots=True)
class Granted:
    """It fits into every account."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """It fits as soon as requests under way have used less than they may."""

    full: frozenset[str]  # names of the accounts without room


@dataclass(frozen=True, slots=True)
class Short:
    """It does not fit, whatever requests under way come to."""

    which: Which
    sentence: str


Verdict = Granted | Waiting | Short


@dataclass(frozen=True, slots=True)
class Wish:
    """A request that waits for its answer, and the accounts it is on by name."""

    accounts: Mapping[str, Account]  # a day's is named "day"
    need: Need


GRANTED = Granted()


def verdict(accounts: Mapping[str, Account], need: Need) -> Verdict:
    """Return whether a request may be made; a day's account is named "day".

    A unit that a request needs nothing of is not looked at.
    """
    full: set[str] = set()
    for name, account in accounts.items():
        which = Which.DAY if name == Which.DAY else Which.TASK
        for unit in UNITS:
            limit = getattr(account.limits, unit)
            wanted = getattr(need, unit)
            if limit is None or not wanted:
                continue
            spent = getattr(account.spent, unit)
            if spent + wanted > limit:
                return Short(which, _sentence(which, unit, limit, spent, wanted))
            if spent + getattr(account.reserved, unit) + wanted > limit:
                full.add(name)
    return Waiting(frozenset(full)) if full else GRANTED


def first(queue: Sequence[Wish]) -> tuple[int, Granted | Short] | None:
    """Return which wish has its turn and what is said to it; None: all wait.

    Nobody is granted from an account that somebody before them waits for: else small
    requests would keep a large one waiting for ever.
    """
    awaited: set[str] = set()
    for number, wish in enumerate(queue):
        found = verdict(wish.accounts, wish.need)
        if isinstance(found, Waiting):
            awaited |= found.full
        elif isinstance(found, Short) or not awaited & wish.accounts.keys():
            return number, found
    return None


def _sentence(
    which: Which, unit: str, limit: float, spent: float, wanted: float
) -> str:
    whose = "The task's budget" if which is Which.TASK else "The budget of this day"
    return (
        f"{whose} of {_amount(limit, unit)} is short: {_amount(spent, unit)} spent, "
        f"and the next request may need {_amount(wanted, unit)}."
    )


def _amount(value: float, unit: str) -> str:
    if unit == "tokens":
        return f"{int(value):,} tokens"
    # Cents hide what a cheap model costs.
    return f"{value:.2f} usd" if value >= 0.1 or not value else f"{value:.4f} usd"


def limits(
    table: Mapping[str, float], extra_usd: float = 0.0, extra_tokens: int = 0
) -> Limits:
    """Return the limits of a table of the settings or a task, and what was added."""
    usd, tokens = table.get("usd"), table.get("tokens")
    return Limits(
        None if usd is None else usd + extra_usd,
        None if tokens is None else int(tokens) + extra_tokens,
    )


def used_up(limits: Limits, spent: Need) -> str:
    """Return a sentence if nothing is left for this day, "" if something is."""
    for unit in UNITS:
        limit, used = getattr(limits, unit), getattr(spent, unit)
        if limit is not None and used >= limit:
            return (
                f"The budget of this day of {_amount(limit, unit)} is spent; it goes "
                "on at midnight UTC, or when budget.day allows more."
            )
    return ""
