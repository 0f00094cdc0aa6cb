"""Where the process of the built-in agent begins: ``start.py PARENT API``.

A script, since the package is not always where an isolated Python looks. Until its
order comes it imports what it will need, and says nothing; when its input ends, so
does it.
"""

import ctypes
import gc
import os
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1  # prctl(2)


def main(argv: list[str]) -> int:
    """Lead one conversation; return 0 if it ended well. How is on standard output."""
    parent, api = int(argv[0]), argv[1]
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return 1
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    from gitagent import YOUNG  # noqa: PLC0415 - the path is new

    gc.set_threshold(YOUNG)
    from gitagent.worker.loop.leading import lead  # noqa: PLC0415 - the path is new

    return lead(api)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
