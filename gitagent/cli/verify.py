"""``gitagent verify``: the landed history proven from its records."""

import sys
from itertools import chain

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.daemon import entry
from gitagent.daemon.target import SettingsInForce
from gitagent.errors import ConfigError
from gitagent.lander.verify import verify
from gitagent.lander.witnessed import compare


@click.command(name="verify")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option(
    "--witness",
    is_flag=True,
    help="Compare with what the remote of lander.push has witnessed too.",
)
@click.pass_obj
def command(
    here: Here,
    as_json: bool,  # noqa: FBT001 - click's way
    witness: bool,  # noqa: FBT001 - click's way
) -> None:
    """Prove the landed history from its records, believing nobody's word.

    Every commit on the target since `gitagent init` has to be a landing that its
    record and its receipts bear out, or a change of tasks. The exit code is 1 if
    anything could not be proven.

    With --witness, what the remote has witnessed of the records and the target is
    fetched, and every record that was dropped, cut off, put in another order or
    rewritten since is named.

    \b
    Example:
      gitagent verify
    """
    repo = here.repository
    problems = 0
    found = []
    with repo.objects() as objects:
        _, commit = entry.find_target(repo, objects)
        settings, _, problem = SettingsInForce().at(objects, commit)
        if settings is None:
            raise ConfigError(f"no settings can be used: {problem}")
        findings = verify(repo, objects, settings)
        if witness:
            findings = chain(findings, compare(repo, settings))
        for finding in findings:
            problems += finding.problem
            if as_json:
                found.append(
                    {
                        "where": finding.where,
                        "text": finding.text,
                        "problem": finding.problem,
                    }
                )
            else:
                say.out(f"{finding.where}: {finding.text}")
    if as_json:
        say.dump({"version": 1, "proven": problems == 0, "findings": found})
    sys.exit(1 if problems else 0)
