"""The commented settings file that ``gitagent init`` writes, and the settings' page.

Both are made from the settings' own definitions. ``python -m gitagent.files.template``
prints the page that is kept as ``docs/settings.md``.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from enum import StrEnum
from typing import Any, get_args, get_origin

from gitagent.core.settings import Check, Provider, Settings
from gitagent.files import clean, schema
from gitagent.files.duration import duration

_WIDTH = 104  # a longer line has its comment above
_COLUMN = 40  # what is longer does not push the comments of its table to the right
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_SECRET = frozenset({"key_env", "key_file", "keyring"})  # one of them is enough

_TOP = """\
# Settings of gitagent for this repository.
# They count from the target's commit on: a change takes effect when it has landed.
# Every setting is here with its default; delete what you do not change if you like.
# Durations: "90s", "20m", "2h", "30d", or whole seconds.
"""

_ABOUT = """\
This page is made from the settings' definitions; do not edit it.
Make it anew with `python -m gitagent.files.template > docs/settings.md`.

`.agent/config.toml` is read from the target's commit.
A setting that is not there has its default.
Durations are `"90s"`, `"20m"`, `"2h"`, `"30d"` or whole seconds.
A key that is none of these is an error."""

_NO_CHECK = """\
# Nothing lands until there is a check. Write the command that tells good from bad:
# [[check]]
# name = "tests"
# run = "make test"
"""
_NONE_TAKEN = """\
# Nothing lands until there is a check. Take one of these by deleting each "# " in
# front, or write another:
"""


@dataclass(frozen=True, slots=True)
class ProposedCheck:
    """A check that `init` found, and what it has to say about it."""

    check: Check
    comments: tuple[str, ...] = ()  # one a line, above the check
    live: bool = True  # False: written as a comment, for a person to take


def config_toml(
    target: str = "main",
    checks: Sequence[ProposedCheck] = (),
    agents: Sequence[str] = (),
    read: Sequence[str] = (),
) -> str:
    """Return a commented settings file that says all there is to set.

    What it sets equals the defaults, apart from ``target``, ``read`` (sandbox.read) and
    the checks that are ``live``. ``agents`` are named in a comment on worker.agent.
    """
    settings = Settings(target=target)
    settings = replace(settings, sandbox=replace(settings.sandbox, read=tuple(read)))
    rows = [_row("target", settings.target, schema.keys(Settings)["target"].doc)]
    parts = [_TOP, "\n".join(_aligned(rows))]
    for key in schema.keys(Settings).values():
        if key.name == "check":
            parts.append(_checks(checks))
        elif is_dataclass(key.type):
            note = _agents(agents) if key.name == "worker" else ()
            parts += _tables((key.name,), getattr(settings, key.name), note)
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def settings_reference() -> str:
    """Return the page about every setting, as Markdown."""
    parts = [
        "# Settings",
        _ABOUT,
        "## Top of the file",
        _reference(Settings),
    ]
    for key in schema.keys(Settings).values():
        name, table = key.name, key.type
        if name == "check":
            name, table = "[check]", Check
        if isinstance(table, type) and is_dataclass(table):
            parts += [f"## `[{name}]`", _purpose(table), _reference(table)]
        if key.name == "model":
            title = "## `[model.providers.NAME]`"
            parts += [title, _purpose(Provider), _reference(Provider)]
    return "\n\n".join(parts) + "\n"


def value(of: Any) -> str:  # noqa: ANN401 - whatever a setting holds
    """Return a setting's value as TOML, on one line."""
    if isinstance(of, bool):
        return str(of).lower()
    if isinstance(of, int | float):
        return repr(int(of) if of == int(of) else of)
    if isinstance(of, str):
        # What JSON escapes TOML reads alike; JSON leaves only DEL as it is.
        return json.dumps(str(of), ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(of, dict):
        pairs = ", ".join(f"{_word(key)} = {value(of[key])}" for key in of)
        return f"{{ {pairs} }}" if pairs else "{}"
    return f"[{', '.join(value(each) for each in of)}]"


@dataclass(frozen=True, slots=True)
class _Row:
    text: str
    comment: str


def _row(name: str, of: Any, doc: str, *, seconds: bool = False) -> _Row:  # noqa: ANN401
    written = value(duration(of)) if seconds else value(of)
    off = name in _SECRET and not of
    return _Row(f"{'# ' if off else ''}{name} = {written}", doc)


def _tables(
    path: tuple[str, ...],
    table: Any,  # noqa: ANN401 - any of the settings' classes
    above: Sequence[str] = (),
) -> Iterator[str]:
    """Render a table, then the tables in it that have names of their own."""
    rows = []
    named: dict[str, Any] = {}
    for key in schema.keys(table.__class__).values():
        held = getattr(table, key.name)
        if get_origin(key.type) is dict and is_dataclass(get_args(key.type)[1]):
            named = {f"{key.name}.{_word(name)}": each for name, each in held.items()}
        else:
            rows.append(_row(key.name, held, key.doc, seconds=key.seconds))
    head = f"[{'.'.join(path)}]"
    about = _about(type(table)) if len(path) == 1 else ""
    first = f"{head}  # {about}" if about else head
    yield "\n".join([first, *above, *_aligned(rows)])
    for name, each in named.items():
        yield from _tables((*path, name), each)


def _checks(checks: Sequence[ProposedCheck]) -> str:
    about = f"# {_about(Check)}"
    parts = []
    if not any(each.live for each in checks):
        parts.append((_NONE_TAKEN if checks else _NO_CHECK).rstrip())
    keys = schema.keys(Check)
    for proposed in checks:
        rows = [
            _row(
                key.name,
                getattr(proposed.check, key.name),
                key.doc,
                seconds=key.seconds,
            )
            for key in keys.values()
        ]
        lines = ["[[check]]", *_aligned(rows)]
        if not proposed.live:
            lines = [f"# {line}" for line in lines]
        parts.append("\n".join([*map(_comment, proposed.comments), *lines]))
    return "\n\n".join([f"{about}\n{parts[0]}", *parts[1:]])


def _agents(agents: Sequence[str]) -> list[str]:
    if not agents:
        return []
    return [_comment(f"agents found on this machine beside shell: {', '.join(agents)}")]


def _aligned(rows: Sequence[_Row]) -> Iterator[str]:
    """Put each comment behind its setting, in one column, or above if that is long."""
    column = max(len(row.text) for row in rows if len(row.text) <= _COLUMN)
    for row in rows:
        line = f"{row.text:{column}}  # {row.comment}"
        if len(line) <= _WIDTH:
            yield line
        else:
            yield f"# {row.comment}:"
            yield row.text


def _about(table: type) -> str:
    """Return what a table is for: its docstring behind the table's name."""
    return (table.__doc__ or "").partition(":")[2].strip().rstrip(".")


def _purpose(table: type) -> str:
    about = _about(table)
    return f"{about[:1].upper()}{about[1:]}."


def _reference(table: type) -> str:
    rows = ["| setting | is | default | meaning |", "| --- | --- | --- | --- |"]
    for key in schema.keys(table).values():
        if is_dataclass(key.type) or key.name in ("check", "providers"):
            continue
        default = "none: it has to be set" if key.required else _shown(key)
        words = (clean.code(key.name), _kind(key), default, key.doc)
        rows.append(
            "| " + " | ".join(word.replace("|", "\\|") for word in words) + " |"
        )
    return "\n".join(rows)


def _shown(key: schema.Key) -> str:
    default = duration(key.default) if key.seconds else key.default
    return clean.code(value(default))


def _kind(key: schema.Key) -> str:
    if key.seconds:
        return "duration"
    if isinstance(key.type, type) and issubclass(key.type, StrEnum):
        return "text"
    names: dict[Any, str] = {bool: "true or false", int: "whole number", str: "text"}
    if get_origin(key.type) is tuple:
        return "list of texts"
    return names.get(key.type, "table")


def _word(key: str) -> str:
    return key if _BARE.match(key) else value(key)


def _comment(text: str) -> str:
    return f"# {clean.sentence(text)}"


if __name__ == "__main__":
    sys.stdout.write(settings_reference())
