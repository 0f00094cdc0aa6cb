"""A Unix socket at which one peer is awaited, who knows a secret.

It is there before the peer is started and gone once it has come, so that whatever the
peer starts finds nobody to talk to.
"""

import hmac
import os
import secrets
import shutil
import socket
from contextlib import suppress
from pathlib import Path

from gitagent.host import outlet, until
from gitagent.host.cancel import Cancel
from gitagent.host.channel import Channel
from gitagent.host.clock import monotonic
from gitagent.host.socket import PASSING, address

SOCKET = "socket"

_TRIES = 20  # connections without the secret, before nobody is waited for any more
_GREETING = 4096  # bytes of the line that has the secret
_GREETING_S = 10.0


class Meeting:
    """Open when made, which raises OSError; `close` it."""

    def __init__(self, owner: str) -> None:
        self.folder = outlet.make_folder(owner)  # on the host; the socket is in it
        self.secret = secrets.token_hex(32)
        self._server = socket.socket(socket.AF_UNIX)
        try:
            with address(Path(self.folder, SOCKET)) as name:
                self._server.bind(name)
            self._server.listen(_TRIES)
            self._server.settimeout(0)
        except OSError:
            self.close()
            raise

    def meet(self, timeout_s: float, stop: Cancel) -> Channel | None:
        """Return the channel to who has the secret, and be closed; None: nobody came.

        The peer's first message is ``{"secret": …}``.
        """
        deadline = monotonic() + timeout_s
        try:
            for _ in range(_TRIES):
                waited = [until.readable(self._server.fileno()), until.set_(stop)]
                if until.first(waited, deadline - monotonic()) != 0:
                    return None
                channel = self._accept()
                if channel is not None:
                    return channel
        finally:
            self.close()
        return None

    def close(self) -> None:
        """Take the socket away; more than once is harmless."""
        self._server.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _accept(self) -> Channel | None:
        try:
            connection, _ = self._server.accept()
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno in PASSING:
                return None
            raise
        channel = Channel(connection)
        with suppress(OSError):
            said = channel.receive(_GREETING_S, _GREETING).get("secret")
            if isinstance(said, str) and hmac.compare_digest(
                os.fsencode(said), self.secret.encode()
            ):
                return channel
        return None
