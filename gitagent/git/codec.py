"""Tree and commit objects to bytes and back, so that both stores write the same ids.

Source: gitformat-pack(5) and git-hash-object(1) for the names; tree.c and commit.c of
Git for the order of entries and the lines of a commit.
"""

import codecs
import re
import stat
from collections.abc import Callable, Iterable, Sequence

from gitagent.git.objects import (
    BLOB,
    EXECUTABLE,
    GITLINK,
    LINK,
    TREE,
    Commit,
    Entry,
)
from gitagent.git.text import Person, clean_message, parse_signature, signature

Sign = Callable[[bytes], str]  # an armoured signature of what it is given

_SHA1 = re.compile(rb"(?P<mode>[0-7]+) (?P<name>[^\0]+)\0(?P<oid>.{20})", re.DOTALL)
_SHA256 = re.compile(rb"(?P<mode>[0-7]+) (?P<name>[^\0]+)\0(?P<oid>.{32})", re.DOTALL)

# Python's own: they raise whatever is asked, or take time that grows with the square.
_NOT_OF_TEXTS = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
)


def dump_tree(entries: Iterable[Entry]) -> bytes:
    """Return the content of a tree object, with the entries in Git's order.

    Raises:
        ValueError: two entries have one name, or a name cannot stand in a tree.
    """
    lines = {}
    for entry in entries:
        name = entry.name.encode(errors="surrogateescape")
        if not name or b"/" in name or b"\0" in name or name in lines:
            raise ValueError(f"not a name for a tree entry here: {entry.name!r}")
        lines[name] = (
            name + b"/" if entry.mode == TREE else name,
            b"%o %s\0%s" % (entry.mode, name, bytes.fromhex(entry.oid)),
        )
    return b"".join(line for _, line in sorted(lines.values()))


def load_tree(data: bytes, *, sha256: bool) -> tuple[Entry, ...]:
    """Return the entries that a tree object holds."""
    return tuple(
        Entry(
            name.decode(errors="surrogateescape"),
            _mode(int(mode, 8)),
            oid.hex(),
        )
        for mode, name, oid in (_SHA256 if sha256 else _SHA1).findall(data)
    )


def _mode(stored: int) -> int:
    """Return the mode that git takes an entry for; see canon_mode in cache.h."""
    kind = stat.S_IFMT(stored)
    if kind == stat.S_IFREG:
        return EXECUTABLE if stored & stat.S_IXUSR else BLOB
    return kind if kind in {LINK, TREE} else GITLINK


def dump_commit(
    tree: str,
    parents: Sequence[str],
    message: str,
    author: Person,
    committer: Person,
    sign: Sign | None = None,
) -> bytes:
    """Return the content of a commit object; names and message are mended."""
    data = b"".join(
        (
            f"tree {tree}\n".encode(),
            *(f"parent {parent}\n".encode() for parent in parents),
            b"author %s\n" % signature(author),
            b"committer %s\n" % signature(committer),
            b"\n",
            clean_message(message).encode(),
        )
    )
    if sign is None:
        return data
    head, _, body = data.partition(b"\n\n")
    signature_lines = sign(data).strip().encode().replace(b"\n", b"\n ")
    return b"%s\n%s %s\n\n%s" % (head, _signed_by(tree), signature_lines, body)


def split_signature(data: bytes) -> tuple[bytes, str]:
    """Return what a commit object's signature is of, and the signature.

    The signature is empty if there is none, or more than one. Source:
    parse_signed_commit in Git's commit.c.
    """
    head, _, body = data.partition(b"\n\n")
    wanted = _signed_by(tree_of(data))
    found: list[list[bytes]] = []
    kept: list[bytes] = []
    inside = False
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        if key in {b"gpgsig", b"gpgsig-sha256"}:
            inside = True
            found.append([value] if key == wanted else [])
        elif inside and line.startswith(b" "):
            found[-1].append(line[1:])
        else:
            inside = False
            kept.append(line)
    text = b"\n".join(found[0]) + b"\n" if len(found) == 1 and found[0] else b""
    return b"\n".join(kept) + b"\n\n" + body, text.decode("ascii", "replace")


def _signed_by(tree: str) -> bytes:
    """Return the header that a signature has in a repository with such object ids."""
    return b"gpgsig" if len(tree) == 40 else b"gpgsig-sha256"


def tree_of(commit: bytes) -> str:
    """Return the tree that a commit object's content names, on its first line."""
    return commit.partition(b"\n")[0].removeprefix(b"tree ").decode("ascii", "replace")


def load_commit(oid: str, data: bytes) -> Commit:
    """Return the commit that the object's content says; what is broken is empty."""
    head, _, body = data.partition(b"\n\n")
    headers: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        headers.setdefault(key, []).append(value)
    encoding = headers.get(b"encoding", [b"utf-8"])[0].decode("ascii", "replace")

    def first(key: bytes) -> bytes:
        return headers.get(key, [b""])[0]

    def who(key: bytes) -> Person:
        return parse_signature(_decoded(first(key), encoding).encode())

    return Commit(
        oid=oid,
        tree=first(b"tree").decode("ascii", "replace"),
        parents=tuple(
            parent.decode("ascii", "replace") for parent in headers.get(b"parent", [])
        ),
        author=who(b"author"),
        committer=who(b"committer"),
        message=_decoded(body, encoding),
    )


def _decoded(data: bytes, encoding: str) -> str:
    try:
        if codecs.lookup(encoding).name not in _NOT_OF_TEXTS:
            return data.decode(encoding, "replace")
    except (LookupError, ValueError):
        pass
    return data.decode("utf-8", "replace")
