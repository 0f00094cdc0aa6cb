"""Durations as people write them: "90s", "20m", "2h", "30d", or whole seconds."""

import re

LIMIT = 10 * 365 * 86400  # seconds; what waits longer is a slip, and overflows timers

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_TEXT = re.compile(r"([0-9]{1,12})([smhd])\Z")
_MEND = 'write "90s", "20m", "2h", "30d" or whole seconds'


def seconds(value: object) -> int:
    """Return a duration in seconds.

    Raises:
        ValueError: with one line that says what was found and how to write it.

    """
    if isinstance(value, str):
        found = _TEXT.match(value.strip())
        if not found:
            raise ValueError(f'"{value[:40]}" is not a duration; {_MEND}')
        number = int(found[1]) * _UNITS[found[2]]
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    else:
        raise ValueError(f"a duration is expected; {_MEND}")  # noqa: TRY004
    if not 0 < number <= LIMIT:
        raise ValueError(f'a duration is from 1 second to "{LIMIT // 86400}d"; {_MEND}')
    return number


def duration(number: int) -> str:
    """Return seconds as the shortest text that `seconds` reads as the same."""
    for unit, size in reversed(_UNITS.items()):
        if number % size == 0:
            return f"{number // size}{unit}"
    raise AssertionError
