import os
import select
import signal
import threading
from datetime import UTC, datetime, timedelta, timezone

from gitagent.host import clock
from gitagent.host.clock import Wake


def test_stamps_are_in_utc():
    zone = timezone(timedelta(hours=2))
    moment = datetime(2026, 11, 30, 14, 0, 0, 42, tzinfo=zone)

    assert clock.stamp(moment) == "2026-11-30T12:00:00Z"
    assert clock.stamp_us(moment) == "2026-11-30T12:00:00.000042Z"


def test_now_is_aware():
    assert clock.now().tzinfo is UTC
    assert clock.stamp() <= clock.stamp(clock.now())
    assert clock.stamp_us()[:10] == clock.stamp()[:10]


def test_a_wake_that_was_set_before_is_seen_once():
    wake = Wake()
    wake.set()
    wake.set()

    assert wake.wait(5)
    assert not wake.wait(0)


def test_a_wait_ends_with_its_time():
    begun = clock.monotonic()

    assert not Wake().wait(0.02)
    assert clock.monotonic() - begun >= 0.02


def test_a_wake_is_set_by_another_thread():
    wake = Wake()
    thread = threading.Thread(target=wake.set)
    thread.start()

    assert wake.wait(10)
    thread.join()


def test_a_wake_is_set_by_a_signal_handler():
    wake = Wake()
    before = signal.signal(signal.SIGUSR1, lambda *_: wake.set())
    thread = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGUSR1))
    thread.start()

    assert wake.wait(10)
    thread.join()
    signal.signal(signal.SIGUSR1, before)


def test_a_wake_can_be_waited_for_in_a_selector():
    wake = Wake()
    wake.set()

    assert select.select([wake], [], [], 0)[0] == [wake]
