"""Vectors of texts, as they are kept: 32-bit floats of length one."""

import math
from array import array
from collections.abc import Iterable


def unit(numbers: Iterable[float]) -> bytes:
    """Return a vector of length one; zeros for one that has none."""
    values = [float(each) for each in numbers]
    length = math.sqrt(math.fsum(each * each for each in values))
    usable = math.isfinite(length) and length > 0
    return array("f", [each / length if usable else 0.0 for each in values]).tobytes()
