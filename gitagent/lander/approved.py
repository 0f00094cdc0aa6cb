"""Whether a landing that touches protected paths names the approval of just that."""

from gitagent.core.approval import Content
from gitagent.core.glob import named
from gitagent.core.policy import protected
from gitagent.core.settings import Settings
from gitagent.core.submission import Submission
from gitagent.errors import GitError, UserError
from gitagent.files import record as codec
from gitagent.files.message import trailers
from gitagent.git import records
from gitagent.git.objects import Commit, Objects
from gitagent.git.tree import product_tree, walk_changes

KEY = "Gitagent-Approved"


def unapproved(
    objects: Objects, commit: Commit, record: Submission, settings: Settings
) -> str:
    """Return what is wrong with the approval of a landing, as a sentence, or "".

    ``settings`` are those that it was judged by. Who signed was looked at when it
    landed: a key that has run out since proves nothing against it.

    Raises:
        GitError: an object is not here.
    """
    before, after = (
        product_tree(objects, each.tree) for each in (_below(objects, commit), commit)
    )
    changes = walk_changes(objects, before, after)
    wanted = {
        Content(each.path, each.new_mode, each.new_blob)
        for each in protected(settings, changes)
    }
    if not wanted:
        return ""
    oid = dict(trailers(commit.message)).get(KEY, "").partition(" ")[0]
    if not oid:
        paths = named(tuple(sorted(each.path for each in wanted)))
        return f"It changes {paths}, which is protected, and names no approval."
    try:
        given = codec.load_approval(records.read(objects, oid))
    except (GitError, UserError):
        return f"Its approval {oid[:12]} cannot be read."
    if (given.submission, given.tip) != (record.id, record.tip):
        return f"Its approval {oid[:12]} is one of something else."
    if missing := wanted - set(given.paths):
        paths = named(tuple(sorted(each.path for each in missing)))
        return f"Its approval {oid[:12]} does not name {paths} as it landed."
    return ""


def _below(objects: Objects, commit: Commit) -> Commit:
    """Return the commit below all those of one landing."""
    of = dict(trailers(commit.message)).get("Gitagent-Submission")
    below = objects.commit(commit.parents[0])
    while dict(trailers(below.message)).get("Gitagent-Submission") == of:
        below = objects.commit(below.parents[0])
    return below
