"""What keeps every submission from landing, whatever it holds.

That is settings that cannot be used, that ask for what this release has not, or that
have no check; and a machine that can run none.
"""

from gitagent.core.settings import Strategy
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
    if settings.lander.strategy is not Strategy.MERGE:
        return (
            "Nothing lands: this release has no strategy "
            f'"{settings.lander.strategy}"; set lander.strategy = "merge".'
        )
    if settings.lander.signing_key:
        return "Nothing lands: this release does not sign; empty lander.signing_key."
    return snapshot.machine.sandbox or snapshot.machine.full
