"""Annotated tags as objects, signed with an SSH key as Git signs them.

`git verify-tag` accepts what is made here. Source: git-mktag(1), git-tag(1).
"""

import re
from dataclasses import dataclass

from gitagent.errors import GitError
from gitagent.git.codec import Sign
from gitagent.git.refs import DURABLE
from gitagent.git.repository import Repository
from gitagent.git.text import Person, clean_message, parse_signature, signature

_SIGNED = b"-----BEGIN SSH SIGNATURE-----\n"
_HEAD = re.compile(
    rb"object (?P<commit>[0-9a-f]+)\ntype commit\ntag (?P<name>[^\n]+)\n"
    rb"tagger (?P<tagger>[^\n]+)\n\n"
)


@dataclass(frozen=True, slots=True)
class Tag:
    """An annotated tag of a commit."""

    oid: str
    commit: str
    name: str
    tagger: Person
    message: str  # without the signature
    payload: bytes  # what a signature is of
    signature: str  # armoured; "": it is not signed


def write(
    repo: Repository,
    name: str,
    commit: str,
    message: str,
    tagger: Person,
    sign: Sign | None = None,
) -> str:
    """Store the tag ``name`` of a commit; return its object. No ref moves.

    Raises:
        UserError: it cannot be signed.
    """
    head = f"object {commit}\ntype commit\ntag {name}\n".encode()
    who = b"tagger " + signature(tagger)
    payload = head + who + b"\n\n" + clean_message(message).encode()
    signed = sign(payload).encode() if sign is not None else b""
    done = repo.git.run(
        *DURABLE, "hash-object", "-w", "-t", "tag", "--stdin", stdin=payload + signed
    )
    return done.text


def read(repo: Repository, oid: str) -> Tag | None:
    """Return an annotated tag of a commit; None if the object is none."""
    try:
        data = repo.git.run("cat-file", "tag", oid).out
    except GitError:
        return None
    at = data.find(_SIGNED)
    payload, signed = (data, b"") if at < 0 else (data[:at], data[at:])
    match = _HEAD.match(payload)
    if match is None:
        return None
    return Tag(
        oid,
        match["commit"].decode(),
        match["name"].decode(errors="replace"),
        parse_signature(match["tagger"]),
        payload[match.end() :].decode(errors="replace"),
        payload,
        signed.decode("ascii", "replace"),
    )
