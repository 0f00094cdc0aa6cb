"""The parts of the built-in agent, put together for one conversation."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path

from gitagent.core.conversation import Entry, Origin
from gitagent.git.repository import Repository
from gitagent.host import clock
from gitagent.host.cancel import Cancel
from gitagent.model import making
from gitagent.model.provider import Provider
from gitagent.worker.executor import ASKED, Executor
from gitagent.worker.loop import memory, printed
from gitagent.worker.loop.bodies import Bodies
from gitagent.worker.loop.fetching import Fetching
from gitagent.worker.loop.form import Who
from gitagent.worker.loop.gating import Gate
from gitagent.worker.loop.hands import Hands
from gitagent.worker.loop.offer import Offer
from gitagent.worker.loop.own import Own
from gitagent.worker.loop.record import Conversation
from gitagent.worker.loop.servers import Servers
from gitagent.worker.loop.spec import Spec
from gitagent.worker.loop.turns import Leader

_ASKED_HERE = (
    " The person is asked here. When they say yes it is made at once, and you are told"
    " what came of it; do not call it again."
)


@contextmanager
def wired(
    repo: Repository,
    spec: Spec,
    told: Callable[[Entry], None],
    between: Callable[[], None] = lambda: None,
    *,
    said: Callable[[str], None],
    loaded: Callable[[], None],
    halt: Cancel,
    standing: Bodies | None = None,
) -> Iterator[Leader]:
    """Yield what leads a conversation, with a sandbox that is there as long.

    ``told`` gets every entry, ``said`` lines for people. ``loaded`` returns when the
    client of the model's API is imported, which takes longer than all else: so it is
    waited for when the model is asked first.
    """
    with ExitStack() as stack:
        hands = stack.enter_context(Hands(spec.confinement, spec.owner, told=said))
        hands.start()
        conversation = Conversation.open(repo, spec.conversation)
        servers = Servers(spec.mcp, hands, told=said)
        if spec.mcp:
            servers.start(spec.facts.network, halt)
        offer = Offer(
            spec.facts,
            spec.profile,
            spec.tools,
            chat=bool(spec.chat),
            loop=spec.loop,
            more=servers.forms,
        )
        ask = memory.through(spec.way.socket, spec.way.token)
        bodies: dict[Who, Bodies] = {
            Who.HANDS: hands,
            Who.MCP: servers,
            Who.OWN: Own(conversation, Path(spec.given), Path(spec.out)),
            Who.MEMORY: memory.Lookup(ask),
        }
        if standing is not None:
            bodies[Who.STANDING] = standing
        where = printed.folder(repo.common_dir, spec.conversation)
        commands = printed.Printed(hands, where)
        executor = Executor(
            conversation,
            Gate(spec.facts, spec.profile, spec.decide, spec.answers, _heard(spec)),
            {
                "hook": hands,
                **_by_tool(offer, bodies),
                "web_fetch": Fetching(hands),
                **dict.fromkeys(printed.TOOLS, commands),
            },
            offer,
            spec.loop,
            spec.hooks,
            told=told,
            attempt=spec.attempt,
            # A chat has no end of its own; each of its turns has a limit.
            deadline=inf if spec.chat else clock.monotonic() + spec.seconds,
            asked=_ASKED_HERE if spec.chat else ASKED,
        )

        def provider() -> Provider:
            loaded()
            way = spec.way
            made = making.make(way.api, way.socket, way.token, way.model)
            stack.callback(made.close)
            return made

        yield Leader(
            conversation,
            provider,
            executor,
            spec,
            offer.tools,
            told=told,
            between=between,
            before=memory.Reminding(ask),
        )
        commands.clear()  # unless it failed: then no result may be there


def _heard(spec: Spec) -> frozenset[Origin]:
    """Return whose words are in the context whatever is said in it."""
    # What a server says of its tools stands in every request.
    servers = {Origin.MCP} if spec.mcp else set()
    return frozenset({*map(Origin, spec.untrusted), *servers})


def _by_tool(offer: Offer, bodies: dict[Who, Bodies]) -> dict[str, Bodies]:
    forms = (offer.form(name) for name in offer.names)
    return {
        form.name: bodies[form.who] for form in forms if form and form.who in bodies
    }
