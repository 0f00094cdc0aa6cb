"""What one operation makes of the items: two that exclude each other, one that goes.

A draft is the items as they are to be, while operations are carried out on it one after
another; what was changed becomes files when all of them are through.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from gitagent.core.ident import id_problem
from gitagent.core.memory import COUNTS, Item, Status, says
from gitagent.core.remembering import Op, Operation, Ruled
from gitagent.files import memoryfile

_OTHERS: Final = 100  # names that are tried for one that says otherwise


@dataclass(slots=True)
class Draft:
    """Items by slug, and which of them were changed."""

    items: dict[str, Item]
    store: Callable[[Item], str]  # writes an item's file; returns its blob
    strays: frozenset[str] = frozenset()  # slugs of files that are no items
    changed: dict[str, Item | None] = field(default_factory=dict)  # None: taken away

    @property
    def count(self) -> int:
        """How many items count against the limit."""
        return sum(item.status in COUNTS for item in self.items.values())

    def copy(self) -> "Draft":
        """Return a draft of which no change shows in this one."""
        return Draft(dict(self.items), self.store, self.strays, dict(self.changed))


def carry_out(draft: Draft, ruled: Ruled, item: Item | None, now: str) -> Ruled:
    """Carry out an operation that was admitted, wholly or not at all.

    ``item`` is what it says, of one that adds or updates. Returns what became of it.
    """
    trial = draft.copy()
    found = _Work(trial, ruled.operation, now).done(item)
    was = draft.changed
    new = {s: each for s, each in trial.changed.items() if each != was.get(s)}
    if not isinstance(found, str):
        found = _wrong(new) or found
    if isinstance(found, str):
        return replace(ruled, admitted=False, reason=found, blob="")
    for slug, each in new.items():
        if each is not None:
            trial.items[slug] = replace(each, blob=trial.store(each))
            trial.changed[slug] = trial.items[slug]
    draft.items, draft.changed, draft.strays = trial.items, trial.changed, trial.strays
    slug, note = found
    kept = draft.items.get(slug)
    return replace(
        ruled,
        slug=slug,
        blob="" if kept is None else kept.blob,
        reason=" ".join(part for part in (ruled.reason, note) if part),
    )


def _wrong(new: Mapping[str, Item | None]) -> str:
    """Return why some items could be no files, in sentences; "" if all can."""
    return " ".join(
        f"{slug}: {' '.join(wrong)}"
        for slug, each in new.items()
        if each is not None and (wrong := memoryfile.problems(each))
    )


@dataclass(frozen=True, slots=True)
class _Work:
    """One operation on a draft."""

    draft: Draft
    operation: Operation
    now: str

    def done(self, item: Item | None) -> tuple[str, str] | str:
        """Return (slug, what else became of it), or why it cannot be done."""
        match self.operation.op:
            case Op.ADD:
                return self._add(item) if item else "It says nothing."
            case Op.UPDATE:
                return self._update(item) if item else "It says nothing."
            case Op.WITHDRAW:
                return self._withdraw()
            case Op.DISPUTE:
                return self._dispute()
            case Op.DECIDE:
                return self._decide()

    def _add(self, item: Item) -> tuple[str, str] | str:
        slug = item.slug
        known = self.draft.items.get(slug)
        if known is None:
            self._put(item)
            return self._supersede(item) or (slug, "")
        if known.status not in COUNTS:
            self._put(item)
            return self._supersede(item) or (slug, f"It was {known.status} before.")
        if says(known) == says(item):
            mend = ""
            if {x.quote for x in known.sources} != {x.quote for x in item.sources}:
                how = "add it under another name that supersedes"
                mend = f" To cite something else, {how} {slug}."
            return f"{slug} says that already, word for word.{mend}"
        name = self._free(slug)
        if problem := id_problem(name):
            return (
                f"{slug} says otherwise, and {name} cannot stand beside it: {problem}."
            )
        self._put(replace(item, slug=name))
        self._clash(name, slug, self.operation.because)
        note = f"{slug} says otherwise: this is {name}, and both are disputed"
        problem = self._supersede(self.draft.items[name])
        return problem or (name, f"{note} until somebody decides.")

    def _update(self, item: Item) -> tuple[str, str] | str:
        known = self.draft.items.get(item.slug)
        if known is None or known.status not in COUNTS:
            return f"There is no item {item.slug} that counts."
        if item == replace(known, updated=item.updated, work=item.work):
            return f"{item.slug} says that already, word for word."
        self._put(
            replace(
                item,
                status=known.status,
                disputes=known.disputes,
                because=known.because,
            )
        )
        return self._supersede(item) or (item.slug, "")

    def _withdraw(self) -> tuple[str, str] | str:
        slug, because = self.operation.slug, self.operation.because
        if slug in self.draft.strays and slug not in self.draft.items:
            self.draft.strays -= {slug}
            self.draft.changed[slug] = None
            return slug, "Its file, which was no item, is taken away."
        known = self.draft.items.get(slug)
        if known is None:
            return f"There is no item {slug}."
        if known.status is Status.WITHDRAWN:
            return slug, "It was withdrawn already."
        self._end(known, Status.WITHDRAWN, because)
        self._settle()
        return slug, ""

    def _dispute(self) -> tuple[str, str] | str:
        slug, against = self.operation.slug, self.operation.against
        if slug == against:
            return f"{slug} cannot exclude itself."
        for name in (slug, against):
            item = self.draft.items.get(name)
            if item is None or item.status not in COUNTS:
                return f"There is no item {name} that counts."
        if against in self.draft.items[slug].disputes:
            return slug, "They are disputed already."
        self._clash(slug, against, self.operation.because)
        return slug, ""

    def _decide(self) -> tuple[str, str] | str:
        slug, against = self.operation.slug, self.operation.against
        stays, goes = self.draft.items.get(slug), self.draft.items.get(against)
        if (
            stays is None
            or goes is None
            or against not in stays.disputes
            or not {stays.status, goes.status} <= COUNTS
        ):
            return f"{slug} and {against} are not in dispute."
        self._end(goes, Status.WITHDRAWN, self.operation.because)
        self._settle()
        return slug, f"{against} is withdrawn."

    def _supersede(self, item: Item) -> str:
        """End what an item stands in the place of; return why that cannot be, or ""."""
        for slug in item.supersedes:
            known = self.draft.items.get(slug)
            if known is None:
                return f"There is no item {slug} that it could supersede."
            if known.status in COUNTS:
                self._end(known, Status.SUPERSEDED, self.operation.because)
        self._settle()
        return ""

    def _clash(self, one: str, other: str, because: str) -> None:
        for name, against in ((one, other), (other, one)):
            item = self.draft.items[name]
            self._put(
                replace(
                    item,
                    status=Status.DISPUTED,
                    disputes=(*item.disputes, against),
                    because=because or item.because,
                )
            )

    def _end(self, item: Item, status: Status, because: str) -> None:
        """Let an item count no more; one that is withdrawn keeps its line alone."""
        ended = replace(item, status=status, because=because, updated=self.now)
        if status is Status.WITHDRAWN:
            ended = replace(ended, body="", verify="")
        self._put(ended)

    def _settle(self) -> None:
        """End the disputes of which one side does not count any more."""
        counts = {s for s, item in self.draft.items.items() if item.status in COUNTS}
        for item in tuple(self.draft.items.values()):
            left = tuple(slug for slug in item.disputes if slug in counts)
            if item.status is not Status.DISPUTED or left == item.disputes:
                continue
            over = Status.DISPUTED if left else Status.ACTIVE
            because = item.because if left else ""
            self._put(replace(item, status=over, disputes=left, because=because))

    def _free(self, slug: str) -> str:
        """Return the first name like this one under which nothing lies."""
        for number in range(2, _OTHERS):
            name = f"{slug}-{number}"
            if name not in self.draft.items and name not in self.draft.strays:
                return name
        return f"{slug}-{_OTHERS}"

    def _put(self, item: Item) -> None:
        self.draft.items[item.slug] = self.draft.changed[item.slug] = item
