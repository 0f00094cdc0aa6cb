"""``gitagent init``: set a repository up, and say how its checks fare."""

import sys
from contextlib import AbstractContextManager, nullcontext

import click

from gitagent.cli import say
from gitagent.cli.here import Here
from gitagent.core.layout import HEADS
from gitagent.core.receipt import Receipt, Result
from gitagent.core.settings import Check
from gitagent.daemon import hooks, setup
from gitagent.daemon.setup import Plan, Ready
from gitagent.errors import GitagentError
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host import place, sandbox


@click.command(name="init")
@click.option(
    "--target",
    metavar="BRANCH",
    help="The branch that landings advance; else the one that is checked out.",
)
@click.option(
    "--no-check", is_flag=True, help="Do not try the proposed checks out once."
)
@click.pass_obj
def command(here: Here, target: str | None, no_check: bool) -> None:  # noqa: FBT001
    """Set gitagent up: write .agent/ and commit it on the target.

    It proposes the project's own tests as the first check and runs them once on the
    target, in the sandbox. Nothing but .agent/ is changed, and what is there stays;
    in a bare repository the hub's hooks are installed as well. Calling it again does
    no harm.

    \b
    Examples:
      gitagent init
      gitagent init --target agents --no-check
    """
    repo = here.repository
    with repo.objects(fast=True) as objects:
        plan = setup.plan(repo, objects, target)
        if isinstance(plan, Ready):
            name = plan.target.removeprefix(HEADS)
            say.out(f"gitagent is set up here already, with the target {name}")
            _hub(repo)
            return
        commit = setup.commit(repo, objects, plan)
        _tell(repo, objects, plan, commit)
        _hub(repo)
        if plan.settings.check and not no_check:
            _try_out(repo, objects, plan, commit)
    say.out("Next: gitagent up --detach")


def _tell(repo: Repository, objects: Objects, plan: Plan, commit: str) -> None:
    name = plan.target.removeprefix(HEADS)
    say.out(f"committed .agent/ on {name} as {commit[:12]}; the target is {name}")
    for path in plan.kept:
        say.out(f"kept {path}, which was there")
    for found in plan.found:
        say.out(f"proposed check: {found.run} ({found.because})")
    if not plan.settings.check:
        say.out("no tests were found, so nothing lands before .agent/config.toml has a")
        say.out("[[check]], or lander.allow_unchecked = true")
    for path in plan.settings.sandbox.read:
        say.out(f"the sandbox will show {path}, where programs of the checks are")
    for program in plan.missing:
        say.note(f"{program} is not installed here, and a check calls it")
    if plan.agents:
        say.out(
            f"coding agents on this machine: {', '.join(plan.agents)}; a task picks one"
            f' with `agent = "{plan.agents[0]}"`; what each lacks: gitagent agents'
        )
    problem = sandbox.probe()
    say.out("sandbox: usable" if problem is None else f"sandbox: {problem}")
    blocking = setup.branch_in_the_way(objects, plan.settings)
    if blocking is not None:
        say.note(
            f"the branch {blocking} is in the way of the tasks' branches "
            f"{plan.settings.worker.branch}: rename it, or set worker.branch in "
            '.agent/config.toml, for example to "tasks/{task}"'
        )
    if setup.ignored(repo, plan):
        say.note(".agent is ignored by Git here: add tasks with git add --force")


def _hub(repo: Repository) -> None:
    """Install the hooks of a bare repository; elsewhere they are asked for."""
    if not repo.bare:
        return
    try:
        for line in hooks.install(repo):
            say.out(line)
    except GitagentError as error:
        say.note(error.line())


def _try_out(repo: Repository, objects: Objects, plan: Plan, commit: str) -> None:
    from gitagent.daemon.trial import run_once  # noqa: PLC0415 - not with --no-check

    if sandbox.probe() is not None and plan.settings.sandbox.mode == "required":
        say.note("the checks were not tried out: there is no usable sandbox")
        return
    if problem := place.cache_problem(repo.common_dir):
        say.note(f"the checks were not tried out: {problem}")
        return
    name = plan.target.removeprefix(HEADS)
    try:
        good = run_once(repo, objects, commit, plan.settings, _during, _ended)
    except KeyboardInterrupt:
        say.note("the checks were left out; all else is done")
        return
    except GitagentError as error:
        say.note(f"the checks could not be tried out: {error.line()}")
        return
    if good:
        say.out(f"{name} passes its checks")
    else:
        say.note(
            f"{name} does not pass its checks as they are, so nothing could land; "
            "mend .agent/config.toml or the tests, and commit that"
        )


def _during(check: Check) -> AbstractContextManager[object]:
    text = f"trying out {check.name}: {check.run}"
    say.out(text)
    sys.stdout.flush()
    if not sys.stdout.isatty():
        return nullcontext()
    from gitagent.cli.output import spinner  # noqa: PLC0415 - only for a terminal

    return spinner("it runs in the sandbox; ^C leaves it out")


def _ended(receipt: Receipt) -> None:
    took = say.seconds(receipt.seconds)
    if receipt.result is Result.PASSED:
        say.out(f"  passed in {took}")
        return
    exit_code = "" if receipt.exit_code is None else f", exit {receipt.exit_code}"
    say.out(f"  {receipt.result} in {took}{exit_code}")
    for line in receipt.tail.rstrip().splitlines()[-15:]:
        say.out(f"  | {line}")
    for path in receipt.changed[:5]:
        say.out(f"  it changed {path}")
