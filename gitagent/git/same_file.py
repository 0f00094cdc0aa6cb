"""Whether a file that hostile code may have written is the one that git wrote."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from gitagent.git.sweep import opened

_CHUNK = 1 << 20


def same_file(expected: Path, tree: Path, path: str) -> bool:
    """Compare kind, executable bit and bytes of ``path`` in two folders.

    The folders that ``path`` goes through are real ones. What cannot be read differs.
    """
    ours = expected / path
    folder, _, name = path.rpartition("/")
    with suppress(OSError), opened(tree, folder) as fd:
        wanted, found = ours.lstat(), os.lstat(name, dir_fd=fd)
        if stat.S_IFMT(wanted.st_mode) != stat.S_IFMT(found.st_mode):
            return False
        if stat.S_ISLNK(found.st_mode):
            return os.fspath(ours.readlink()) == os.readlink(name, dir_fd=fd)
        if not stat.S_ISREG(found.st_mode) or wanted.st_size != found.st_size:
            return False
        if (wanted.st_mode ^ found.st_mode) & stat.S_IXUSR:
            return False
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        theirs = os.open(name, flags, dir_fd=fd)
        with os.fdopen(theirs, "rb") as two, ours.open("rb") as one:
            while chunk := one.read(_CHUNK):
                if chunk != two.read(_CHUNK):
                    return False
            return not two.read(1)
    return False
