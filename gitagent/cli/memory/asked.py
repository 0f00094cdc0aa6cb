"""What a command asks of the memory, and how it says what became of it."""

from typing import TYPE_CHECKING

from gitagent.cli import say
from gitagent.errors import UserError

if TYPE_CHECKING:
    from gitagent.cli.here import Here
    from gitagent.core.remembering import Operation


def carry(here: "Here", operation: "Operation", said: str) -> None:
    """Have one operation done, and say so; ``said`` follows the item's name.

    Raises:
        UserError: it was refused, with the reason.
    """
    from gitagent.daemon import memory  # noqa: PLC0415 - start time
    from gitagent.daemon.entry import poke  # noqa: PLC0415

    ruling = memory.change(here.repository, [operation])
    (ruled,) = ruling.ruled
    reason = ruled.reason.rstrip(".")
    if not ruled.admitted:
        raise UserError(reason[:1].lower() + reason[1:])
    if ruled.warning:
        say.note(ruled.warning)
    slug = ruled.slug or operation.slug
    if slug != operation.slug:
        say.note(reason)
    say.out(f"{slug} {said} with {ruling.commit[:12]}")
    poke(here.repository)
