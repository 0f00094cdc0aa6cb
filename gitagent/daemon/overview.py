"""What `gitagent status` shows: everything open, and the newest of what is settled.

Read with git(1) alone, since the command has to answer in less time than libgit2 and
the reader of settings take to load. Thousands of settled records are told from the
open ones by the first line of their newest commit: a record that settles begins it
with its state. What follows from an object id is remembered in ``overview.json``.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from gitagent.core import inbox, submission, task
from gitagent.core.inbox import Alarm, Inbox, Outcome
from gitagent.core.layout import (
    AGENTS,
    CLAUDE_AGENTS,
    HEADS,
    INBOX,
    PROPOSALS,
    QUEUE,
    SUBMISSIONS,
    TASK_RECORDS,
    TASKS,
)
from gitagent.core.proposal import Stand
from gitagent.core.settings import Guard
from gitagent.core.submission import Submission
from gitagent.core.switch import RED_TARGET, REPAIR, frozen, stopped
from gitagent.core.task import Refusal, TaskFile, TaskRecord
from gitagent.daemon import answerfiles, lineup, remembered
from gitagent.daemon.committed import unreadable
from gitagent.daemon.findings import DIRECT, Finding, findings
from gitagent.daemon.lag import Lag, lag
from gitagent.daemon.lineup import Lineup
from gitagent.errors import GitError, UserError
from gitagent.files import record
from gitagent.git import records
from gitagent.git.objects import Entry, Objects
from gitagent.git.repository import Repository
from gitagent.git.tree import folder
from gitagent.host import place
from gitagent.host.clock import stamp
from gitagent.host.lock import held, holder
from gitagent.lander import switch

SETTLED_SHOWN = 100  # tasks, and as many submissions
_COUNTED = 300  # outcomes beyond these, so that many that are left lying cost no time
_JUMP_S = 60  # by which the clock may be put back between an outcome and its record

_FORM = "--format=%(objectname) %(refname) %(committerdate:unix) %(contents:subject)"
_SETTLED = {
    TASK_RECORDS: frozenset(map(str, task.SETTLED)),
    SUBMISSIONS: frozenset(map(str, submission.SETTLED)),
}

_LANDED = str(submission.SubmissionState.LANDED)

_Record = TypeVar("_Record", TaskRecord, Submission)


@dataclass(frozen=True, slots=True)
class Overview:
    """What is open, and the newest of what is settled."""

    pid: int | None  # of the daemon; None: none runs
    working: bool  # whether a daemon, or a `land` without one, holds the lock
    target: str  # full ref
    commit: str  # that the target is at
    moved: str  # UTC; when that commit was made
    paused: str | None  # why nothing can land
    findings: tuple[Finding, ...]  # of the audit
    push: Lag | None  # None: there is no remote to push to
    files: dict[str, TaskFile]  # the open tasks' files by id
    tasks: dict[str, TaskRecord]  # by id
    submissions: dict[str, Submission]  # by id
    refused: tuple[Refusal, ...]
    written: dict[str, int]  # unix time of the newest record, by its ref
    left_out: int  # settled records that are not here
    lineup: Lineup | None = None  # the daemon's word; None: it gives none
    code: str | None = None  # commit that the daemon's own code is of
    swap: str | None = None  # why it does not run newer code
    unacknowledged: int = 0  # outcomes in the inbox, of the newest few hundred
    proposals: int = 0  # of the memory's review that wait for a person


def overview(repo: Repository, *, everything: bool = False) -> Overview:
    """Read what is to be shown; ``everything``: all settled records too.

    Raises:
        UserError: the repository has no target.
    """
    there = holder(repo.common_dir)
    # First, since it names nothing that the records read later do not have.
    told = lineup.ask_for(repo) if there else None
    rows = [row for prefix in _SETTLED for row in _rows(repo, prefix)]
    with repo.objects(fast=True) as objects:
        target, commit = remembered.target(repo, objects, objects.refs(HEADS))
        named = {
            TASK_RECORDS + entry.name.removesuffix(".md")
            for entry in folder(objects, commit, TASKS)
        }
        shown = rows if everything else list(_shown(rows, named))
        tasks, bad_tasks = _load(objects, shown, TASK_RECORDS, record.load_task)
        submissions, bad_submissions = _load(
            objects, shown, SUBMISSIONS, record.load_submission
        )
        files, bad_files = _files(repo, objects, commit, tasks)
        _, bad_answers = answerfiles.read(objects, commit, tasks.values(), {})
        paused, remote, guard = remembered.paused(repo, objects, target, commit)
        direct = remembered.direct(repo, objects, commit, submissions)
        known = submissions.values()
        past = findings(repo, direct, remembered.rewound(repo, commit, known))
        return Overview(
            pid=there.pid if there else None,
            working=there is not None or held(repo.common_dir),
            target=target,
            commit=commit,
            moved=stamp(datetime.fromtimestamp(objects.commit(commit).time, UTC)),
            paused=_stopped(objects, known, direct if guard == Guard.REFUSE else ())
            or paused,
            findings=past,
            push=lag(repo, objects, remote, commit, known) if remote else None,
            files=files,
            tasks=tasks,
            submissions=submissions,
            refused=(*bad_files, *bad_answers, *bad_tasks, *bad_submissions),
            written={row.ref: row.when for row in shown},
            left_out=len(rows) - len(shown),
            lineup=told,
            code=(there.code or None) if there else None,
            swap=(there.swap or None) if there else None,
            unacknowledged=_unacknowledged(
                objects, rows, tasks, submissions, alarms(past, guard)
            ),
            proposals=_proposals(repo),
        )


def outcomes(repo: Repository, objects: Objects, since: str) -> list[Outcome]:
    """Return what has settled since then (UTC), and what waits for people.

    The newest come first. Some that settled before can be among them; what cannot be
    read is left out.
    """
    rows = [row for prefix in _SETTLED for row in _rows(repo, prefix)]
    past: tuple[Finding, ...] = ()
    guard = ""
    with suppress(UserError):  # no target, so nothing can have come past the lander
        ref, commit = remembered.target(repo, objects, objects.refs(HEADS))
        _, _, guard = remembered.paused(repo, objects, ref, commit)
        past = findings(repo, remembered.direct(repo, objects, commit, {}), {})
    return _outcomes(objects, rows, since, {}, {}, alarms(past, guard), len(rows))


def alarms(past: Iterable[Finding], guard: str) -> list[Alarm]:
    """Return the findings that people have to take note of."""
    return [
        Alarm(each.commit, each.committed, each.subject, each.author)
        for each in past
        if each.kind == DIRECT and guard != Guard.OFF
    ]


def _outcomes(
    objects: Objects,
    rows: list["_Row"],
    since: str,
    tasks: dict[str, TaskRecord],
    submissions: dict[str, Submission],
    past: Iterable[Alarm],
    limit: int,
) -> list[Outcome]:
    """As `outcomes`; ``tasks`` and ``submissions`` were read already.

    Of the others only the newest are read, up to ``limit``, and all tasks that are
    open: any of them can be one that asks.
    """
    after = datetime.fromisoformat(since).timestamp() - _JUMP_S
    known = {TASK_RECORDS + each for each in tasks}
    known |= {SUBMISSIONS + each for each in submissions}
    others = [row for row in rows if row.ref not in known]
    more = [row for row in others if row.settled and row.when >= after]
    more = sorted(more, key=lambda row: row.when, reverse=True)[:limit]
    more += [row for row in others if not row.settled]
    tasks_too, _ = _load(objects, more, TASK_RECORDS, record.load_task)
    more = [row for row in more if row.settled]
    submissions_too, _ = _load(objects, more, SUBMISSIONS, record.load_submission)
    return inbox.outcomes(
        [*tasks.values(), *tasks_too.values()],
        [*submissions.values(), *submissions_too.values()],
        past,
    )


def read_inbox(objects: Objects) -> Inbox:
    """Return what was acknowledged; nothing yet: it begins a day ago.

    Raises:
        UserError: its record cannot be read.
    """
    oid = objects.ref(INBOX)
    if oid is None:
        return inbox.begun(stamp())
    return record.load_inbox(records.read(objects, oid), oid)


def _unacknowledged(
    objects: Objects,
    rows: list["_Row"],
    tasks: dict[str, TaskRecord],
    submissions: dict[str, Submission],
    past: Iterable[Alarm],
) -> int:
    try:
        box = read_inbox(objects)
    except (GitError, UserError):  # `gitagent inbox` says why
        return 0
    found = _outcomes(objects, rows, box.until, tasks, submissions, past, _COUNTED)
    return len(inbox.owed(box, found))


def _proposals(repo: Repository) -> int:
    """Return how many wait; whose word counts is not asked, to be fast."""
    done = repo.git.run("for-each-ref", "--format=%(contents:subject)", PROPOSALS)
    return sum(row.startswith(f"{Stand.WAITING}:") for row in done.text.splitlines())


def _stopped(
    objects: Objects, known: Iterable[Submission], refused: tuple[str, ...]
) -> str | None:
    """Return why nothing lands although the settings let it; None: it does."""
    turned = switch.read(objects, objects.refs(QUEUE))
    if said := stopped(turned) or frozen(refused, turned):
        return said
    reasons = (each.reason or "" for each in known if not each.settled)
    red = next((text for text in reasons if text.startswith(RED_TARGET)), None)
    return red and red.partition(REPAIR)[0] + REPAIR


def open_submissions(repo: Repository, objects: Objects) -> list[Submission]:
    """Return those that are not settled, in the order in which they may land."""
    rows = [row for row in _rows(repo, SUBMISSIONS) if not row.settled]
    found, _ = _load(objects, rows, SUBMISSIONS, record.load_submission)
    return submission.in_order(found.values())


def newest_landed(repo: Repository, objects: Objects) -> list[Submission]:
    """Return the newest that have landed, some more than anything looks back on."""
    rows = [row for row in _rows(repo, SUBMISSIONS) if row.state == _LANDED]
    rows.sort(key=lambda row: row.when, reverse=True)
    found, _ = _load(objects, rows[:SETTLED_SHOWN], SUBMISSIONS, record.load_submission)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Row:
    ref: str
    oid: str
    when: int  # unix time of the newest record
    settled: bool  # False: perhaps not
    state: str  # if it is settled


def _rows(repo: Repository, prefix: str) -> Iterator[_Row]:
    for line in repo.git.run("for-each-ref", _FORM, prefix).text.splitlines():
        oid, ref, when, subject = [*line.split(" ", 3), "", ""][:4]
        if when.isdigit():
            word = subject.partition(" ")[0].rstrip(":")
            yield _Row(ref, oid, int(when), word in _SETTLED[prefix], word)


def _shown(rows: list[_Row], named: set[str]) -> Iterator[_Row]:
    """Yield the open ones and the ``named``, and of each kind the newest settled."""
    yield from (row for row in rows if not row.settled or row.ref in named)
    for prefix in _SETTLED:
        settled = [
            row
            for row in rows
            if row.settled and row.ref.startswith(prefix) and row.ref not in named
        ]
        settled.sort(key=lambda row: row.when, reverse=True)
        yield from settled[:SETTLED_SHOWN]


def _load(
    objects: Objects, rows: list[_Row], prefix: str, load: Callable[[bytes], _Record]
) -> tuple[dict[str, _Record], list[Refusal]]:
    tips = {row.ref: row.oid for row in rows if row.ref.startswith(prefix)}
    found: dict[str, _Record] = {}
    refused = []
    for ref, content in records.read_all(objects, tips).items():
        try:
            if isinstance(content, UserError):
                raise content
            each = replace(load(content), oid=tips[ref])
        except UserError as error:
            refused.append(Refusal(ref, error.line()))
        else:
            found[each.id] = each
    return found, refused


def _files(
    repo: Repository, objects: Objects, commit: str, known: dict[str, TaskRecord]
) -> tuple[dict[str, TaskFile], list[Refusal]]:
    """Return the open tasks by id, and the files of tasks and agents that are none.

    A file that has a record has been read by the daemon, and is not read again.
    """
    found: dict[str, TaskFile] = {}
    refused = []
    for entry in folder(objects, commit, TASKS):
        stem = entry.name.removesuffix(".md")
        record_of = known.get(stem)
        if entry.name in {"done", "answers"}:
            continue
        if record_of is not None and record_of.blob == entry.oid:
            found[stem] = TaskFile(stem, entry.oid, record_of.title or stem, "")
            continue
        each = _parse(objects, stem, entry)
        if isinstance(each, Refusal):
            refused.append(each)
        else:
            found[stem] = each
    return found, [*refused, *_refused_agents(repo, objects, commit)]


def _refused_agents(repo: Repository, objects: Objects, commit: str) -> list[Refusal]:
    there = (
        e.name for top in (AGENTS, CLAUDE_AGENTS) for e in folder(objects, commit, top)
    )
    if {*there} <= {"README.md"} and not place.own_agents().is_dir():
        return []
    from gitagent.daemon.definitions import Definitions  # noqa: PLC0415 - as below

    return Definitions(repo).at(objects, commit)[1]


def _parse(objects: Objects, stem: str, entry: Entry) -> TaskFile | Refusal:
    path = TASKS + entry.name
    if refusal := unreadable(objects, path, entry):
        return refusal
    # The readers are not loaded for a status in which everything is known already.
    from gitagent.files import taskfile  # noqa: PLC0415

    return taskfile.parse(stem, entry.oid, objects.blob(entry.oid), path)
