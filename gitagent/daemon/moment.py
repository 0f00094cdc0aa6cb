"""The time, as a decision is given it."""

from gitagent.core.snapshot import Moment
from gitagent.host import clock


def moment() -> Moment:
    """Return now, in each of the forms that a decision may need."""
    now = clock.now()
    return Moment(clock.stamp(now), clock.stamp_us(now), clock.monotonic())
