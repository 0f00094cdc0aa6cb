"""A repository that gitagent keeps, as `init` would leave it, and a loop on it."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.gated import CHECK as GATED
from tests.support.gated import Gated
from tests.support.repos import Content, Repo, settings_text
from tests.support.stepping import Stepped, config, keep

# It fails when the word bad is in the tree: a check that reads what it judges.
CHECK = "! grep -rqw bad --include='*.txt' ."


@pytest.fixture
def kept(tmp_path: Path) -> Repo:
    """Make a repository with settings, one check, and a few files."""
    files = {
        "README.md": "# kept\n",
        "a.txt": "one\ntwo\nthree\nfour\nfive\n",
        "b.txt": "alpha\n",
    }
    repo = Repo.make(tmp_path / "kept", files)
    config = {".agent/config.toml": settings_text(CHECK)}
    repo.commit_at("refs/heads/main", config, "Keep it\n\nGitagent-Record: init\n")
    repo.git("reset", "-q", "--hard")
    return repo


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Make a folder that workers and checks of `step` can write."""
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


@pytest.fixture
def step(tmp_path: Path, outside: Path) -> Iterator[Callable[..., Stepped]]:
    """Make repositories with a loop: ``step("the check", files={…}, lander={…})``."""
    made: list[Stepped] = []

    def make(
        *checks: Mapping[str, Any] | str,
        files: Mapping[str, Content] | None = None,
        bare: bool = False,
        **tables: Mapping[str, Any],
    ) -> Stepped:
        tables = {"sandbox": {"write": [str(outside)]}, **tables}
        content = {"README.md": "# kept\n", "a.txt": "one\ntwo\nthree\n"}
        path = tmp_path / f"stepped{len(made)}"
        settings = config(*checks, **tables)
        repo = keep(path, {**content, **(files or {})}, settings, bare=bare)
        made.append(Stepped(repo))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def gated(step: Callable[..., Stepped], outside: Path) -> Callable[..., Gated]:
    """Make a queue that can be held: ``gated(mode="chain", window=3)``."""

    def make(**lander: object) -> Gated:
        return Gated(step(GATED.format(outside), lander=lander), outside)

    return make
