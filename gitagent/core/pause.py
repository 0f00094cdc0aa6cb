"""What keeps every submission from landing, whatever it holds.

That is settings that cannot be used or that have no check, and a machine that can run
none.
"""

from gitagent.core.snapshot import Snapshot


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
    return snapshot.machine.sandbox or snapshot.machine.full
