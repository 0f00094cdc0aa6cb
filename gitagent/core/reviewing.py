"""What a review of the memory finds: items that later evidence speaks against.

A finding is a proposal, and changes nothing: a person decides. Its id follows from
what it is about and from the evidence, so the same finding is the same proposal, and
one that was rejected does not come back for that evidence.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from gitagent.core.memory import COUNTS, From, Item, Mark, Marks, Status, written
from gitagent.core.proposal import Proposal, Stand, Why
from gitagent.core.remembering import Op, Operation
from gitagent.core.support import support

UNDECIDED: Final = timedelta(days=14)  # that a dispute may be open before it is asked


@dataclass(frozen=True, slots=True)
class Against:
    """Something that speaks against an item, told by whoever looked."""

    slug: str
    sentence: str
    evidence: tuple[str, ...]
    same: tuple[str, ...] = ()  # what makes it the same finding; empty: the evidence


@dataclass(frozen=True, slots=True)
class Instead:
    """What stands where the changed lines of an item's source were."""

    source: str  # that changed, as it is written
    now: str = ""  # the same place of the file now, as a source is written; "": gone
    text: str = ""  # what it says there
    blob: str = ""  # of the file


@dataclass(frozen=True, slots=True)
class Looked:
    """All that a review looks at."""

    items: Mapping[str, Item]  # by slug, whatever their status
    marks: Mapping[str, tuple[Mark, ...]]
    now: str  # UTC
    commit: str  # of the target
    instead: Mapping[str, tuple[Instead, ...]] = field(default_factory=dict)
    failing: tuple[Against, ...] = ()
    failed: tuple[Against, ...] = ()
    harmful: tuple[Against, ...] = ()
    unlooked: frozenset[Why] = frozenset()  # kinds that could not be looked for now


def review(looked: Looked) -> list[Proposal]:
    """Return what there is to propose, each once, by the item's slug."""
    found: dict[str, Proposal] = {}
    for proposal in _proposals(looked):
        found.setdefault(proposal.id, proposal)
    return sorted(found.values(), key=lambda each: (each.operation.slug, each.id))


def tombstone(item: Item, blob: str, at: str) -> Proposal:
    """Return the proposal to withdraw what another memory has withdrawn.

    ``blob`` is that of its file there.
    """
    sentence = f"The chapter that was restored has {item.slug} withdrawn"
    return _withdraw(Why.RESTORED, item, f"{sentence}.", (blob,), at)


def settled(
    known: Iterable[Proposal], found: Iterable[Proposal], looked: Looked, at: str
) -> list[tuple[Proposal, str]]:
    """Return what became moot, or waits again, each with the reason.

    What a restored chapter said stays until the item changes.
    """
    again = {each.id for each in found}
    stay = looked.unlooked | {Why.RESTORED}
    changed = []
    for each in known:
        if each.stand is Stand.WAITING:
            if gone := outdated(each, looked.items):
                changed.append((replace(each, stand=Stand.MOOT, decided=at), gone))
            elif each.id not in again and each.why not in stay:
                reason = "Nothing speaks against it any more."
                changed.append((replace(each, stand=Stand.MOOT, decided=at), reason))
        elif each.stand is Stand.MOOT and each.id in again:
            new = replace(each, stand=Stand.WAITING, decided="")
            changed.append((new, "It was found again."))
    return changed


def outdated(proposal: Proposal, items: Mapping[str, Item]) -> str:
    """Return why a proposal is about what is not there any more, or ""."""
    asked = proposal.operation
    named = [asked.slug] + [asked.against] * bool(asked.against)
    for slug in named:
        item = items.get(slug)
        if item is None:
            return f"There is no item {slug} any more."
        if item.status not in COUNTS:
            return f"{slug} is {item.status}."
    if asked.of and items[asked.slug].blob != asked.of:
        return f"{asked.slug} was changed meanwhile."
    return ""


def _proposals(looked: Looked) -> Iterator[Proposal]:
    for slug, item in sorted(looked.items.items()):
        if item.status in COUNTS:
            for mark in looked.marks.get(slug, ()):
                yield from _of_mark(looked, item, mark)
    for why, found in (
        (Why.VERIFY, looked.failing),
        (Why.WORK, looked.failed),
        (Why.HARM, looked.harmful),
    ):
        for each in found:
            there = looked.items.get(each.slug)
            if there is not None and there.status in COUNTS and each.evidence:
                yield _withdraw(
                    why, there, each.sentence, each.evidence, looked.now, each.same
                )
    yield from _undecided(looked)


