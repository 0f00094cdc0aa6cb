"""One operation under examination: what speaks against it, in the order it is asked.

What can be mended without Git comes first, what costs a run of a command last.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from gitagent.core import memory
from gitagent.core.memory import COUNTS, From, Item, Kind, Source, Status
from gitagent.core.remembering import Op, Operation, Ruled
from gitagent.core.support import against, support
from gitagent.files import clean
from gitagent.files.fields import nearest
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.memory.sources import Found, look_up

Verify = Callable[[str, str], str]  # (command, tree) -> "" it passed, else why not

_KINDS: Final = frozenset(Kind)
_TWO: Final = frozenset({Op.DISPUTE, Op.DECIDE})  # what two items are named for
_SAYS: Final = frozenset({Op.ADD, Op.UPDATE})  # what says something of its own
_AGAINST: Final = frozenset({Op.WITHDRAW, Op.DISPUTE})  # what speaks against items
# Stands for the sources where only the form is looked at.
_ANY: Final = (Source(From.RECEIPT, "0"),)


@dataclass(slots=True)
class Examination:
    """What is asked, and what was found of it so far."""

    repo: Repository
    objects: Objects
    target: str
    items: Mapping[str, Item]
    asked: Operation
    now: str
    verify: Verify | None
    strict: bool
    work: str
    failed: str  # why that work has not passed its verdict; "": it has
    limit: int
    waits: frozenset[str] = frozenset()  # sources that cannot be looked up yet
    item: Item | None = None  # as it is to be
    found: tuple[Found, ...] = ()
    warning: str = ""

    def ruled(self, reason: str, *, admitted: bool) -> Ruled:
        """Return the ruling, with its reason as a sentence."""
        said = reason[:1].upper() + reason[1:]
        end = "" if said.endswith((".", "?", "!")) else "."
        evidence = tuple(dict.fromkeys(each.oid for each in self.found))
        return Ruled(self.asked, admitted, said + end, evidence)

    def basis(self) -> str:
        """Return what it rests on."""
        if self.found:
            sources = (memory.short(each.source) for each in self.found)
            return f"it rests on {', '.join(sources)}"
        return clean.sentence(self.asked.because, memory.BECAUSE) or "a person says so"

    def unproven(self) -> str:
        """Return why the work that it comes from proves nothing."""
        if not self.failed:
            return ""
        return f"the work that it comes from has not passed: {self.failed}"

    def out_of_place(self) -> str:
        """Return why this cannot be asked of the items as they are."""
        asked, slugs = self.asked, list(self.asked.supersedes)
        if asked.op is not Op.ADD:
            slugs.append(asked.slug)
        if asked.op in _TWO:
            slugs.append(asked.against)
        for slug in slugs:
            if why := self._not_in_force(slug):
                return why
        item = self.items.get(asked.slug)
        if item is not None and asked.of and asked.of != item.blob:
            return f"{item.slug} says something else by now: it is {item.blob[:12]}"
        if item is not None and asked.op in _TWO:
            return self._between(item, self.items[asked.against])
        return ""

    def _not_in_force(self, slug: str) -> str:
        shown, item = clean.sentence(slug, 80), self.items.get(slug)
        if item is None:
            near = nearest(slug, self.items)
            mend = f"did you mean {near}?" if near else "see: gitagent memory list"
            return f'there is no item "{shown}"; {mend}'
        if item.status in COUNTS:
            return ""
        return f"{shown} is {item.status} already{_why(item)}"

    def _between(self, item: Item, other: Item) -> str:
        both = f"{item.slug} and {other.slug}"
        disputed = other.slug in item.disputes or item.slug in other.disputes
        if item.slug == other.slug:
            return f"{item.slug} cannot dispute itself"
        if self.asked.op is Op.DISPUTE:
            return f"{both} dispute each other already" if disputed else ""
        if not disputed:
            return f"{both} do not dispute each other"
        if self.strict:
            return "which of two items stays is for a person to decide"
        if not self.asked.because.strip():
            return f"it does not say why {other.slug} goes"
        return ""

    def misshapen(self) -> str:
        """Return what is wrong with how it is said; keep the item that it would be."""
        asked = self.asked
        if asked.kind not in _KINDS and (asked.kind or asked.op is Op.ADD):
            what = clean.sentence(asked.kind, 40)
            return f'there is no kind "{what}"; there are {", ".join(Kind)}'
        if asked.op in _TWO:
            return ""
        if asked.op is Op.WITHDRAW and not asked.because.strip():
            return f"it does not say why {asked.slug} goes"
        if asked.op is Op.ADD:
            self.item = self._added()
        else:
            self.item = self._changed(self.items[asked.slug])
        return " ".join(memory.problems(replace(self.item, sources=_ANY)))

    def _added(self) -> Item:
        asked = self.asked
        return Item(
            slug=asked.slug,
            kind=Kind(asked.kind),
            line=asked.line,
            updated=self.now,
            supersedes=asked.supersedes,
            verify=asked.verify,
            work=self.work,
            body=asked.body,
        )

    def _changed(self, old: Item) -> Item:
        asked = self.asked
        made = replace(old, updated=self.now, blob="")
        if asked.op is Op.WITHDRAW:
            gone = Status.WITHDRAWN
            return replace(made, status=gone, because=asked.because, body="")
        return replace(
            made,
            kind=Kind(asked.kind) if asked.kind else old.kind,
            line=asked.line or old.line,
            supersedes=tuple(dict.fromkeys((*old.supersedes, *asked.supersedes))),
            verify=asked.verify or old.verify,
            work=self.work,
            body=asked.body or old.body,
        )

    def unresolved(self) -> str:
        """Return which sources do not resolve; keep what the others say."""
        asked = self.asked
        if not asked.sources:
            needed = asked.op in _SAYS or (asked.op in _AGAINST and self.strict)
            return "it has no source" if needed else ""
        if len(asked.sources) > memory.SOURCES:
            count = len(asked.sources)
            return f"it has {count} sources, and {memory.SOURCES} are the most"
        found, bad = [], []
        for text in dict.fromkeys(asked.sources):
            if text in self.waits:
                continue
            each = look_up(self.repo, self.objects, self.target, text)
            if isinstance(each, str):
                bad.append(f"source {clean.sentence(text)} does not resolve: {each}")
            else:
                found.append(each)
        if bad:
            return "; ".join(bad)
        self.found = tuple(found)
        if self.waits or self.item is None or asked.op not in _SAYS:
            return ""
        sources = dict.fromkeys(each.source for each in found)
        self.item = replace(self.item, sources=tuple(sources))
        return " ".join(memory.problems(self.item))

    def known(self) -> str:
        """Return which item says that already, or did until it was taken away."""
        item = self.item
        if item is None or self.asked.op not in _SAYS:
            return ""
        old = self.items.get(item.slug)
        if old is not None and old.status in COUNTS and _says(old) == _says(item):
            return f"{old.slug} says that already, so there is nothing to change"
        for other in self._alike(item):
            if other.status in COUNTS:
                return f"{other.slug} says that already; update or supersede that one"
            if self.strict:
                return f"{other.slug} said that, and is {other.status}{_why(other)}"
            self.warning = f"{other.slug} was {other.status} before{_why(other)}"
        return ""

    def _alike(self, item: Item) -> Iterator[Item]:
        """Yield what is left of an item of that slug, and others of that very line."""
        line = _folded(item.line)
        for other in self.items.values():
            if other.slug == item.slug:
                alike = other.status not in COUNTS
            else:
                alike = _folded(other.line) == line
            if alike and other.slug not in item.supersedes:
                yield other

    def unsupported(self) -> str:
        """Return why what it cites does not bear it out; a person is only warned."""
        doubt = self._doubt()
        if self.strict:
            return doubt
        self.warning = "; ".join(part for part in (self.warning, doubt) if part)
        return ""

    def _doubt(self) -> str:
        if not self.found:
            return ""
        asked, quotes = self.asked, [_quoted(each) for each in self.found]
        if asked.op in _AGAINST:
            there = (self.items[slug] for slug in (asked.slug, asked.against) if slug)
            why = against(asked.because, [each.line for each in there], quotes)
            return f"its reason is not borne out: {why}" if why else ""
        if self.item is None:
            return ""
        why = support(self.item.line, self.item.body, quotes).problem
        return f"it is not supported: {why}" if why else ""

    def beyond(self) -> str:
        """Return that no further item may count."""
        if self.asked.op is not Op.ADD or not self.limit:
            return ""
        count = sum(each.status in COUNTS for each in self.items.values())
        if count + 1 - len(set(self.asked.supersedes)) <= self.limit:
            return ""
        return (
            f"{count} items count already, and {self.limit} are the most"
            " (memory.limit); withdraw or supersede one first"
        )

    def disproved(self) -> str:
        """Return why its command does not pass on the target."""
        item = self.item
        if item is None or not item.verify or self.asked.op not in _SAYS:
            return ""
        if self.verify is None:
            return "its command has to be run, and was not"
        why = self.verify(item.verify, self.objects.commit(self.target).tree)
        return f"its command does not pass: {why}" if why else ""


STEPS: Final[tuple[Callable[[Examination], str], ...]] = (
    Examination.unproven,
    Examination.out_of_place,
    Examination.misshapen,
    Examination.unresolved,
    Examination.known,
    Examination.unsupported,
    Examination.beyond,
    Examination.disproved,
)
# Of one whose sources wait: what holds whatever they say.
EARLY: Final[tuple[Callable[[Examination], str], ...]] = (
    Examination.unproven,
    Examination.out_of_place,
    Examination.misshapen,
    Examination.unresolved,
    Examination.beyond,
)


def _quoted(found: Found) -> str:
    """Return what a source proves, below the name of its file, which is cited too."""
    source = found.source
    name = source.name if source.kind is From.LINES else str(source.kind)
    return f"{name}\n{found.proof}"


def _says(item: Item) -> tuple[object, ...]:
    return item.kind, item.line, item.body, item.verify, item.sources, item.supersedes


def _folded(line: str) -> str:
    return " ".join(line.split()).casefold().rstrip(".")


def _why(item: Item) -> str:
    return f": {item.because}" if item.because else ""
