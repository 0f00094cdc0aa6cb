"""Lines of the target's history, as a source names them.

A file that lies there now is no evidence by its path alone: the commit has to be part
of what everybody has, and the file has to be a text with these lines at that commit.
"""

import difflib
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gitagent.core.ident import is_oid
from gitagent.core.layout import LANDINGS, MEMORY
from gitagent.core.memory import QUOTE, Source
from gitagent.errors import GitError, UserError
from gitagent.files import clean
from gitagent.files.message import trailers
from gitagent.git.objects import TREE, Commit, Objects
from gitagent.git.repository import Repository
from gitagent.git.tree import walk
from gitagent.memory.lines import FILE_BYTES, file_problem, find, lines_of

TIP_KEY: Final = "Gitagent-Tip"  # trailer of a landing: what was submitted

_LOOK: Final = 1000  # commits of the target in which a landing is looked for
_TIPS: Final = 50  # landings whose work is looked through for a commit
_PATHS: Final = 20_000  # of a tree, looked through for a file of such a name
_REVISION: Final = re.compile(r"(?!-)[\w./@^~{}+#-]{1,200}")

# Written by whoever they are about, so they prove nothing of it.
_CLAIMS: Final = {
    MEMORY: "an item cannot rest on another item; cite what that one rests on",
    LANDINGS: "a landing note is its submitter's word; cite what it speaks of",
}


def cited(
    repo: Repository, objects: Objects, target: str, named: Source
) -> tuple[Source, str] | str:
    """Return the source with its lines and the blob that has them, or why it has none.

    The commit is part of the history of ``target``, or of work that landed otherwise;
    then the source is that of its landing, if the very lines are there.

    Raises:
        GitError: Git cannot be read.
    """
    commit = _commit(repo, objects, named.oid)
    if commit is None:
        return f"there is no commit {_shown(named.oid)}, or more than one begins so"
    for folder, why in _CLAIMS.items():
        if named.name.startswith(folder):
            return why
    found = _read(objects, commit, named)
    if objects.ancestor(commit, target):
        return found
    landed = _landed_as(objects, target, commit)
    if landed is None:
        return f"commit {commit[:12]} is not part of the target's history"
    if isinstance(found, str):
        return found
    return _carried(objects, landed, found[0])


def _commit(repo: Repository, objects: Objects, name: str) -> str | None:
    if is_oid(name):
        return name if objects.kind(name) == "commit" else None
    # A search through all messages (`^{/text}`) is no name of a commit.
    if not _REVISION.fullmatch(name) or "{/" in name:
        return None
    return parsed(repo, f"{name}^{{commit}}")


def parsed(repo: Repository, revision: str) -> str | None:
    """Return the object that a revision names; None if there is no single one."""
    done = repo.git.run(
        *("rev-parse", "--verify", "--quiet", "--end-of-options", revision),
        git_dir=repo.git_dir,
        ok=(0, 1, 128),
    )
    return done.text if not done.code and is_oid(done.text) else None


def _read(objects: Objects, commit: str, named: Source) -> tuple[Source, str] | str:
    path = _shown(named.name)
    entry = objects.path(commit, named.name)
    if entry is None:
        near = _near(objects, commit, named.name)
        mend = f"; did you mean {_shown(near)}?" if near else ""
        return f"commit {commit[:12]} has no {path}{mend}"
    if problem := file_problem(entry):
        return f"{path} is {problem} at commit {commit[:12]}, and has no lines"
    lines = lines_of(objects, entry.oid)
    if lines is None:
        most = FILE_BYTES >> 20
        return f"{path} is no text at commit {commit[:12]}, or has over {most} MiB"
    if named.last > len(lines):
        count = f"{len(lines)} line{'' if len(lines) == 1 else 's'}"
        return f"{path} has {count} at commit {commit[:12]}"
    quote = "\n".join(lines[named.first - 1 : named.last])
    if len(quote) > QUOTE:
        return (
            f"its lines have {len(quote):,} characters, and {QUOTE:,} are the most:"
            " cite fewer lines"
        )
    if not quote.strip():
        return "its lines are blank"
    return (replace(named, oid=commit, quote=quote), entry.oid)


def _near(objects: Objects, commit: str, path: str) -> str:
    """Return the path that was probably meant; "" if none was."""
    tree, above = objects.commit(commit).tree, ""
    for name in path.split("/"):
        entries = {entry.name: entry for entry in objects.tree(tree)}
        entry = entries.get(name)
        if entry is None:
            close = difflib.get_close_matches(name[:80], entries, 1, 0.6)
            if close and name == path.rpartition("/")[2]:
                return above + close[0]
            break
        if entry.mode != TREE:
            break
        tree, above = entry.oid, f"{above}{name}/"
    same = path.rpartition("/")[2]
    try:
        root = objects.commit(commit).tree
        paths = [each for each, _ in walk(objects, root, limit=_PATHS)]
    except UserError:
        return ""
    return min((x for x in paths if x.rpartition("/")[2] == same), default="")


def _landed_as(objects: Objects, target: str, commit: str) -> str | None:
    """Return the landing whose submitted work holds ``commit``; None if none does."""
    tips: list[tuple[str, str]] = []
    for step in _first_parents(objects, target):
        tip = dict(trailers(step.message)).get(TIP_KEY, "")
        if tip == commit:
            return step.oid
        if is_oid(tip):
            tips.append((step.oid, tip))
    for landed, tip in tips[:_TIPS]:
        try:
            if objects.ancestor(commit, tip):
                return landed
        except GitError:  # its tip was pruned here
            continue
    return None


def _first_parents(objects: Objects, target: str) -> Iterator[Commit]:
    oid: str | None = target
    for _ in range(_LOOK):
        if oid is None or objects.kind(oid) is None:
            return
        commit = objects.commit(oid)
        yield commit
        oid = commit.parents[0] if commit.parents else None


def _carried(objects: Objects, landed: str, source: Source) -> tuple[Source, str] | str:
    """Return the source as the landing has it, if the very lines are there."""
    entry = objects.path(landed, source.name)
    lines = None
    if entry is not None and not file_problem(entry):
        lines = lines_of(objects, entry.oid)
    first = find(lines, source.quote, source.first) if lines else 0
    if entry is None or not first:
        return (
            f"commit {source.oid[:12]} landed as {landed[:12]}, and"
            f" {_shown(source.name)} does not have these lines there"
        )
    last = first + source.last - source.first
    return (replace(source, oid=landed, first=first, last=last), entry.oid)


def _shown(text: str) -> str:
    return clean.sentence(text, 120)
