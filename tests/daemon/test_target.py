"""Which ref is the target, and which settings are in force on it."""

import pytest

from gitagent.daemon.target import SettingsInForce, find_target, require_target
from gitagent.errors import UserError
from gitagent.git.repository import Repository, discover
from tests.support.repos import Repo, settings_text


def target(repository: Repository) -> str | None:
    with repository.objects() as objects:
        return find_target(objects, objects.refs())


def test_the_settings_name_the_target(repository: Repository):
    assert target(repository) == "refs/heads/main"


def test_it_is_found_from_another_branch(kept: Repo, repository: Repository):
    kept.git("checkout", "-q", "--orphan", "elsewhere")
    kept.git("commit", "-q", "--allow-empty", "-m", "nothing here")

    assert target(repository) == "refs/heads/main"


def test_a_target_that_is_not_main_is_found(repo: Repo):
    repo.branch("agents")
    text = settings_text(head='target = "agents"')
    repo.commit({".agent/config.toml": text}, branch="agents")

    assert target(discover(repo.path)) == "refs/heads/agents"


def test_settings_that_name_a_missing_branch_are_no_target(repo: Repo):
    repo.commit({".agent/config.toml": settings_text(head='target = "gone"')})
    found = discover(repo.path)

    assert target(found) is None
    with found.objects() as objects, pytest.raises(UserError) as raised:
        require_target(objects, objects.refs())
    assert "on main names the target gone" in raised.value.message
    assert "git branch gone" in raised.value.hint


def test_without_settings_anywhere_the_mend_is_to_set_up(repo: Repo):
    found = discover(repo.path)
    with found.objects() as objects, pytest.raises(UserError) as raised:
        require_target(objects, objects.refs())

    assert "gitagent init" in raised.value.hint


def test_an_old_branch_does_not_bring_back_a_target_that_was_given_up(
    kept: Repo, repository: Repository
):
    kept.branch("agent/old")
    kept.commit({".agent/config.toml": settings_text(head='target = "agents"')})

    assert target(repository) is None
    kept.branch("agents")
    assert target(repository) == "refs/heads/agents"


def test_a_mistake_further_down_moves_no_target(repo: Repo):
    repo.branch("agents")
    text = settings_text(head='target = "agents"')
    repo.commit({".agent/config.toml": f"{text}[[check]\n"}, branch="agents")

    assert target(discover(repo.path)) == "refs/heads/agents"


def test_broken_settings_leave_the_last_good_ones_in_force(
    kept: Repo, repository: Repository
):
    good = kept.oid("HEAD:.agent/config.toml")
    kept.commit({".agent/config.toml": "[[check]\n"})
    kept.commit({"a.txt": "later\n"})
    kept.commit({".agent/config.toml": 'unknown = "x"\n'})
    with repository.objects() as objects:
        settings, blob, problem = SettingsInForce().at(objects, kept.head())

    assert settings is not None
    assert [check.name for check in settings.check] == ["tests"]
    assert blob == good
    assert "unknown" in problem


def test_no_settings_ever_are_said(repo: Repo):
    repository = discover(repo.path)
    with repository.objects() as objects:
        settings, blob, problem = SettingsInForce().at(objects, repo.head())

    assert (settings, blob) == (None, None)
    assert "gitagent init" in problem
