"""The queue for people: what runs on what base, and why each of the others waits."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from gitagent.cli import say

SHOWN: Final = 20  # rows; `--all` has more
_FOLDED: Final = 6  # members of a set that are shown one by one
_FIRST: Final = 3  # of a larger one

_RUNS: Final = "Its checks run."  # what a record says of what is under check

_Line = Mapping[str, Any]


def rows(
    queue: Sequence[_Line], *, everything: bool, working: bool
) -> tuple[tuple[str, ...], ...]:
    """Return the rows of the queue: state, place, what it is, what is with it.

    ``working``: somebody is at work; nobody's runs are under way without.
    """
    if everything or not working:
        made = [*_singly(queue, working=working)]
    else:
        made = [*_folded(queue)]
    if everything or len(made) <= SHOWN:
        return tuple(row for _, row in made)
    shown = made[:SHOWN]
    hidden = queue[sum(count for count, _ in shown) :]
    states = Counter(line["state"] for line in hidden)
    counts = ", ".join(f"{n} {state}" for state, n in states.most_common())
    rest = ("…", f"{len(hidden)} more", "", f"{counts}; see: gitagent status --all")
    return (*(row for _, row in shown), rest)


def _singly(
    queue: Sequence[_Line], *, working: bool
) -> Iterator[tuple[int, tuple[str, ...]]]:
    before: _Line | None = None
    for line in queue:
        yield 1, _row(line, before, working=working)
        before = line


def _folded(queue: Sequence[_Line]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield rows with how many submissions each stands for."""
    before: _Line | None = None
    at = 0
    while at < len(queue):
        size = _set_size(queue, at)
        one_by_one = size if size <= _FOLDED else _FIRST
        for line in queue[at : at + one_by_one]:
            yield 1, _row(line, before, working=True)
            before = line
        if left := size - one_by_one:
            last = queue[at + size - 1]
            first = queue[at + one_by_one]["position"]
            place = f"{first}. to {last['position']}."
            yield left, (last["state"], place, f"{left} more", "in the same set")
            before = last
        at += size


def _set_size(queue: Sequence[_Line], at: int) -> int:
    """Return how many from there on are of one set; 1 for what is in none."""
    name = queue[at]["set"]
    if name is None:
        return 1
    end = at
    while end < len(queue) and queue[end]["set"] == name:
        end += 1
    return end - at


def _row(line: _Line, before: _Line | None, *, working: bool) -> tuple[str, ...]:
    place = f"{line['position']}. {line['id']}"
    about = "; ".join(_about(line, before, working=working))
    return (line["state"], place, source(line), about)


def _about(line: _Line, before: _Line | None, *, working: bool) -> Iterator[str]:
    same = (
        before is not None and line["set"] is not None and before["set"] == line["set"]
    )
    ended = [check for check in line["checks"] if check["state"] != "running"]
    if ended:
        yield ", ".join(map(check, ended))
    if same:
        yield f"in the same set, with {len(line['with'])} ahead"
    elif line["set"] is not None:
        yield running(line)
    elif lone := [each for each in line["checks"] if each["state"] == "running"]:
        yield ", ".join(map(check, lone))
    reason = line["reason"]
    if reason == _RUNS:
        reason = None if line["checks"] or line["set"] else reason
        if not working:
            reason = "Its checks go on when a daemon runs."
        elif reason and before is not None:
            reason = f"Waits for {before['id']}, which is ahead of it."
    elif not reason and before is not None and not line["checks"]:
        reason = f"Comes after {before['id']}."
    if reason:
        yield reason


def running(line: _Line) -> str:
    """Return what runs on a submission's set, on which base and how long so far."""
    runs = [check for check in line["checks"] if check["state"] == "running"]
    ahead = f" with {len(line['with'])} ahead" if line["with"] else ""
    where = f" on {line['base'][:7]}" if line["base"] else ""
    return f"checks {_runs(runs, ahead + where)}"


def bare(checks: Sequence[_Line], commit: str) -> str:
    """Return what the head of the page says of runs on the target itself."""
    runs = _runs(checks, f" on {commit[:7]} with nothing merged")
    return f"is the target red? It runs {runs}"


def _runs(runs: Sequence[_Line], where: str) -> str:
    """Return the runs with how long they take, and ``where`` after their names."""
    told = [f"{run['name']}{' (run 2)' if run['run'] == 2 else ''}" for run in runs]
    if len(runs) == 1:
        return f"{told[0]}{where}, {so_far(runs[0])}"
    each = (f"{name} {so_far(run)}" for name, run in zip(told, runs, strict=True))
    return f"{len(runs)} at once{where}: {', '.join(each)}"


def so_far(run: _Line) -> str:
    """Return the time of a run so far, and what it usually takes if that is known."""
    seconds, usual = run["seconds"] or 0.0, run["usual"]
    if usual is None:
        return f"{clock(seconds)} so far"
    longest = max(seconds, usual)
    return f"{clock(seconds, longest)} of usually {clock(usual, longest)}"


def clock(seconds: float, longest: float = 0.0) -> str:
    """Return a duration as 1:05, or in seconds as long as all is below a minute."""
    if max(seconds, longest) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def check(line: _Line) -> str:
    """Return a check and how it stands."""
    seconds = say.seconds(line["seconds"])
    return f"{line['name']} {line['state']}{f' {seconds}' if seconds else ''}"


def source(line: _Line) -> str:
    """Return where a submission comes from."""
    if line["task"]:
        return f"task {line['task']}"
    branch = str(line["branch"] or line["tip"][:12])
    return branch.removeprefix("refs/heads/")
