"""The way of an attempt's agent to its model: a gateway while it runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gitagent.core.models import route, talks
from gitagent.host.confinement import Door
from gitagent.worker.backends.launch import Means, Refused
from gitagent.worker.folder import Folder
from gitagent.worker.log import Log
from gitagent.worker.order import Ending, Order, Stop


@dataclass(frozen=True, slots=True)
class Talk:
    """A gateway that is open."""

    means: Means
    doors: tuple[Door, ...]

    def explain(self, ending: Ending) -> Ending:
        """Add to how an agent ended what the gateway knows of it."""
        return ending


@contextmanager
def opened(
    order: Order, folder: Folder, log: Log, stop: Stop
) -> Iterator[Talk | Refused | None]:
    """Open the way for an agent that talks to a model; None for one that does not."""
    del folder, log, stop
    if not talks(order.agent):
        yield None
        return
    way = route(order.agent, order.settings.model)
    yield Refused(way if isinstance(way, str) else "There is no gateway yet.")
