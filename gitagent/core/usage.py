"""What model requests have used: tokens, as the provider counts them, and money."""

from collections.abc import Mapping
from dataclasses import dataclass

PRICES = ("input", "output", "cache_read", "cache_write")  # usd per million tokens


@dataclass(frozen=True, slots=True)
class Usage:
    """Of one request, or of many; add them up with ``+``."""

    requests: int = 0
    input: int = 0  # tokens that were neither read from a cache nor written to one
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    usd: float = 0.0  # of the requests whose model has a price
    unpriced: int = 0  # requests whose model has none: only their tokens are counted

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.requests + other.requests,
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.usd + other.usd,
            self.unpriced + other.unpriced,
        )

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.input + self.output + self.cache_read + self.cache_write


NOTHING = Usage()


def priced(
    price: Mapping[str, float] | None,
    *,
    input: int = 0,  # noqa: A002 - the provider's word
    output: int = 0,
    cache_read: int = 0,
    cache_write: int = 0,
) -> Usage:
    """Return the usage of one request; ``price`` is one of ``Provider.prices``.

    A price that names no ``cache_read`` or ``cache_write`` has that of ``input``.
    """
    usd = 0.0
    if price is not None:
        read = price.get("cache_read", price["input"])
        write = price.get("cache_write", price["input"])
        usd = (
            input * price["input"]
            + output * price["output"]
            + cache_read * read
            + cache_write * write
        ) / 1e6
    return Usage(1, input, output, cache_read, cache_write, usd, int(price is None))
