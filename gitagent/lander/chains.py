"""Whether the chains of receipts only ever grew, and hold what they say."""

from collections import Counter
from collections.abc import Iterator, Mapping

from gitagent.core.candidate import Change
from gitagent.core.layout import RECEIPTS
from gitagent.errors import GitError
from gitagent.git.objects import TREE, Objects
from gitagent.git.tree import walk_changes
from gitagent.lander.proof import Proof
from gitagent.lander.receipts import in_chain
from gitagent.lander.trail import first_parents


def chain_problems(
    objects: Objects, refs: Mapping[str, str], proof: Proof, count: Counter[str]
) -> Iterator[tuple[str, str]]:
    """Yield (place, sentence) of what is wrong; adds the receipts to ``count``."""
    for ref, tip in refs.items():
        if not ref.startswith(RECEIPTS):
            continue
        try:
            yield from _rewritten(objects, ref, tip)
            yield from _unsound(objects, ref, tip, proof, count)
        except GitError as error:
            yield ref, f"The chain is broken: {error.message}."


def _rewritten(objects: Objects, ref: str, tip: str) -> Iterator[tuple[str, str]]:
    for commit, parent in first_parents(objects, tip):
        before = None if parent is None else parent.tree
        for change in walk_changes(objects, before, commit.tree):
            if change.change is not Change.ADDED:
                place = f"{ref}:{change.path}"
                yield place, f"It was {change.change} by {commit.oid}."


def _unsound(
    objects: Objects, ref: str, tip: str, proof: Proof, count: Counter[str]
) -> Iterator[tuple[str, str]]:
    for first in objects.tree(objects.commit(tip).tree):
        if first.mode != TREE:
            yield f"{ref}:{first.name}", "It is no folder of receipts."
            continue
        for rest in objects.tree(first.oid):
            for stored in in_chain(objects, ref, tip, first.name + rest.name):
                count["receipt"] += 1
                if stored.receipt is None:
                    yield stored.place, stored.problem
                    continue
                for blob in (stored.blob, stored.receipt.output):
                    if damage := proof.intact(blob):
                        yield stored.place, f"It is damaged: {damage}."
