"""The status for people, as rows of words; `output` gives them colour on a terminal.

Both faces are made from the report that ``--json`` prints, so they cannot disagree.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitagent.cli import queuepage, say
from gitagent.cli.queuepage import source
from gitagent.files import clean

_CELL = 1000  # characters
_SUBJECT = 72  # of a commit; an item's line stands in one whole

SETTLED_SHOWN = 10  # for people; --all and --json have more

_OPEN_TASKS = ("waiting", "running", "question", "submitted")
_OPEN_SUBMISSIONS = ("queued", "checking", "held")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and rows of cells; the first cell of a row is a state."""

    title: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """All that is said."""

    head: tuple[tuple[str, str], ...]  # (kind, text): plain, good, warn, bad
    sections: tuple[Section, ...]
    foot: tuple[str, ...]


def page(
    report: Mapping[str, Any],
    *,
    where: str,
    now: str,
    working: bool,
    everything: bool,
    left_out: int,
) -> Page:
    """Lay out a report."""
    tasks, submissions = report["tasks"], report["submissions"]
    open_tasks = [line for line in tasks if line["state"] in _OPEN_TASKS]
    queue = [line for line in submissions if line["state"] in _OPEN_SUBMISSIONS]
    ended = [line for line in tasks if line["state"] not in _OPEN_TASKS]
    ended += [
        line
        for line in submissions
        if line["state"] not in _OPEN_SUBMISSIONS and line["task"] is None
    ]
    ended.sort(key=lambda line: line["since"], reverse=True)
    shown = ended if everything else ended[:SETTLED_SHOWN]
    sections = (
        Section("Tasks", tuple(_task(line, now) for line in open_tasks)),
        Section("Questions", tuple(_questions(report["questions"], now))),
        Section("Queue", queuepage.rows(queue, everything=everything, working=working)),
        Section("Settled", tuple(_ended(line, now) for line in shown)),
        Section(
            "Refused",
            tuple(
                ("refused", r["path"], "", r["reason"].removeprefix(f"{r['path']}: "))
                for r in report["refused"]
            ),
        ),
        Section(
            "Past the lander",
            tuple(_finding(each, now) for each in report["target"]["findings"]),
        ),
    )
    return Page(
        head=tuple(_head(report, where, now, working=working)),
        sections=tuple(section for section in sections if section.rows),
        foot=tuple(_foot(report, len(ended) - len(shown) + left_out)),
    )


def plain(made: Page) -> Iterator[str]:
    """Yield the lines of a page without colour."""
    for _, text in made.head:
        yield text
    for section in made.sections:
        yield ""
        yield section.title
        yield from table(section.rows)
    if made.foot:
        yield ""
        yield from made.foot


def table(rows: Sequence[Sequence[str]], indent: str = "  ") -> Iterator[str]:
    """Yield rows as lines whose columns are aligned, but for the last one."""
    if not rows:
        return
    count = max(len(row) for row in rows)
    full = [
        [*(clean.sentence(cell, _CELL) for cell in row), *[""] * (count - len(row))]
        for row in rows
    ]
    widths = [max(len(row[n]) for row in full) for n in range(count)]
    used = [n for n in range(count) if widths[n]]
    for row in full:
        cells = (f"{row[n]:{widths[n]}}" for n in used)
        yield (indent + "  ".join(cells)).rstrip()


def _head(
    report: Mapping[str, Any], where: str, now: str, *, working: bool
) -> Iterator[tuple[str, str]]:
    daemon, target = report["daemon"], report["target"]
    if daemon["running"]:
        of = f", code of {daemon['code'][:12]}" if daemon["code"] else ""
        yield "good", f"{where}: the daemon runs (process {daemon['pid']}{of})"
    elif working:
        yield "warn", f"{where}: no daemon runs, but a gitagent command is at work"
    else:
        yield "warn", f"{where}: no daemon runs; start one with: gitagent up --detach"
    if daemon["swap"]:
        yield "bad", daemon["swap"]
    short = target["ref"].removeprefix("refs/heads/")
    yield "plain", f"target {short} at {target['commit'][:12]}"
    if target["paused"]:
        yield "bad", target["paused"]
    if target["checks"]:
        yield "warn", queuepage.bare(target["checks"], target["commit"])
    if target["push"] is not None:
        yield from _push(target["push"], short, now)


