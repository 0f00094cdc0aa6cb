"""Whose words an attempt has heard, of those who may not ask for effects."""

from gitagent.core.conversation import Origin
from gitagent.core.effect import OTHERS, taint
from gitagent.core.grants import GATED
from gitagent.core.reach import Facts
from gitagent.errors import GitagentError
from gitagent.git.objects import Objects
from gitagent.worker.loop import record
from gitagent.worker.order import Order


def before(order: Order) -> frozenset[Origin]:
    """Return what is heard before anything is said.

    The work may hold what those before it have heard, and what servers say of their
    tools stands in every request.
    """
    earlier = order.before.untrusted if order.before else ()
    servers = order.agent.backend == GATED and order.agent.mcp
    return frozenset({*map(Origin, earlier), *({Origin.MCP} if servers else ())})


def untrusted(order: Order, objects: Objects) -> tuple[str, ...]:
    """Return it of an attempt that is over; of other programs nothing is known."""
    found = before(order)
    if order.agent.backend == GATED:
        facts = Facts(network=order.network, confined=order.confined)
        try:
            found |= taint(record.read(objects, order.task.id), facts)
        except GitagentError:
            found |= OTHERS  # what cannot be read may hold anything
    return tuple(sorted(found))
