"""Traces read from the repository: what a name means, and the facts of its chain."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Final

from gitagent.core import tracing
from gitagent.core.exposure import Way
from gitagent.core.ident import id_problem, is_oid
from gitagent.core.layout import CONVERSATIONS, EXCHANGES
from gitagent.core.links import About, Facts, Link, Mention
from gitagent.core.memory import Item
from gitagent.core.proposal import Proposal
from gitagent.core.remembering import Ruling
from gitagent.core.submission import Submission
from gitagent.daemon.effects import every_record
from gitagent.daemon.entry import find_target
from gitagent.daemon.target import SettingsInForce
from gitagent.errors import GitagentError, GitError, UserError
from gitagent.files import record
from gitagent.files.message import trailers
from gitagent.git import items, records, rulings, trust
from gitagent.git.archived import Archived
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host.clock import stamp
from gitagent.memory import proposals
from gitagent.memory.cited import parsed
from gitagent.memory.proposals import Known
from gitagent.memory.reverts import Reverts
from gitagent.memory.shelf import Shelves
from gitagent.worker import exchanges

_LEAST: Final = 7  # digits of an object id


@dataclass(frozen=True, slots=True)
class Trace:
    """The chain of one thing."""

    kind: str  # "item", "landing", "proposal" or "ruling"
    name: str
    links: tuple[Link, ...]  # oldest first; gaps are last


def trace(repo: Repository, objects: Objects, name: str) -> Trace:
    """Return the chain of an item, a landing, a proposal of the review, or a ruling.

    A landing goes by its submission, its commit or its task, a ruling by its record.

    Raises:
        UserError: there is no such thing, or no target.
    """
    facts = _facts(repo, objects)
    kind, proper, links = _chain(repo, objects, facts, name)
    return Trace(kind, proper, tuple(_sound(objects, links)))


def _chain(
    repo: Repository, objects: Objects, facts: Facts, name: str
) -> tuple[str, str, list[Link]]:
    for found, now in facts.proposals:
        if found.id == name:
            return "proposal", name, tracing.of_proposal(facts, found, now)
    if name in facts.submissions:
        return "landing", name, tracing.of_landing(facts, facts.submissions[name])
    if name in facts.items or _is_known(facts.rulings, name):
        return "item", name, tracing.of_item(facts, name)
    oid = _object(repo, name)
    for ruling in facts.rulings:
        if oid and oid in {ruling.oid, ruling.commit}:
            return "ruling", ruling.oid, tracing.of_ruling(facts, ruling)
    landed = _landed(objects, facts, name, oid)
    if landed is not None:
        return "landing", landed.id, tracing.of_landing(facts, landed)
    raise UserError(
        f'there is no item, landing, proposal or ruling "{name}" here',
        "see: gitagent memory list, gitagent log",
    )


def _is_known(known: Iterable[Ruling], slug: str) -> bool:
    if id_problem(slug):
        return False
    return any(
        slug in {ruled.slug, ruled.operation.slug}
        for ruling in known
        for ruled in ruling.ruled
    ) or any(slug == each.slug for ruling in known for each in ruling.files)


def _object(repo: Repository, name: str) -> str | None:
    whole = len(name) >= _LEAST and set(name) <= set("0123456789abcdef")
    return parsed(repo, name) if whole else None


def _landed(
    objects: Objects, facts: Facts, name: str, oid: str | None
) -> Submission | None:
    """Return the landing of a task, or the one that a commit is."""
    if oid is not None and objects.kind(oid) == "commit":
        said = dict(trailers(objects.commit(oid).message))
        found = facts.submissions.get(said.get("Gitagent-Submission", ""))
        if found is not None:
            return found
    for record_ in facts.tasks:
        if record_.id == name and record_.submission:
            return facts.submissions.get(record_.submission)
    return None


def _sound(objects: Objects, links: Iterable[Link]) -> Iterable[Link]:
    """Yield links whose objects are here; one without is a gap, and says so."""
    gone = []
    for link in links:
        if link.about is About.GAP or (link.oid and objects.kind(link.oid)):
            yield link
        else:
            missing = link.oid[:12] or "it is not named"
            gone.append(f"{link.about}: {link.text}; its object is gone ({missing}).")
    yield from (Link(About.GAP, "", text) for text in gone)


def _facts(repo: Repository, objects: Objects) -> Facts:
    _, commit = find_target(repo, objects)
    tasks, submissions = every_record(objects)
    shelf = Shelves(repo).at(objects, commit)
    archived = Archived()
    return Facts(
        tasks=tasks,
        submissions={each.id: each for each in submissions},
        rulings=rulings.read_all(objects),
        items=shelf.items,
        marks=shelf.marks,
        proposals=_proposals(repo, objects, commit),
        reverts=Reverts().at(repo, objects, commit),
        on_target=lambda oid: bool(objects.kind(oid)) and objects.ancestor(oid, commit),
        version=_version(objects),
        time=_time(objects),
        receipt=_receipt(objects),
        context=_context(objects, archived),
        corrections=_corrections(objects, archived),
    )


def _proposals(
    repo: Repository, objects: Objects, commit: str
) -> list[tuple[Proposal, Proposal]]:
    """Return the proposals as they were found, and as they count by now."""
    settings = SettingsInForce().at(objects, commit)[0]
    path = settings.trust.allowed_signers if settings else ""
    known = proposals.read_all(repo, objects, trust.signers(objects, path, commit))
    found = []
    for each in known.values():
        if isinstance(each, Known):
            *_, oldest = records.history(objects, each.proposal.oid)
            data = records.read(objects, oldest.oid)
            first = replace(record.load_proposal(data), oid=oldest.oid)
            found.append((first, each.proposal))
    return found


def _version(objects: Objects) -> Callable[[str, str], Item | None]:
    @cache
    def version(slug: str, blob: str) -> Item | None:
        with suppress(GitError):
            item = items.read(objects, slug, blob)
            return item if isinstance(item, Item) else None
        return None

    return version


def _time(objects: Objects) -> Callable[[str], str]:
    @cache
    def time(oid: str) -> str:
        with suppress(GitError):
            if is_oid(oid) and objects.kind(oid) == "commit":
                return stamp(datetime.fromtimestamp(objects.commit(oid).time, UTC))
        return ""

    return time


def _receipt(objects: Objects) -> Callable[[str], str]:
    @cache
    def receipt(place: str) -> str:
        ref, _, path = place.partition(":")
        with suppress(GitError):
            tip = objects.ref(ref)
            entry = objects.path(tip, path) if tip else None
            return entry.oid if entry else ""
        return ""

    return receipt


def _context(
    objects: Objects, archived: Archived
) -> Callable[[str, int, str, str], Mention | None]:
    def context(task: str, attempt: int, slug: str, blob: str) -> Mention | None:
        """Return the first request of an attempt whose bytes name the item."""
        tip = _tip(objects, archived, EXCHANGES + task)
        named = f"{slug}@{blob[:12]}".encode()
        with suppress(GitagentError):
            for each in exchanges.exchanges(objects, tip, attempt) if tip else ():
                with suppress(GitagentError):
                    if named in exchanges.body(objects, each):
                        text = f"request {each.number} to {each.model}"
                        return Mention(each.started, text, each.oid)
        return None

    return context


def _corrections(
    objects: Objects, archived: Archived
) -> Callable[[str, str], Sequence[Mention]]:
    @cache
    def told(task: str) -> list[tuple[frozenset[str], Mention]]:
        tip = _tip(objects, archived, CONVERSATIONS + task)
        found = []
        for commit in records.history(objects, tip) if tip else ():
            with suppress(UserError):
                entry = record.load_entry(records.read(objects, commit.oid))
                slugs = {x.slug for x in entry.items if x.way is Way.CORRECTION}
                text = f"{task}#{entry.attempt} was told that it has changed"
                if slugs:
                    held = Mention(entry.at, text, commit.oid)
                    found.append((frozenset(slugs), held))
        return found

    def corrections(task: str, slug: str) -> list[Mention]:
        return [held for slugs, held in told(task) if slug in slugs]

    return corrections


def _tip(objects: Objects, archived: Archived, ref: str) -> str | None:
    return objects.ref(ref) or archived.record(objects, ref)
