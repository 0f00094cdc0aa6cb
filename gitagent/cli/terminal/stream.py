"""The text of a turn while it comes: whole lines to show, and one that is not whole."""

from collections.abc import Iterator
from typing import Final

from gitagent.cli.terminal.shown import Line, text_lines
from gitagent.files import clean

_LONG: Final = 4000  # characters of a line after which it is broken


class Stream:
    """What of a turn was shown already, so that nothing is shown twice.

    The deltas of a turn may begin anew when a request is made again, and a client that
    joins late gets one with all of it so far.
    """

    def __init__(self) -> None:
        self._came = ""  # of this turn, all of it
        self._open = ""  # its last line, not shown yet
        self._joined = False

    @property
    def tail(self) -> str:
        """The line that is not whole yet, harmless."""
        # The line feed after a carriage return may be in the next delta.
        return clean.visible(self._open.removesuffix("\r"))

    def joined(self) -> None:
        """Expect the next delta to tell the turn from its beginning."""
        self._joined = True

    def more(self, text: str) -> Iterator[Line]:
        """Take a delta; yield the lines that are whole by it."""
        if self._joined:
            self._joined = False
            if text.startswith(self._came):
                text = text.removeprefix(self._came)
            elif self._came:
                yield from self.cut("[begun anew]")
        self._came += text
        *whole, self._open = (self._open + text).split("\n")
        for line in whole:
            yield from text_lines(line.removesuffix("\r"))
        while len(self._open) > _LONG:
            head = self._open[:_LONG]
            at = head.rfind(" ") + 1 or _LONG
            yield from text_lines(self._open[:at])
            self._open = self._open[at:]

    def whole(self, text: str) -> Iterator[Line]:
        """Take the text of the turn as it was recorded; yield what was not shown."""
        # A record has no control characters, and deltas may.
        came, rest, text = clean.visible(self._came), self._open, clean.visible(text)
        self._reset()
        if came and text.startswith(came):
            left = rest + text.removeprefix(came)
        elif came.strip() == text.strip():
            left = rest
        else:
            # The request was made again, and what came of the first one is void.
            if rest.strip():
                yield from text_lines(rest)
            if came.strip():
                yield Line("[begun anew]", "dim")
            left = text
        if left.strip():
            yield from text_lines(left)

    def cut(self, mark: str = "[cut off; not in the record]") -> Iterator[Line]:
        """End a turn that will not be recorded; yield what of it was not shown."""
        came, rest = self._came, self._open
        self._reset()
        if rest:
            yield from text_lines(rest)
        if came:
            yield Line(mark, "dim")

    def _reset(self) -> None:
        self._came = self._open = ""
        self._joined = False
