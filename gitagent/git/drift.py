"""How far a checkout of ours drifted from the index that wrote it.

Whoever wrote there may have left anything: links in place of folders, pipes, folders
that deny access. No link is followed, and only folders that belong there are entered,
each after the one above it was seen to be a real one. Nobody writes there meanwhile.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from gitagent.git.stat_index import Folders, file_print
from gitagent.git.sweep import open_folder, opened, remove_entry


@dataclass(frozen=True, slots=True)
class Drift:
    """What differs; paths are relative to the checkout."""

    extra: list[str] = field(default_factory=list)  # not tracked; topmost only
    altered: list[str] = field(default_factory=list)  # tracked, and touched since
    missing: list[str] = field(default_factory=list)  # tracked


def look(tree: Path, folders: Folders, keep: Collection[str] = ()) -> Drift:
    """Compare every file's status with the index; no file is read.

    A real folder whose path is in ``keep`` is not entered, nor told. Folders that deny
    access are opened up.
    """
    drift = Drift()
    above = set()  # folders that hold a kept one
    for each in keep:
        parts = each.split("/")
        above |= {"/".join(parts[:n]) for n in range(1, len(parts))}
    with opened(tree) as root:
        pending = [""]
        while pending:
            prefix = pending.pop()
            fd = open_folder(root, prefix or ".")
            try:
                found = _compare(fd, prefix, folders, drift)
            finally:
                os.close(fd)
            for path, belongs in found:
                if belongs or path in above:
                    pending.append(f"{path}/")
                elif path not in keep:
                    drift.extra.append(path)
    return drift


def _compare(
    fd: int, prefix: str, folders: Folders, drift: Drift
) -> list[tuple[str, bool]]:
    """Compare what is in one folder; return the folders there, and if they belong."""
    expected = folders.below.get(prefix, {})
    found, seen = [], set()
    with os.scandir(fd) as entries:
        for each in entries:
            name = each.name
            if wanted := expected.get(name):
                seen.add(name)
                now = each.stat(follow_symlinks=False)
                if wanted != file_print(now.st_ctime_ns, now.st_ino):
                    drift.altered.append(prefix + name)
            elif each.is_dir(follow_symlinks=False):
                seen.add(name)
                found.append((prefix + name, name in expected))
            else:
                drift.extra.append(prefix + name)
    for name in expected.keys() - seen:
        if expected[name] is None:
            drift.missing.extend(folders.files(f"{prefix}{name}/"))
        else:
            drift.missing.append(prefix + name)
    return found


def undo(tree: Path, drift: Drift) -> None:
    """Remove what is extra or altered, so that git can write what belongs there.

    Raises OSError when the kernel refuses.
    """
    for path in (*drift.extra, *drift.altered):
        folder, _, name = path.rpartition("/")
        with opened(tree, folder) as fd:
            remove_entry(fd, name)
