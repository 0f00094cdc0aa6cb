"""Items of the memory, ``.agent/memory/<slug>.md``: text to value and back, exactly.

What a file cannot hold exactly is refused, with its length; nothing is ever cut.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from gitagent.core import memory
from gitagent.core.ident import id_problem, is_oid
from gitagent.core.layout import CHAPTERS, MEMORY
from gitagent.core.memory import From, Item, Kind, Source, Status
from gitagent.core.task import Refusal
from gitagent.core.unseen import UNSEEN
from gitagent.files import clean, tables
from gitagent.files.fields import Fields, found, nearest
from gitagent.files.frontmatter import LIMIT, split
from gitagent.files.text import Malformed

KEYS: Final = (
    "kind",
    "line",
    "updated",
    "status",
    "supersedes",
    "disputes",
    "verify",
    "work",
    "because",
    "source",
)
SOURCE_KEYS: Final = {
    From.LINES: ("commit", "path", "lines", "quote"),
    From.RECEIPT: ("receipt", "quote"),
    From.LANDING: ("landing", "commit", "quote"),
    From.DECISION: ("decision", "record", "quote"),
}

_Refuse = Callable[[str, str, str], NoReturn]  # key, problem, mend

_ALL: Final = tuple(dict.fromkeys(key for keys in SOURCE_KEYS.values() for key in keys))
_SPAN: Final = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_DECISION: Final = re.compile(r"([^#\s]+)#([1-9][0-9]{0,8})")
_UNSEEN: Final = re.compile(f"[\x7f-\x9f{UNSEEN}]")
_DOTS: Final = 32  # so many can look like a key, which `tables` refuses


def path_of(slug: str) -> str:
    """Return the path of an item's file."""
    return f"{MEMORY}{slug}.md"


def slug_of(path: str) -> str | None:
    """Return the stem of a file that is to be an item; None for what is none.

    Whether it can be a slug is not looked at.
    """
    name = path.removeprefix(MEMORY)
    if not path.startswith(MEMORY) or path.startswith(CHAPTERS) or "/" in name:
        return None
    return name.removesuffix(".md") if name.endswith(".md") else None


def name_of(path: str) -> str:
    """Return the slug of an item's path; of another its path below the folder."""
    slug = slug_of(path)
    return path.removeprefix(MEMORY) if slug is None else slug


def parse(slug: str, blob: str, data: bytes, path: str) -> Item | Refusal:
    """Return the item that the file at ``path`` says, or why it cannot be used."""
    if why := id_problem(slug):
        return Refusal(path, f"{clean.line(path)}: {why}; rename the file")
    try:
        item = _parse(slug, blob, data, path)
    except Malformed as error:
        return Refusal(path, str(error))
    if wrong := memory.problems(item):
        return Refusal(path, f"{clean.line(path)}: {' '.join(wrong)}")
    return item


def dump(item: Item) -> bytes:
    """Return the file of an item that has no `problems`."""
    body = f"{item.body}\n" if item.body else ""
    return f"+++\n{_head(item)}\n+++\n{body}".encode()


def problems(item: Item) -> tuple[str, ...]:
    """Return why no file can hold an item exactly, a sentence each; () if one can."""
    if wrong := memory.problems(item):
        return wrong
    size = len(_head(item).encode())
    if size > LIMIT:
        said = f"Its front matter has {size:,} bytes, and {LIMIT:,} are the most"
        return (f"{said}; quote fewer lines.",)
    path = path_of(item.slug)
    again = parse(item.slug, item.blob, dump(item), path)
    if isinstance(again, Refusal):
        return (f"Its file could not be read again: {again.reason}.",)
    return () if again == item else ("Its file would not say the same.",)


def _head(item: Item) -> str:
    rows = [
        ("kind", item.kind),
        ("line", item.line),
        ("updated", item.updated),
        ("status", item.status),
        ("supersedes", item.supersedes),
        ("disputes", item.disputes),
        ("verify", item.verify),
        ("work", item.work),
        ("because", item.because),
    ]
    parts = ["\n".join(f"{key} = {_value(each)}" for key, each in rows if each)]
    for source in item.sources:
        values = zip(SOURCE_KEYS[source.kind], _values(source), strict=True)
        pairs = (f"{key} = {_value(each)}" for key, each in values if each)
        parts.append("\n".join(("[[source]]", *pairs)))
    return "\n\n".join(parts)


