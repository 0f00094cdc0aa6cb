"""Whom to believe: a record commit is a person's word if nothing speaks against it.

Where the target names a file of allowed signers, the commit has to be signed by a key
that the target's own copy of that file lets sign for the author's address, now.
"""

from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from gitagent.files.message import trailers
from gitagent.files.record import NAME
from gitagent.git.codec import Sign
from gitagent.git.identity import OWN
from gitagent.git.objects import BLOB, EXECUTABLE, Commit, Entry, Objects
from gitagent.git.repository import Repository
from gitagent.git.signing import verify_commit
from gitagent.git.text import Person
from gitagent.host import clock

AGAIN_S: Final = 30.0  # after which a key may have run out that was good

_SIGNERS_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Signers:
    """Whose word counts, as one commit of the target has it."""

    blob: str = ""  # of the file; empty: nobody has to sign
    problem: str = ""  # why nobody's word counts, a clause


def signers(objects: Objects, path: str, target: str) -> Signers:
    """Return whose word counts; ``path`` is ``trust.allowed_signers``.

    It is a file of the target's commit, and nothing that stands for one.
    """
    if not path:
        return Signers()
    entry = None
    if path == str(PurePosixPath(path)):
        entry = objects.path(target, path)
    if entry is None or entry.mode not in {BLOB, EXECUTABLE}:
        return Signers(problem=f"the target has no file {path} of allowed signers")
    if objects.size(entry.oid) > _SIGNERS_BYTES:
        return Signers(problem=f"{path} is too large")
    return Signers(entry.oid)


def write(
    objects: Objects,
    old: str | None,
    payload: bytes,
    message: str,
    author: Person,
    sign: Sign | None,
) -> str:
    """Store the record commit of a person's word after ``old``; return it.

    No ref moves: whether it would be believed is to be asked first.
    """
    tree = objects.write_tree([Entry(NAME, BLOB, objects.write_blob(payload))])
    who = replace(OWN, when=int(clock.now().timestamp()))
    parents = () if old is None else (old,)
    return objects.write_commit(tree, parents, message, author, who, sign)


def doubt(
    repo: Repository, objects: Objects, oid: str, kind: str, by: str, who: Signers
) -> tuple[str, bool]:
    """Return why a record commit is not the word of ``by``, as a clause, or "".

    With it, whether that is so for good: a key may run out, or be valid later. ``kind``
    is what the commit says that it is the record of.

    Raises:
        GitError: it cannot be read.
        UserError: there is no ssh-keygen.
    """
    if who.problem:
        return who.problem, True
    commit = objects.commit(oid)
    if not _is_nothing_else(objects, commit, kind):
        return "its commit is that of something else", True
    if by != commit.author.ident:
        return (
            f"it says to be by {by}, and the commit is by {commit.author.ident}",
            True,
        )
    if not who.blob:
        return "", True
    allowed = objects.blob(who.blob)
    why = verify_commit(repo, oid, allowed, commit.author.email)
    return why, b"valid-" not in allowed


def _is_nothing_else(objects: Objects, commit: Commit, kind: str) -> bool:
    """Whether whoever signed a commit knew it for what it is.

    People sign what they commit to a branch too, and a file of such a name can be
    brought into a branch by others.
    """
    names = [entry.name for entry in objects.tree(commit.tree)]
    return (
        names == [NAME]
        and dict(trailers(commit.message)).get("Gitagent-Record") == kind
    )
