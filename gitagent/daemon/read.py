"""One read of the repository: everything that a decision may be based on.

What is addressed by its content is remembered between reads, so a read costs what
has changed since the last one. Used by the daemon, and by commands without one.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from gitagent.core.glob import matching
from gitagent.core.layout import (
    CONVERSATIONS,
    EXCHANGES,
    SUBMISSIONS,
    TASK_RECORDS,
    TASKS,
)
from gitagent.core.receipt import Receipt
from gitagent.core.settings import Settings
from gitagent.core.snapshot import Live, Machine, Offer, Snapshot, Target
from gitagent.core.submission import Submission
from gitagent.core.task import Refusal, TaskFile, TaskRecord
from gitagent.daemon import answerfiles
from gitagent.daemon.committed import unreadable
from gitagent.daemon.definitions import Definitions
from gitagent.daemon.target import SettingsInForce, require_target
from gitagent.daemon.tended import Facts
from gitagent.errors import UserError
from gitagent.files import record, taskfile
from gitagent.git import records
from gitagent.git.objects import TREE, Entry, Objects
from gitagent.git.repository import Repository
from gitagent.git.tree import folder
from gitagent.lander import approval, receipts, switch
from gitagent.lander.audit import Audit

REMEMBERED = 50_000  # entries of one book; some 10 MB
OWN_COMMITS = 1000  # of a tip, in which those of others are looked for

_Record = TypeVar("_Record", TaskRecord, Submission)


class Reader:
    """Reads snapshots of one repository."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._settings = SettingsInForce()
        self._audit = Audit(repo)
        self._definitions = Definitions(repo)
        self._files: dict[tuple[str, str], TaskFile | Refusal] = {}
        self._tasks_by_oid: dict[str, TaskRecord | Refusal] = {}
        self._submissions_by_oid: dict[str, Submission | Refusal] = {}
        self._ancestors: dict[tuple[str, str], bool] = {}
        self._authors: dict[str, str | None] = {}
        self._own: dict[str, frozenset[str]] = {}  # by tip
        self._memo = receipts.Memo()
        self._answers: answerfiles.Memo = {}
        self._memory = Facts(self._settings)

    def read(
        self,
        objects: Objects,
        live: Live | None = None,
        machine: Callable[[Settings | None], Machine] | None = None,
        *,
        audit: bool = True,
    ) -> Snapshot:
        """Return a snapshot of the repository as it is now.

        A file or record that cannot be read is refused alone. Raises UserError when
        no branch holds settings.
        """
        live = live or Live()
        refs = objects.refs()
        self._forget()
        ref = require_target(objects, refs)
        commit = refs[ref]
        settings, config, problem = self._settings.at(objects, commit)
        tasks, finished, refused = self._tasks(objects, commit)
        agents, odd_agents = self._definitions.at(objects, commit)
        task_records, bad_tasks = self._load(
            objects, refs, TASK_RECORDS, record.load_task, self._tasks_by_oid
        )
        submissions, bad_submissions = self._load(
            objects, refs, SUBMISSIONS, record.load_submission, self._submissions_by_oid
        )
        answers, bad_answers = answerfiles.read(
            objects, commit, task_records.values(), self._answers
        )
        memory, bad_memory = self._memory.read(objects, refs, submissions)
        direct = self._audit.direct(objects, commit, submissions) if audit else ()
        return Snapshot(
            target=Target(
                ref, commit, objects.commit(commit).tree, config, problem, direct
            ),
            settings=settings,
            tasks=_without(tasks, bad_tasks),
            refused=(
                *refused,
                *bad_answers,
                *odd_agents,
                *bad_tasks,
                *bad_submissions,
                *bad_memory,
            ),
            finished=finished,
            answer_files=answers,
            agents=agents,
            records=task_records,
            submissions=submissions,
            ahead=self._ahead(objects, refs, task_records, commit),
            offers=self._offers(objects, refs, settings),
            below=self._below(objects, submissions, commit),
            landed=frozenset(
                s.id
                for s in submissions.values()
                if not s.settled
                and s.commit
                and self._ancestor(objects, s.commit, commit)
            ),
            receipts=self._receipts(objects, live, refs),
            approvals=approval.read_all(self._repo, objects, refs, settings, commit),
            exchanges=_named(refs, EXCHANGES),
            conversations=_named(refs, CONVERSATIONS),
            switch=switch.read(objects, refs),
            memory=memory,
            live=live,
            machine=machine(settings) if machine else Machine(),
        )

    def _forget(self) -> None:
        """Start a book anew that a long life has filled; it costs one slow read."""
        books: tuple[dict[Any, Any], ...] = (
            self._files,
            self._answers,
            self._tasks_by_oid,
            self._submissions_by_oid,
            self._ancestors,
            self._authors,
            self._own,
        )
        for book in books:
            if len(book) > REMEMBERED:
                book.clear()

    def _tasks(
        self, objects: Objects, commit: str
    ) -> tuple[dict[str, TaskFile], frozenset[str], list[Refusal]]:
        tasks: dict[str, TaskFile] = {}
        refused: list[Refusal] = []
        finished: frozenset[str] = frozenset()
        for entry in folder(objects, commit, TASKS):
            if entry.name == "answers" and entry.mode == TREE:
                continue
            if entry.name == "done" and entry.mode == TREE:
                names = (done.name for done in objects.tree(entry.oid))
                finished = frozenset(n[:-3] for n in names if n.endswith(".md"))
                continue
            found = self._file(objects, entry)
            if isinstance(found, Refusal):
                refused.append(found)
            else:
                tasks[found.id] = found
        return tasks, finished, refused

    def _file(self, objects: Objects, entry: Entry) -> TaskFile | Refusal:
        path = TASKS + entry.name
        key = (path, entry.oid)
        if key not in self._files:
            stem = entry.name.removesuffix(".md")
            self._files[key] = unreadable(objects, path, entry) or taskfile.parse(
                stem, entry.oid, objects.blob(entry.oid), path
            )
        return self._files[key]

    def _load(
        self,
        objects: Objects,
        refs: Mapping[str, str],
        prefix: str,
        load: Callable[[bytes], _Record],
        known: dict[str, _Record | Refusal],
    ) -> tuple[dict[str, _Record], list[Refusal]]:
        """Return the records under a prefix by id, and those that cannot be read."""
        tips = {ref: oid for ref, oid in refs.items() if ref.startswith(prefix)}
        new = {ref: oid for ref, oid in tips.items() if oid not in known}
        for ref, data in records.read_all(objects, new).items():
            oid = tips[ref]
            try:
                if isinstance(data, UserError):
                    raise data
                known[oid] = replace(load(data), oid=oid)
            except UserError as error:
                known[oid] = Refusal(ref, error.line())
        loaded = {ref: known[oid] for ref, oid in tips.items()}
        return (
            {r.id: r for r in loaded.values() if not isinstance(r, Refusal)},
            [r for r in loaded.values() if isinstance(r, Refusal)],
        )

    def _ahead(
        self,
        objects: Objects,
        refs: Mapping[str, str],
        task_records: Mapping[str, TaskRecord],
        target: str,
    ) -> dict[str, str]:
        """Return the work of each open task that the target does not have yet."""
        ahead = {}
        for rec in task_records.values():
            tip = refs.get(rec.branch or "") or rec.tip
            if tip and not (rec.settled and rec.state == "landed"):
                known = (tip, target) in self._ancestors
                if (known or objects.kind(tip) == "commit") and not self._ancestor(
                    objects, tip, target
                ):
                    ahead[rec.id] = tip
        return ahead

    def _below(
        self, objects: Objects, submissions: Mapping[str, Submission], target: str
    ) -> dict[str, tuple[str, ...]]:
        """Return what each open submission stands on, as far as it is in the queue."""
        waiting = [each for each in submissions.values() if not each.settled]
        by_tip: dict[str, list[str]] = {}
        for each in waiting:
            by_tip.setdefault(each.tip, []).append(each.id)
        found = {}
        for upper in waiting:
            own = self._own_commits(objects, upper.tip, target)
            lower = [name for tip in own & by_tip.keys() for name in by_tip[tip]]
            lower += [
                name
                for name in upper.needs
                if name in submissions and submissions[name].tip in own
            ]
            under = tuple(
                name
                for name in dict.fromkeys(sorted(lower))
                if submissions[name].tip != upper.tip
                and not self._ancestor(objects, submissions[name].tip, target)
            )
            if under:
                found[upper.id] = under
        return found

    def _own_commits(self, objects: Objects, tip: str, target: str) -> frozenset[str]:
        """Return what a tip brought beyond the target when it was first seen."""
        if tip not in self._own:
            self._own[tip] = objects.beyond(target, tip, OWN_COMMITS)
        return self._own[tip]

    def _offers(
        self, objects: Objects, refs: Mapping[str, str], settings: Settings | None
    ) -> tuple[Offer, ...]:
        globs = settings.lander.submit if settings else ()
        found = []
        for ref in matching(globs, sorted(refs)):
            tip = refs[ref]
            if tip not in self._authors:
                is_commit = objects.kind(tip) == "commit"
                self._authors[tip] = (
                    objects.commit(tip).author.ident if is_commit else None
                )
            author = self._authors[tip]
            if author is not None:
                found.append(Offer(ref, tip, author))
        return tuple(found)

    def _receipts(
        self, objects: Objects, live: Live, refs: Mapping[str, str]
    ) -> dict[str, tuple[Receipt, ...]]:
        products = {c.product for c in live.candidates.values() if c.product}
        return receipts.of_products(objects, sorted(products), refs, self._memo)

    def _ancestor(self, objects: Objects, older: str, newer: str) -> bool:
        key = (older, newer)
        if key not in self._ancestors:
            self._ancestors[key] = objects.ancestor(older, newer)
        return self._ancestors[key]


def _named(refs: Mapping[str, str], top: str) -> dict[str, str]:
    """Return the refs below one by the rest of their names."""
    return {
        ref.removeprefix(top): oid for ref, oid in refs.items() if ref.startswith(top)
    }


def _without(
    tasks: Mapping[str, TaskFile], unreadable: list[Refusal]
) -> dict[str, TaskFile]:
    """Leave out tasks whose record cannot be read: they would seem never started."""
    gone = {refusal.path.removeprefix(TASK_RECORDS) for refusal in unreadable}
    return {task.id: task for task in tasks.values() if task.id not in gone}
