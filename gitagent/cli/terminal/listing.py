"""The chats of a repository, read from their records."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from gitagent.cli import page, say
from gitagent.cli.terminal import shown
from gitagent.core import chats
from gitagent.core.conversation import Kind, Origin
from gitagent.core.layout import CONVERSATIONS
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host import clock
from gitagent.worker.loop import record

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
        say.dump({"version": 1, "chats": [asdict(each) for each in found]})
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
    for ref in objects.refs(CONVERSATIONS + chats.PREFIX):
        name = ref.removeprefix(CONVERSATIONS)
        chat = chats.named(name)
        if chat is None or chat.side:
            continue
        entries = record.read(objects, name)
        said = [
            each
            for each in entries
            if each.kind is Kind.INPUT and each.origin is Origin.PERSON
        ]
        words = shown.first_words(said[0], _WORDS) if said else ""
        if entries:
            yield Chat(chat.chat, len(entries), entries[-1].at, words)
