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
_SESSIONS = 100  # names of its conversation that a program may come up with


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
        self._sessions = 0
        self._kept = bytearray()  # for the file, and for the log: written at once,
        self._shown = bytearray()  # since lines can be as short as they are many
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
        self._flush()

    def end(self) -> Final:
        """Take what came after the last line end; return how the program ended."""
        if self._rest:
            self._line()
        self._flush()
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
        if session and session != self._session and self._sessions < _SESSIONS:
            self._sessions += 1
            self._session = session
            self._on_session(session)

    def _note(self, entry: Entry) -> None:
        self._shown += _for_people(entry).encode(errors="replace")
        if self._full:
            return
        line = entry.line()
        if self._size + len(line) > LIMIT:
            self._full = True
            line = Entry("note", f"what follows is past {LIMIT} bytes").line()
        self._kept += line
        self._size += len(line)

    def _flush(self) -> None:
        kept, self._kept = self._kept, bytearray()
        shown, self._shown = self._shown, bytearray()
        self._log.write(bytes(shown))
        if kept:
            with self._path.open("ab") as file:
                file.write(kept)


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
