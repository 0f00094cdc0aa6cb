"""What the commits of one landing are made of: parents, words and authors, by strategy.

The tree of the last one is not told here; it is the same in every form.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from gitagent.core.candidate import Candidate
from gitagent.core.settings import Settings, Strategy
from gitagent.core.submission import Submission
from gitagent.errors import LostRace, UserError
from gitagent.files.message import Trailer, replayed_message
from gitagent.git.codec import Sign
from gitagent.git.merge import Merger
from gitagent.git.objects import Commit, Objects
from gitagent.git.repository import Repository
from gitagent.git.signing import sign
from gitagent.git.text import Person, person
from gitagent.git.tree import product_tree
from gitagent.lander.contribution import (
    contribution,
    merge,
    others,
    replayed,
    strategy_of,
    subjects,
)

Write = Callable[[str, tuple[str, ...], str, Person], str]  # tree, parents, message

_LAST_SECOND: Final = 253_402_300_799
_SIGNATURES: Final = 256

_signatures: dict[tuple[str, bytes], str] = {}  # by key and payload


@dataclass(frozen=True, slots=True)
class Form:
    """The last commit of a landing, its tree aside."""

    parents: tuple[str, ...]
    title: str  # of the landing, for people
    subject: str
    body: str
    author: Person
    others: tuple[Trailer, ...] = ()  # who else made it


def form(
    repo: Repository,
    objects: Objects,
    submission: Submission,
    candidate: Candidate,
    parent: str,
    settings: Settings,
    write: Write,
    title: str = "",
) -> Form:
    """Return what lands a submission on the commit ``parent`` as it was checked.

    To be replayed it needs ``parent`` to be stored, so that git finds it.

    ``write`` stores the commits that a replay puts below the last one; ``title`` is
    the task's, if there is one that has one.

    Raises:
        LostRace: on ``parent`` it does not come to the product; merge anew.
        GitError: an object is not here, the disk is full, no answer in time.
    """
    tip = objects.commit(submission.tip)
    subject, body = _words(tip)
    if submission.remembers:
        # What its last lines say is true of the executor's commit, and of no landing.
        body = body.rpartition("\n\n")[0]
    title = title or subject
    who = author(submission, tip)
    match strategy_of(settings, submission):
        case Strategy.MERGE:
            return Form((parent, tip.oid), title, title, body, who)
        case Strategy.SQUASH:
            base, ahead = candidate.base, candidate.tips[:-1]
            added = contribution(repo, objects, base, tip.oid, ahead)
            body = "\n\n".join(filter(None, (subjects(objects, added), body)))
            credit = others(objects, added, who)
            return Form((parent,), title, title, body, who, credit)
        case Strategy.REBASE:
            facts = (repo, objects, submission, parent, candidate.product)
            parent, last = _replayed(*facts, write)
            return Form((parent,), title, *_words(last), _dated(last.author))


def author(submission: Submission, tip: Commit) -> Person:
    """Return the submitter, at the time at which the tip was made."""
    if not submission.submitter:
        return _dated(tip.author)
    who = person(submission.submitter, datetime.fromtimestamp(0, UTC))
    return _dated(replace(who, when=tip.author.when, offset=tip.author.offset))


def _dated(who: Person) -> Person:
    """Return ``who`` at a time that git-fsck(1) takes, before the year 10,000."""
    return replace(who, when=min(max(who.when, 0), _LAST_SECOND))


def signer(settings: Settings) -> Sign | None:
    """Return what signs landing commits with ``lander.signing_key``; None: nothing.

    A landing that is tried again is the same commit again, also where a signature is
    another one each time.
    """
    key = settings.lander.signing_key
    if not key:
        return None

    def signed(payload: bytes) -> str:
        known = _signatures.get((key, payload))
        if known is None:
            if len(_signatures) >= _SIGNATURES:
                _signatures.clear()
            known = _signatures[key, payload] = sign(payload, key)
        return known

    return signed


def _replayed(
    repo: Repository,
    objects: Objects,
    submission: Submission,
    parent: str,
    product: str,
    write: Write,
) -> tuple[str, Commit]:
    """Store all commits but the last of a replay.

    Returns the newest commit then, and the one that the last is made from.
    """
    added = contribution(repo, objects, parent, submission.tip)
    with Merger(repo, objects) as merger:
        try:
            tree = merge(merger, added).tree
            steps = replayed(merger, objects, added, tree) if tree is not None else ()
        except UserError as error:
            raise LostRace(f"{submission.id}: {error.message}") from error
    if not steps or product_tree(objects, steps[-1].tree) != product:
        raise LostRace(f"{submission.id} comes to something else on {parent}")
    for step in steps[:-1]:
        source = objects.commit(step.source)
        message = replayed_message(submission, source.message)
        parent = write(step.tree, (parent,), message, _dated(source.author))
    return parent, objects.commit(steps[-1].source)


def _words(commit: Commit) -> tuple[str, str]:
    subject, _, body = commit.message.strip().partition("\n")
    return subject, body.strip("\n")
