"""What new code has to do before a daemon changes over to it: all but to act.

It is run in a process of its own, with the new code; what it says is judged by the old.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Final

import gitagent
from gitagent.core.decide import decide
from gitagent.daemon.moment import moment
from gitagent.daemon.read import Reader
from gitagent.git.repository import Repository

_MAIN = "__main__"  # a program, and no part of the daemon

# Run in processes of their own, with libraries that take seconds to load.
_APART: Final = (
    "gitagent.cli.terminal.",
    "gitagent.model.anthropic_api",
    "gitagent.model.openai_api",
    "gitagent.worker.inside.",
    "gitagent.worker.loop.",
)


def load_all() -> Path:
    """Load every module of the daemon; return the folder of the package.

    Of what other processes load it is seen only that Python can read it.
    """
    package = Path(gitagent.__file__).resolve().parent
    for found in walk_packages([str(package)], "gitagent."):
        if found.name.startswith(_APART):
            _read(found.name)
        elif not found.name.endswith(_MAIN):
            import_module(found.name)
    return package


def _read(module: str) -> None:
    spec = find_spec(module)
    if spec is not None and spec.loader is not None:
        spec.loader.get_code(module)  # type: ignore[attr-defined]


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
