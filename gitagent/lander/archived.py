"""Archived records, as the lander's callers ask for them; see `git.archived`."""

from gitagent.git.archived import Archived

__all__ = ["Archived"]