def _values(source: Source) -> tuple[str, ...]:
    match source.kind:
        case From.LINES:
            span = f"{source.first}-{source.last}"
            return source.oid, source.name, span, source.quote
        case From.RECEIPT:
            return source.oid, source.quote
        case From.LANDING:
            return source.name, source.oid, source.quote
        case From.DECISION:
            return f"{source.name}#{source.first}", source.oid, source.quote


def _value(of: Sequence[str]) -> str:
    """Return TOML on one line: what JSON escapes TOML reads alike."""
    if not isinstance(of, str):
        return f"[{', '.join(map(_value, of))}]"
    text = json.dumps(str(of), ensure_ascii=False)
    if text.count(".") >= _DOTS:
        text = text.replace(".", "\\u002e")
    return _UNSEEN.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\U{number:08x}" if number > 0xFFFF else f"\\u{number:04x}"


def _parse(slug: str, blob: str, data: bytes, path: str) -> Item:
    front = split(data, path)
    if front.kind is None:
        mend = "begin it with front matter, or use `gitagent memory add`"
        raise Malformed(path, "the file says of what kind it is nowhere", mend, 1)
    fields = Fields(front, path)
    fields.known(KEYS)
    for key in ("kind", "line", "updated"):
        if key not in front.values:
            raise Malformed(path, f"{key} is missing", f'write {key} = "…"')
    return Item(
        slug=slug,
        kind=fields.choice("kind", Kind) or Kind.FACT,
        line=fields.text("line") or "",
        updated=fields.text("updated") or "",
        status=fields.choice("status", Status) or Status.ACTIVE,
        sources=tuple(
            _source(fields, number, each)
            for number, each in enumerate(_tables(fields, front.values.get("source")))
        ),
        supersedes=fields.texts("supersedes", id_problem),
        disputes=fields.texts("disputes", id_problem),
        verify=fields.text("verify") or "",
        work=fields.text("work") or "",
        because=fields.text("because") or "",
        body=front.body.strip("\n"),
        blob=blob,
    )


def _tables(fields: Fields, value: object) -> list[tables.Table]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
        problem = f"source is {found(value)}, expected tables"
        fields.refuse("source", problem, "write each below a line [[source]]")
    return value


def _source(fields: Fields, number: int, table: tables.Table) -> Source:
    """Return one source. Raises Malformed on its own line."""

    def refuse(key: str, problem: str, mend: str) -> NoReturn:
        row = tables.row_of(fields.front.head, ("source", number, key))
        raise Malformed(fields.path, problem, mend, row + 1 if row else 0)

    for key, each in table.items():
        if key not in _ALL:
            near = nearest(key, _ALL)
            mend = f"did you mean {near}?" if near else f"known are {', '.join(_ALL)}"
            refuse(key, f"{key[:80]} is not a key of a source", mend)
        if not isinstance(each, str) or not (each or key == "quote"):
            refuse(
                key, f"{key} is {found(each)}, expected a text", f'write {key} = "…"'
            )
    others = (From.RECEIPT, From.LANDING, From.DECISION)
    kind = next((k for k in others if SOURCE_KEYS[k][0] in table), From.LINES)
    if extra := table.keys() - set(SOURCE_KEYS[kind]):
        key = min(extra)
        refuse(
            key, f"{key} is of another kind of source", "write a [[source]] for each"
        )
    for key in SOURCE_KEYS[kind][:-1]:
        if key not in table:
            refuse(key, f"{key} is missing in a source", f'write {key} = "…"')
    return _made(kind, table, refuse)


def _made(kind: From, table: tables.Table, refuse: _Refuse) -> Source:
    quote = table.get("quote", "")
    for key in ("commit", "receipt", "record"):
        if key in table and not is_oid(table[key]):
            refuse(key, f"{key} is {found(table[key])}", "write a full object id")
    match kind:
        case From.LINES:
            span = _SPAN.fullmatch(table["lines"])
            if span is None:
                refuse("lines", f"lines is {found(table['lines'])}", 'such as "10-14"')
            first, last = int(span[1]), int(span[2])
            return Source(kind, table["commit"], table["path"], first, last, quote)
        case From.RECEIPT:
            return Source(kind, table["receipt"], quote=quote)
        case From.LANDING:
            return Source(kind, table["commit"], table["landing"], quote=quote)
        case From.DECISION:
            told = _DECISION.fullmatch(table["decision"])
            if told is None:
                what = f"decision is {found(table['decision'])}"
                refuse("decision", what, 'such as "fix-login#1"')
            number = int(told[2])
            return Source(kind, table["record"], told[1], number, quote=quote)
