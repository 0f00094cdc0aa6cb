"""What an attempt asks of the memory, kept until its work is judged.

What came through the gate is kept beside the attempt, where no worker can write. A
program without a gate leaves a file in its out folder.
"""

from gitagent.core.effect import Effects
from gitagent.core.grants import GATED
from gitagent.files import proposed
from gitagent.files.proposed import NAME, NOTHING, Proposed
from gitagent.worker.folder import Folder
from gitagent.worker.log import Log
from gitagent.worker.order import Order


def keep(folder: Folder, asked: Proposed) -> None:
    """Keep all that an attempt has asked for so far, whole or not at all."""
    new = folder.path / f"{NAME}.new"
    new.write_bytes(proposed.dump(asked))
    new.replace(folder.path / NAME)


def kept(folder: Folder) -> Proposed:
    """Return what `keep` kept last."""
    try:
        return proposed.parse((folder.path / NAME).read_bytes())
    except (OSError, ValueError):
        return NOTHING


def harvest(order: Order, folder: Folder, log: Log) -> bytes:
    """Return what an attempt that has ended asks for, as a file; b"" for nothing.

    Of an agent whose effects pass the gate only what passed it counts, and of others
    what is theirs to ask.
    """
    asked = proposed.ended(kept(folder))
    if order.agent.backend != GATED:
        left = proposed.ended(_left(order, folder, log))
        asked = Proposed(
            (*asked.operations, *left.operations), (*asked.dropped, *left.dropped)
        )
    return proposed.dump(asked) if asked != NOTHING else b""


def _left(order: Order, folder: Folder, log: Log) -> Proposed:
    """Return what a program has left in its out folder; nothing of it is believed."""
    try:
        data = folder.load_out(NAME, proposed.LIMIT)
        left = NOTHING if data is None else proposed.parse(data)
    except ValueError as error:
        log.say(f"the agent's {NAME} cannot be used: {error}")
        return NOTHING
    if left != NOTHING and Effects.REMEMBER not in order.agent.may:
        log.say(f"the agent's {NAME} is left out: it lacks the grant remember")
        return NOTHING
    return left
