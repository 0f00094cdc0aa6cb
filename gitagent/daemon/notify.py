"""Tells people of an outcome, as ``[notify]`` asks; never in the loop's way."""

import os
import threading
from collections.abc import Mapping

from gitagent.core.settings import Notify
from gitagent.host import process
from gitagent.host.log import log

TIMEOUT_S = 10.0

# How a program finds the session whose desktop it may speak to.
_SESSION = (
    "PATH",
    "HOME",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
)


def tell(settings: Notify, subject: str, state: str, reason: str | None) -> None:
    """Send one outcome where the settings say; a failure is logged, nothing more."""
    if not settings.desktop and not settings.webhook:
        return
    event = {"id": subject, "state": state, "reason": reason}
    threading.Thread(target=_send, args=(settings, event), daemon=True).start()


def _send(settings: Notify, event: Mapping[str, str | None]) -> None:
    if settings.desktop:
        _desktop(event)
    if settings.webhook:
        _webhook(settings.webhook, event)


def _desktop(event: Mapping[str, str | None]) -> None:
    title = f"gitagent: {event['id']} {event['state']}"
    done = process.run(
        ["notify-send", "--app-name=gitagent", title, event["reason"] or ""],
        cwd=None,
        env={name: os.environ[name] for name in _SESSION if name in os.environ},
        timeout=TIMEOUT_S,
    )
    if done.code != 0:
        log("notify", "notify-send did not work; install libnotify-bin")


def _webhook(address: str, event: Mapping[str, str | None]) -> None:
    import httpx  # noqa: PLC0415 - 100 ms that most daemons never need

    try:
        httpx.post(address, json=dict(event), timeout=TIMEOUT_S).raise_for_status()
    except httpx.HTTPError as error:
        log("notify", f"the webhook did not take it: {error}")
