"""The candidate of one submission on one base: merged in memory, described, pinned.

The same base and tip always give the same candidate commit, so nothing about it has
to be remembered over a restart.
"""

from dataclasses import replace

from gitagent.core.candidate import Candidate
from gitagent.core.layout import TASKS
from gitagent.core.submission import Submission
from gitagent.errors import GitError, UserError
from gitagent.git.identity import OWN
from gitagent.git.merge import merge
from gitagent.git.objects import Objects
from gitagent.git.refs import ANY, RefUpdate, update
from gitagent.git.repository import Repository
from gitagent.git.tree import product_tree, walk_changes
from gitagent.host.failpoint import failpoint
from gitagent.lander.scope import colliding
from gitagent.lander.submit import candidate_ref

_STRANGERS = ("everything: the two have no commit in common",)


def prepare(
    repo: Repository, objects: Objects, submission: Submission, base: str
) -> Candidate:
    """Merge a submission's tip onto ``base`` (a commit) and say what comes out.

    Without a conflict its commit is kept by ``refs/gitagent/candidates/<submission>``.

    Raises:
        GitError: an object is missing, or could not be written.
    """
    tip = submission.tip
    if objects.ancestor(tip, base):
        return Candidate(base, tip, contained=True)
    try:
        return _prepare(repo, objects, submission, base)
    except GitError:
        # A `gc --prune=now` beside this can take new objects before a ref holds them.
        return _prepare(repo, objects, submission, base)


def _prepare(
    repo: Repository, objects: Objects, submission: Submission, base: str
) -> Candidate:
    tip = submission.tip
    base_tree = objects.commit(base).tree
    try:
        # Git would unfold a tree of any size, and end with all the memory there is.
        walk_changes(objects, base_tree, objects.commit(tip).tree)
        merged = merge(repo, objects, base, tip)
        if merged.tree is None:
            return Candidate(base, tip, conflicts=merged.conflicts or _STRANGERS)
        changes = walk_changes(objects, base_tree, merged.tree)
    except UserError as error:
        return Candidate(base, tip, fault=f"It cannot be landed: {error.message}.")
    product = product_tree(objects, merged.tree)
    commit = _commit(objects, product, base, tip)
    pin = RefUpdate(candidate_ref(submission.id), commit, ANY)
    update(repo.git, [pin], f"gitagent: candidate of {submission.id}")
    failpoint("candidate-pinned")
    return Candidate(
        base=base,
        tip=tip,
        tree=merged.tree,
        product=product,
        changes=changes,
        task_blob=_task_blob(objects, base, submission.task),
        colliding=colliding(objects, base_tree, merged.tree, changes),
        commit=commit,
    )


def _commit(objects: Objects, product: str, base: str, tip: str) -> str:
    """Write the commit that is checked out for the checks.

    Its time is the tip's, so that preparing again gives the same commit.
    """
    when = objects.commit(tip).committer
    who = replace(OWN, when=when.when, offset=when.offset)
    message = f"Candidate: {tip} on {base}\n"
    return objects.write_commit(product, (base, tip), message, who, who)


def _task_blob(objects: Objects, base: str, task: str | None) -> str | None:
    entry = None if task is None else objects.path(base, f"{TASKS}{task}.md")
    return None if entry is None else entry.oid
