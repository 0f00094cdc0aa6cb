"""The side chats of a chat, as their refs tell: which there are, and which is open."""

from gitagent.core import chats
from gitagent.core.chats import Name
from gitagent.core.layout import CONVERSATIONS
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.worker.loop import record


def numbers(objects: Objects, chat: str) -> list[int]:
    """Return the numbers of all side chats that ever began, in order."""
    refs = objects.refs(f"{CONVERSATIONS}{Name(chat).conversation}.side")
    found = (chats.named(ref.removeprefix(CONVERSATIONS)) for ref in refs)
    return sorted(each.side for each in found if each and each.chat == chat)


def open_side(objects: Objects, chat: str) -> int:
    """Return the number of the side chat that is not over; 0: there is none."""
    for number in reversed(numbers(objects, chat)):
        entries = record.read(objects, Name(chat, number).conversation)
        if not chats.closed(entries):
            return number
    return 0


def requests(repo: Repository, here: Name) -> frozenset[str]:
    """Return the requests of people in every other conversation of the same chat."""
    found: set[str] = set()
    with repo.objects() as objects:
        for number in (0, *numbers(objects, here.chat)):
            name = Name(here.chat, number)
            if name != here:
                entries = record.read(objects, name.conversation)
                found |= {each.request for each in entries}
    return frozenset(found - {""})
