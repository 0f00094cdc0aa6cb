"""Why the process of the built-in agent is to stop; the first reason counts."""

import threading

from gitagent.core.conversation import Ended
from gitagent.host.cancel import Cancel


class Halt(Cancel):
    """Ends the turn that is under way, and what it calls."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self.why: Ended | None = None

    def order(self, why: Ended) -> None:
        """Stop, for that reason."""
        with self._lock:
            if self.why is None:
                self.why = why
        self.set()
