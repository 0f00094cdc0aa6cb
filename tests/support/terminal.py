"""A real terminal that a test types into and reads: tmux, with a server of its own."""

import os
import secrets
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.waiting import wait_for


class Terminal:
    """One command on a terminal; its tmux server ends with it."""

    def __init__(self, *argv: str, cwd: Path, columns: int = 100) -> None:
        self._name = f"gitagent-{os.getpid()}-{secrets.token_hex(4)}"
        size = ("-x", str(columns), "-y", "30")
        # The shell keeps the pane, with what was shown, when the command has ended.
        kept = ["sh", "-c", '"$@"; echo "ended with $?"; cat', "sh", *argv]
        self._tmux("-f", os.devnull, "new-session", "-d", *size, *kept, cwd=cwd)

    def press(self, text: str, *keys: str) -> None:
        """Type a text as it is, and then keys as tmux names them."""
        if text:
            self._tmux("send-keys", "-l", "--", text)
        if keys:
            self._tmux("send-keys", *keys)

    def enter(self, text: str) -> None:
        """Type a line."""
        self.press(text, "Enter")

    def paste(self, text: str) -> None:
        """Paste a text as terminals do, so that its lines are not taken for entered."""
        self._tmux("set-buffer", "--", text)
        self._tmux("paste-buffer", "-p")

    def screen(self) -> str:
        """Return what is on it, with what scrolled off."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-200")

    def shows(self, *parts: str, where: Callable[[str], bool] | None = None) -> str:
        """Wait until all of these are on it; return it."""

        def found() -> str:
            screen = self.screen()
            seen = all(part in screen for part in parts)
            return screen if seen and (where is None or where(screen)) else ""

        return wait_for(found, timeout=30, what=lambda: f"{parts} on\n{self.screen()}")

    def close(self) -> None:
        """End the server, and with it the command."""
        where = self._tmux("display-message", "-p", "#{socket_path}").strip()
        self._tmux("kill-server")
        Path(where).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _tmux(self, *args: str, cwd: Path | None = None) -> str:
        return _run(["tmux", "-u", "-L", self._name, *args], cwd)


def _run(argv: Sequence[str], cwd: Path | None) -> str:
    env = {name: value for name, value in os.environ.items() if name != "TMUX"}
    done = subprocess.run(
        argv,
        cwd=cwd,
        env=env,
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=True,
    )
    return done.stdout
