"""What an agent did, from the structured output of its program: as JSON, and to read.

The file of the attempt has a JSON object a line; the log gets the same for people.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gitagent.worker.backends.stream import Entry, Final, Stream, shortened
from gitagent.worker.folder import Folder
from gitagent.worker.log import Log

NAME = "transcript"
LIMIT = 8 * 1024 * 1024  # bytes of the file
_LINE = 4 * 1024 * 1024  # bytes of one line of output; of a longer one nothing is kept
_SHOWN = 2000  # characters of an entry in the log


class Reader:
    """Takes the output as it comes, in any pieces; ``on_session`` is told."""

    def __init__(
        self,
        stream: Stream,
        folder: Folder,
        log: Log,
        on_session: Callable[[str], None],
    ) -> None:
        self._stream = stream
        self._path = folder.path / NAME
        self._log = log
        self._on_session = on_session
        self._session = ""
        self._rest = bytearray()
        self._long = False  # in the middle of a line that is too long
        self._size = 0
        self._full = False

    def write(self, data: bytes) -> None:
        """Take output. Raises OSError when the disk is full."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._rest += line
            self._line()
        self._rest += rest
        if len(self._rest) > _LINE:
            self._rest.clear()
            self._long = True

    def end(self) -> Final:
        """Take what came after the last line end; return how the program ended."""
        if self._rest:
            self._line()
        return self._stream.final()

    def _line(self) -> None:
        line = bytes(self._rest)
        self._rest.clear()
        if self._long or len(line) > _LINE:
            self._long = False
            self._note(Entry("note", f"a line of more than {_LINE} bytes is left out"))
            return
        for entry in self._stream.feed(line):
            self._note(entry)
        session = self._stream.final().session
        if session and session != self._session:
            self._session = session
            self._on_session(session)

    def _note(self, entry: Entry) -> None:
        self._log.write(_for_people(entry).encode(errors="replace"))
        if self._full:
            return
        line = entry.line()
        if self._size + len(line) > LIMIT:
            self._full = True
            line = Entry("note", f"what follows is past {LIMIT} bytes").line()
        with self._path.open("ab") as file:
            file.write(line)
        self._size += len(line)


def load(path: Path) -> bytes:
    """Return the transcript in an attempt's folder; b"": there is none."""
    with suppress(OSError):
        return (path / NAME).read_bytes()
    return b""


def _for_people(entry: Entry) -> str:
    text = shortened(entry.text.strip(), _SHOWN)
    match entry.kind:
        case "say":
            return f"{text}\n"
        case "call":
            return f"> {entry.name} {text}\n"
        case "result":
            return "".join(f"  {line}\n" for line in text.splitlines())
        case _:
            return f"{entry.kind}: {text}\n"
