"""The one writer of the memory.

Operations are examined and ruled on; what is admitted becomes one commit that changes
nothing but ``.agent/memory``. The ruling is recorded before that commit goes anywhere,
so a crash leaves at most a ruling whose commit never came to the target, and counts
for nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gitagent.core.ident import submission_id
from gitagent.core.layout import CHAPTERS
from gitagent.core.remembering import Filed, Op, Operation, Ruled, Ruling
from gitagent.errors import Busy, LostRace, UserError
from gitagent.files import memoryfile
from gitagent.files.message import record_message
from gitagent.git.advance import Blocked, advance, look
from gitagent.git.objects import BLOB, Objects
from gitagent.git.repository import Repository
from gitagent.git.rulings import append
from gitagent.git.text import Person, person
from gitagent.git.tree import edit
from gitagent.host import clock
from gitagent.host.failpoint import failpoint
from gitagent.memory.draft import Draft, carry_out
from gitagent.memory.evidence import Verify, examine
from gitagent.memory.log import FETCH, elsewhere
from gitagent.memory.shelf import Shelf, Shelves

_TRIES: Final = 100  # commits of others on the target that may come first
_PATIENCE_S: Final = 5.0  # with a lock that others hold
_PAUSE_S: Final = 0.1
_KIND: Final = "memory"
_WORDS: Final = {
    Op.ADD: "Add",
    Op.UPDATE: "Update",
    Op.WITHDRAW: "Withdraw",
    Op.DISPUTE: "Dispute",
    Op.DECIDE: "Decide",
}

_Edits = dict[str, tuple[int, str] | None]


@dataclass(frozen=True, slots=True)
class Origin:
    """Who asks, and of which work."""

    by: Person
    task: str = ""  # whose attempt proposed it; "": a person's command
    attempt: int = 0
    failed: str = ""  # why that work has not passed its verdict; "": it has
    strict: bool = False  # refuse a line that its quotes do not support


def execute(
    repo: Repository,
    objects: Objects,
    shelves: Shelves,
    target_ref: str,
    operations: Sequence[Operation],
    origin: Origin,
    *,
    limit: int,
    verify: Verify | None = None,
    submit: bool = False,
    dropped: Sequence[Ruled] = (),
) -> Ruling:
    """Rule on operations, in order, and make what is admitted.

    What a person asks for and does not get is not recorded: they have the answer.
    Each is made whole or not at all. If more than ``limit`` items would count in the
    end, the last ones that add to them are refused. With ``submit`` the commit is only
    made, for the lander: ``ruling.submission`` is `ident.submission_id` of it. Else
    the target is at it. What was ``dropped`` before stands first in the ruling.

    Raises:
        UserError: there is no target, or something of a person's is in the way:
            nothing was changed.
        Busy, LostRace: others are at work on the target all the time.
    """
    writer = _Writer(repo, objects, target_ref, origin, submit=submit)

    def make(old: str) -> _Made:
        shelf = shelves.at(objects, old)
        session = _Session(writer, shelf, limit, verify)
        ruled, draft = session.ruled(operations)
        edits: _Edits = {
            memoryfile.path_of(slug): None if item is None else (BLOB, item.blob)
            for slug, item in draft.changed.items()
        }
        what = _subject(each for each in ruled if each.admitted)
        refused = any(not each.admitted for each in ruled)
        return _Made(edits, (*dropped, *ruled), what, refused)

    return writer.write(make)


def keep(
    repo: Repository,
    objects: Objects,
    target_ref: str,
    files: Mapping[str, bytes | None],
    by: Person,
    what: str,
) -> Ruling:
    """Put files below ``.agent/memory/chapters/`` onto the target, or take them away.

    ``files`` are by path. ``what`` is the commit's subject. Raises as `execute`.
    """
    for path in files:
        if not path.startswith(CHAPTERS):
            raise ValueError(path)
    edits: _Edits = {
        path: None if data is None else (BLOB, objects.write_blob(data))
        for path, data in files.items()
    }
    writer = _Writer(repo, objects, target_ref, Origin(by), submit=False)
    return writer.write(lambda _: _Made(edits, (), what))


@dataclass(frozen=True, slots=True)
class _Made:
    """What is to be written on one commit of the target."""

    edits: _Edits
    ruled: tuple[Ruled, ...]
    what: str  # the commit's subject
    refused: bool = False  # some of what was asked for


_Make = Callable[[str], _Made]  # of the target's commit


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes rulings, and the commits that they make."""

    repo: Repository
    objects: Objects
    ref: str
    origin: Origin
    submit: bool

    def write(self, make: _Make) -> Ruling:
        until = clock.monotonic() + _PATIENCE_S
        at, what, ruling = "", "", None
        for _ in range(_TRIES):
            old = self._target()
            if ruling is None or at != old:
                made = make(old)
                if made.refused and self.objects.ref(self.ref) != old:
                    continue  # a name such as "main" meant a later commit by then
                at, what, ruling = old, made.what, self._ruling(old, made)
            if not ruling.commit and not self.origin.task:
                return ruling
            if self.submit or not ruling.commit:
                return append(self.repo, self.objects, ruling)
            try:
                ruling = self._record(old, ruling)
                return self._land(old, ruling, what)
            except LostRace:
                continue
            except Busy:
                # Most often the daemon lands something just then.
                if clock.monotonic() > until:
                    raise
                clock.sleep(_PAUSE_S)
        raise LostRace(f"{self.ref} moves all the time")

    def _target(self) -> str:
        """Return the target's commit. Raises UserError if none can be written on."""
        old = self.objects.ref(self.ref)
        if old is None:
            raise UserError(f"{self.ref} has no commits yet", "make a first commit")
        # A second log could never be joined to the first, and without that one every
        # item looks as if nobody had admitted it.
        if elsewhere(self.repo, self.objects, old):
            raise UserError("the memory's log is not in this clone", FETCH)
        return old

    def _ruling(self, old: str, made: _Made) -> Ruling:
        """Return the ruling with the commit that it makes on ``old``; not recorded."""
        origin, now = self.origin, clock.now()
        stamp = clock.stamp(now)
        ruling = Ruling(stamp, origin.by.ident, origin.task, origin.attempt, made.ruled)
        before = self.objects.commit(old).tree
        tree = edit(self.objects, before, made.edits) if made.edits else before
        if tree == before:
            return ruling
        who = person(origin.by.ident, now)
        message = record_message(made.what, _KIND)
        commit = self.objects.write_commit(tree, (old,), message, who, who)
        files = tuple(
            Filed(memoryfile.name_of(path), "" if leaf is None else leaf[1])
            for path, leaf in made.edits.items()
        )
        submission = submission_id(commit) if self.submit else ""
        return replace(ruling, commit=commit, files=files, submission=submission)

    def _record(self, old: str, ruling: Ruling) -> Ruling:
        """Record a ruling once, if nothing is in the way. Raises as `execute`."""
        if ruling.oid:
            return ruling
        if blocked := look(self.repo, self.ref, ruling.commit):
            raise UserError(blocked.reason.rstrip("."))
        if self.objects.ref(self.ref) != old:
            raise LostRace(f"{self.ref} was moved meanwhile")
        ruling = append(self.repo, self.objects, ruling)
        failpoint("memory-recorded")
        return ruling

    def _land(self, old: str, ruling: Ruling, what: str) -> Ruling:
        """Move the target to a ruling's commit. Raises as `execute`."""
        result = advance(self.repo, self.ref, old, ruling.commit, f"gitagent: {what}")
        if isinstance(result, Blocked):
            raise UserError(result.reason.rstrip("."))
        return ruling


