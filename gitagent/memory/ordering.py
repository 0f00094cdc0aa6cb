"""In which order items are told: what is touched first, and disputes together."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from gitagent.core.glob import matching
from gitagent.core.memory import From, Item, Kind, Status

Group = tuple[Item, ...]  # what is told together: one, or all of a dispute

_ORDER: Final = {Kind.DECISION: 0, Kind.FACT: 1, Kind.LESSON: 2}
_LINES_OF_A_FILE: Final = From.LINES  # looked up thousands of times
_WILD: Final = re.compile(r"[*?\[\\!#]")


def in_order(
    items: Iterable[Item], withheld: frozenset[str], globs: tuple[str, ...]
) -> tuple[list[Group], frozenset[str]]:
    """Return what may be told, and the paths of it that a glob matches.

    First comes what is of these paths, then it goes by kind, the newest first.
    """
    by_slug = {each.slug: each for each in items}
    touched = frozenset(_touched(globs, by_slug.values()) if globs else ())
    ranked: dict[tuple[bool, int], list[Group]] = {}
    for group in disputes(by_slug):
        if withheld and any(each.slug in withheld for each in group):
            continue
        first = group[0]
        kind = _ORDER[first.kind]
        if len(group) > 1:
            kind = min(_ORDER[each.kind] for each in group)
        rank = (not (touched and shared(group, touched)), kind)
        ranked.setdefault(rank, []).append(group)
    ordered = []
    for rank in sorted(ranked):
        ordered += sorted(ranked[rank], key=lambda g: g[0].updated, reverse=True)
    return ordered, touched


def disputes(items: Mapping[str, Item]) -> Iterator[Group]:
    """Yield the items, those that are in dispute with each other together.

    One whose other side is not among them is alone; its line still says so.
    """
    links: dict[str, set[str]] = {}
    for slug, each in items.items():
        if each.status is Status.DISPUTED:
            for other in each.disputes:
                if other in items and items[other].status is Status.DISPUTED:
                    links.setdefault(slug, set()).add(other)
                    links.setdefault(other, set()).add(slug)
    done: set[str] = set()
    for slug, each in items.items():
        if slug not in links:
            yield (each,)
        elif slug not in done:
            found = _reached(slug, links)
            done |= found
            sides = (items[name] for name in sorted(found))
            yield tuple(sorted(sides, key=lambda item: item.updated, reverse=True))


def _reached(slug: str, links: Mapping[str, set[str]]) -> set[str]:
    found, todo = {slug}, [slug]
    while todo:
        new = links[todo.pop()] - found
        found |= new
        todo += new
    return found


def _touched(globs: tuple[str, ...], items: Iterable[Item]) -> set[str]:
    """Return the paths of sources that a glob matches.

    As `glob.matching`, which takes 5 µs for each path; most are told apart by how they
    begin.
    """
    paths = {
        source.name
        for each in items
        for source in each.sources
        if source.kind is _LINES_OF_A_FILE
    }
    plain = {glob.strip("/") for glob in globs if not _WILD.search(glob)}
    names = frozenset(each for each in plain if "/" not in each)
    heads = tuple(each for each in plain if "/" in each)
    wild = tuple(glob for glob in globs if _WILD.search(glob))
    loose = any("/" not in glob.strip("/") or glob.startswith("!") for glob in wild)
    begins = tuple({_WILD.split(glob, maxsplit=1)[0].lstrip("/") for glob in wild})
    near_by = paths if loose else [path for path in paths if path.startswith(begins)]
    found = set(matching(wild, near_by))
    found |= {path for path in paths if path.startswith(heads) and _in(path, heads)}
    if names:
        found |= {path for path in paths if not names.isdisjoint(path.split("/"))}
    return found


def _in(path: str, heads: Iterable[str]) -> bool:
    return any(path == head or path.startswith(f"{head}/") for head in heads)


def shared(items: Group, touched: Collection[str]) -> str:
    """Return the first of the touched paths that a source names; "" if none does."""
    for each in items:
        for source in each.sources:
            if source.name in touched and source.kind is _LINES_OF_A_FILE:
                return source.name
    return ""
