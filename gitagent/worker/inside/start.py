"""Where the programs beside an agent begin: ``start.py mcp``, ``start.py hook NAME``.

A script, since the package is not always where an isolated Python looks. It imports
nothing of gitagent's before it has said where that is.
"""

import sys
from pathlib import Path


def main(argv: list[str]) -> int:
    """Run the program that is named."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    if argv[:1] == ["mcp"]:
        from gitagent.worker.inside.mcp import serve  # noqa: PLC0415

        return serve()
    if argv[:1] == ["hook"]:
        from gitagent.worker.inside.hook import main as hook  # noqa: PLC0415

        return hook(argv[1:])
    sys.stderr.write("usage: start.py mcp | hook pre-tool | hook stop\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
