"""TOML and YAML texts as tables, and what is wrong with them in people's words.

Both texts can come from somebody hostile. What makes a reader slow is refused before
it: anchors, deep nesting, and keys with very many dots (tomllib needs cubic time).
"""

import re
import tomllib
from typing import Any

from gitagent.files.text import Malformed

Table = dict[str, Any]

_DEPTH = 32  # brackets open at once

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")
_DOTTED = re.compile(
    r"(?<![\w-])(?:(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}"
)
_TOML_ROW = re.compile(r"\s*(?:[\w-]+\s*=|\[[\w.-]+\]\s*$)")
_YAML_ROW = re.compile(r"\s*[\w-]+:(?:\s|$)")
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*[\"']?([\w.-]+)[\"']?\s*[=:]")
_UNQUOTED = re.compile(r"[\"'\s]")
_TWICE = re.compile(r'duplicate key "([^"]*)"')


def toml(text: str, path: str, first: int = 1) -> Table:
    """Return the table in ``text``, whose first line is line ``first`` of the file.

    Raises:
        Malformed: with line and column in the file, where the reader knows them.

    """
    if many := _DOTTED.search(text):
        line = text.count("\n", 0, many.start()) + first
        raise Malformed(path, "a key has too many dots", "write fewer tables", line)
    try:
        return tomllib.loads(text + "\n")  # without it the last line has no place
    except RecursionError:
        raise _deep(path) from None
    except tomllib.TOMLDecodeError as error:
        message = str(error)
    except ValueError as error:
        raise _number(path, error) from None
    place = _PLACE.search(message)
    rows = text.split("\n")
    line, column = _last(rows), 0
    if place and place[1]:
        line, column = int(place[1]), int(place[2])
    what = message[: place.start()] if place else message
    problem, mend = _explain(what, rows[min(line, len(rows)) - 1])
    raise Malformed(path, problem, mend, line + first - 1, column)


def yaml(text: str, path: str, first: int = 1) -> Table:
    """Return the mapping in ``text``, whose first line is line ``first`` of the file.

    YAML 1.2 without anchors, aliases and tags of its own; every key is a text.

    Raises:
        Malformed: with line and column in the file, where the reader knows them.

    """
    if _depth(text) > _DEPTH:
        raise _deep(path)
    try:
        anchor, values = _yaml(text)
    except RecursionError:
        raise _deep(path) from None
    except Exception as error:  # noqa: BLE001 - on odd input it raises whatever it meets
        raise _malformed_yaml(error, text, path, first) from None
    if anchor is not None:
        problem = "anchors and aliases are not read here"
        raise Malformed(path, problem, "write the value out", anchor + first)
    if not isinstance(values, dict):
        problem, mend = _explain_yaml("these are no keys and values", text)
        raise Malformed(path, problem, mend, first)
    if not all(isinstance(key, str) for key in values):
        raise Malformed(path, "a key is not a text", "put the key in quotes", first)
    return values


def _yaml(text: str) -> tuple[int | None, object]:
    """Return the first row with an anchor or alias, and without any the value."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - 30 ms that few files need

    for event in YAML(typ="safe", pure=True).parse(text):
        if getattr(event, "anchor", None) is not None:
            return event.start_mark.line, None
    value = YAML(typ="safe", pure=True).load(text)
    return None, {} if value is None else value


def _malformed_yaml(error: Exception, text: str, path: str, first: int) -> Malformed:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = getattr(error, "problem", None) or getattr(error, "context", None)
    if what is None:
        return _number(path, error)
    problem, mend = _explain_yaml(what, text)
    if mark is None:
        return Malformed(path, problem, mend)
    return Malformed(path, problem, mend, mark.line + first, mark.column + 1)


def row_of(text: str, path: tuple[str | int, ...]) -> int:
    """Return the line of ``text`` that sets what ``path`` names, or 0.

    A number in ``path`` counts the tables of an array (`[[check]]`) from 0. What has
    no line of its own is where the nearest thing around it is set.
    """
    header: tuple[str | int, ...] = ()
    arrays: dict[str, int] = {}
    best, depth = 0, 0
    for number, row in enumerate(text.split("\n"), 1):
        if head := _HEADER.match(row):
            name = _UNQUOTED.sub("", head[2])
            header = tuple(name.split("."))
            if head[1] == "[[":
                arrays[name] = arrays.get(name, -1) + 1
                header = (*header, arrays[name])
            here = header
        elif key := _KEY.match(row):
            here = (*header, *key[1].split("."))
        else:
            continue
        if len(here) > depth and here == path[: len(here)]:
            best, depth = number, len(here)
    return best


def _explain(what: str, row: str) -> tuple[str, str]:
    """Turn tomllib's words, and the row they are about, into problem and mend."""
    key = row.partition("=")[0].strip().strip("[]") or "this"
    match what.split()[:2]:
        case ["Cannot", "overwrite" | "declare"]:
            return f"{key} is set twice", "keep one of them"
        case ["Cannot", "mutate"]:
            return f"{key} adds to a value that is closed", "write it in one place"
        case _ if row.strip() == "---":
            return "--- inside TOML", "end the front matter with +++"
        case _ if _YAML_ROW.match(row) and not _TOML_ROW.match(row):
            return "this is YAML where TOML is expected", 'write key = "value"'
        case ["Invalid", "value"] if "=" in row:
            return f"{key} has no valid value", 'put texts in quotes: key = "value"'
    return f"not valid TOML: {what[:1].lower()}{what[1:]}", "correct this line"


def _explain_yaml(what: str, text: str) -> tuple[str, str]:
    if _TOML_ROW.match(text.lstrip("\n")):
        return "this is TOML where YAML is expected", "put it between lines +++"
    if twice := _TWICE.search(what):
        return f"{twice[1]} is set twice", "keep one of them"
    what = what.replace("'\\x00'", "the end")
    return f"not valid YAML: {what}", 'write key: "value", texts in quotes'


def _depth(text: str) -> int:
    """Return the most brackets that are open at once, quotes not considered."""
    opened = most = 0
    for mark in re.findall(r"[\[\]{}]", text):
        opened = opened + 1 if mark in "[{" else max(opened - 1, 0)
        most = max(most, opened)
    return most


def _deep(path: str) -> Malformed:
    return Malformed(path, "a value is nested too deeply", "write fewer brackets")


def _number(path: str, error: Exception) -> Malformed:
    if "digits" in str(error):
        return Malformed(path, "a number has too many digits", "write a smaller one")
    return Malformed(path, f"a value cannot be read: {error}", "put it in quotes")


def _last(rows: list[str]) -> int:
    """Return the number of the last row that is not blank."""
    return max((n for n, row in enumerate(rows, 1) if row.strip()), default=1)
