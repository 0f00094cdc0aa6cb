"""``gitagent may``: what the one gate says of an effect."""

import sys

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.core.effect import Effects
from gitagent.core.profile import PROFILES
from gitagent.daemon.may import Asked, answer


@click.command(name="may")
@click.argument("agent", metavar="AGENT")
@click.argument(
    "effect", metavar="EFFECT", type=click.Choice([str(each) for each in Effects])
)
@click.argument("what", metavar="[WHAT]", default="")
@click.option("--task", metavar="ID", help="With the bounds and answers of that task.")
@click.option(
    "--profile",
    type=click.Choice([each for each in PROFILES if each]),
    help="In a conversation with that profile.",
)
@click.option(
    "--untrusted",
    is_flag=True,
    help="As if words from the web or an MCP server had come into the conversation.",
)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_obj
def command(
    here: Here,
    agent: str,
    effect: str,
    what: str,
    task: str | None,
    profile: str | None,
    untrusted: bool,  # noqa: FBT001 - click's way
    as_json: bool,  # noqa: FBT001 - click's way
) -> None:
    """Say whether an agent may have an effect.

    EFFECT is read, write, shell, network, start_task or remember; WHAT is the path,
    the command, the host:port or URL, the task's id, or the item's slug. The answer is
    that of the gate that every call passes, by the definition and the settings of the
    target's commit.

    \b
    Examples:
      gitagent may claude write src/app.py --task fix-login
      gitagent may claude shell "git push"
      gitagent may helper start_task tidy-up --untrusted
      gitagent may helper network https://example.org/ --profile plan
    """
    if not what and effect != Effects.READ:
        raise click.UsageError(f"say what is to be: gitagent may {agent} {effect} WHAT")
    asked = Asked(
        agent, Effects(effect), what, task or "", profile or "", untrusted=untrusted
    )
    said = answer(here.repository, asked)
    verdict = said.verdict
    card = verdict.question
    if as_json:
        options = list(card.options) if card else []
        say.dump(
            {
                "version": 1,
                "agent": agent,
                "effect": effect,
                "what": what or None,
                "verdict": str(verdict.kind),
                "allowed": said.allowed,
                "sentence": verdict.sentence or None,
                "question": {"text": card.text, "options": options} if card else None,
                "may": list(said.may),
            }
        )
    else:
        say.out(
            f"{verdict.kind}: {verdict.sentence}" if verdict.sentence else verdict.kind
        )
        if card:
            say.out(f"question: {card.text}")
    sys.exit(0 if said.allowed else 1)
