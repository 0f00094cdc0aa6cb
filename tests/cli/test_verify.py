"""gitagent verify: proven is exit 0, anything else is named and exit 1."""

import pytest

from tests.support.cli import call
from tests.support.daemon import gitagent


@pytest.fixture(autouse=True)
def _set_up(repo):
    repo.commit({"Makefile": "test:\n\ttrue\n"})
    call(repo, "init", "--no-check")


def test_a_history_of_landings_is_proven(repo):
    repo.commit({"a": "a"}, "Add a", branch="work")
    landed = gitagent(repo, "land", "work")
    answer = call(repo, "verify")
    said = call(repo, "verify", "--json").json

    assert 0 == landed.returncode
    assert 0 == answer.code, answer.out
    assert "1 landing" in answer.out
    assert said["proven"] is True


def test_a_direct_commit_is_named(repo):
    direct = repo.commit({"x": "x"}, "Sneaked in")
    answer = call(repo, "verify")
    said = call(repo, "verify", "--json").json

    assert 1 == answer.code
    assert direct in answer.out
    assert (False, direct) == (said["proven"], said["findings"][0]["where"])