@dataclass(frozen=True, slots=True)
class _Session:
    """Operations on the memory of one commit of the target."""

    writer: _Writer
    shelf: Shelf
    limit: int
    verify: Verify | None

    def ruled(self, operations: Sequence[Operation]) -> tuple[tuple[Ruled, ...], Draft]:
        """Rule on operations, the limit included; the draft has what they change."""
        most = max(self.limit, self.shelf.count)
        full: dict[int, int] = {}  # by number: how many would count with it
        while True:
            done, adding, draft = self._pass(operations, full)
            if draft.count <= most or not adding:
                return tuple(done), draft
            full[adding[-1]] = draft.count

    def _pass(
        self, operations: Sequence[Operation], full: Mapping[int, int]
    ) -> tuple[list[Ruled], list[int], Draft]:
        """Return rulings, the numbers of those that add to what counts, and the draft.

        There is no room for those of ``full``.
        """
        draft = Draft(
            dict(self.shelf.items),
            lambda item: self.writer.objects.write_blob(memoryfile.dump(item)),
            frozenset(self._strays()),
        )
        now = clock.stamp()
        done, adding = [], []
        for number, operation in enumerate(operations):
            if number in full:
                said = f"With it {full[number]} items would count, and {self.limit}"
                over = full[number] - self.limit
                few = "one" if over == 1 else str(over)
                why = f"{said} are the most; withdraw {few} first."
                done.append(Ruled(operation, admitted=False, reason=why))
                continue
            before = draft.count
            done.append(self._one(draft, operation, now))
            if draft.count > before:
                adding.append(number)
        return done, adding, draft

    def _one(self, draft: Draft, operation: Operation, now: str) -> Ruled:
        origin = self.writer.origin
        if operation.op is Op.WITHDRAW and operation.slug in draft.strays:
            asked = Ruled(operation, admitted=not origin.task, reason="")
            refused = replace(asked, reason=f"There is no item {operation.slug}.")
            return carry_out(draft, asked, None, now) if asked.admitted else refused
        found = examine(
            self.writer.repo,
            self.writer.objects,
            self.shelf.commit,
            draft,
            operation,
            now=now,
            verify=self.verify,
            strict=origin.strict,
            work=origin.task,
            failed=origin.failed,
        )
        ruled = replace(found.ruled, warning=found.warning)
        return carry_out(draft, ruled, found.item, now) if ruled.admitted else ruled

    def _strays(self) -> Iterable[str]:
        for refusal in self.shelf.refused:
            slug = memoryfile.slug_of(refusal.path)
            if slug is not None:
                yield slug


def _subject(admitted: Iterable[Ruled]) -> str:
    """Say in a few words what was done, and below it all of it."""
    rows = [f"{_WORDS[each.operation.op]} {_about(each)}" for each in admitted]
    if len(rows) < 2:
        return rows[0] if rows else "Change nothing"
    return "\n".join([f"{len(rows)} changes of the memory", "", *rows])


def _about(ruled: Ruled) -> str:
    operation = ruled.operation
    slug = ruled.slug or operation.slug
    because = f": {operation.because}" if operation.because else ""
    match operation.op:
        case Op.ADD | Op.UPDATE:
            return f"{slug}: {operation.line}" if operation.line else slug
        case Op.DISPUTE | Op.DECIDE:
            return f"{slug} against {operation.against}{because}"
        case Op.WITHDRAW:
            return f"{slug}{because}"
