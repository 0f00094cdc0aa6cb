"""Settings: ``.agent/config.toml`` as a value, or one line that says what is wrong.

Types are strict: a text is no number, and true is no number either. What a key means
is judged in `settings_rules`; whether this release can do it, elsewhere.
"""

import json
import re
import tomllib
from dataclasses import is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_origin

from gitagent.core.layout import CONFIG
from gitagent.core.settings import Guard, Settings
from gitagent.errors import ConfigError
from gitagent.files import clean, schema
from gitagent.files.duration import seconds
from gitagent.files.fault import Fault
from gitagent.files.fields import found, nearest
from gitagent.files.settings_rules import faults
from gitagent.files.tables import Table, row_of, toml
from gitagent.files.text import Malformed, decode

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["parse", "peek_guard", "peek_target", "seconds"]

_MISSING = "is missing"
_TARGET = re.compile(r"""^\s*target\s*=\s*(["'])(.+?)\1""", re.MULTILINE)
_EXPECTED = {
    "string_type": ("a text", 'put it in quotes: {key} = "…"'),
    "int_type": ("a whole number", "write it without quotes and dot: {key} = 2"),
    "bool_type": ("true or false", "write {key} = true or {key} = false"),
    "float_type": ("a number", "write it without quotes: {key} = 2"),
    "tuple_type": ("a list", 'write it in brackets: {key} = ["…"]'),
    "dict_type": ("a table", "write {key} = {{ usd = 5 }} or the like"),
    "dataclass_type": ("a table", "write [{key}] on a line of its own"),
}


def parse(data: bytes, path: str = CONFIG) -> Settings:
    """Return the settings in a file; what it does not set has its default.

    Raises:
        ConfigError: with the file, the line, the key, and the mend, in one line; of
            several faults the first, and how many more there are.

    """
    try:
        text = decode(data, path)
        values = toml(text, path)
    except Malformed as error:
        place = str(error).removesuffix(f"; {error.mend}")
        raise ConfigError(place, error.mend) from None
    problems: list[Fault] = []
    ready = _ready(values, Settings, (), problems)
    _complete(ready)
    settings = _validated(ready, values, problems)
    if settings is not None and not problems:
        problems = faults(settings)
        if not problems:
            return settings
    raise _first(problems, text, values, path)


def peek_target(data: bytes) -> str:
    """Return the target that a file names, else the default; never raises.

    For a caller that needs nothing else and has no time to load the whole reader. A
    mistake further down does not hide it: the file still belongs to that target.
    """
    text = data.decode("utf-8-sig", "replace")
    try:
        target = tomllib.loads(text).get("target")
    except (ValueError, RecursionError):
        top = re.split(r"^\s*\[", text, maxsplit=1, flags=re.MULTILINE)[0]
        written = _TARGET.search(top)
        target = written[2] if written else None
    return target if isinstance(target, str) and target else Settings().target


def peek_guard(data: bytes) -> Guard | None:
    """Return ``lander.guard`` of a file; None: it takes the whole reader to tell."""
    try:
        lander = tomllib.loads(data.decode("utf-8-sig")).get("lander", {})
        return Guard(lander.get("guard", Settings().lander.guard))
    except (ValueError, RecursionError, AttributeError):
        return None


@cache
def _adapter() -> "TypeAdapter[Settings]":
    from pydantic import TypeAdapter  # noqa: PLC0415 - 90 ms

    return TypeAdapter(Settings)


def _validated(ready: Table, values: Table, problems: list[Fault]) -> Settings | None:
    from pydantic import ValidationError  # noqa: PLC0415 - 90 ms

    # JSON in strict mode takes lists for tuples and texts for enums, and nothing else.
    try:
        return _adapter().validate_json(json.dumps(ready), strict=True)
    except ValidationError as error:
        problems += [
            _fault(dict(each), values) for each in error.errors(include_url=False)
        ]
    return None


