"""What new code has to do before a daemon changes over to it: all but to act.

It is run in a process of its own, with the new code; what it says is judged by the old.
"""

from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import gitagent
from gitagent.core.decide import decide
from gitagent.daemon.moment import moment
from gitagent.daemon.read import Reader
from gitagent.git.repository import Repository

_MAIN = "__main__"  # a program, and no part of the daemon


def load_all() -> Path:
    """Load every module; return the folder of the package."""
    package = Path(gitagent.__file__).resolve().parent
    for found in walk_packages([str(package)], "gitagent."):
        if not found.name.endswith(_MAIN):
            import_module(found.name)
    return package


def rehearse(repo: Repository) -> dict[str, Any]:
    """Load every module, read the repository once, and decide; return what was read."""
    package = load_all()
    with repo.objects() as objects:
        snapshot = Reader(repo).read(objects, audit=False)
    decide(snapshot, moment())
    return {
        "version": gitagent.__version__,
        "package": str(package),
        "target": snapshot.target.ref,
        "config": snapshot.target.config,
        "problem": snapshot.target.problem,
    }
