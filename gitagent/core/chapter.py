"""What a chapter carries over to the next one, as Markdown and back.

A chapter closes an era: its tag and its bundle keep all that was, and this file says
what goes on. It is for people and for whoever restores it; nothing reads it to decide.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from gitagent.core.layout import AUTOMATIONS, CHAPTER_TAGS, CHAPTERS
from gitagent.core.memory import COUNTS, Item, Status

HANDOFF_BYTES: Final = 1 << 20

_ITEM = re.compile(
    r"- `(?P<slug>[^`@]+)@(?P<blob>[0-9a-f]+)` \((?P<kind>\w+)\): (?P<line>.*)"
)
_PAIR = re.compile(
    r"- `(?P<one>[^`@]+)@(?P<blob>[0-9a-f]+)`"
    r" and `(?P<other>[^`@]+)@(?P<other_blob>[0-9a-f]+)`"
)
_TASK = re.compile(r"- `(?P<id>[^`]+)`: (?P<title>.*)")
_NAME = re.compile(r"- `(?P<name>[^`]+)`")
_CLOSED = re.compile(r"Closed at (?P<at>\S+) on `(?P<commit>[0-9a-f]+)`\.")
_TITLES: Final = ("Items", "Disputed", "Open tasks", "Automations", "Handoff")
_NONE: Final = "None."


@dataclass(frozen=True, slots=True)
class CarriedItem:
    """An item that counts, as it was."""

    slug: str
    blob: str
    kind: str
    line: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two items that exclude one another, and nobody has decided yet."""

    one: str  # slug; the lesser of the two
    blob: str
    other: str
    other_blob: str


@dataclass(frozen=True, slots=True)
class OpenTask:
    """A task that has not ended."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Carried:
    """What a chapter carries over."""

    name: str
    at: str  # UTC
    commit: str  # of the target, on which all of it is told
    items: tuple[CarriedItem, ...] = ()  # by slug
    disputed: tuple[Pair, ...] = ()
    tasks: tuple[OpenTask, ...] = ()
    automations: tuple[str, ...] = ()
    handoff: bytes = b""


def path_of(name: str) -> str:
    """Return where the carried state of a chapter lies."""
    return f"{CHAPTERS}{name}.md"


def tag_of(name: str) -> str:
    """Return the ref of a chapter's tag."""
    return CHAPTER_TAGS + name


def carried(
    name: str,
    at: str,
    commit: str,
    items: Iterable[Item],
    tasks: Iterable[OpenTask],
    automations: Iterable[str],
    handoff: bytes,
) -> Carried:
    """Return what is carried over, in an order that follows from it alone."""
    known = {each.slug: each for each in items if each.status in COUNTS}
    pairs = {
        (min(one, other), max(one, other))
        for one, each in known.items()
        if each.status is Status.DISPUTED
        for other in each.disputes
        if other in known and other != one
    }
    return Carried(
        name,
        at,
        commit,
        tuple(
            CarriedItem(slug, each.blob, str(each.kind), _one_line(each.line))
            for slug, each in sorted(known.items())
        ),
        tuple(
            Pair(one, known[one].blob, other, known[other].blob)
            for one, other in sorted(pairs)
        ),
        tuple(
            OpenTask(each.id, _one_line(each.title))
            for each in sorted(tasks, key=lambda task: task.id)
        ),
        tuple(sorted(automations)),
        handoff,
    )


def dump(state: Carried) -> bytes:
    """Return the file; ``load`` of it is the same state again."""
    parts = [
        f"# Chapter {state.name}\n",
        f"Closed at {state.at} on `{state.commit}`.\n",
        *_section(
            "Items",
            [f"`{x.slug}@{x.blob}` ({x.kind}): {x.line}" for x in state.items],
        ),
        *_section(
            "Disputed",
            [
                f"`{x.one}@{x.blob}` and `{x.other}@{x.other_blob}`"
                for x in state.disputed
            ],
        ),
        *_section("Open tasks", [f"`{x.id}`: {x.title}" for x in state.tasks]),
        *_section("Automations", [f"`{name}`" for name in state.automations]),
        "## Handoff\n",
    ]
    return "\n".join(parts).encode() + b"\n" + state.handoff


def load(data: bytes) -> Carried:
    """Return the state that a file tells.

    Raises:
        ValueError: it is no such file; what is wrong is said as a clause.
    """
    head, found, handoff = data.partition(b"\n## Handoff\n\n")
    if not found:
        raise ValueError("it has no section Handoff")
    try:
        rows = [row for row in head.decode().split("\n") if row]
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    titles = [row[3:] for row in rows if row.startswith("## ")]
    if titles != [*_TITLES[:-1]] or not rows[0].startswith("# Chapter "):
        raise ValueError("it is not laid out as the file of a chapter")
    closed = _CLOSED.fullmatch(rows[1])
    if closed is None:
        raise ValueError("it does not say when it was closed, and on what")
    starts = [rows.index(f"## {title}") for title in titles]
    items, pairs, tasks, names = (
        _rows(rows[start + 1 : end])
        for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)
    )
    return Carried(
        rows[0].removeprefix("# Chapter "),
        closed["at"],
        closed["commit"],
        tuple(CarriedItem(**_matched(_ITEM, row)) for row in items),
        tuple(Pair(**_matched(_PAIR, row)) for row in pairs),
        tuple(OpenTask(**_matched(_TASK, row)) for row in tasks),
        tuple(_matched(_NAME, row)["name"] for row in names),
        handoff,
    )


def automations_in(paths: Iterable[str]) -> list[str]:
    """Return the names of the automations among paths."""
    return [
        path.removeprefix(AUTOMATIONS).removesuffix(".md")
        for path in paths
        if path.startswith(AUTOMATIONS) and path.endswith(".md")
    ]


def _section(title: str, rows: Sequence[str]) -> list[str]:
    text = "\n".join(f"- {row}" for row in rows) or _NONE
    return [f"## {title}\n", f"{text}\n"]


def _rows(rows: list[str]) -> list[str]:
    return [] if rows == [_NONE] else rows


def _matched(form: re.Pattern[str], row: str) -> dict[str, str]:
    match = form.fullmatch(row)
    if match is None:
        raise ValueError(f"it has a line that is none of it: {row[:60]}")
    return match.groupdict()


def _one_line(text: str) -> str:
    return text.replace("\n", " ")
