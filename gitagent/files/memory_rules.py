"""What the values of [memory] have to be, beyond their types."""

from collections.abc import Iterator

from gitagent.core.ident import id_problem
from gitagent.core.settings import Memory, Model
from gitagent.files.fault import Fault, count, text
from gitagent.files.fields import found
from gitagent.files.globs import inside_problem

LOCAL = "local"  # embeddings by a model that is installed with the extra

_TOKENS = 1_000_000


def faults(memory: Memory, model: Model) -> Iterator[Fault]:
    """Return what is wrong with the table."""
    yield from count(("memory", "limit"), memory.limit, 0, 10**6)
    yield from text(("memory", "distiller"), memory.distiller, id_problem)
    yield from count(("memory", "brief"), memory.brief, 0, _TOKENS)
    yield from count(("memory", "recall"), memory.recall, 0, 20)
    for name, share in (("floor", memory.floor), ("withhold", memory.withhold)):
        if not 0 <= share <= 1:
            mend = "write a number from 0 to 1"
            yield Fault(("memory", name), f"is {found(share)}", mend)
    provider, _, name = memory.embeddings.partition(":")
    if memory.embeddings not in {"", LOCAL} and (
        provider not in model.providers or not name
    ):
        mend = f'write "{LOCAL}", or provider:model with one of model.providers'
        yield Fault(("memory", "embeddings"), f"is {found(memory.embeddings)}", mend)
    yield from text(("memory", "labels"), memory.labels, inside_problem)
