"""What an index file of ours says about each file: the times git saw when it wrote it.

Git records nanoseconds and the inode but compares whole seconds, so a change within
the second of the checkout that puts the modification time back escapes it. The change
time cannot be put back by anybody but the kernel. Source: gitformat-index(5).
"""

import struct
from dataclasses import dataclass, field
from pathlib import Path

_GITLINK = 0o160000
_LOW = 0xFFFFFFFF  # what of an inode number is kept
_NANO = 1_000_000_000

_HEAD = struct.Struct(">4sII")
_ENTRY = struct.Struct(">II12xII12x")  # change time in two parts, inode, mode

# Change time in nanoseconds, and inode: any change of a file changes the first, and
# a file put in its place with a rename has another of both.
Print = tuple[int, int]


@dataclass(slots=True)
class Folders:
    """All tracked paths by folder ("" or ending in a slash), then by name."""

    below: dict[str, dict[str, Print | None]] = field(default_factory=lambda: {"": {}})
    links: set[str] = field(default_factory=set)  # paths of submodules; None in `below`

    def add(self, folder: str) -> dict[str, Print | None]:
        """Return what is in a folder; it and those above are there afterwards."""
        found = self.below.setdefault(folder, {})
        parent, slash, name = folder[:-1].rpartition("/")
        while name and name not in self.below.setdefault(parent + slash, {}):
            self.below[parent + slash][name] = None
            parent, slash, name = parent.rpartition("/")
        return found

    def holds(self, path: str) -> bool:
        """Whether a path is tracked, as a file or as a folder with tracked files."""
        folder, slash, name = path.rpartition("/")
        return name in self.below.get(folder + slash, {})

    def files(self, folder: str = "") -> list[str]:
        """Return the tracked files in a folder, at every depth."""
        found = []
        pending = [folder]
        while pending:
            prefix = pending.pop()
            for name, known in self.below.get(prefix, {}).items():
                if known is None:
                    pending.append(f"{prefix}{name}/")
                else:
                    found.append(prefix + name)
        return found


def file_print(ctime_ns: int, inode: int) -> Print:
    """Return what the index keeps of a file's status."""
    return ctime_ns, inode & _LOW


def load(path: Path, *, sha256: bool) -> Folders:
    """Read an index of version 2 or 3; without the file, it is empty.

    Raises:
        ValueError, struct.error: it is something else, or torn.
    """
    folders = Folders()
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return folders
    magic, version, count = _HEAD.unpack_from(data)
    if magic != b"DIRC" or version not in {2, 3}:
        raise ValueError(f"{path} is an index of another kind")
    flags_at = _ENTRY.size + (32 if sha256 else 20)
    place, last, names = _HEAD.size, "", folders.below[""]
    for _ in range(count):
        seconds, nanos, inode, mode = _ENTRY.unpack_from(data, place)
        start = place + flags_at + (4 if data[place + flags_at] & 0x40 else 2)
        end = data.index(0, start)
        text = data[start:end].decode(errors="surrogateescape")
        parent, slash, name = text.rpartition("/")
        folder = parent + slash
        if folder != last:
            last, names = folder, folders.add(folder)
        if mode == _GITLINK:
            folders.links.add(folder + name)
            folders.add(f"{folder}{name}/")
        else:
            names[name] = (seconds * _NANO + nanos, inode)
        place += (end - place + 8) & ~7
    return folders
