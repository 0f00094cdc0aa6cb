"""What of another memory joins this one, when a chapter is restored.

Nothing here is overwritten, and nothing that was withdrawn here comes back. Where the
two say different things under one name, both are kept and disputed.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gitagent.core.memory import COUNTS, Item, Status, says, written
from gitagent.core.remembering import Op, Operation


@dataclass(frozen=True, slots=True)
class Rejoined:
    """What is to be done about another memory's items."""

    operations: tuple[Operation, ...] = ()
    adding: int = 0  # of them those that add an item
    same: tuple[str, ...] = ()  # slugs of those that are here already
    withdrawn: tuple[str, ...] = ()  # that count there, and were withdrawn here
    tombstones: tuple[str, ...] = ()  # that were withdrawn there, and count here


def rejoin(
    here: Mapping[str, Item], there: Mapping[str, Item], gone: Collection[str]
) -> Rejoined:
    """Return what joins; both by slug, and ``gone`` was withdrawn here by the log."""
    counts = {says(item) for item in here.values() if item.status in COUNTS}
    buried = {_told(item) for item in here.values() if item.status not in COUNTS}
    adds: dict[str, Operation] = {}
    same, withdrawn, tombstones = [], [], []
    for slug, item in sorted(there.items()):
        known = here.get(slug)
        if item.status not in COUNTS:
            if (
                known is not None
                and known.status in COUNTS
                and _told(known) == _told(item)
            ):
                tombstones.append(slug)
        elif says(item) in counts:
            same.append(slug)
        elif (
            (slug in gone and known is None)
            or (known is not None and known.status not in COUNTS)
            or _told(item) in buried
        ):
            withdrawn.append(slug)
        else:
            adds[slug] = _add(item)
    disputes = [
        Operation(
            Op.DISPUTE,
            one,
            against=other,
            because=item.because or "they are in dispute in the chapter",
        )
        for one, item in sorted(there.items())
        if item.status is Status.DISPUTED and (one in adds or one in same)
        for other in sorted(item.disputes)
        if one < other
        and (other in adds or other in same)
        and (one in adds or other in adds)
        and _is_own(here, there, one)
        and _is_own(here, there, other)
    ]
    return Rejoined(
        (*adds.values(), *disputes),
        len(adds),
        tuple(same),
        tuple(withdrawn),
        tuple(tombstones),
    )


def over(here: Mapping[str, Item], rejoined: Rejoined, limit: int) -> str:
    """Return why the items are too many together, a clause; "" if they are not."""
    count = sum(item.status in COUNTS for item in here.values())
    whole = count + rejoined.adding
    if whole <= limit or not rejoined.adding:
        return ""
    return (
        f"{count} items count here and {rejoined.adding} would be added, which makes"
        f" {whole}, and {limit} are the most"
    )


def _add(item: Item) -> Operation:
    return Operation(
        Op.ADD,
        item.slug,
        kind=str(item.kind),
        line=item.line,
        body=item.body,
        sources=tuple(map(written, item.sources)),
        verify=item.verify,
    )


def _is_own(here: Mapping[str, Item], there: Mapping[str, Item], slug: str) -> bool:
    """Whether what a slug names here in the end is the other memory's item."""
    return slug not in here or says(here[slug]) == says(there[slug])


def _told(item: Item) -> tuple[object, ...]:
    """What is left of an item when it was withdrawn."""
    return (item.kind, item.line)
