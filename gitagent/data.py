"""Where the files that gitagent ships beside its code lie: hooks and templates.

In a wheel they are in the package's ``_data`` folder, in a source checkout at the top.
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def data_path(name: str) -> Path:
    """Return the file or folder ``name``, such as ``hooks/advance``.

    Raises FileNotFoundError when this installation does not have it.
    """
    packed = _PACKAGE / "_data"
    path = (packed if packed.is_dir() else _PACKAGE.parent) / name
    if not path.exists():
        raise FileNotFoundError(path)
    return path