def _ready(value: Any, kind: Any, path: schema.Path, problems: list[Fault]) -> Any:  # noqa: ANN401
    """Return ``value`` as JSON can hold it, durations in seconds."""
    if isinstance(value, dict):
        table = kind if isinstance(kind, type) and is_dataclass(kind) else None
        known = schema.keys(table) if table else {}
        each = get_args(kind)[1] if get_origin(kind) is dict else None
        ready: Table = {}
        for name, inner in value.items():
            key = known.get(name)
            if key and key.seconds:
                ready[name] = _seconds(inner, (*path, name), problems)
            else:
                inside = key.type if key else each
                ready[name] = _ready(inner, inside, (*path, name), problems)
        return ready
    if isinstance(value, list):
        each = get_args(kind)[0] if get_origin(kind) is tuple else None
        return [
            _ready(inner, each, (*path, number), problems)
            for number, inner in enumerate(value)
        ]
    if isinstance(value, bool | str | float):
        return value
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    return None  # a date or a huge number: no setting takes either


def _seconds(value: object, path: schema.Path, problems: list[Fault]) -> int:
    try:
        return seconds(value)
    except ValueError as error:
        problem, _, mend = str(error).partition("; ")
        problems.append(Fault(path, f"is {found(value)}: {problem}", mend))
        return 1


def _complete(ready: Table) -> None:
    """Add what a file leaves out of the default provider: it is a default as well."""
    model = ready.get("model")
    providers = model.get("providers") if isinstance(model, dict) else None
    if not isinstance(providers, dict):
        return
    for name, default in Settings().model.providers.items():
        given = providers.setdefault(name, {})
        if isinstance(given, dict) and not {"key_file", "keyring"} & given.keys():
            given.setdefault("key_env", default.key_env)


def _fault(error: dict[str, Any], values: Table) -> Fault:
    """Turn one error of the reader into the words of this file."""
    path: schema.Path = error["loc"]
    kind: str = error["type"]
    if kind == "unexpected_keyword_argument":
        return Fault(path, "is not a setting", _meant(path, values))
    if kind == "missing":
        return Fault(path, _MISSING, f'write {path[-1]} = "…"')
    if kind == "enum":
        choices = error["ctx"]["expected"].replace("'", '"')
        return Fault(path, f"is {found(_at(values, path))}", f"write {choices}")
    expected, mend = _EXPECTED.get(kind, (error["msg"], "correct it"))
    keys = [part for part in path if isinstance(part, str)]
    key = keys[-1] if expected != "a table" else ".".join(keys)
    if path in {("check",), ("hook",)}:
        expected, mend = "a list of tables", f"write [[{path[0]}]]"
    if path == ("mcp",):
        expected, mend = "tables by name", "write [mcp.NAME]"
    verb = "is"
    if isinstance(path[-1], int):
        verb, mend = "contains", 'write texts in quotes: {key} = ["…"]'
    value = found(_at(values, path))
    return Fault(path, f"{verb} {value}, expected {expected}", mend.format(key=key))


def _meant(path: schema.Path, values: Table) -> str:
    *above, word = path
    table = schema.table_at(tuple(above))
    known = tuple(schema.keys(table)) if table else ()
    near = nearest(str(word), known)
    if near:
        return f"did you mean {_name((*above, near), values)}?"
    if elsewhere := schema.paths_of(str(word)):
        return f"did you mean {_name(elsewhere[0])}?"
    return f"known are {', '.join(known)}"


def _at(values: Any, path: schema.Path) -> object:  # noqa: ANN401 - a TOML value
    for part in path:
        try:
            values = values[part]
        except (LookupError, TypeError):
            return None
    return values


def _name(path: schema.Path, values: Table | None = None) -> str:
    """Return a path as people write it; a check goes by its name."""
    words: list[str] = []
    for number, part in enumerate(path):
        if isinstance(part, str):
            words.append(part)
        elif number < len(path) - 1 or path[0] in {"check", "hook"}:
            name = _at(values or {}, (*path[: number + 1], "name"))
            words.append(name if isinstance(name, str) and name else str(part + 1))
    return clean.sentence(".".join(words), 120)


def _first(problems: list[Fault], text: str, values: Table, path: str) -> ConfigError:
    # What is missing comes last: most often it is there, under another name.
    placed = sorted(
        ((row_of(text, fault.path), fault) for fault in problems),
        key=lambda pair: (pair[1].problem == _MISSING, pair[0] or 10**9),
    )
    row, fault = placed[0]
    where = f"{clean.line(path)}:{row}" if row else clean.line(path)
    name = _name(fault.path, values)
    problem = clean.sentence(f"{where}: {name} {fault.problem}", 400)
    more = f" (and {len(placed) - 1} more)" if len(placed) > 1 else ""
    return ConfigError(problem, clean.sentence(fault.mend, 400) + more)
