"""Places where a test can make the daemon die as a power cut would."""

import os
import signal

NAMES = (
    "attempt-recorded",
    "attempt-spawned",
    "attempt-exited",
    "attempt-harvested",
    "attempt-ended",
    "submission-created",
    "candidate-pinned",
    "check-ended",
    "receipt-written",
    "landing-recorded",
    "landing-swapped",
    "outcome-recorded",
)
OTHERS = (  # that not every task comes by
    "outcome-told",
    "conversation-intent",
    "conversation-executed",
    "conversation-result",
    "distil-added",
    "memory-ruled",
    "memory-recorded",
)

VARIABLE = "GITAGENT_FAILPOINT"

_armed = os.environ.get(VARIABLE, "")


def failpoint(name: str) -> None:
    """Kill this process at once if ``GITAGENT_FAILPOINT`` names this place."""
    if name == _armed:
        os.kill(os.getpid(), signal.SIGKILL)
