"""What one can go back to: the turns that were shown and are in force."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gitagent.cli.terminal.shown import Line, first_words
from gitagent.core.conversation import Entry, Kind, Origin

_KEPT: Final = 500


class Past:
    """Of one conversation, or of one side chat."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._waiting: dict[int, str] = {}  # words by number, until they are placed

    def clear(self) -> None:
        """Forget all."""
        self._entries.clear()
        self._waiting.clear()

    def add(self, entry: Entry) -> None:
        """Take an entry that was recorded."""
        if entry.kind is Kind.REWIND:
            self._entries = [e for e in self._entries if e.number <= entry.last]
        elif entry.waits:
            self._waiting[entry.number] = entry.text
        elif entry.places:
            words = self._waiting.pop(entry.places, entry.text)
            self._entries.append(replace(entry, text=words))
        elif entry.kind is Kind.SAY or entry.origin is Origin.PERSON:
            self._entries.append(entry)
        del self._entries[:-_KEPT]

    def lines(self) -> Iterator[Line]:
        """Yield each with its number."""
        for each in self._entries:
            who = "you" if each.kind is Kind.INPUT else "model"
            yield Line(f"  {each.number:>4}  {who:5}  {first_words(each)}")
        if not self._entries:
            yield Line("there is nothing to go back to yet", "dim")
