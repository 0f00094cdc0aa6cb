"""Commit messages: the trailers that are ours, and other people's text that is not.

What a landing or a record is can be read from its trailers alone, so nobody's text may
read as one. Source: git-interpret-trailers(1): trailers are the last paragraph of a
message, never its first; a line ``---`` and a scissors line end what Git looks at.
"""

import re
from collections.abc import Iterable, Sequence

from gitagent import __version__
from gitagent.core.approval import Approval
from gitagent.core.submission import CheckLine, Submission
from gitagent.files import clean

Trailer = tuple[str, str]

RECORDS = (
    "task",
    "submission",
    "approval",
    "receipt",
    "init",
    "done",
    "task-add",
    "archive",
    "queue",
    "inbox",
    "witness",
    "exchange",
    "conversation",
    "memory",
    "proposal",
    "decision",
)

_SUBJECT = 120
_OURS = re.compile(r"\s*gitagent-", re.IGNORECASE)
_CUT = re.compile(r"---\s|---$|\S{0,8}\s?-{8,} ?>8 ?-{8,}")
_TRAILER = re.compile(r"([A-Za-z0-9][A-Za-z0-9-]*)[ \t]*:[ \t]*(.*)$")
_STRICT = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*: \S")


def landing_message(
    submission: Submission,
    subject: str,
    body: str,
    *,
    config: str,
    checked: str,
    checks: Sequence[CheckLine] = (),
    others: Sequence[Trailer] = (),
    approval: Approval | None = None,
) -> str:
    """Return the message of the commit that lands ``submission``.

    ``subject`` and ``body`` are the task's or the tip's own words; ``config`` is the
    blob of the settings, ``checked`` the product tree whose receipts cover the commit.
    ``others`` are trailers to stand before ours; ``approval`` is the one that counts.
    """
    ours = [*others, ("Gitagent-Submission", submission.id)]
    if submission.ends:
        ours.append(("Gitagent-Task", submission.ends))
    ours += [
        ("Gitagent-Tip", submission.tip),
        ("Gitagent-Config", config),
        ("Gitagent-Checked", checked),
        *([("Gitagent-Approved", f"{approval.oid} {approval.by}")] if approval else []),
        *(("Gitagent-Check", check_trailer(line)) for line in checks),
    ]
    subject = clean.sentence(subject, _SUBJECT) or f"Land {submission.id}"
    return annotated(f"{subject}\n\n{body}", ours)


def replayed_message(submission: Submission, message: str) -> str:
    """Return the message of a commit that lands with others of ``submission``."""
    return annotated(message, [("Gitagent-Submission", submission.id)])


def record_message(what: str, kind: str) -> str:
    """Return the message of a record commit: in words what happened, and its kind."""
    if kind not in RECORDS:
        raise ValueError(kind)
    return annotated(
        what, [("Gitagent-Record", kind), ("Gitagent-Release", __version__)]
    )


def annotated(text: str, ours: Iterable[Trailer]) -> str:
    """Return other people's ``text`` as a message that ends with our trailers.

    Trailers of other kinds that end the text (`Signed-off-by`) stay trailers.
    """
    subject, _, body = escape(text).strip().partition("\n")
    body = body.strip("\n")
    block = "\n".join(f"{key}: {clean.sentence(value, 500)}" for key, value in ours)
    last = re.split(r"\n[ \t]*\n", body)[-1]
    gap = "\n" if all(map(_STRICT.match, last.split("\n"))) else "\n\n"
    above = f"{subject.rstrip() or '(no subject)'}\n\n{body}".rstrip()
    return f"{above}{gap}{block}\n"


def trailers(message: str) -> tuple[Trailer, ...]:
    """Return the (key, value) pairs of a message's last paragraph, in order.

    Empty if that paragraph is the first, or has a line that is no trailer.
    """
    rows = message.replace("\r\n", "\n").rstrip().split("\n")
    blank = max((n for n, row in enumerate(rows) if not row.strip()), default=0)
    if not any(row.strip() for row in rows[:blank]):
        return ()
    found: list[Trailer] = []
    for row in rows[blank + 1 :]:
        if row[0].isspace() and found:
            key, value = found.pop()
            found.append((key, f"{value} {row.strip()}"))
        elif parts := _TRAILER.match(row):
            found.append((parts[1], parts[2].strip()))
        else:
            return ()
    return tuple(found)


def escape(text: str) -> str:
    """Return ``text`` visible, with ``> `` before each line that only ours may have.

    That is a line that reads as a ``Gitagent-`` trailer, or that hides from Git what
    comes after it. Escaping again changes nothing.
    """
    rows = clean.visible(text).split("\n")
    return "\n".join(
        f"> {row}" if _OURS.match(row) or _CUT.match(row) else row for row in rows
    )


def check_trailer(line: CheckLine) -> str:
    """Return the value of a check's trailer: name, state, and how long it took."""
    return f"{line.name} {line.state} {line.seconds or 0:.1f}s"
