"""One repository and the attempts at its task."""

from collections.abc import Iterator

import pytest

from tests.support.repos import Repo
from tests.worker.work import Work


@pytest.fixture
def work(repo: Repo) -> Iterator[Work]:
    work = Work(repo)
    yield work
    work.close()
