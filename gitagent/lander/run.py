"""One run of one check on one candidate, confined, and the receipt of it.

The check gets a checkout of exactly the product tree, a home of its own and an
environment made from scratch. Whether it changed what it was to judge is looked at
from outside, after every process of it is dead.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Final

from gitagent.core.action import StartRun
from gitagent.core.candidate import Candidate
from gitagent.core.receipt import Receipt, Result
from gitagent.core.settings import SandboxMode, Settings
from gitagent.errors import GitagentError
from gitagent.files import clean
from gitagent.git.checkout import Checkout, Pool
from gitagent.git.repository import Repository
from gitagent.git.sweep import remove_tree
from gitagent.host import clock
from gitagent.host.confinement import HOME, WORKSPACE
from gitagent.host.engine import Engine
from gitagent.host.failpoint import failpoint
from gitagent.host.process import Cancel, Exit
from gitagent.host.sandbox import Bind, Confinement
from gitagent.lander.caches import Stamps, keys
from gitagent.lander.contribution import contribution

KEEP: Final = 16 * 1024 * 1024  # bytes of output that a receipt keeps whole
TAIL_LINES: Final = 200
TAIL_CHARACTERS: Final = 4000

_CANNOT_RUN = frozenset({126, 127})  # sh(1): found but not executable; not found
_TAIL_BYTES = 4 * TAIL_CHARACTERS  # UTF-8 has at most four bytes a character


Ended = tuple[Receipt, bytes]  # not stored yet, and the whole output


def run_check(
    repo: Repository,
    engine: Engine,
    pool: Pool,
    settings: Settings,
    start: StartRun,
    environment: str,
    cancel: Cancel,
    report: Callable[[Ended | None], None] | None = None,
) -> Ended | None:
    """Run a check to its end; return its receipt, not stored yet, and its output.

    None if it was cancelled: a stopped run says nothing. ``report`` gets the same as
    soon as it is known, once, when no process of the run is left; what remains is to
    clear up behind it. For a thread of its own.

    Raises:
        GitagentError: there was no checkout for it to run in; nothing was reported.
    """
    if cancel.is_set():
        if report is not None:
            report(None)
        return None
    with pool.take() as checkout:
        home = checkout.tree.with_name("home")
        facts = (repo, engine, checkout, home, settings, start, environment, cancel)
        try:
            ended, keep = _run(*facts)
            checkout.leave()
            if report is not None:
                report(ended)
        except BaseException:
            _clear_up(checkout, home, ())
            raise
        _clear_up(checkout, home, keep)
    return ended


def _run(
    repo: Repository,
    engine: Engine,
    checkout: Checkout,
    home: Path,
    settings: Settings,
    start: StartRun,
    environment: str,
    cancel: Cancel,
) -> tuple[Ended | None, tuple[str, ...]]:
    """Run a check; return how it ended, and the folders that are good to keep."""
    stamps = Stamps(checkout.tree.with_name("caches.json"))
    wanted = _cache_keys(repo, start, settings)
    trusted = partial(_trusted, repo, start.candidate)
    kept = stamps.kept(wanted, trusted)
    _prepare(checkout, home, start.candidate.commit, kept)
    stamps.clear()
    inside = _inside(checkout, home, settings, start)
    started = clock.stamp()
    done = engine.run(
        [
            "sh",
            "-c",
            _script(settings, start, warm=bool(wanted) and {*kept} == {*wanted}),
        ],
        inside,
        timeout=start.check.timeout,
        keep=KEEP,
        merge_stderr=True,
        cancel=cancel,
    )
    failpoint("check-ended")
    if done.cancelled:
        return None, ()
    changed = checkout.changed()
    result = _result(done, changed)
    passed = result is Result.PASSED
    if passed:
        stamps.set(wanted, start.candidate.commit)
    ended = _receipt(settings, start, environment, started, done, result, changed)
    return ended, tuple(wanted) if passed else ()


def _clear_up(checkout: Checkout, home: Path, keep: tuple[str, ...]) -> None:
    """Leave nothing of the run; what cannot be removed now, the next run has to."""
    with suppress(OSError):
        remove_tree(home)
    checkout.tidy(keep)


def _script(settings: Settings, start: StartRun, *, warm: bool) -> str:
    """Return what the shell runs: the check, after the setup where that is needed.

    ``warm``: every folder that the checks declare is there from an earlier run.
    """
    setup = () if warm else settings.lander.setup
    lines = [f"sh -c {quote(command)} || exit" for command in setup]
    return "\n".join((*lines, start.check.run))


def _cache_keys(
    repo: Repository, start: StartRun, settings: Settings
) -> dict[str, str]:
    """Return the keys of all folders that the target's checks declare.

    A slot serves them all, one after the other.
    """
    if not any(check.cache for check in settings.check):
        return {}
    with repo.objects() as objects:
        return keys(objects, start.candidate.commit, settings.check)


def _trusted(repo: Repository, candidate: Candidate, before: str) -> bool:
    """Whether all that an earlier candidate merged is part of this one anyway.

    It is too if it has landed as a commit of its own, by squash or rebase.
    """
    with suppress(GitagentError), repo.objects() as objects:
        return all(
            parent in candidate.tips
            or objects.ancestor(parent, candidate.base)
            or not contribution(repo, objects, candidate.base, parent).own
            for parent in objects.commit(before).parents
        )
    return False


def _prepare(
    checkout: Checkout, home: Path, commit: str, keep: tuple[str, ...]
) -> None:
    """Make the files of the commit, and an empty home."""
    try:
        checkout.prepare(commit, keep)
        remove_tree(home)
        home.mkdir(mode=0o700)
    except OSError as error:
        raise GitagentError(f"no checkout for a check: {error}") from error


def _inside(
    checkout: Checkout, home: Path, settings: Settings, start: StartRun
) -> Confinement:
    sandbox = settings.sandbox
    confined = sandbox.mode is SandboxMode.REQUIRED
    binds = checkout.inside(confined=confined)
    return Confinement(
        cwd=WORKSPACE if confined else str(checkout.tree),
        binds=(*binds, Bind(str(home), HOME, writable=True)),
        env=(
            ("CI", "true"),
            ("GITAGENT_CHECK", start.check.name),
            ("HOME", HOME if confined else str(home)),
        ),
        read=sandbox.read,
        write=sandbox.write,
        file_limit=sandbox.file_limit,
        memory=sandbox.memory,
        processes=sandbox.processes,
        network=start.check.network,
        network_setting=f"`network` of check {start.check.name}",
        mode=str(sandbox.mode),
    )


def _result(done: Exit, changed: tuple[str, ...]) -> Result:
    if done.timed_out:
        return Result.TIMEOUT
    if not done.started or done.code in _CANNOT_RUN:
        return Result.BROKEN
    if done.code != 0:
        return Result.FAILED
    return Result.CHANGED if changed else Result.PASSED


def _receipt(
    settings: Settings,
    start: StartRun,
    environment: str,
    started: str,
    done: Exit,
    result: Result,
    changed: tuple[str, ...],
) -> tuple[Receipt, bytes]:
    check, candidate = start.check, start.candidate
    said = done.output if done.started else done.stderr
    dropped = done.dropped - len(done.tail)
    output = said + done.tail
    if dropped > 0:
        output = said + b"\n[%d bytes left out]\n" % dropped + done.tail
    receipt = Receipt(
        check=check.name,
        key=start.key,
        product=candidate.product,
        run=start.run,
        command=check.run,
        result=result,
        exit_code=done.code if done.started else None,
        seconds=round(done.seconds, 3),
        started=started,
        sandbox=str(settings.sandbox.mode),
        environment=environment,
        output="",
        tail=clean.tail(
            clean.plain(output[-_TAIL_BYTES:]), TAIL_LINES, TAIL_CHARACTERS
        ),
        dropped=max(0, dropped),
        changed=changed,
        submission=start.submissions[-1] if start.submissions else None,
        base=candidate.base,
        candidate=candidate.commit,
    )
    return receipt, output
