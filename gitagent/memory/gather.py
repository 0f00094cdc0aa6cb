"""What a commit holds that can be searched, and the passages that it is searched by."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final

from gitagent.core.cutting import cut
from gitagent.core.episode import Episode
from gitagent.core.layout import LANDINGS, MEMORY, RECORD_FOLDERS
from gitagent.core.memory import From, Item
from gitagent.core.words import terms
from gitagent.errors import GitError
from gitagent.git.objects import BLOB, EXECUTABLE, TREE, Entry, Objects
from gitagent.memory.search import DOCUMENT, EPISODE, ITEM, LANDING

DOCUMENTS: Final = 5000  # that are searched at most
LANDED: Final = 50_000
_BYTES: Final = 256 * 1024  # of a file; a larger one is no prose
_DEPTH: Final = 40
# Folders and files that are looked at, about a second of it: a few trees that hold each
# other many times unfold to more paths than anybody has memory for.
_LOOKED: Final = 100_000
_ABOUT: Final = 50  # paths
_NOTE: Final = 20_000  # characters of a landing note

_CHANGED: Final = re.compile(r"^- \w+ `+ ?(.+?) ?`+$", re.MULTILINE)
# What every note says, in `files.note`.
_ALIKE: Final = re.compile(
    r"^(?:## .*|\d+ paths?: .*|The submitter stated none\.|Agent .*, in \d+ attempts?\."
    r"|Models: .*|Its last words, which are a claim:|- .*: \w+ in [\d.]+ s"
    r"|The run of .* that failed ended with:)$",
    re.MULTILINE,
)
_TITLE: Final = re.compile(r"^# +(.*)$", re.MULTILINE)
_STAMP: Final = re.compile(r'^landed = "?([0-9TZ:.+-]+)"?$', re.MULTILINE)
_TASK: Final = re.compile(r'^task = "([^"]*)"$', re.MULTILINE)
_SKIPPED: Final = frozenset(path.removesuffix("/") for path in RECORD_FOLDERS) - {
    LANDINGS.removesuffix("/")
}


@dataclass(frozen=True, slots=True)
class Passage:
    """One row of the index."""

    kind: str
    name: str
    path: str
    blob: str
    first: int
    last: int
    at: str
    about: tuple[str, ...]
    title: str
    body: str

    @property
    def said(self) -> str:
        """What its vector is made of."""
        return f"{self.title}\n{self.body}"

    @property
    def words(self) -> tuple[str, str]:
        """Title and body as terms."""
        return " ".join(terms(self.title)), " ".join(terms(self.body))


@dataclass(frozen=True, slots=True)
class Change:
    """A file that is there or not any more."""

    kind: str
    path: str
    blob: str  # "": it is gone

    @property
    def name(self) -> str:
        """What hits of it are called."""
        return name_of(self.kind, self.path)


def name_of(kind: str, path: str) -> str:
    """Return what hits of a file are called."""
    if kind == LANDING:
        return path.rpartition("/")[2].removesuffix(".md")
    return path


def changes(objects: Objects, old: str | None, new: str) -> Iterator[Change]:
    """Yield the landing notes and documents that differ between two trees.

    ``old`` None: all of them. Equal subtrees are not looked into. Landing notes come
    first, the newest before the older ones. Of more than can be looked at it is those
    whose paths come first.
    """
    found = list(_differing(objects, "", old, new, 0, count(1)))
    found.sort(key=lambda change: (change.kind != LANDING, change.path))
    landings = [each for each in found if each.kind == LANDING]
    yield from reversed(landings)
    yield from found[len(landings) :]


def _differing(
    objects: Objects,
    prefix: str,
    old: str | None,
    new: str | None,
    depth: int,
    looked: Iterator[int],
) -> Iterator[Change]:
    if old == new or depth > _DEPTH:
        return
    before, after = _relevant(objects, prefix, old), _relevant(objects, prefix, new)
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name), after.get(name)
        if one == other:
            continue
        if next(looked) > _LOOKED:
            return
        path = f"{prefix}{name}"
        subtrees = _tree(one), _tree(other)
        if subtrees != (None, None):
            yield from _differing(objects, f"{path}/", *subtrees, depth + 1, looked)
        is_file = [each for each in (one, other) if each and each.mode != TREE]
        if is_file:
            kind = LANDING if path.startswith(LANDINGS) else DOCUMENT
            stays = other is not None and other.mode != TREE
            yield Change(kind, path, other.oid if other and stays else "")


def _relevant(objects: Objects, prefix: str, tree: str | None) -> dict[str, Entry]:
    if tree is None:
        return {}
    try:
        entries = objects.tree(tree)
    except GitError:  # a partial clone has not all of them
        return {}
    return {
        entry.name: entry
        for entry in entries
        if entry.name.isprintable()  # bytes that are not UTF-8, SQLite does not take
        and (
            (entry.mode == TREE and f"{prefix}{entry.name}" not in _SKIPPED)
            or (entry.mode in (BLOB, EXECUTABLE) and entry.name.lower().endswith(".md"))
        )
    }


def _tree(entry: Entry | None) -> str | None:
    return entry.oid if entry is not None and entry.mode == TREE else None


def of_file(objects: Objects, change: Change) -> list[Passage]:
    """Return the passages of a file; none if it is too large, or not here."""
    try:
        if objects.size(change.blob) > _BYTES:
            return []
        text = objects.blob(change.blob).decode(errors="replace")
    except GitError:
        return []
    return _note(change, text) if change.kind == LANDING else _document(change, text)


def _note(change: Change, text: str) -> list[Passage]:
    head, body = "", text
    if text.startswith("+++\n"):
        head, _, body = text[4:].partition("\n+++\n")
    title, task, at = _TITLE.search(body), _TASK.search(head), _STAMP.search(head)
    about = tuple(_CHANGED.findall(body)[:_ABOUT])
    said = " ".join(each[1] for each in (title, task) if each)
    last = text.count("\n") or 1
    return [
        Passage(
            change.kind,
            change.name,
            change.path,
            change.blob,
            text[: len(text) - len(body)].count("\n") + 1,
            last,
            at[1] if at else "",
            about,
            said,
            _ALIKE.sub("", body[:_NOTE]),
        )
    ]


def _document(change: Change, text: str) -> list[Passage]:
    return [
        Passage(
            change.kind,
            change.path,
            change.path,
            change.blob,
            each.first,
            each.last,
            "",
            (change.path,),
            each.title or change.path,
            f"{change.path}\n{each.text}",
        )
        for each in cut(text)
    ]


def of_item(item: Item) -> Passage:
    """Return what an item is searched by: its line above all, then what it quotes."""
    about = [
        each.name
        for each in item.sources
        if each.kind is From.LINES and each.name.isprintable()
    ]
    quotes = [each.quote for each in item.sources]
    return Passage(
        ITEM,
        item.slug,
        f"{MEMORY}{item.slug}.md",
        item.blob,
        1,
        1,
        item.updated,
        tuple(dict.fromkeys(about)),
        item.line,
        "\n".join([item.slug, item.body, *about, *quotes]),
    )


def of_episode(episode: Episode) -> Passage:
    """Return what an episode is searched by."""
    about = tuple(path for path in episode.paths[:_ABOUT] if path.isprintable())
    return Passage(
        EPISODE,
        episode.name,
        "",
        key(episode),
        1,
        1,
        episode.at,
        about,
        episode.title or episode.task,
        f"{episode.text}\n{' '.join(about)}",
    )


def key(episode: Episode) -> str:
    """Return what an episode is kept under: another one, if it says something else."""
    told = (episode.oid, episode.at, episode.ended, episode.text, *episode.paths)
    return digest(*told)


def digest(*parts: str) -> str:
    """Return a name for some texts, as short as an object's."""
    made = hashlib.sha256("\0".join(parts).encode(errors="surrogatepass"))
    return made.hexdigest()[:40]
