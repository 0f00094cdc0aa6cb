"""``gitagent agents``: which there are, whether they can start, how they have fared."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from gitagent.cli import page, say
from gitagent.cli.here import Here
from gitagent.core.tally import Tally
from gitagent.core.task import Refusal
from gitagent.daemon.agents import Known, agents


@click.command(name="agents")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_obj
def command(here: Here, as_json: bool) -> None:  # noqa: FBT001 - click's way
    """List the agents that tasks can name.

    For each: what it runs, which model it would ask, what is missing for it here, and
    what became of its tasks so far.

    \b
    Examples:
      gitagent agents
      gitagent task add fix-typo --agent claude --title "Mend the typo in README.md"
    """
    known, refused = agents(here.repository)
    if as_json:
        say.dump(
            {
                "version": 1,
                "agents": [_json(each) for each in known],
                "refused": [asdict(each) for each in refused],
            }
        )
        return
    for line in _lines(known, refused):
        say.out(line)
    sys.exit(0)


def _lines(known: tuple[Known, ...], refused: tuple[Refusal, ...]) -> Iterator[str]:
    yield from page.table([_row(each) for each in known], indent="")
    if counted := [tally for each in known for tally in each.tallies]:
        yield ""
        yield "So far"
        yield from page.table([_counted(each) for each in counted])
    if refused:
        yield ""
        yield "Refused"
        yield from page.table([("refused", r.path, r.reason) for r in refused])


def _row(each: Known) -> tuple[str, ...]:
    agent = each.agent
    about = f": {agent.description}" if agent.description else ""
    return (
        f"{agent.name}{' (default)' if each.default else ''}",
        " ".join(part for part in (agent.backend, each.version) if part),
        each.model,
        agent.path,
        each.problem or f"can start{about}",
    )


def _counted(tally: Tally) -> tuple[str, ...]:
    usage = tally.usage
    priced = not usage.requests or usage.unpriced < usage.requests
    money = f"{usage.usd:.2f} usd" if priced else "no known price"
    return (
        tally.agent,
        tally.model,
        f"{tally.well} of {tally.tasks} tasks ended well",
        f"{tally.attempts} attempts, {tally.asked} with a question",
        f"{usage.tokens:,} tokens, {money}" if usage.requests else "",
    )


def _json(each: Known) -> dict[str, Any]:
    agent = each.agent
    return {
        "name": agent.name,
        "backend": agent.backend or None,
        "default": each.default,
        "description": agent.description or None,
        "path": agent.path or None,
        "model": each.model or None,
        "program": each.version or None,
        "problem": each.problem or None,
        "may": list(agent.may),
        "tools": list(agent.tools),
        "so_far": [asdict(tally) for tally in each.tallies],
    }
