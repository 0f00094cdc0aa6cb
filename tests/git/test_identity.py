"""Who a person is to Git."""

import pytest

from gitagent.errors import UserError
from gitagent.git.identity import author
from gitagent.git.repository import discover


def test_it_is_who_the_configuration_names(repo):
    assert "Test Person <person@example.org>" == author(discover(repo.path)).ident


def test_the_repository_and_the_environment_come_before(repo, monkeypatch):
    repo.git("config", "user.name", "Somebody Else")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "else@example.org")

    assert "Somebody Else <else@example.org>" == author(discover(repo.path)).ident


def test_nobody_is_told_how_to_become_somebody(repo, home):
    (home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")

    with pytest.raises(UserError, match="git does not know"):
        author(discover(repo.path))
