"""What ``git merge-tree`` answers, read from a process that stays.

Source: git-merge-tree(1), OUTPUT; builtin/merge-tree.c for what ``--stdin`` adds.
"""

import re
from collections.abc import Iterator

from gitagent.core.ident import is_oid
from gitagent.host.talker import Talker


def answer(talker: Talker, sides: tuple[str, str], timeout: float) -> list[str]:
    """Ask a ``merge-tree --stdin --name-only`` for a merge; return its fields.

    These are 1 or 0, the tree, paths in conflict, and, after an empty one, messages.

    Raises:
        EOFError: the process is gone, or answered something else.
        TimeoutError: nothing came for ``timeout`` seconds.
    """
    talker.write(f"{sides[0]} {sides[1]}\n".encode(), timeout)
    return list(_fields(talker, timeout))


def _fields(talker: Talker, timeout: float) -> Iterator[str]:
    def read() -> str:
        data = talker.read_until(b"\0", timeout)
        return data[:-1].decode(errors="surrogateescape")

    clean, tree = read(), read()
    if clean not in {"0", "1"} or not is_oid(tree):
        raise EOFError(talker.complaint())
    yield from (clean, tree)
    while path := read():
        yield path
    if clean == "1":
        return
    yield ""
    while count := read():
        yield count
        if not count.isdigit():  # advice about submodules, which stands at the end
            return
        for _ in range(int(count) + 2):
            yield read()


def conflict_paths(fields: list[str], sides: tuple[str, str]) -> tuple[str, ...]:
    """Return the conflicting paths of a ``merge-tree -z --name-only`` after its tree.

    Some conflicts are told in a message only. A path that git had to invent, such as
    ``a~<commit>`` for a file where the other side has a folder, is given as ``a``.
    """
    end = fields.index("") if "" in fields else len(fields)
    paths = fields[:end] or _told(fields[end + 1 :])
    invented = re.compile(rf"~(?:{'|'.join(sides)})(?:_\d+)?\Z")
    return tuple(sorted({invented.sub("", path) for path in paths}))


def _told(fields: list[str]) -> list[str]:
    """Return the paths of the messages, each: count, paths, kind, text."""
    paths: list[str] = []
    while fields and fields[0].isdigit():
        count = int(fields[0])
        if "CONFLICT" in fields[count + 1]:
            paths += fields[1 : count + 1]
        fields = fields[count + 3 :]
    return paths
