"""The folders of one attempt, as the programs beside its agent see them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitagent.worker.inside.place import TASK, Place


@pytest.fixture
def where(tmp_path: Path) -> Place:
    for name in ("in", "out", "home", "tree"):
        (tmp_path / name).mkdir()
    return Place(
        given=tmp_path / "in",
        out=tmp_path / "out",
        home=tmp_path / "home",
        tree=str(tmp_path / "tree"),
    )


@pytest.fixture
def give(where: Place) -> Callable[..., None]:
    """Return what writes the task's file."""

    def write(**values: Any) -> None:
        (where.given / TASK).write_text(json.dumps({"id": "fix", **values}))

    write()
    return write
