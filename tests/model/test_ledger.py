"""Requests of many threads within limits: spent and reserved never pass them."""

import threading
from math import fsum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gitagent.core.budget import Account, Limits, Need, Short, Wish, first
from gitagent.core.exchange import Api, Exchange, State
from gitagent.core.usage import NOTHING, Usage
from gitagent.host import until
from gitagent.host.cancel import Cancel
from gitagent.model.ledger import Ledger, Reservation, today
from tests.support.waiting import wait_for

TASK, DAY = Limits(1.0, 1000), Limits(1.5, 1600)
SLACK = 1e-9  # of sums of floats in another order


def use(usd, tokens=0):
    return Usage(requests=1, input=tokens, usd=usd)


class Watched(Ledger):
    """Looks at every account at each moment that something changed."""

    def _serve(self):
        super()._serve()
        day = today()
        open_ = list(self._open)
        for task in {each.task for each in open_}:
            mine = [each.usage for each in open_ if each.task == task]
            self._look(TASK, self._of_task(task), mine)
        self._look(DAY, self._of_day(day), [each.usage for each in open_])

    def _look(self, limits, spent, reserved):
        assert spent.usd + fsum(each.usd for each in reserved) <= limits.usd + SLACK
        assert spent.tokens + sum(each.tokens for each in reserved) <= limits.tokens


requests = st.tuples(
    st.sampled_from(["a", "b", "c"]),
    st.integers(1, 60),  # cents that are needed
    st.integers(0, 700),  # tokens that are needed
    st.integers(0, 100),  # per cent of that which is used
)


@settings(max_examples=150)
@given(st.lists(requests, min_size=2, max_size=10))
def test_parallel_requests_never_pass_a_limit_and_each_gets_an_answer(schedule):
    ledger = Watched()
    answers: list[object] = []
    begin = threading.Barrier(len(schedule))

    def run(task, cents, tokens, percent):
        begin.wait()
        need = use(cents / 100, tokens)
        found = ledger.reserve(task, TASK, DAY, need)
        answers.append(found)
        if isinstance(found, Reservation):
            share = percent / 100
            found.settle(use(need.usd * share, int(tokens * share)))

    threads = [threading.Thread(target=run, args=each) for each in schedule]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)

    assert not any(each.is_alive() for each in threads)
    assert len(schedule) == len(answers)
    assert all(isinstance(each, Reservation | Short) for each in answers)
    assert ledger.spent_day().usd <= DAY.usd + SLACK


class Accounts(RuleBasedStateMachine):
    """The pure rules alone, in any order of arrivals, ends and departures."""

    def __init__(self):
        super().__init__()
        self.spent = {"task a": 0, "task b": 0, "day": 0}
        self.open: list[tuple[str, int]] = []
        self.queue: list[tuple[str, int]] = []

    LIMITS = {"task a": 100, "task b": 100, "day": 150}  # noqa: RUF012

    def account(self, name):
        held = sum(n for task, n in self.open if name in (task, "day"))
        limits = Limits(None, self.LIMITS[name])
        return Account(limits, Need(0, self.spent[name]), Need(0, held))

    def serve(self):
        while True:
            wishes = [
                Wish({name: self.account(name) for name in (task, "day")}, Need(0, n))
                for task, n in self.queue
            ]
            turn = first(wishes)
            if turn is None:
                return
            taken = self.queue.pop(turn[0])
            if not isinstance(turn[1], Short):
                self.open.append(taken)

    @rule(task=st.sampled_from(["task a", "task b"]), need=st.integers(1, 120))
    def arrive(self, task, need):
        self.queue.append((task, need))
        self.serve()

    @precondition(lambda self: self.open)
    @rule(data=st.data(), percent=st.integers(0, 100))
    def end(self, data, percent):
        place = data.draw(st.integers(0, len(self.open) - 1))
        task, need = self.open.pop(place)
        self.spent[task] += need * percent // 100
        self.spent["day"] += need * percent // 100
        self.serve()

    @precondition(lambda self: self.queue)
    @rule(data=st.data())
    def leave(self, data):
        self.queue.pop(data.draw(st.integers(0, len(self.queue) - 1)))
        self.serve()

    @invariant()
    def no_limit_is_passed(self):
        for name, limit in self.LIMITS.items():
            account = self.account(name)
            assert account.spent.tokens + account.reserved.tokens <= limit

    @invariant()
    def nobody_waits_for_nothing(self):
        assert self.open or not self.queue

    def teardown(self):
        while self.open:
            self.open.pop()
            self.serve()
        assert [] == self.queue


