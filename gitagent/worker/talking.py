"""The way of an attempt's agent to its model: a gateway while it runs."""

import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitagent.core.budget import Limits, Short, limits
from gitagent.core.failure import Failure
from gitagent.core.grants import GATED
from gitagent.core.models import Route, route, talks
from gitagent.core.question import Asker, Question
from gitagent.core.settings import Provider
from gitagent.core.task import Outcome
from gitagent.host import clock, outlet
from gitagent.host.confinement import HOME, Door
from gitagent.model import credentials
from gitagent.worker.backends.launch import Means, Refused
from gitagent.worker.folder import Folder
from gitagent.worker.inside import lines
from gitagent.worker.log import Log
from gitagent.worker.order import Ending, Order, Stop
from gitagent.worker.prompt import Part
from gitagent.worker.taught import Taught

if TYPE_CHECKING:
    from gitagent.model.gateway import Gateway

PORT = 3130  # inside; beside `outlet.PORT`
STATUS = "/gitagent/status"
_SOCKET = "model"

# No further attempt would fare better until somebody has mended it.
_OF_PEOPLE = frozenset({Failure.AUTH, Failure.FUNDS, Failure.NO_MODEL})


@dataclass(slots=True)
class Talk:
    """A gateway that is open."""

    means: Means
    doors: tuple[Door, ...]
    gateway: "Gateway"
    short: list[Short] = field(default_factory=list)

    @property
    def environment(self) -> tuple[tuple[str, str], ...]:
        """What the programs beside the agent are told."""
        return (
            ("GITAGENT_STATUS_URL", f"{self.means.anthropic_url}{STATUS}"),
            ("GITAGENT_TOKEN", self.means.token),
        )

    def explain(self, ending: Ending) -> Ending:
        """Add to how an agent ended what the gateway knows of it."""
        if self.short and ending.outcome in {Outcome.QUESTION, Outcome.FAILED}:
            sentence = self.short[0].sentence
            return replace(
                ending,
                outcome=Outcome.QUESTION,
                reason=sentence,
                questions=(Question(f"{sentence} How much more may it spend?"),),
                asker=Asker.BUDGET,
            )
        trouble = self.gateway.trouble
        if ending.outcome is not Outcome.FAILED or not trouble:
            return ending
        name, failure = self.gateway.failed or ("", None)
        if failure not in _OF_PEOPLE:
            # Programs tell what the gateway told them, each in other words around it.
            said = "" if trouble in ending.reason else f"{ending.reason} "
            return replace(ending, reason=f"{said}{trouble}")
        access = self.gateway.access
        what = mends(name, access.model.providers[name])[failure]
        reason = f"{trouble} {what}; then: gitagent task retry"
        return replace(
            ending, outcome=Outcome.REFUSED, reason=f"{reason} {access.task}."
        )


def mends(name: str, provider: Provider) -> dict[Failure, str]:
    """Return what a person does about the failures of a provider, without a stop."""
    key = credentials.mend(name, provider)
    return {
        Failure.AUTH: key[0].upper() + key[1:],
        Failure.FUNDS: f"Pay for its account, or {key}",
        Failure.NO_MODEL: f"Name a model that {name} has",
    }


def way(order: Order) -> Route | Refused | None:
    """Return the models of an order's agent; None: it talks to none."""
    if not talks(order.agent):
        return None
    found = route(order.agent, order.settings.model)
    if isinstance(found, str):
        return Refused(found)
    provider = order.settings.model.providers[found.first.provider]
    if order.models is None:
        return Refused("There is no way to models here.")
    problem = order.models.problem(found.first.provider, provider)
    return Refused(problem) if problem else found


@contextmanager
def opened(
    order: Order,
    folder: Folder,
    found: Route,
    parts: Sequence[Part],
    log: Log,
    stop: Stop,
    session: str = "",
    taught: Taught | None = None,
) -> Iterator[Talk]:
    """Open the way to the models of a route; ``session`` is what is gone on with.

    The same way leads to the memory, if there is who is ``taught``. Raises OSError.
    """
    from gitagent.model.gateway import (  # noqa: PLC0415 - 40 ms, for who has a model
        Access,
        Gateway,
    )

    models = order.models
    assert models is not None  # noqa: S101 - `way` has looked
    # A path of its own, since that of an attempt can be too long for a socket.
    where = Path(outlet.make_folder(models.owner))
    task, day = budgets(order)
    token = f"gitagent-{secrets.token_hex(16)}"
    access = Access(
        task=order.task.id,
        attempt=order.attempt.number,
        route=found,
        model=order.settings.model,
        limits_task=task,
        limits_day=day,
        token=token,
        server_tools="network" in order.agent.may,
    )
    short: list[Short] = []
    said = taught.said if taught is not None else []
    said.extend((each.producer, each.text) for each in parts)

    def is_short(what: Short) -> None:
        short.append(what)
        # The built-in agent ends by itself when it is told so, and knows why.
        if order.agent.backend != GATED:
            stop.order(Outcome.QUESTION)

    try:
        gateway = Gateway(
            where / _SOCKET,
            access,
            upstream=models.upstream,
            ledger=models.ledger,
            journal=models.journal(order.task.id, order.agent.backend, said),
            told=log.say,
            short=is_short,
            breaker=models.breaker,
            status=lambda: _status(order, task),
            asked=taught.asked if taught is not None else None,
        )
        with gateway:
            port = PORT if folder.confined else outlet.free_port()
            yield Talk(
                means=Means(
                    route=found,
                    anthropic_url=f"http://127.0.0.1:{port}",
                    openai_url=f"http://127.0.0.1:{port}/v1",
                    token=token,
                    socket=str(where / _SOCKET),
                    home=HOME if folder.confined else str(folder.home),
                    session=session,
                    mcp=lines.mcp(),
                    hook=lines.hook(),
                ),
                doors=(Door(port, str(where), _SOCKET),),
                gateway=gateway,
                short=short,
            )
    finally:
        shutil.rmtree(where, ignore_errors=True)


def budgets(order: Order) -> tuple[Limits, Limits]:
    """Return what a task and a day may spend; people's additions are for both."""
    budget = order.settings.budget
    table = dict(order.task.budget) or budget.task
    usd, tokens = order.extra.usd, order.extra.tokens
    return limits(table, usd, tokens), limits(budget.day, usd, tokens)


def _status(order: Order, task: Limits) -> dict[str, Any]:
    models = order.models
    spent = models.ledger.spent(order.task.id) if models else None
    end = datetime.fromisoformat(order.attempt.started)
    return {
        "task": order.task.id,
        "attempt": order.attempt.number,
        "ends": clock.stamp(end + timedelta(seconds=order.timeout_s)),
        "spent": {"usd": spent.usd, "tokens": spent.tokens} if spent else None,
        "limit": {"usd": task.usd, "tokens": task.tokens},
    }
