from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.lander import Bench, bench


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path / "repo") as each:
        yield each