def _push(push: Mapping[str, Any], target: str, now: str) -> Iterator[tuple[str, str]]:
    """Yield how the remote stands; nothing while it has what we have."""
    remote, behind, reason = push["remote"], push["behind"], push["reason"]
    why = f": {clean.sentence(reason, _CELL)}" if reason else ""
    if push["ahead"]:
        has = _count(push["ahead"], "commit")
        lacks = f", and lacks {behind} of its own" if behind else ""
        yield "bad", f"{remote} has {has} that {target} lacks{lacks}{why}"
    elif behind:
        since = say.ago(push["since"], now)
        has = _count(behind, "commit")
        yield "warn", f"{remote} is {has} behind, the first from {since}{why}"
    elif behind is None and why:
        yield "warn", f"{remote} has never been reached{why}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _finding(line: Mapping[str, Any], now: str) -> tuple[str, ...]:
    """Return what a commit is, and whose; who moved the target no commit says."""
    who = line["author"]
    if line["committer"] != who:
        who = f"{who}, committed by {line['committer']}"
    merge = "a merge " if line["parents"] > 1 else ""
    about = f"{merge}by {who}, {say.ago(line['committed'], now)}"
    if line["submission"] is not None:
        about = f"{line['submission']} had landed, and the target was moved back"
    subject = clean.sentence(line["subject"], _SUBJECT)
    return (line["kind"], line["commit"][:12], subject, about)


def _task(line: Mapping[str, Any], now: str) -> tuple[str, ...]:
    attempt = f"attempt {line['attempt']}" if line["attempt"] else ""
    agent = f" by {line['agent']}" if line["agent"] and attempt else ""
    since = say.ago(line["since"], now)
    about = f"{attempt}{agent}, {since}" if attempt else since
    return (line["state"], line["id"], _title(line), line["reason"] or about)


def _questions(
    cards: Sequence[Mapping[str, Any]], now: str
) -> Iterator[tuple[str, ...]]:
    """Yield a row for each question, and one for each option; then how to answer."""
    for card in cards:
        task = card["task"]
        for each in card["questions"]:
            said = each["answer"]
            about = f"= {said}" if said else say.ago(card["since"], now)
            yield ("question", task, f"{each['number']}. {each['text']}", about)
            for letter, option in each["options"].items() if not said else ():
                yield ("", "", f"   {letter}) {option}")
        yield ("", "", card["answer"])


def _ended(line: Mapping[str, Any], now: str) -> tuple[str, ...]:
    title = _title(line) if "title" in line else source(line)
    when = say.ago(line["since"], now)
    reason = line["reason"] or ""
    return (line["state"], line["id"], title, f"{when}: {reason}" if reason else when)


def _title(line: Mapping[str, Any]) -> str:
    title = str(line["title"])
    if title == line["id"]:
        return ""
    return title if len(title) <= 40 else f"{title[:39]}…"


def _foot(report: Mapping[str, Any], hidden: int) -> Iterator[str]:
    if not report["tasks"] and not report["submissions"]:
        yield "Nothing is asked for; see: gitagent task add --help"
    if hidden:
        yield f"{hidden} more are settled: gitagent status --all"
    if unseen := report["inbox"]["unacknowledged"]:
        yield f"{_count(unseen, 'outcome')} not acknowledged: gitagent inbox"
    if waiting := report["memory"]["proposals"]:
        many = _count(waiting, "proposal")
        yield f"{many} about the memory to decide: gitagent memory proposals"
    if report["target"]["findings"]:
        yield "Look at a commit that got past the lander with: git show <commit>"
