"""A push spoken byte by byte, as clients do that are old, odd or hostile."""

import subprocess
from collections.abc import Sequence

from gitagent.git.packet import FLUSH
from tests.support.repos import Repo

ZEROS = "0" * 40


def raw_push(
    hub: Repo,
    clone: Repo,
    commands: Sequence[tuple[str, str, str]],
    *,
    features: str = "report-status",
    options: Sequence[bytes] | None = None,
    keep: str = "HEAD",
) -> str:
    """Push (old, new, ref) ``commands`` to ``hub``; return all that it answers.

    The objects of ``clone`` that ``keep`` reaches are sent along if anything is made.
    """
    lines = [f"{old} {new} {ref}".encode() for old, new, ref in commands]
    lines[0] += b"\0" + features.encode()
    sent = b"".join(map(_packet, lines)) + FLUSH
    if options is not None:
        sent += b"".join(map(_packet, options)) + FLUSH
    if any(new != ZEROS for _, new, _ in commands):
        revisions = f"{keep}\n".encode()
        sent += clone.raw("pack-objects", "--stdout", "--revs", "-q", stdin=revisions)
    done = subprocess.run(
        ["git", "receive-pack", str(hub.path)],
        input=sent,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return (done.stdout + done.stderr).decode(errors="replace")


def _packet(data: bytes) -> bytes:
    return b"%04x%s" % (len(data) + 4, data)
