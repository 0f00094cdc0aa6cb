"""What keeps every submission from landing, whatever it holds.

That is settings that cannot be used or that have no check, a machine that can run none,
and a target that somebody moved although nobody may.
"""

from gitagent.core.settings import Guard
from gitagent.core.snapshot import Snapshot
from gitagent.core.switch import frozen


def pause(snapshot: Snapshot) -> str | None:
    """Return why nothing can land at all just now, or None."""
    settings = snapshot.settings
    if snapshot.target.problem or settings is None:
        return f"Nothing lands: {snapshot.target.complaint}"
    if not settings.check and not settings.lander.allow_unchecked:
        return (
            "Nothing lands: .agent/config.toml has no [[check]]; add one, or set "
            "lander.allow_unchecked = true."
        )
    return snapshot.machine.sandbox or snapshot.machine.full or moved(snapshot)


def moved(snapshot: Snapshot) -> str | None:
    """Return why nothing goes on from a target that was moved directly, or None."""
    settings = snapshot.settings
    if settings is None or settings.lander.guard is not Guard.REFUSE:
        return None
    return frozen(snapshot.target.direct, snapshot.switch)
