"""Files of tasks and agents as the target's tree has them, before they are read."""

from gitagent.core.ident import id_problem
from gitagent.core.task import Refusal
from gitagent.files import clean
from gitagent.files.text import FILE_LIMIT
from gitagent.git.objects import BLOB, Entry, Objects


def unreadable(objects: Objects, path: str, entry: Entry) -> Refusal | None:
    """Return why the entry at ``path`` is not read at all, or None if it is."""
    stem = entry.name.removesuffix(".md")
    if entry.mode != BLOB or stem == entry.name:
        problem = "only regular .md files belong here; move it elsewhere"
    elif why := id_problem(stem):
        problem = f"{why}; rename the file"
    elif (size := objects.size(entry.oid)) > FILE_LIMIT:
        problem = f"{size} bytes, and {FILE_LIMIT} are allowed; shorten it"
    else:
        return None
    return Refusal(path, f"{clean.line(path)}: {problem}")
