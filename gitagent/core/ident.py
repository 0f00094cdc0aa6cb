"""Names that become paths and ref names: ids, branches, refs and patterns of refs.

Source: git-check-ref-format(1) for what a ref component may not hold.
"""

import hashlib
import re
from functools import lru_cache

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
_OID = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_NOT_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]")


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
    task's id and its blob, and for a tip that an attempt before has handed over the
    attempt's number; for a request, ``request`` and the request id.
    """
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"s-{digest[:12]}"


def ref_problem(ref: str) -> str | None:
    """Return why ``ref`` cannot be the full name of a ref, as a clause, or None."""
    if not ref.startswith("refs/") or ref.count("/") < 2:
        return "a full ref name begins with refs/heads/ or the like"
    return _name_problem(ref)


def branch_problem(branch: str) -> str | None:
    """Return why ``branch`` (without refs/heads/) cannot be a branch, or None."""
    if branch.startswith("-"):
        return "a branch name does not begin with a dash"
    if branch in {"HEAD", "@"}:
        return f"{branch} is no name for a branch"
    return _name_problem(branch)


def _name_problem(name: str) -> str | None:
    if not name or _NOT_IN_REF.search(name):
        return "a ref name has no spaces, control characters or any of ~^:?*[\\"
    if ".." in name or "@{" in name:
        return "a ref name holds no .. and no @{"
    for part in name.split("/"):
        if not part:
            return "a ref name has no empty part: no // and no / at either end"
        if part.startswith(".") or part.endswith((".", ".lock")):
            return "a part of a ref name does not begin or end in a dot or in .lock"
    return None


def ref_matches(pattern: str, ref: str) -> bool:
    """Tell whether a pattern such as ``refs/heads/land/**`` covers ``ref``.

    ``*`` and ``?`` stay within one part of the name, ``**`` is any number of parts (at
    the end at least one).
    """
    return _ref_pattern(pattern).match(ref) is not None


def ref_pattern_reaches(pattern: str, folder: str) -> bool:
    """Tell whether ``pattern`` can cover a ref below a folder such as refs/heads."""
    wanted = folder.split("/")
    for number, part in enumerate(pattern.split("/")):
        if part == "**" or number == len(wanted):
            return True
        if not _ref_pattern(part).match(wanted[number]):
            return False
    return False


@lru_cache(maxsize=256)
def _ref_pattern(pattern: str) -> re.Pattern[str]:
    parts = pattern.split("/")
    text = ""
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            text += ".+" if last else "(?:[^/]+/)*"
            continue
        for char in re.split(r"([*?])", re.sub(r"\*{2,}", "*", part)):
            text += {"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char))
        text += "" if last else "/"
    return re.compile(text + r"\Z")
