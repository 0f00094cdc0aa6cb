"""gitagent: coding agents on a real Git repository, nothing past the checks."""

__version__ = "0.1.0"

# New objects between two looks for garbage. What is loaded lives on, and with Python's
# own number to look through it takes a fifth of a short command.
YOUNG = 20_000
