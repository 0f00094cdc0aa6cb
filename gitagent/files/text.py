"""From bytes to text, and the one error of the formats.

``Malformed`` says in one line which file cannot be used, where, why, and the mend.
"""

from gitagent.files import clean

FILE_LIMIT = 256 * 1024  # bytes; larger ones are not parsed at all

_BOM = b"\xef\xbb\xbf"


class Malformed(ValueError):
    """A file that cannot be used.

    ``line`` and ``column`` count from 1 in the file; 0 is unknown. ``str()`` is the
    one line that people see.
    """

    def __init__(
        self, path: str, problem: str, mend: str, line: int = 0, column: int = 0
    ) -> None:
        self.path = path
        self.problem = clean.sentence(problem, 400)
        self.mend = clean.sentence(mend, 400)
        self.line = line
        self.column = column
        super().__init__(path, self.problem, self.mend, line, column)

    def __str__(self) -> str:
        place = "".join(f":{number}" for number in (self.line, self.column) if number)
        return f"{clean.line(self.path)}{place}: {self.problem}; {self.mend}"


def decode(data: bytes, path: str) -> str:
    r"""Return the text of a file: no byte order mark, lines ended by ``\n``.

    Raises:
        Malformed: over 256 KiB, not UTF-8, or with a NUL character.

    """
    if len(data) > FILE_LIMIT:
        kib = -(-len(data) // 1024)
        problem = f"the file has {kib} KiB, the limit is {FILE_LIMIT // 1024}"
        raise Malformed(path, problem, "move the bulk to another file and name it here")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Malformed(path, "the file is UTF-16", "save it as UTF-8", 1, 1)
    data = data.removeprefix(_BOM)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        bad = data[error.start]
        line, column = _position(data[: error.start].decode())
        problem = f"byte 0x{bad:02x} is not UTF-8"
        raise Malformed(path, problem, "save the file as UTF-8", line, column) from None
    if "\0" in text:
        line, column = _position(text[: text.index("\0")])
        raise Malformed(path, "a NUL character", "delete it", line, column)
    return text.replace("\r\n", "\n")


def _position(before: str) -> tuple[int, int]:
    return before.count("\n") + 1, len(before) - before.rfind("\n")
