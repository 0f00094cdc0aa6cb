"""The commits of a tip made anew on another base, in memory.

What counts as the tip's own, and in which order it comes, is as git-rebase(1) has it:
merges are left out, and so is what changes nothing on the new base.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from gitagent.git.merge import Merger
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.git.tree import walk_changes

Node = tuple[str, tuple[str, ...]]  # a commit and its parents


@dataclass(frozen=True, slots=True)
class Sides:
    """What two commits do not share."""

    own: tuple[Node, ...]  # of the tip, in the order in which git-rebase(1) takes them
    below: tuple[str, ...]  # of the base: its first-parent history, newest first


@dataclass(frozen=True, slots=True)
class Step:
    """One commit made anew."""

    source: str  # commit that it is made from
    tree: str


@dataclass(frozen=True, slots=True)
class Stuck:
    """A commit that does not go onto the new base."""

    source: str
    conflicts: tuple[str, ...]  # paths


LIMIT: Final = 100_000  # lines of history that are read
_FORKS: Final = 1_000  # commits that one command line names


def sides(repo: Repository, base: str, tip: str) -> Sides:
    """Return what ``tip`` has that ``base`` lacks, and the other way round.

    Both are commits. Of histories that differ in more than 100,000 commits only the
    newest are looked at.

    Raises:
        GitError: an object is not here.
    """
    listed = repo.git.run(
        "rev-list",
        "--left-right",
        "--topo-order",
        "--parents",
        f"--max-count={LIMIT}",
        f"{base}...{tip}",
    )
    lines = listed.text.splitlines()
    own = [_node(line[1:]) for line in lines if line[0] == ">"]
    below = dict(_node(line[1:]) for line in lines if line[0] == "<")
    return Sides(tuple(reversed(own)), tuple(_first_parents(below, base)))


def beyond(repo: Repository, tip: str, known: Iterable[str]) -> tuple[Node, ...]:
    """Return what ``tip`` has that none of the commits ``known`` has, as `Sides.own`.

    Those of them that are not here any more are passed over.
    """
    asked = "".join(f"^{commit}\n" for commit in known) + f"{tip}\n"
    listed = repo.git.run(
        "rev-list",
        "--topo-order",
        "--parents",
        "--ignore-missing",
        f"--max-count={LIMIT}",
        "--stdin",
        stdin=asked.encode(),
    )
    return tuple(_node(line) for line in reversed(listed.text.splitlines()))


def mainline(repo: Repository, base: str, own: Iterable[Node]) -> tuple[str, ...]:
    """Return the first-parent history of ``base`` since ``own`` first left it.

    Empty where it was left once, so that `Sides.below` is all of that.
    """
    parents = dict(own)
    left = {p for each in parents.values() for p in each if p not in parents}
    if len(left) < 2:
        return ()
    first = repo.git.run("merge-base", "--octopus", *sorted(left)[:_FORKS], ok=(0, 1))
    if not first.text:
        return ()
    listed = repo.git.run(
        "rev-list",
        "--first-parent",
        f"--max-count={LIMIT}",
        base,
        f"^{first.text}",
    )
    return tuple(listed.text.splitlines())


def _node(line: str) -> Node:
    commit, *parents = line.split(" ")
    return commit, tuple(parents)


def _first_parents(commits: dict[str, tuple[str, ...]], tip: str) -> Iterator[str]:
    while tip in commits:
        yield tip
        if not commits[tip]:
            return
        tip = commits[tip][0]


def replay(
    merger: Merger, objects: Objects, base: str, commits: Iterable[str]
) -> tuple[Step, ...] | Stuck:
    """Put commits onto ``base`` (a commit or tree), one after another.

    None of them may be a merge. Those that change nothing there are left out, so that
    no step at all means that there is nothing to add. New trees are stored, and
    nothing pins them.

    Raises:
        GitError: an object is not here, the disk is full, no answer in time.
        UserError: a commit holds what no checkout can hold.
    """
    tree = objects.commit(base).tree if objects.kind(base) == "commit" else base
    steps: list[Step] = []
    for source in commits:
        made = _put(merger, objects, tree, source)
        if isinstance(made, Stuck):
            return made
        if made.tree != tree:
            tree = made.tree
            steps.append(made)
    return tuple(steps)


def _put(merger: Merger, objects: Objects, tree: str, source: str) -> Step | Stuck:
    """Make the change of one commit to a tree."""
    commit = objects.commit(source)
    before = objects.write_tree(())
    if commit.parents:
        before = objects.commit(commit.parents[0]).tree
    # Git would unfold a tree of any size, and end with all the memory there is.
    walk_changes(objects, before, commit.tree)
    if before == tree:
        return Step(source, commit.tree)
    common = commit.parents[0] if commit.parents else before
    result = merger.merge(tree, source, common=common)
    if result.tree is None:
        return Stuck(source, result.conflicts)
    return Step(source, result.tree)
