"""What the values of [model] have to be, beyond their types."""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from gitagent.core.models import ModelRef, is_here, resolve
from gitagent.core.settings import Model, Provider
from gitagent.core.usage import PRICES
from gitagent.files.fault import (
    Fault,
    address_problem,
    each,
    line_problem,
    optional,
    text,
)
from gitagent.files.fields import Problem, found, is_amount
from gitagent.files.schema import Path

_KEYS = ("key_env", "key_file", "keyring")  # where a key can be
_ADDRESS = "write an address such as https://api.example.org/v1"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


def faults(model: Model) -> Iterator[Fault]:
    """Yield what is wrong with the table."""
    named, colon, name = model.default.partition(":")
    if not (colon and named.strip() and name.strip()):
        mend = 'write "provider:model"'
        yield Fault(("model", "default"), f"is {found(model.default)}", mend)
    yield from each(("model", "fallback"), model.fallback, _fallback_problem(model))
    for short, meant in model.aliases.items():
        path: Path = ("model", "aliases", short)
        if ":" in short or not short.strip() or not short.isprintable():
            yield Fault(path, "is no short name", "write one without a colon")
        else:
            yield from text(path, meant, _model_problem(model))
    for called, provided in model.providers.items():
        yield from _provider(("model", "providers", called), provided)


def _model_problem(model: Model) -> Problem:
    def problem(written: str) -> str | None:
        if isinstance(resolve(written, model), ModelRef):
            return None
        known = ", ".join(sorted(model.providers))
        return f'write "provider:model" with one of the providers {known}'

    return problem


def _fallback_problem(model: Model) -> Problem:
    def problem(written: str) -> str | None:
        first, other = resolve(model.default, model), resolve(written, model)
        if isinstance(other, str):
            return _model_problem(model)(written)
        return "leave it out: it is the default" if first == other else None

    return problem


def _provider(above: Path, provider: Provider) -> Iterator[Fault]:
    if provider.kind not in ("anthropic", "openai"):
        mend = 'write "anthropic" or "openai"'
        yield Fault((*above, "kind"), f"is {found(provider.kind)}", mend)
    yield from text((*above, "base_url"), provider.base_url, _base_problem)
    if provider.key_env and not _VARIABLE.fullmatch(provider.key_env):
        # What stands there may be the key itself: it is not shown.
        mend = "write the name of an environment variable, never the key"
        yield Fault((*above, "key_env"), "is no name of a variable", mend)
    yield from optional((*above, "key_file"), provider.key_file, line_problem)
    yield from optional((*above, "keyring"), provider.keyring, line_problem)
    named = [one for one in _KEYS if getattr(provider, one)]
    if len(named) > 1:
        mend = f"keep one of {' and '.join(named)}"
        yield Fault((*above, named[1]), "is one place too many for the key", mend)
    plain = provider.base_url.startswith("http://")
    if named and plain and not is_here(provider.base_url):
        mend = "write https://, or leave the key out"
        yield Fault((*above, "base_url"), "would be sent the key unencrypted", mend)
    for name, prices in provider.prices.items():
        yield from _prices((*above, "prices", name), prices)


def _prices(path: Path, prices: Mapping[str, float]) -> Iterator[Fault]:
    for what, price in prices.items():
        if what not in PRICES:
            yield Fault((*path, what), "is no price", f"prices are {', '.join(PRICES)}")
        elif not is_amount(price):
            yield Fault((*path, what), f"is {found(price)}", "write a number from 0")
    missing = [one for one in ("input", "output") if one not in prices]
    if missing:
        mend = f"write {' and '.join(missing)}, in usd per million tokens"
        yield Fault(path, "is not a whole price", mend)


def _base_problem(address: str) -> str | None:
    if why := address_problem(address):
        return why
    try:
        there = urlsplit(address)
        whole = bool(there.hostname) and there.port != 0
    except ValueError:
        return _ADDRESS
    if not whole or " " in address:
        return _ADDRESS
    if there.query or there.fragment or "@" in there.netloc:
        return "write it without @, ? and #"
    return None
