"""What a tip adds to the target, and how it is taken there by each strategy.

The strategy decides the form of the history, never its content: the tree that is
checked and landed is the three-way merge, whichever way it is then committed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gitagent.core.glob import named
from gitagent.core.ident import is_oid
from gitagent.core.layout import REMOTES
from gitagent.core.settings import Settings, Strategy
from gitagent.core.submission import Submission
from gitagent.errors import UserError
from gitagent.files import clean
from gitagent.files.message import trailers
from gitagent.git.merge import Merger, MergeResult
from gitagent.git.objects import Objects
from gitagent.git.replay import Node, Step, Stuck, beyond, mainline, replay, sides
from gitagent.git.repository import Repository
from gitagent.git.text import Person, mended

COMMITS: Final = 1000  # that one submission may have replayed

_LISTED: Final = 50
_TIP = "Gitagent-Tip"
_MEMO = 100_000

_landed: dict[str, str] = {}  # tip that a commit says it lands, or ""; by commit


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a tip adds to a commit, which is the target or a step above it."""

    base: str
    tip: str
    landed: tuple[str, ...] = ()  # newest of its commits that landed in another form
    own: tuple[Node, ...] = ()  # all others that the base lacks, oldest first

    @property
    def commits(self) -> tuple[str, ...]:
        """Its commits that are no merges, oldest first."""
        return tuple(commit for commit, parents in self.own if len(parents) < 2)


def strategy_of(settings: Settings, submission: Submission) -> Strategy:
    """Return how a submission lands.

    What a remote's target has is merged always: the next push has to add to it. What
    the memory's executor made is one commit always.
    """
    if submission.remembers:
        return Strategy.SQUASH
    if (submission.branch or "").startswith(REMOTES) and submission.task is None:
        return Strategy.MERGE
    return settings.lander.strategy


def contribution(
    repo: Repository,
    objects: Objects,
    base: str,
    tip: str,
    ahead: tuple[str, ...] = (),
) -> Contribution:
    """Return what ``tip`` adds to ``base``; both are commits.

    What the tips ``ahead`` have is left out too: they land on the base before it.

    What landed by squash or rebase is found by the trailers of the first-parent
    history of ``base``. Where the tip has merged such a landing, git needs to be told
    nothing, since the landing is history of both; what landed by it is no part of the
    contribution all the same.

    Raises:
        GitError: an object is not here.
    """
    both = sides(repo, base, tip)
    if not both.own:
        return Contribution(base, tip)
    apart = _tips(objects, both.below)
    rest = beyond(repo, tip, (base, *apart)) if apart else both.own
    left_out = {commit for commit, _ in both.own} - {commit for commit, _ in rest}
    above = [parent for _, parents in rest for parent in parents] if rest else [tip]
    landed = tuple(dict.fromkeys(each for each in above if each in left_out))
    shared = _tips(objects, mainline(repo, base, both.own))
    if shared or ahead:
        rest = beyond(repo, tip, (base, *apart, *shared, *ahead))
    return Contribution(base, tip, landed, rest)


def merge(merger: Merger, added: Contribution) -> MergeResult:
    """Merge a contribution onto its base. Raises as ``Merger.merge`` does."""
    return merger.merge(added.base, added.tip, contained=added.landed)


def merged_by(
    strategy: Strategy,
    repo: Repository,
    merger: Merger,
    objects: Objects,
    base: str,
    tip: str,
) -> MergeResult:
    """Return what lands on ``base`` if ``tip`` lands there by this strategy.

    Raises:
        GitError: an object is not here, the disk is full, no answer in time.
        UserError: it merges, and cannot be replayed; the message is a clause.
    """
    if strategy is Strategy.MERGE:
        return merger.merge(base, tip)
    added = contribution(repo, objects, base, tip)
    merged = merge(merger, added)
    if strategy is Strategy.REBASE and merged.tree is not None:
        replayed(merger, objects, added, merged.tree)
    return merged


def replayed(
    merger: Merger, objects: Objects, added: Contribution, tree: str
) -> tuple[Step, ...]:
    """Return the commits of a contribution as they land by ``rebase``, oldest first.

    ``tree`` is what ``merge`` gave, and the last step's: there is no step if it is
    the tree of the base.

    Raises:
        GitError: an object is not here, the disk is full, no answer in time.
        UserError: replaying them does not give that tree; the message is a clause.
    """
    if len(added.commits) > COMMITS:
        raise UserError(
            f"it has {len(added.commits)} commits to replay, and {COMMITS} are the most"
        )
    steps = replay(merger, objects, added.base, added.commits)
    if isinstance(steps, Stuck):
        paths = f" in {named(steps.conflicts)}" if steps.conflicts else ""
        raise UserError(
            f"its commit {_shown(objects, steps.source)} does not apply by itself to "
            f"what is below it{paths}"
        )
    last = steps[-1].tree if steps else objects.commit(added.base).tree
    if last != tree:
        raise UserError(
            "its commits replayed one by one do not give what merging it gives"
        )
    return steps


def subjects(objects: Objects, added: Contribution) -> str:
    """Return a list of the commits that become one; "" if it is one already."""
    messages = [objects.commit(commit).message for commit in added.commits]
    if len(messages) < 2:
        return ""
    rows = [f"- {_subject(each)}" for each in messages[:_LISTED]]
    if len(messages) > _LISTED:
        rows.append(f"- and {len(messages) - _LISTED} more")
    return "\n".join(rows)


def others(
    objects: Objects, added: Contribution, author: Person
) -> tuple[tuple[str, str], ...]:
    """Return a trailer for each author of a contribution who is not ``author``."""
    made = (objects.commit(commit).author for commit in added.commits)
    by_email = {who.email.casefold(): mended(who) for who in made}
    by_email.pop(author.email.casefold(), None)
    return tuple(("Co-authored-by", who.ident) for who in by_email.values())


def _subject(message: str) -> str:
    return clean.sentence(message.strip().partition("\n")[0], 100) or "(no subject)"


def _shown(objects: Objects, commit: str) -> str:
    subject = clean.code(_subject(objects.commit(commit).message))
    return f"{commit[:12]} ({subject})"


def _tips(objects: Objects, commits: Iterable[str]) -> list[str]:
    """Return the tips that commits on the target say they land."""
    return [tip for tip in (_lands(objects, each) for each in commits) if tip]


def _lands(objects: Objects, commit: str) -> str:
    if commit not in _landed:
        if len(_landed) > _MEMO:
            _landed.clear()
        message = objects.commit(commit).message
        tip = dict(trailers(message)).get(_TIP, "") if _TIP in message else ""
        _landed[commit] = tip if is_oid(tip) else ""
    return _landed[commit]
