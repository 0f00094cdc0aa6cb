"""The labelled set: queries, and what each should find. A committed TOML file."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from gitagent.core.scoring import FIGURES
from gitagent.errors import ConfigError
from gitagent.files.fields import nearest

_KINDS: Final = ("item", "landing", "episode", "document")
_TOP: Final = ("k", "gates", "query")
_QUERY: Final = ("text", "paths", "wanted", "kinds")
_MEND: Final = "see `gitagent memory eval --help`"
K: Final = 3  # as many as are recalled, unless the settings say otherwise


@dataclass(frozen=True, slots=True)
class Query:
    """One query."""

    text: str
    wanted: tuple[str, ...]  # names of hits; none: it should find nothing
    paths: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("item",)


@dataclass(frozen=True, slots=True)
class Labels:
    """The whole file."""

    queries: tuple[Query, ...]
    gates: Mapping[str, float]  # least value by name of a figure
    k: int = K  # hits that count


def parse(data: bytes, path: str) -> Labels:
    """Return a labelled set.

    Raises:
        ConfigError: it is none; the line says where.
    """
    try:
        whole = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is no TOML: {error}", _MEND) from None
    _known(whole, _TOP, path)
    queries = whole.get("query", [])
    if not isinstance(queries, list) or not queries:
        raise ConfigError(f"{path} has no [[query]]", _MEND)
    k = whole.get("k", K)
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= 100:
        raise ConfigError(f"{path}: k is no number from 1 to 100", _MEND)
    return Labels(
        tuple(_query(each, f"{path}, query {n}") for n, each in enumerate(queries, 1)),
        dict(_gates(whole.get("gates", {}), path)),
        k,
    )


def _query(value: object, where: str) -> Query:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} is no table", _MEND)
    _known(value, _QUERY, where)
    text = value.get("text")
    if not isinstance(text, str) or not text.strip():
        raise ConfigError(f"{where} has no text", _MEND)
    if "wanted" not in value:
        raise ConfigError(
            f"{where} does not say what is wanted", "write wanted = [] if nothing is"
        )
    kinds = _words(value.get("kinds", ["item"]), f"{where}: kinds")
    for kind in kinds:
        if kind not in _KINDS:
            known = ", ".join(_KINDS)
            raise ConfigError(f'{where}: there is no kind "{kind}"', f"one of {known}")
    return Query(
        text,
        _words(value["wanted"], f"{where}: wanted"),
        _words(value.get("paths", []), f"{where}: paths"),
        kinds,
    )


def _words(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(
        isinstance(each, str) and each for each in value
    ):
        raise ConfigError(f"{where} is no list of strings", _MEND)
    return tuple(dict.fromkeys(value))


def _gates(value: object, path: str) -> Iterator[tuple[str, float]]:
    where = f"{path}, [gates]"
    if not isinstance(value, dict):
        raise ConfigError(f"{where} is no table", _MEND)
    _known(value, FIGURES, where)
    for name, least in value.items():
        number = isinstance(least, int | float) and not isinstance(least, bool)
        if not number or not 0 <= least <= 1:
            raise ConfigError(f"{where}: {name} is no number from 0 to 1", _MEND)
        yield name, float(least)


def _known(value: Mapping[str, object], names: tuple[str, ...], where: str) -> None:
    for key in value:
        if key not in names:
            near = nearest(key, names)
            mend = f"did you mean {near}?" if near else f"one of {', '.join(names)}"
            raise ConfigError(f'{where}: there is no key "{key}"', mend)
