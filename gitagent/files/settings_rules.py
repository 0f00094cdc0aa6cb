"""What the settings' values have to be, beyond their types."""

from collections.abc import Callable, Iterator

from gitagent.core.ident import (
    branch_problem,
    id_problem,
    ref_matches,
    ref_pattern_reaches,
    ref_problem,
)
from gitagent.core.network import problem as host_problem
from gitagent.core.settings import Check, Settings
from gitagent.files import loop_rules, memory_rules, model_rules
from gitagent.files.fault import (
    Fault,
    address_problem,
    count,
    each,
    line_problem,
    optional,
    text,
)
from gitagent.files.fields import UNITS, found, is_amount
from gitagent.files.globs import (
    command_problem,
    glob_problem,
    inside_problem,
    path_problem,
)
from gitagent.files.schema import Path


def faults(settings: Settings) -> list[Fault]:
    """Return all that is wrong with settings whose types are right."""
    return [
        *_target(settings),
        *_worker(settings),
        *_sandbox(settings),
        *_lander(settings),
        *_checks(settings.check),
        *model_rules.faults(settings.model),
        *loop_rules.faults(settings.loop, settings.mcp, settings.hook),
        *_rest(settings),
    ]


def _target(settings: Settings) -> Iterator[Fault]:
    target = settings.target
    full = target.startswith("refs/")
    why = ref_problem(target) if full else branch_problem(target)
    if why or (full and not target.startswith("refs/heads/")):
        mend = why or "the target is a branch: write its name"
        yield Fault(("target",), f"is {found(target)}", mend)


def _worker(settings: Settings) -> Iterator[Fault]:
    worker = settings.worker
    yield from text(("worker", "agent"), worker.agent, id_problem)
    yield from count(("worker", "parallel"), worker.parallel, 1)
    yield from count(("worker", "retries"), worker.retries, 0)
    yield from text(("worker", "branch"), worker.branch, _work_branch(settings))
    yield from each(("worker", "setup"), worker.setup, command_problem)
    yield from each(("worker", "setup_key"), worker.setup_key, glob_problem)
    yield from each(("worker", "copy"), worker.copy, inside_problem)


def _work_branch(settings: Settings) -> Callable[[str], str | None]:
    def problem(branch: str) -> str | None:
        if branch.count("{task}") != 1:
            return "write {task} in it once, where the task's id belongs"
        if branch.startswith("refs/"):
            return "write it without refs/heads/"
        if why := branch_problem(branch.replace("{task}", "id")):
            return why
        if ref_matches(
            f"refs/heads/{branch.replace('{task}', '*')}", settings.target_ref
        ):
            return "it can be the target: put tasks' branches in a folder of their own"
        sample = f"refs/heads/{branch.replace('{task}', 'id')}"
        if any(ref_matches(each, sample) for each in settings.lander.submit):
            return "lander.submit covers it: every attempt would be submitted"
        return None

    return problem


def _sandbox(settings: Settings) -> Iterator[Fault]:
    sandbox = settings.sandbox
    yield from each(("sandbox", "network"), sandbox.network, host_problem)
    yield from each(("sandbox", "read"), sandbox.read, _place_problem)
    yield from each(("sandbox", "write"), sandbox.write, _place_problem)
    yield from count(("sandbox", "file_limit"), sandbox.file_limit, 1, 10**9)
    yield from count(("sandbox", "memory"), sandbox.memory, 0, 10**9)
    yield from count(("sandbox", "processes"), sandbox.processes, 0, 10**6)


def _place_problem(place: str) -> str | None:
    if not place.startswith(("/", "~/")):
        return "write it from / or ~/"
    rest = place.removeprefix("~").strip("/")
    if not rest:
        return "name the folders in it that are needed"
    return path_problem(rest)


def _lander(settings: Settings) -> Iterator[Fault]:
    lander = settings.lander
    yield from each(("lander", "submit"), lander.submit, _submit_problem(settings))
    yield from each(("lander", "setup"), lander.setup, command_problem)
    yield from count(("lander", "window"), lander.window, 0)
    yield from count(("lander", "flaky_budget"), lander.flaky_budget, 0)
    yield from each(("lander", "protected"), lander.protected, glob_problem)
    yield from optional(("lander", "push"), lander.push, _remote_problem)
    yield from optional(("lander", "name"), lander.name, _person_problem)
    yield from optional(("lander", "email"), lander.email, _person_problem)
    yield from optional(("lander", "signing_key"), lander.signing_key, line_problem)


def _submit_problem(settings: Settings) -> Callable[[str], str | None]:
    def problem(pattern: str) -> str | None:
        if why := ref_problem(pattern.replace("*", "x").replace("?", "x")):
            return why
        if ref_matches(pattern, settings.target_ref):
            return "it covers the target: every landing would be submitted again"
        if ref_pattern_reaches(pattern, "refs/gitagent"):
            return "it covers refs/gitagent, which holds gitagent's own records"
        return None

    return problem


def _checks(checks: tuple[Check, ...]) -> Iterator[Fault]:
    seen: set[str] = set()
    for number, check in enumerate(checks):
        above: Path = ("check", number)
        folded = check.name.casefold()
        if why := id_problem(folded):
            mend = why.replace("an id", "a name")
            yield Fault((*above, "name"), f"is {found(check.name)}", mend)
        if folded in seen:
            mend = "give every check a name of its own"
            yield Fault((*above, "name"), "is the name of two checks", mend)
        seen.add(folded)
        yield from text((*above, "run"), check.run, command_problem)
        yield from count((*above, "group"), check.group, 1)
        yield from each((*above, "network"), check.network, host_problem)
        yield from each((*above, "cache"), check.cache, inside_problem)
        yield from each((*above, "cache_key"), check.cache_key, glob_problem)


def _rest(settings: Settings) -> Iterator[Fault]:
    for name, limits in (("task", settings.budget.task), ("day", settings.budget.day)):
        for unit, limit in limits.items():
            path = ("budget", name, unit)
            if unit not in UNITS:
                yield Fault(path, "is not a unit", f"units are {' and '.join(UNITS)}")
            elif not is_amount(limit):
                yield Fault(path, f"is {found(limit)}", "write a number from 0")
    yield from memory_rules.faults(settings.memory, settings.model)
    yield from optional(("notify", "webhook"), settings.notify.webhook, address_problem)
    yield from optional(
        ("trust", "allowed_signers"), settings.trust.allowed_signers, inside_problem
    )


def _remote_problem(remote: str) -> str | None:
    return branch_problem(remote) and "write the name of a remote, such as origin"


def _person_problem(text: str) -> str | None:
    if set("<>\n\0") & set(text):
        return "write it without < and > and on one line"
    return None
