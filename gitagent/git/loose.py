"""Loose objects written many at a time: flushed together, and only then named.

A flush is most of what storing an object costs, and the kernel joins those that wait
for the disk at once. The order is git's own: no object has its name before its content
is on the disk, so that a crash of the machine leaves none that is torn.
Source: object-file.c of Git, gitrepository-layout(5).
"""

import hashlib
import os
import secrets
import threading
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

_FLUSHES = 8  # at once; more than a disk joins anyway
_OPEN = 128  # files held open until they are flushed
_LEVEL = 1  # git's own for loose objects; see core.looseCompression


def name(kind: str, data: bytes, *, sha256: bool) -> str:
    """Return the object id."""
    digest = hashlib.sha256 if sha256 else hashlib.sha1
    return digest(b"%b %d\0%b" % (kind.encode(), len(data), data)).hexdigest()


def store(folder: Path, objects: Mapping[str, tuple[str, bytes]]) -> None:
    """Store kind and content under each id in the object directory ``folder``.

    One that is there is only made young again, so that no gc takes it.

    Raises:
        OSError: the disk is full or not to be written; some may have been stored.
    """
    left = iter(objects.items())
    while some := dict(islice(left, _OPEN)):
        _store(folder, some)


def _store(folder: Path, objects: Mapping[str, tuple[str, bytes]]) -> None:
    temporary: dict[Path, Path] = {}
    opened: list[int] = []
    try:
        for oid, (kind, data) in objects.items():
            path = folder / oid[:2] / oid[2:]
            if _freshened(path):
                continue
            # What dies here is removed by git gc, which knows such names.
            new = path.with_name(f"tmp_obj_{secrets.token_hex(8)}")
            opened.append(_create(new))
            temporary[path] = new
            _write(opened[-1], b"%b %d\0%b" % (kind.encode(), len(data), data))
        flush(opened)
        for path, new in temporary.items():
            new.rename(path)
    except BaseException:
        for new in temporary.values():
            new.unlink(missing_ok=True)
        raise
    finally:
        for fd in opened:
            os.close(fd)


def _freshened(path: Path) -> bool:
    """Whether an object is there, and too young for a gc from now on."""
    try:
        if path.stat().st_size == 0:  # torn by a crash
            return False
        os.utime(path)
    except OSError:
        return False
    return True


def _create(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o444)
    except FileNotFoundError:
        fan = path.parent
        with suppress(FileExistsError):
            fan.mkdir()
            # As in a repository that a group shares.
            fan.chmod(fan.parent.stat().st_mode & 0o7777)
    return os.open(path, flags, 0o444)


def _write(fd: int, data: bytes) -> None:
    left = memoryview(zlib.compress(data, _LEVEL))
    while left:
        left = left[os.write(fd, left) :]


def flush(opened: Sequence[int]) -> None:
    """Bring the content of all these descriptors to the disk.

    Raises OSError if one could not be.
    """
    failed: list[OSError] = []

    def some(mine: Sequence[int]) -> None:
        try:
            for fd in mine:
                os.fsync(fd)
        except OSError as error:
            failed.append(error)

    parts = [opened[n::_FLUSHES] for n in range(min(_FLUSHES, len(opened)))]
    # Threads of the moment: a pool of them does not survive a fork.
    threads = [threading.Thread(target=some, args=(part,)) for part in parts[1:]]
    for thread in threads:
        thread.start()
    for part in parts[:1]:
        some(part)
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
