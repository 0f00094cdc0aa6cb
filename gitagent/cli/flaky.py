"""The flake ledger, as ``gitagent log --flaky`` shows it."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gitagent.cli import page, say
from gitagent.core.flakes import Flake, Run, Tally
from gitagent.core.judge import FLAKY_WINDOW
from gitagent.core.receipt import Result
from gitagent.daemon.flakes import flakes, tasks_of
from gitagent.git.repository import Repository
from gitagent.host import clock

SHOWN: Final = 3  # flaky passes of each check, for people


def show(repo: Repository, count: int | None, *, as_json: bool) -> None:
    """Print the ledger; ``count``: only so many flaky passes of each check.

    Raises:
        UserError: the repository has no target.
    """
    found = flakes(repo)
    most = count if as_json else count or SHOWN
    named = {flake.submission for each in found for flake in each.flakes[:most]}
    tasks = tasks_of(repo, named - {""}) if named else {}
    if as_json:
        checks = [_json(each, most, tasks) for each in found]
        say.dump({"version": 1, "landings": FLAKY_WINDOW, "checks": checks})
        return
    if not found:
        say.out("no check has ever passed only at its second try")
    for line in _lines(found, most, tasks):
        say.out(line)


def _json(each: Tally, most: int | None, tasks: Mapping[str, str]) -> dict[str, Any]:
    return {
        "check": each.check,
        "runs": each.runs,
        "trees": each.trees,
        "flaky": len(each.flakes),
        "rate": round(each.rate, 4),
        "landings": each.landings,
        "budget": each.budget,
        "blocks": each.blocks,
        "last": each.flakes[0].when if each.flakes else None,
        "passes": [
            {
                "when": flake.when,
                "submission": flake.submission or None,
                "task": tasks.get(flake.submission),
                "runs": [
                    {
                        "run": run.run,
                        "result": str(run.result),
                        "exit_code": run.exit_code,
                        "started": run.started,
                        "receipt": run.place,
                        "output": _output(run),
                    }
                    for run in flake.runs
                ],
            }
            for flake in each.flakes[:most]
        ],
    }


def _lines(
    found: tuple[Tally, ...], most: int | None, tasks: Mapping[str, str]
) -> Iterator[str]:
    now = clock.stamp()
    rows = [_row(each, now) for each in found]
    if rows:
        last = f"last {FLAKY_WINDOW} landings"
        head = ("check", "flaky", "of trees", "rate", "runs", last, "newest")
        yield from page.table([head, *rows], indent="")
    for each in found:
        yield ""
        yield each.check + (
            ": the next flaky pass does not land" if each.blocks else ""
        )
        for flake in each.flakes[:most]:
            yield from _told(flake, tasks)
        if hidden := len(each.flakes) - len(each.flakes[:most]):
            yield f"  {hidden} older: gitagent log --flaky -n {len(each.flakes)}"


def _row(each: Tally, now: str) -> tuple[str, ...]:
    used = f"{each.landings} of {each.budget} allowed"
    return (
        each.check,
        str(len(each.flakes)),
        str(each.trees),
        f"{100 * each.rate:.1f} %",
        str(each.runs),
        f"{used}: blocks" if each.blocks else used,
        say.ago(each.flakes[0].when, now) if each.flakes else "",
    )


def _told(flake: Flake, tasks: Mapping[str, str]) -> Iterator[str]:
    """Yield one flaky pass, and how to see what each run printed."""
    who = flake.submission or "the bare target"
    task = tasks.get(flake.submission)
    runs = ", then ".join(map(_ended, flake.runs))
    yield f"  {flake.when}  {who}{f' of task {task}' if task else ''}: {runs}"
    yield from (f"    git show {_output(run)}" for run in flake.runs)


def _ended(run: Run) -> str:
    if run.result is Result.FAILED:
        return f"exit {run.exit_code}"
    return str(run.result)


def _output(run: Run) -> str:
    """Return where the whole output of a run is: a blob, by ref and path."""
    return f"{run.place.removesuffix('.json')}.log"
