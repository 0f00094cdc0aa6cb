"""Where the paths lead that the model names.

In a sandbox whatever can be seen may be read. Files are written in the worktree alone:
to write elsewhere is not what that grant is for.
"""

import os
from difflib import get_close_matches
from pathlib import Path

from gitagent.worker.inside.doing import Place, Slip

_LOOKED = 2000  # names of a folder that a wrong one is compared with


def seen(place: Place, name: str) -> Path:
    """Return the path to read. Raises Slip if there is nothing, or it may not be."""
    path = _absolute(place, name)
    if not place.confined and not _below(place, Path(os.path.realpath(path))):
        raise Slip(f"{name} is outside of the worktree, and there is no sandbox.")
    if not os.path.lexists(path):
        raise Slip(f"{name} does not exist.{_near(path)}")
    if not path.exists():
        raise Slip(f"{name} is a link to {path.readlink()}, which is not there.")
    return path


def written(place: Place, name: str) -> Path:
    """Return the path to write, without links. Raises Slip."""
    path = _absolute(place, name)
    real = Path(os.path.realpath(path))
    if not _below(place, real):
        through = f": it leads to {real}" if _below(place, path) else ""
        raise Slip(f"{name} is outside of the worktree{through}.")
    if any(part.lower() == ".git" for part in real.relative_to(place.root).parts):
        raise Slip(f"{name} belongs to Git, which alone writes there.")
    if real.is_dir() or name.endswith("/"):
        raise Slip(f"{name} is a folder.")
    if real.exists() and not real.is_file():
        raise Slip(f"{name} is no regular file.")
    return real


def shown(place: Place, path: Path) -> str:
    """Return a path as the model is told it: from the worktree on, if it is there."""
    return str(path.relative_to(place.root)) if _below(place, path) else str(path)


def _absolute(place: Place, name: str) -> Path:
    if not name:
        raise Slip("`path` is empty.")
    return Path(os.path.normpath(place.root / name))


def _below(place: Place, path: Path) -> bool:
    return path == place.root or place.root in path.parents


def _near(path: Path) -> str:
    """Return a sentence with the names beside it that are like it."""
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_LOOKED))]  # noqa: B905
    except OSError:
        return f" Neither does the folder {path.parent.name}."
    found = get_close_matches(path.name, names, 3)
    return f" There is {', '.join(found)}." if found else ""
