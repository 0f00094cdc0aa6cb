"""Names and messages as commits hold them, and as they may be.

Git refuses a NUL in a message and angle brackets or newlines in a name; libgit2 cuts
or raises. So whatever comes from a file or a person is mended here first.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

MESSAGE_CHARACTERS = 64 * 1024
NAME_CHARACTERS = 200

_DAY = 24 * 60  # minutes

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_CRUD = " .,:;<>\"\\'"  # git strips these from both ends of a name; ident.c
_IDENT = re.compile(r"\s*(?P<name>[^<]*?)\s*<(?P<email>[^>]*)>")
_SIGNATURE = re.compile(
    rb"(?P<name>.*?) ?<(?P<email>[^>]*)>"
    rb"(?: (?P<when>-?\d{1,18}) (?P<offset>[+-]\d{4}))?"
)


@dataclass(frozen=True, slots=True)
class Person:
    """An author or committer."""

    name: str
    email: str
    when: int = 0  # seconds since the epoch
    offset: int = 0  # minutes east of UTC

    @property
    def ident(self) -> str:
        """``Name <email>``."""
        return f"{self.name} <{self.email}>"


def person(ident: str, moment: datetime) -> Person:
    """Return who ``Name <email>`` names, at that moment.

    Text without an address is taken for a name, and an empty name is mended.
    """
    match = _IDENT.match(ident)
    name, email = (match["name"], match["email"]) if match else (ident, "")
    offset = moment.utcoffset()
    minutes = 0 if offset is None else int(offset.total_seconds()) // 60
    if offset is None:
        moment = moment.replace(tzinfo=UTC)
    return mended(Person(name, email, int(moment.timestamp()), minutes))


def mended(who: Person) -> Person:
    """Return ``who`` with a name and an address that every git accepts."""
    email = _name(who.email).replace(" ", "")
    name = _name(who.name) or email.partition("@")[0] or "unknown"
    return Person(name, email or "unknown@localhost", who.when, who.offset)


def _name(text: str) -> str:
    plain = re.sub(r"[\x00-\x20\x7f<>]+", " ", _encodable(text))
    return plain.strip(_CRUD)[:NAME_CHARACTERS].strip(_CRUD)


def clean_message(text: str) -> str:
    """Return a message without control characters, bounded, ending in one newline."""
    plain = _CONTROL.sub("", _encodable(text).replace("\r\n", "\n"))
    if len(plain) > MESSAGE_CHARACTERS:
        plain = plain[:MESSAGE_CHARACTERS] + "\n…"
    return plain.strip("\n") + "\n"


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()


def signature(who: Person) -> bytes:
    """Return the line of a commit object that names ``who``; see git-commit-tree(1)."""
    who = mended(who)
    hours, minutes = divmod(abs(who.offset), 60)
    sign = "-" if who.offset < 0 else "+"
    text = f"{who.name} <{who.email}> {who.when} {sign}{hours:02}{minutes:02}"
    return text.encode()


def parse_signature(line: bytes) -> Person:
    """Return who a commit's line names; a broken line gives what can be read."""
    match = _SIGNATURE.match(line)
    if match is None:
        return Person(line.decode(errors="replace").strip(), "")
    name, email = (match[part].decode(errors="replace") for part in ("name", "email"))
    if match["when"] is None:
        return Person(name, email)
    zone = int(match["offset"])
    hours, minutes = divmod(abs(zone), 100)
    # Written again, 99 hours and 99 minutes would be a zone of five digits.
    offset = min(hours * 60 + minutes, _DAY - 1) * (-1 if zone < 0 else 1)
    return Person(name, email, int(match["when"]), offset)
