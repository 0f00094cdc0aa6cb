"""``gitagent hooks``: put the hub's hooks in place, or take them away."""

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.daemon import hooks


@click.group(name="hooks", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Install or uninstall the Git hooks of a repository that others push to.

    With them a push to refs/heads/land/<name> is answered with the submission's id at
    once, and so is one to refs/for/<target>, which makes no branch. `gitagent init`
    installs them in a bare repository.

    \b
    Example:
      gitagent hooks install
    """


@command.command(name="install")
@click.pass_obj
def install(here: Here) -> None:
    """Install the hooks; those that are there go on to run.

    It sets receive.procReceiveRefs and receive.advertisePushOptions if they are unset.

    \b
    Example:
      gitagent hooks install
    """
    done = hooks.install(here.repository)
    for line in done:
        say.out(line)
    if not done:
        say.out("the hooks are installed already")
    problem = hooks.refs_for_problem(here.repository)
    if problem is not None:
        say.note(f"refs/for is not available here: {problem}")


@command.command(name="uninstall")
@click.pass_obj
def uninstall(here: Here) -> None:
    """Take the hooks away and put back what was there before.

    \b
    Example:
      gitagent hooks uninstall
    """
    done = hooks.uninstall(here.repository)
    for line in done:
        say.out(line)
    if not done:
        say.out("no hooks of gitagent are installed")
