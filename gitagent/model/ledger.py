"""What was spent, and what requests under way may still use: one ledger per daemon.

At every moment, what an account has spent and reserved is within its limit, as long as
no provider counts more than was reserved for a request. If one does, that is counted,
and nothing more is granted.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import fsum

from gitagent.core import budget
from gitagent.core.budget import Account, Limits, Need, Short, Wish
from gitagent.core.exchange import Exchange
from gitagent.core.usage import NOTHING, Usage
from gitagent.host import clock, until

_DAY = "day"
_TASK = "task"


@dataclass(slots=True, eq=False)
class _Asking:
    task: str
    limits: dict[str, Limits]
    usage: Usage
    wake: clock.Wake = field(default_factory=clock.Wake)
    answer: "Reservation | Short | None" = None


class Reservation:
    """What one request may use until it is settled."""

    def __init__(self, ledger: "Ledger", task: str, day: str, usage: Usage) -> None:
        self._ledger = ledger
        self.task = task
        self.day = day  # UTC date that its usage belongs to
        self.usage = usage

    def settle(self, usage: Usage) -> None:
        """Put what was really used in its place; only the first call counts."""
        self._ledger._settle(self, usage)  # noqa: SLF001 - one thing in two classes


class Ledger:
    """For all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spent: dict[tuple[str, str], Usage] = {}  # by task and day
        self._before: dict[str, Usage] = {}  # by task: on days that are not kept
        self._open: list[Reservation] = []
        self._queue: list[_Asking] = []

    def load(self, newest: Iterable[Exchange], today: str) -> None:
        """Take what the newest record of each task says; ``today`` is the UTC date.

        What was reserved for requests under way then is in it.
        """
        with self._lock:
            for each in newest:
                on_day = each.spent_day if each.day == today else NOTHING
                self._spent[each.task, today] = on_day
                self._before[each.task] = _minus(each.spent, on_day)

    def reserve(
        self,
        task: str,
        limits_task: Limits,
        limits_day: Limits,
        need: Usage,
        stops: Sequence[until.Watched] = (),
    ) -> Reservation | Short | None:
        """Return the reservation once there is room for it; None: a stop came first.

        It waits while only requests under way are in the way.
        """
        asking = _Asking(task, {_TASK: limits_task, _DAY: limits_day}, need)
        with self._lock:
            self._queue.append(asking)
            self._serve()
        watched = [*stops, until.readable(asking.wake.fileno())]
        if until.first(watched, None) == len(stops):
            return asking.answer
        with self._lock:
            if asking in self._queue:
                self._queue.remove(asking)
                self._serve()
        if isinstance(asking.answer, Reservation):
            asking.answer.settle(NOTHING)
        return None

    def spent(self, task: str) -> Usage:
        """Return what a task has used, requests under way apart."""
        with self._lock:
            return self._of_task(task)

    def spent_day(self) -> Usage:
        """Return what all tasks have used on this UTC date."""
        with self._lock:
            return self._of_day(today())

    def held(self, task: str, day: str) -> tuple[Usage, Usage]:
        """Return what a task has used and reserved, in all and on a UTC date."""
        with self._lock:
            mine = [each for each in self._open if each.task == task]
            on_day = (each.usage for each in mine if each.day == day)
            return (
                _sum((self._of_task(task), *(each.usage for each in mine))),
                _sum((self._spent.get((task, day), NOTHING), *on_day)),
            )

    def _settle(self, which: Reservation, usage: Usage) -> None:
        with self._lock:
            if which not in self._open:
                return
            self._open.remove(which)
            key = (which.task, which.day)
            self._spent[key] = self._spent.get(key, NOTHING) + usage
            self._serve()

    def _serve(self) -> None:
        """Answer those whose turn it is; the lock is held."""
        day = today()
        while True:
            turn = budget.first([self._wish(each, day) for each in self._queue])
            if turn is None:
                return
            place, found = turn
            asking = self._queue.pop(place)
            if isinstance(found, Short):
                asking.answer = found
            else:
                granted = Reservation(self, asking.task, day, asking.usage)
                self._open.append(granted)
                asking.answer = granted
            asking.wake.set()

    def _wish(self, asking: _Asking, day: str) -> Wish:
        mine = [each.usage for each in self._open if each.task == asking.task]
        all_day = [each.usage for each in self._open if each.day == day]
        accounts = {
            f"task {asking.task}": Account(
                asking.limits[_TASK],
                _need((self._of_task(asking.task),)),
                _need(mine),
            ),
            _DAY: Account(
                asking.limits[_DAY], _need((self._of_day(day),)), _need(all_day)
            ),
        }
        return Wish(accounts, _need((asking.usage,)))

    def _of_task(self, task: str) -> Usage:
        days = (usage for (of, _), usage in self._spent.items() if of == task)
        return _sum((self._before.get(task, NOTHING), *days))

    def _of_day(self, day: str) -> Usage:
        return _sum(usage for (_, on), usage in self._spent.items() if on == day)


def today() -> str:
    """Return the UTC date that usage belongs to now."""
    return clock.stamp()[:10]


def _sum(usages: Iterable[Usage]) -> Usage:
    return sum(usages, NOTHING)


def _need(usages: Iterable[Usage]) -> Need:
    # Reservations are summed anew each time: adding and subtracting money drifts.
    found = list(usages)
    return Need(fsum(each.usd for each in found), sum(each.tokens for each in found))


def _minus(usage: Usage, other: Usage) -> Usage:
    return Usage(
        max(0, usage.requests - other.requests),
        max(0, usage.input - other.input),
        max(0, usage.output - other.output),
        max(0, usage.cache_read - other.cache_read),
        max(0, usage.cache_write - other.cache_write),
        max(0.0, usage.usd - other.usd),
        max(0, usage.unpriced - other.unpriced),
    )
