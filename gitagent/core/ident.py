"""Names that become paths and ref names: task ids and submission ids.

Source: git-check-ref-format(1) for what a ref component may not hold.
"""

import hashlib
import re

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
_OID = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")


def id_problem(stem: str) -> str | None:
    """Return why ``stem`` cannot be an id, as a clause, or None if it can."""
    if not _ID.match(stem):
        if stem != stem.lower():
            return "an id is lower case: a-z, 0-9, dot, underscore, dash"
        if len(stem) > 64:
            return f"an id has at most 64 characters, this one {len(stem)}"
        return "an id is a-z, 0-9, dot, underscore, dash, and starts with a-z or 0-9"
    if ".." in stem:
        return "an id has no two dots in a row"
    if stem.endswith("."):
        return "an id does not end in a dot"
    if stem.endswith(".lock"):
        return "an id does not end in .lock"
    return None


def is_oid(text: str) -> bool:
    """Tell whether ``text`` is a full object id (SHA-1 or SHA-256) in lower case."""
    return _OID.match(text) is not None


def submission_id(*parts: str) -> str:
    """Return the id that these parts always give, so that creating it is idempotent.

    For a person's submission the part is the tip; for a task's result the tip, the
    task's id and its blob; for a request, ``request`` and the request id.
    """
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"s-{digest[:12]}"
