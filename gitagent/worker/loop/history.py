"""Search through everything that was said in any conversation, also the archived ones.

A context holds the newest entries and a summary; the record holds them all. What was
put aside by going back is found too, and said to be.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from gitagent.core.conversation import Entry, Kind
from gitagent.core.layout import ARCHIVE, CONVERSATIONS
from gitagent.errors import GitagentError
from gitagent.files import clean, record
from gitagent.git import records
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host import clock

LIMIT = 20
_SECONDS = 5.0  # somebody waits for the answer
_AROUND = 80  # characters on each side of what was found


@dataclass(frozen=True, slots=True)
class Found:
    """An entry that has what was looked for."""

    conversation: str  # its name: of a task, or "_<id>" of a chat
    number: int  # of the entry
    at: str  # UTC
    kind: str
    snippet: str  # on one line
    aside: bool = False  # the conversation has gone back to before it


@dataclass(frozen=True, slots=True)
class Search:
    """What a search came to."""

    found: tuple[Found, ...]
    whole: bool  # False: there may be more, for want of time or room


@dataclass(slots=True)
class _Search:
    """A search under way."""

    objects: Objects
    words: list[str]
    limit: int
    until: float  # on the monotonic clock
    seen: set[str]  # commits; a side chat begins with those of its parent
    found: list[Found]

    def over(self) -> bool:
        return len(self.found) >= self.limit or clock.monotonic() > self.until

    def chain(self, name: str, tip: str) -> bool:
        """Look through a conversation; False: it was not all of it."""
        back = 0  # what has a greater number and is no REWIND was put aside
        for commit in records.history(self.objects, tip):
            if commit.oid in self.seen:
                return True
            if self.over():
                return False
            self.seen.add(commit.oid)
            data = records.read(self.objects, commit.oid)
            entry = record.load_entry(data, commit.oid)
            if entry.kind is Kind.REWIND:
                back = min(back, entry.last) if back else entry.last
                continue
            aside = bool(back) and entry.number > back
            snippet = _snippet(entry, self.words)
            if snippet:
                kind = entry.kind.value
                self.found.append(
                    Found(name, entry.number, entry.at, kind, snippet, aside=aside)
                )
        return True


def find(
    repo: Repository, query: str, limit: int = LIMIT, seconds: float = _SECONDS
) -> Search:
    """Return the entries that have every word of ``query``, in any case of letters.

    The conversation with the newest entry comes first, and its newest entry. What
    cannot be read is passed over.

    Raises:
        GitError: the repository cannot be read.
    """
    words = query.casefold().split()
    if not words or limit < 1:
        return Search((), whole=True)
    until = clock.monotonic() + seconds
    whole = True
    with repo.objects() as objects:
        search = _Search(objects, words, limit, until, set(), [])
        for name, tip in _conversations(objects):
            with suppress(GitagentError):
                whole = search.chain(name, tip) and whole
            if search.over():
                # The last one may have been looked through; nobody knows of the rest.
                return Search(tuple(search.found), whole=False)
    return Search(tuple(search.found), whole=whole)


def _conversations(objects: Objects) -> Iterator[tuple[str, str]]:
    """Yield name and tip of each conversation, the newest first, then archived ones."""
    tips = objects.refs(CONVERSATIONS)
    newest = sorted(
        tips.items(), key=lambda each: objects.commit(each[1]).time, reverse=True
    )
    for ref, tip in newest:
        yield ref.removeprefix(CONVERSATIONS), tip
    for _, chain in sorted(objects.refs(ARCHIVE).items(), reverse=True):
        with suppress(GitagentError):
            for step in records.history(objects, chain):
                for ref, tip in _taken_in(records.read(objects, step.oid)):
                    yield ref.removeprefix(CONVERSATIONS), tip


def _taken_in(data: bytes) -> list[tuple[str, str]]:
    """Return the conversations that a step of an archive took in."""
    with suppress(ValueError, AttributeError):
        refs = json.loads(data).get("records", {})
        return [
            (ref, tip) for ref, tip in refs.items() if ref.startswith(CONVERSATIONS)
        ]
    return []


def _snippet(entry: Entry, words: list[str]) -> str:
    """Return where an entry has the first of the words; "": it lacks one of them."""
    given = (f"{call.tool} {call.given}" for call in entry.calls)
    text = "\n".join(part for part in (entry.text, entry.what, *given) if part)
    folded = text.casefold()
    if not all(word in folded for word in words):
        return ""
    # Folding can change the length; then the place is a little off.
    at = min(folded.index(words[0]), len(text))
    start, end = max(0, at - _AROUND), at + len(words[0]) + _AROUND
    cut = text[start:end]
    shown = clean.sentence(cut, 2 * _AROUND + len(words[0]) + 2)
    return f"{'…' * (start > 0)}{shown}{'…' * (end < len(text))}"
