"""gitagent: coding agents on a real Git repository, nothing past the checks."""

__version__ = "0.1.0"
