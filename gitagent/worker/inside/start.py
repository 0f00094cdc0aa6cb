"""Where the programs beside an agent begin: ``start.py mcp`` and the others.

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
    if argv[:1] == ["hands"]:
        from gitagent.worker.inside.hands import serve as hands  # noqa: PLC0415

        return hands()
    if argv[:1] == ["servers"]:
        from gitagent.worker.inside.mcp_host import serve as servers  # noqa: PLC0415

        return servers()
    if argv[:1] == ["hook"]:
        from gitagent.worker.inside.hook import main as hook  # noqa: PLC0415

        return hook(argv[1:])
    others = "hands | servers | hook pre-tool | hook stop"
    sys.stderr.write(f"usage: start.py mcp | {others}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