def _of_mark(looked: Looked, item: Item, mark: Mark) -> Iterator[Proposal]:
    now = looked.now
    match mark.mark:
        case Marks.CHANGED:
            yield _changed(looked, item, mark.at)
        case Marks.SUSPECT:
            sentence = f"What it came from was rolled back by {mark.at[:12]}."
            yield _withdraw(Why.SUSPECT, item, sentence, (mark.at,), now)
        case Marks.DERIVED:
            source = looked.items.get(mark.at)
            sentence = f"It was proposed by work that had received {mark.at}, which"
            because = f": {source.because}" if source and source.because else "."
            evidence = (source.blob,) if source and source.blob else (looked.commit,)
            yield _withdraw(
                Why.DERIVED, item, f"{sentence} is withdrawn{because}", evidence, now
            )
        case Marks.UNVERIFIED:
            sentence = f"Its evidence cannot be found: {mark.at}."
            same = (str(Marks.UNVERIFIED), mark.at)
            yield _withdraw(Why.UNVERIFIED, item, sentence, (looked.commit,), now, same)


def _changed(looked: Looked, item: Item, commit: str) -> Proposal:
    """Return what to do about an item whose cited lines changed by ``commit``.

    Another item that cites what stands there now says otherwise. Without one, what
    stands there now may bear the item out as well; else it has lost its evidence.
    """
    instead = looked.instead.get(item.slug, ())
    for each in instead:
        other = _other(looked, item, each)
        if other is not None:
            return _proposal(
                Why.CHANGED,
                Operation(
                    Op.DISPUTE,
                    item.slug,
                    against=other.slug,
                    of=item.blob,
                    because=f"its evidence changed at {commit[:12]}",
                ),
                f"Its evidence changed at {commit[:12]}, and {other.slug} cites what"
                " stands there now.",
                (commit, other.blob),
                looked.now,
            )
    news = {each.source: each.now for each in instead}
    texts = [each.text for each in instead if each.now]
    if instead and all(news.values()):
        kept = [s.quote for s in item.sources if s.kind is not From.LINES]
        if not support(item.line, item.body, [*texts, *kept]).problem:
            texts_of = map(written, item.sources)
            sources = tuple(news.get(text, text) for text in texts_of)
            return _proposal(
                Why.CHANGED,
                Operation(Op.UPDATE, item.slug, sources=sources, of=item.blob),
                f"Its evidence changed at {commit[:12]}; what stands there now bears"
                " it out too, and can be cited instead.",
                (commit, *(each.blob for each in instead if each.blob)),
                looked.now,
                (commit, *texts),
            )
    sentence = f"Its evidence changed at {commit[:12]}."
    return _withdraw(Why.CHANGED, item, sentence, (commit,), looked.now)


def _other(looked: Looked, item: Item, instead: Instead) -> Item | None:
    """Return the active item that cites what stands in the place of an item's lines."""
    rows = {row.strip() for row in instead.text.split("\n") if row.strip()}
    place = instead.source.rpartition(":")[0].partition(":")[2]
    for slug, other in sorted(looked.items.items()):
        if slug == item.slug or slug in item.disputes or other.status not in COUNTS:
            continue
        if any(mark.mark is Marks.CHANGED for mark in looked.marks.get(slug, ())):
            continue
        for source in other.sources:
            if source.kind is From.LINES and source.name == place:
                cited = {row.strip() for row in source.quote.split("\n")}
                if rows & cited:
                    return other
    return None


def _undecided(looked: Looked) -> Iterator[Proposal]:
    before = datetime.fromisoformat(looked.now) - UNDECIDED
    for one, item in sorted(looked.items.items()):
        for other in sorted(item.disputes):
            there = looked.items.get(other)
            if there is None or other < one:
                continue
            both = (item, there)
            if any(each.status is not Status.DISPUTED for each in both):
                continue
            since = max(each.updated for each in both)
            if datetime.fromisoformat(since) > before:
                continue
            yield _proposal(
                Why.DISPUTE,
                Operation(Op.DECIDE, one, against=other, of=item.blob),
                f"{one} and {other} exclude one another since {since[:10]}, and nobody"
                " has decided.",
                (item.blob, there.blob),
                looked.now,
            )


def _withdraw(
    why: Why,
    item: Item,
    sentence: str,
    evidence: tuple[str, ...],
    at: str,
    same: tuple[str, ...] = (),
) -> Proposal:
    operation = Operation(
        Op.WITHDRAW, item.slug, of=item.blob, because=sentence.rstrip(".")
    )
    return _proposal(why, operation, sentence, evidence, at, same)


def _proposal(
    why: Why,
    operation: Operation,
    sentence: str,
    evidence: tuple[str, ...],
    at: str,
    same: tuple[str, ...] = (),
) -> Proposal:
    about = (why, operation.op, operation.slug, operation.of, operation.against)
    whole = "\0".join((*map(str, about), *(same or evidence)))
    digest = hashlib.sha256(whole.encode(errors="surrogateescape")).hexdigest()
    return Proposal(f"p-{digest[:12]}", why, operation, sentence, evidence, at)
