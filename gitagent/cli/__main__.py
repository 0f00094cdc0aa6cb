"""``python -m gitagent.cli`` is ``gitagent``."""

from gitagent.cli import main

main()
