"""The newest landings of a target, read from its first-parent history alone."""

from dataclasses import dataclass

from gitagent.git.objects import Objects


@dataclass(frozen=True, slots=True)
class Landed:
    """One landing."""

    submission: str
    commit: str
    at: str  # UTC
    title: str
    task: str = ""
    paths: tuple[str, ...] = ()  # that it changed, sorted; the first of them
    more: int = 0  # how many it changed beside these


def newest(objects: Objects, commit: str, count: int = 10) -> tuple[Landed, ...]:
    """Return the newest landings of ``commit``, newest first."""
    raise NotImplementedError


def changed(objects: Objects, old: str, new: str) -> tuple[str, ...]:
    """Return the paths of the product that differ between two commits, sorted."""
    raise NotImplementedError
