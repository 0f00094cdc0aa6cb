"""A repository with settings, and a loop that a test steps by hand."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitagent.daemon.loop import Loop
from gitagent.git.repository import Repository, discover
from gitagent.host.clock import Wake
from tests.support.repos import Repo, settings_text


@pytest.fixture
def kept(tmp_path: Path) -> Repo:
    """Make a repository as `init` leaves it, with one quick check."""
    repo = Repo.make(tmp_path / "kept", {"a.txt": "one\n"})
    config = {".agent/config.toml": settings_text("test ! -e bad")}
    repo.commit_at("refs/heads/main", config, "Keep it\n\nGitagent-Record: init\n")
    repo.git("reset", "-q", "--hard")
    return repo


@pytest.fixture
def repository(kept: Repo) -> Repository:
    """The same, as gitagent sees it."""
    return discover(kept.path)


@pytest.fixture
def loop(repository: Repository) -> Iterator[Loop]:
    """Make a loop; what it started is stopped with the test."""
    made = Loop(repository, Wake())
    yield made
    made.stopping = True
    made.live.stop_all()
    made.run(lambda _: not made.live.busy)


@pytest.fixture
def rest(loop: Loop) -> Callable[[], None]:
    """Take turns until nothing runs and nothing is left to do."""

    def run() -> None:
        while True:
            acted = loop.turn()
            if not acted and not loop.live.busy:
                return
            if not acted:
                loop.wake.wait(10)

    return run
