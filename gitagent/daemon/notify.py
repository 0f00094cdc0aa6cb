"""Tells people of what happened, as ``[notify]`` asks; never in the loop's way."""

import os
import threading
from dataclasses import asdict, dataclass, field
from queue import Empty, Full, Queue
from typing import Any, Final

from gitagent.core.settings import Notify
from gitagent.host import process
from gitagent.host.log import log

TIMEOUT_S: Final = 10.0  # of each step of a delivery
WAITING: Final = 1000  # events; those beyond are in the inbox alone

# How a program finds the session whose desktop it may speak to.
_SESSION = (
    "PATH",
    "HOME",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
)


@dataclass(frozen=True, slots=True)
class Event:
    """One outcome, question or alarm; its fields are the keys that a webhook gets."""

    id: str  # of the task or submission, or of the commit
    kind: str  # one of core.inbox.Kind
    state: str
    since: str | None  # UTC
    title: str
    reason: str | None
    text: str  # all of it in one line, for people
    repository: str
    questions: tuple[dict[str, Any], ...] = ()  # as `gitagent status --json` has them
    answer: str | None = None  # command that answers them
    commit: str | None = None  # that it landed as, or that came past the lander


def wanted(settings: Notify) -> bool:
    """Tell whether anybody is to be told."""
    return settings.desktop or bool(settings.webhook)


@dataclass(slots=True)
class Sender:
    """Delivers events one after the other, in a thread of its own; each once.

    A failure is logged, nothing more: what was not delivered is in the inbox.
    """

    _queue: "Queue[tuple[Notify, Event] | None]" = field(
        default_factory=lambda: Queue(WAITING)
    )
    _thread: threading.Thread | None = None

    def send(self, settings: Notify, event: Event) -> None:
        """Hand over one event; returns at once."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._work, name="notify", daemon=True
            )
            self._thread.start()
        try:
            self._queue.put_nowait((settings, event))
        except Full:
            log("notify", f"{event.id} is not told of: {WAITING} events wait already")

    def close(self, seconds: float) -> None:
        """Wait so long for what was handed over; the rest is not delivered."""
        if self._thread is None:
            return
        try:
            self._queue.put_nowait(None)
        except Full:
            return
        self._thread.join(seconds)

    def _work(self) -> None:
        while True:
            try:
                each = self._queue.get(timeout=3600)
            except Empty:
                continue
            if each is None:
                return
            _deliver(*each)


def _deliver(settings: Notify, event: Event) -> None:
    if settings.desktop:
        _desktop(event)
    if settings.webhook:
        _webhook(settings.webhook, event)


def _desktop(event: Event) -> None:
    title = f"gitagent: {event.id} {event.state}"
    done = process.run(
        ["notify-send", "--app-name=gitagent", title, event.text],
        cwd=None,
        env={name: os.environ[name] for name in _SESSION if name in os.environ},
        timeout=TIMEOUT_S,
    )
    if done.code != 0:
        log("notify", "notify-send did not work; install libnotify-bin")


def _webhook(address: str, event: Event) -> None:
    import httpx  # noqa: PLC0415 - 100 ms that most daemons never need

    # Its answer is not read, and the address not logged: it may hold a secret.
    try:
        body = asdict(event)
        with httpx.stream("POST", address, json=body, timeout=TIMEOUT_S) as answer:
            if not answer.is_success:
                code = answer.status_code
                log("notify", f"the webhook did not take {event.id}: it answers {code}")
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        why = type(error).__name__
        log("notify", f"the webhook did not take {event.id}: {why}")
