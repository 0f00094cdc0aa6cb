"""Machine records as JSON and back: tasks, submissions, receipts, the queue and more.

A record holds its whole state, the version of its form and the release that wrote it.
A newer version is refused with that release; a key that is not known is passed over,
and one that is not there has its default, so that one version can gain keys. There is
no schema library here: `gitagent status` reads thousands of records.
"""

import json
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from operator import itemgetter
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from gitagent import __version__
from gitagent.core.approval import Approval
from gitagent.core.conversation import Entry
from gitagent.core.exchange import Exchange
from gitagent.core.inbox import Inbox
from gitagent.core.proposal import Proposal
from gitagent.core.receipt import Receipt
from gitagent.core.remembering import Ruling
from gitagent.core.submission import Submission
from gitagent.core.switch import Switch
from gitagent.core.task import AttemptEnd, TaskRecord
from gitagent.errors import UserError
from gitagent.files import clean

VERSION = 1
NAME = f"record-v{VERSION}.json"  # of the blob in a record commit's tree

_Record = TypeVar(
    "_Record",
    TaskRecord,
    Submission,
    Approval,
    Receipt,
    Switch,
    Inbox,
    Exchange,
    Entry,
    AttemptEnd,
    Ruling,
    Proposal,
)
_AS_THEY_ARE = frozenset({str, int, float, bool, NoneType})
_Decode = Callable[[Any], Any]  # raises ValueError if the value is not of its type


def dump_task(record: TaskRecord) -> bytes:
    """Return a task's record as JSON, without the commit it was read from."""
    return _dump(record)


def load_task(data: bytes, oid: str = "") -> TaskRecord:
    """Return the task's record in ``data``, read from the record commit ``oid``.

    Raises:
        UserError: the record is damaged, or a newer release wrote it.

    """
    return _load(TaskRecord, data, oid=oid)


def dump_end(end: AttemptEnd) -> bytes:
    """Return the end of an attempt as JSON."""
    return _dump(end)


def load_end(data: bytes) -> AttemptEnd:
    """Return the end of an attempt in ``data``.

    Raises:
        UserError: it is damaged, or a newer release wrote it.

    """
    return _load(AttemptEnd, data)


def dump_submission(submission: Submission) -> bytes:
    """Return a submission as JSON, without the commit it was read from."""
    return _dump(submission)


def load_submission(data: bytes, oid: str = "") -> Submission:
    """Return the submission in ``data``, read from the record commit ``oid``.

    Raises:
        UserError: the record is damaged, or a newer release wrote it.

    """
    return _load(Submission, data, oid=oid)


def dump_approval(approval: Approval) -> bytes:
    """Return an approval as JSON, without the commit it was read from."""
    return _dump(approval)


def load_approval(data: bytes, oid: str = "") -> Approval:
    """Return the approval in ``data``, read from the record commit ``oid``.

    Raises:
        UserError: the record is damaged, or a newer release wrote it.

    """
    return _load(Approval, data, oid=oid)


def dump_switch(switch: Switch) -> bytes:
    """Return the queue's switch as JSON, without the commit it was read from."""
    return _dump(switch)


def load_switch(data: bytes, oid: str = "") -> Switch:
    """Return the queue's switch in ``data``, read from the record commit ``oid``.

    Raises:
        UserError: the record is damaged, or a newer release wrote it.

    """
    return _load(Switch, data, oid=oid)


def dump_inbox(inbox: Inbox) -> bytes:
    """Return the inbox as JSON, without the commit it was read from."""
    return _dump(inbox)


def load_inbox(data: bytes, oid: str = "") -> Inbox:
    """Return the inbox in ``data``, read from the record commit ``oid``.

    Raises:
        UserError: the record is damaged, or a newer release wrote it.

    """
    return _load(Inbox, data, oid=oid)


def dump_exchange(exchange: Exchange) -> bytes:
    """Return an exchange as JSON, without the commit it was read from.

    On one line: with hundreds of blocks, Python's indenting takes longer than the disk.
    """
    return _dump(exchange, indent=None)


def load_exchange(data: bytes, oid: str = "") -> Exchange:
    """Return the exchange in ``data``, read from the record commit ``oid``.

    Raises:
        UserError: the record is damaged, or a newer release wrote it.

    """
    return _load(Exchange, data, oid=oid)


def dump_entry(entry: Entry) -> bytes:
    """Return an entry of a conversation as JSON, without the commit it was read from.

    On one line, as an exchange: it can hold tens of KiB.
    """
    return _dump(entry, indent=None)


def load_entry(data: bytes, oid: str = "") -> Entry:
    """Return the entry in ``data``, read from the record commit ``oid``.

    Raises:
        UserError: the record is damaged, or a newer release wrote it.

    """
    return _load(Entry, data, oid=oid)


def dump_ruling(ruling: Ruling) -> bytes:
    """Return a ruling as JSON, without the commit it was read from."""
    return _dump(ruling)


def load_ruling(data: bytes, oid: str = "") -> Ruling:
    """Return the ruling in ``data``, read from the record commit ``oid``.

    Raises:
        UserError: the record is damaged, or a newer release wrote it.

    """
    return _load(Ruling, data, oid=oid)


def dump_proposal(proposal: Proposal) -> bytes:
    """Return a proposal as JSON, without the commit it was read from."""
    return _dump(proposal)


