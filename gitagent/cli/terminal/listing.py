"""The chats of a repository, read from their records."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gitagent.cli import page, say
from gitagent.cli.terminal import shown
from gitagent.core.conversation import Kind, Origin
from gitagent.core.layout import CONVERSATIONS
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host import clock
from gitagent.worker.loop import record

_CHAT = CONVERSATIONS + "_"
_SIDE = re.compile(r".+\.side[0-9]+\Z")
_WORDS = 60  # characters of how a chat began


@dataclass(frozen=True, slots=True)
class Chat:
    """One line of the list."""

    id: str
    entries: int
    last: str  # UTC
    words: str  # the first that a person said


def show(repo: Repository, *, as_json: bool) -> None:
    """Print the chats, that with the newest entry first."""
    with repo.objects() as objects:
        found = sorted(_chats(objects), key=lambda each: each.last, reverse=True)
    if as_json:
        names = ("id", "entries", "last", "words")
        chats = [{name: getattr(each, name) for name in names} for each in found]
        say.dump({"version": 1, "chats": chats})
        return
    now = clock.stamp()
    rows = [
        (each.id, f"{each.entries} entries", say.ago(each.last, now), each.words)
        for each in found
    ]
    for line in page.table(rows, indent=""):
        say.out(line)
    if not rows:
        say.note("there is no chat yet; begin one with: gitagent chat")


def _chats(objects: Objects) -> Iterator[Chat]:
    names = [ref.removeprefix(_CHAT) for ref in objects.refs(_CHAT)]
    for name in names:
        if _SIDE.match(name) and name.rpartition(".side")[0] in names:
            continue
        entries = record.read(objects, f"_{name}")
        said = [
            each
            for each in entries
            if each.kind is Kind.INPUT and each.origin is Origin.PERSON
        ]
        words = shown.first_words(said[0], _WORDS) if said else ""
        if entries:
            yield Chat(name, len(entries), entries[-1].at, words)
