"""Approvals: a person's word for the exact content of paths that a rule guards.

An approval names one submission, its tip, and for each path the mode and blob that
the target would get. Whatever differs from that is not approved: another tip, another
merge, one more path.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from gitagent.core.glob import named


@dataclass(frozen=True, slots=True)
class Content:
    """What a path would hold."""

    path: str
    mode: int  # 0 if the path would be gone
    blob: str  # object id; empty if the path would be gone


@dataclass(frozen=True, slots=True)
class Needed:
    """What a person has to approve before it may land."""

    path: str
    mode: int
    blob: str
    why: str  # a clause: "protected", "1 more skip"

    @property
    def content(self) -> Content:
        """What an approval has to name."""
        return Content(self.path, self.mode, self.blob)


@dataclass(frozen=True, slots=True)
class Approval:
    """The newest commit of ``refs/gitagent/approvals/<submission>``."""

    submission: str
    tip: str  # submitted commit
    paths: tuple[Content, ...]
    by: str  # "Name <email>"; also the author of the record commit
    when: str  # UTC
    why: str = ""  # in the approver's words
    until: str = ""  # UTC; empty: as long as the content stays the same
    oid: str = field(default="", compare=False)  # record commit this was read from


def missing(
    approval: Approval | None, submission: str, tip: str, needed: Iterable[Needed]
) -> tuple[Needed, ...]:
    """Return what is still to be approved: nothing, or all of it.

    One approval covers a submission or does not; what it names beyond need is no harm.
    """
    needed = tuple(needed)
    if approval is None or (approval.submission, approval.tip) != (submission, tip):
        return needed
    if {need.content for need in needed} <= set(approval.paths):
        return ()
    return needed


def request(submission: str, needed: tuple[Needed, ...]) -> str:
    """Return the sentence that asks a person for an approval."""
    paths = named(tuple(f"{need.path} ({need.why})" for need in needed))
    return f"A person has to approve {paths}: gitagent approve {submission}."