TestAccounts = Accounts.TestCase
TestAccounts.settings = settings(max_examples=100, stateful_step_count=20)


def test_what_only_waits_gets_its_turn_when_a_request_ends():
    ledger = Ledger()
    first_one = ledger.reserve("a", TASK, DAY, use(0.9))
    got: list[object] = []
    waiting = threading.Thread(
        target=lambda: got.append(ledger.reserve("a", TASK, DAY, use(0.5)))
    )
    waiting.start()
    assert isinstance(first_one, Reservation)
    wait_for(lambda: ledger._queue)
    first_one.settle(use(0.1))
    waiting.join(30)

    assert isinstance(got[0], Reservation)
    assert pytest.approx(0.1) == ledger.spent("a").usd


def test_a_stop_ends_the_waiting_and_lets_others_pass():
    ledger, cancel = Ledger(), Cancel()
    held = ledger.reserve("a", TASK, DAY, use(0.9))
    got: list[object] = []
    stops = (until.set_(cancel),)
    waiting = threading.Thread(
        target=lambda: got.append(ledger.reserve("a", TASK, DAY, use(0.5), stops))
    )
    waiting.start()
    cancel.set()
    waiting.join(30)

    assert [None] == got
    assert isinstance(held, Reservation)
    assert isinstance(ledger.reserve("a", TASK, DAY, use(0.05)), Reservation)


def test_what_a_provider_counts_beyond_is_counted_and_nothing_more_is_granted():
    ledger = Ledger()
    granted = ledger.reserve("a", TASK, DAY, use(0.9))
    assert isinstance(granted, Reservation)
    granted.settle(use(1.2))

    assert use(1.2) == ledger.spent("a")
    assert isinstance(ledger.reserve("a", TASK, DAY, use(0.01)), Short)


def test_only_the_first_end_of_a_request_counts():
    ledger = Ledger()
    granted = ledger.reserve("a", TASK, DAY, use(0.5))
    assert isinstance(granted, Reservation)
    granted.settle(use(0.2))
    granted.settle(use(0.3))

    assert use(0.2) == ledger.spent("a")


def test_the_records_of_a_daemon_before_count():
    def record(task, spent, day, on_day):
        return Exchange(
            task=task,
            attempt=1,
            number=1,
            api=Api.CHAT,
            asked="m",
            model="p:m",
            state=State.SENT,
            started="",
            spent=spent,
            day=day,
            spent_day=on_day,
        )

    ledger = Ledger()
    ledger.load(
        [
            record("a", use(0.7), today(), use(0.2)),
            record("b", use(0.4), "2001-01-01", use(0.4)),
        ],
        today(),
    )

    assert pytest.approx(0.7) == ledger.spent("a").usd
    assert pytest.approx(0.4) == ledger.spent("b").usd
    assert pytest.approx(0.2) == ledger.spent_day().usd
    assert NOTHING == ledger.spent("c")
    assert isinstance(ledger.reserve("a", TASK, DAY, use(0.31)), Short)


def test_what_a_task_holds_includes_its_requests_under_way():
    ledger = Ledger()
    ledger.reserve("a", TASK, DAY, use(0.5))
    ledger.reserve("b", TASK, DAY, use(0.1))

    assert (use(0.5), use(0.5)) == ledger.held("a", today())
