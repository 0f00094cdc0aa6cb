"""What the settings' values have to be, beyond their types."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from gitagent.core.ident import (
    branch_problem,
    id_problem,
    ref_matches,
    ref_pattern_reaches,
    ref_problem,
)
from gitagent.core.network import problem as host_problem
from gitagent.core.settings import Check, Provider, Settings
from gitagent.files.fields import UNITS, found, is_amount
from gitagent.files.globs import (
    command_problem,
    glob_problem,
    inside_problem,
    path_problem,
)
from gitagent.files.schema import Path

_MANY = 1024  # of anything counted that this machine has to hold at once


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one key."""

    path: Path
    problem: str  # follows the key's name: "is …"
    mend: str


def faults(settings: Settings) -> list[Fault]:
    """Return all that is wrong with settings whose types are right."""
    return [
        *_target(settings),
        *_worker(settings),
        *_sandbox(settings),
        *_lander(settings),
        *_checks(settings.check),
        *_model(settings),
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
    yield from _text(("worker", "agent"), worker.agent, id_problem)
    yield from _count(("worker", "parallel"), worker.parallel, 1)
    yield from _count(("worker", "retries"), worker.retries, 0)
    yield from _text(("worker", "branch"), worker.branch, _work_branch(settings))
    yield from _each(("worker", "setup"), worker.setup, command_problem)
    yield from _each(("worker", "setup_key"), worker.setup_key, glob_problem)
    yield from _each(("worker", "copy"), worker.copy, inside_problem)


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
    yield from _each(("sandbox", "network"), sandbox.network, host_problem)
    yield from _each(("sandbox", "read"), sandbox.read, _place_problem)
    yield from _each(("sandbox", "write"), sandbox.write, _place_problem)
    yield from _count(("sandbox", "file_limit"), sandbox.file_limit, 1, 10**9)
    yield from _count(("sandbox", "memory"), sandbox.memory, 0, 10**9)
    yield from _count(("sandbox", "processes"), sandbox.processes, 0, 10**6)


def _place_problem(place: str) -> str | None:
    if not place.startswith(("/", "~/")):
        return "write it from / or ~/"
    rest = place.removeprefix("~").strip("/")
    if not rest:
        return "name the folders in it that are needed"
    return path_problem(rest)


def _lander(settings: Settings) -> Iterator[Fault]:
    lander = settings.lander
    yield from _each(("lander", "submit"), lander.submit, _submit_problem(settings))
    yield from _each(("lander", "setup"), lander.setup, command_problem)
    yield from _count(("lander", "window"), lander.window, 0)
    yield from _count(("lander", "flaky_budget"), lander.flaky_budget, 0)
    yield from _each(("lander", "protected"), lander.protected, glob_problem)
    yield from _optional(("lander", "push"), lander.push, _remote_problem)
    yield from _optional(("lander", "name"), lander.name, _person_problem)
    yield from _optional(("lander", "email"), lander.email, _person_problem)
    yield from _optional(("lander", "signing_key"), lander.signing_key, _line_problem)


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
        yield from _text((*above, "run"), check.run, command_problem)
        yield from _count((*above, "group"), check.group, 1)
        yield from _each((*above, "network"), check.network, host_problem)
        yield from _each((*above, "cache"), check.cache, inside_problem)
        yield from _each((*above, "cache_key"), check.cache_key, glob_problem)


def _model(settings: Settings) -> Iterator[Fault]:
    model = settings.model
    provider, colon, name = model.default.partition(":")
    if not (colon and provider.strip() and name.strip()):
        mend = 'write "provider:model"'
        yield Fault(("model", "default"), f"is {found(model.default)}", mend)
    for called, each in model.providers.items():
        yield from _provider(("model", "providers", called), each)


def _provider(above: Path, provider: Provider) -> Iterator[Fault]:
    if provider.kind not in ("anthropic", "openai"):
        mend = 'write "anthropic" or "openai"'
        yield Fault((*above, "kind"), f"is {found(provider.kind)}", mend)
    yield from _text((*above, "base_url"), provider.base_url, _address_problem)
    for name, prices in provider.prices.items():
        for what, price in prices.items():
            if not is_amount(price):
                path = (*above, "prices", name, what)
                yield Fault(path, f"is {found(price)}", "write a number from 0")


def _rest(settings: Settings) -> Iterator[Fault]:
    for name, limits in (("task", settings.budget.task), ("day", settings.budget.day)):
        for unit, limit in limits.items():
            path = ("budget", name, unit)
            if unit not in UNITS:
                yield Fault(path, "is not a unit", f"units are {' and '.join(UNITS)}")
            elif not is_amount(limit):
                yield Fault(path, f"is {found(limit)}", "write a number from 0")
    yield from _count(("memory", "limit"), settings.memory.limit, 0, 10**6)
    yield from _optional(
        ("notify", "webhook"), settings.notify.webhook, _address_problem
    )
    yield from _optional(
        ("trust", "allowed_signers"), settings.trust.allowed_signers, inside_problem
    )


def _text(
    path: Path, value: str, problem: Callable[[str], str | None]
) -> Iterator[Fault]:
    why = problem(value) if value.strip() else "write what it is"
    if why:
        yield Fault(path, f"is {found(value)}", why)


def _optional(
    path: Path, value: str, problem: Callable[[str], str | None]
) -> Iterator[Fault]:
    if value:
        yield from _text(path, value, problem)


def _each(
    path: Path, values: Iterable[str], problem: Callable[[str], str | None]
) -> Iterator[Fault]:
    for value in values:
        why = problem(value) if value.strip() else "leave it out"
        if why:
            yield Fault(path, f"contains {found(value)}", why)


def _count(path: Path, value: int, low: int, high: int = _MANY) -> Iterator[Fault]:
    if not low <= value <= high:
        mend = f"write a whole number from {low} to {high}"
        yield Fault(path, f"is {found(value)}", mend)


def _remote_problem(remote: str) -> str | None:
    return branch_problem(remote) and "write the name of a remote, such as origin"


def _person_problem(text: str) -> str | None:
    if set("<>\n\0") & set(text):
        return "write it without < and > and on one line"
    return None


def _line_problem(text: str) -> str | None:
    return None if text.isprintable() else "write it on one line"


def _address_problem(address: str) -> str | None:
    if address.startswith(("https://", "http://")) and address.isprintable():
        return None
    return "write an address that begins with https://"