def load_proposal(data: bytes, oid: str = "") -> Proposal:
    """Return the proposal in ``data``, read from the record commit ``oid``.

    Raises:
        UserError: the record is damaged, or a newer release wrote it.

    """
    return _load(Proposal, data, oid=oid)


def dump_receipt(receipt: Receipt) -> bytes:
    """Return a receipt as JSON."""
    return _dump(receipt)


def load_receipt(data: bytes, place: str = "") -> Receipt:
    """Return the receipt in ``data``; ``place`` is "<ref>:<path>" it was read from.

    Without ``place`` it has the one that it was written with.

    Raises:
        UserError: the record is damaged, or a newer release wrote it.

    """
    return _load(Receipt, data, **({"place": place} if place else {}))


def _dump(record: _Record, indent: int | None = 1) -> bytes:
    values = _encode(record)
    values.pop("oid", None)
    values |= {"version": VERSION, "release": __version__}
    options: dict[str, Any] = {"sort_keys": True, "indent": indent, "allow_nan": False}
    text = json.dumps(values, ensure_ascii=False, **options)
    try:
        return text.encode() + b"\n"
    except (
        UnicodeEncodeError
    ):  # a path that is not UTF-8, with surrogates for its bytes
        return json.dumps(values, **options).encode() + b"\n"


def _encode(value: Any) -> Any:  # noqa: ANN401 - whatever a record holds
    if type(value) in _AS_THEY_ARE:
        return value
    if is_dataclass(value):
        names = _names(type(value))  # type: ignore[arg-type]
        return {name: _encode(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    return value.value if isinstance(value, StrEnum) else value


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


def _load(kind: type[_Record], data: bytes, **known: str) -> _Record:
    try:
        values = json.loads(data.decode())
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise _damaged(kind, "it is not JSON")
    version = values.get("version")
    if not isinstance(version, int):
        raise _damaged(kind, "it names no version")
    if version > VERSION:
        release = clean.sentence(str(values.get("release", "unknown")), 40)
        problem = f"a record was written by the newer release {release}"
        raise UserError(problem, f"this is {__version__}: install {release} or later")
    try:
        record = _decoder(kind)(values | known)  # type: ignore[arg-type]
    except ValueError as error:
        raise _damaged(kind, str(error)) from None
    return cast("_Record", record)


def _damaged(kind: type, why: str) -> UserError:
    name = kind.__name__.removesuffix("Record").lower()
    problem = f"the record of a {name} is damaged: {clean.sentence(why)}"
    return UserError(problem, "`git log -p` on its ref shows what it was before")


@cache
def _decoder(kind: type) -> _Decode:
    """Return what makes a dataclass of a JSON object."""
    hints = get_type_hints(kind)
    names = tuple(field.name for field in fields(kind))
    plain = [_plain(hints[name]) for name in names]
    converts = [(n, convert) for n, (_, convert) in enumerate(plain) if convert]
    absent = {field.name: _default(field) for field in fields(kind)}
    row_of = itemgetter(*names)
    good: set[tuple[type, ...]] = set()  # types of rows that were looked at already

    def check(types: tuple[type, ...]) -> None:
        for name, found, (allowed, _) in zip(names, types, plain, strict=True):
            if found is _Missing:
                raise ValueError(f"{name} is missing")
            if found not in allowed:
                raise ValueError(f"{name} has the wrong type")
        good.add(types)

    def decode(values: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
        try:
            row = row_of(values)
        except KeyError:
            row = row_of(absent | values)
        types = tuple(map(type, row))
        if types not in good:
            check(types)
        made = list(row)
        for n, convert in converts:
            if made[n] is not None:
                made[n] = convert(made[n])
        return kind(*made)

    return decode


class _Missing:
    """In place of a value that a record has to have."""


def _default(field: "Field[Any]") -> Any:  # noqa: ANN401
    """Return the JSON of a field's default."""
    if field.default is not MISSING:
        return _encode(field.default)
    return _Missing()


def _plain(hint: Any) -> tuple[frozenset[type], _Decode | None]:  # noqa: ANN401
    """Return the JSON types of an annotation, and how its value is made from them."""
    if get_origin(hint) is UnionType:
        inner = [each for each in get_args(hint) if each is not NoneType]
        types, convert = _plain(inner[0])
        return types | {NoneType}, convert
    if get_origin(hint) is tuple:
        types, convert = _plain(get_args(hint)[0])
        return frozenset({list}), _items(types, convert)
    if is_dataclass(hint):
        return frozenset({dict}), _decoder(hint)  # type: ignore[arg-type]
    if issubclass(hint, StrEnum):
        return frozenset({str}), _member(hint)
    if hint is float:
        return frozenset({float, int}), float
    return frozenset({hint}), None


def _member(kind: type[StrEnum]) -> _Decode:
    members = {member.value: member for member in kind}

    def decode(value: str) -> StrEnum:
        try:
            return members[value]
        except KeyError:
            raise ValueError(f"{value} is no {kind.__name__}") from None

    return decode


def _items(types: frozenset[type], convert: _Decode | None) -> _Decode:
    def decode(values: list[Any]) -> tuple[Any, ...]:
        for value in values:
            if type(value) not in types:
                raise ValueError("an item of a list has the wrong type")
        return tuple(map(convert, values)) if convert else tuple(values)

    return decode
