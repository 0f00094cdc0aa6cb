"""Setting a repository up: which target, which files, one commit, nothing else."""

import pytest

from gitagent.daemon import setup
from gitagent.daemon.setup import Plan, Ready
from gitagent.daemon.target import find_target
from gitagent.errors import ConfigError, UserError
from gitagent.files import settings
from gitagent.git.repository import discover
from tests.support.repos import Repo

CONFIG = ".agent/config.toml"


def plan(repo, target=None):
    found = discover(repo.path)
    with found.objects(fast=True) as objects:
        return setup.plan(found, objects, target)


def set_up(repo, target=None) -> str:
    found = discover(repo.path)
    with found.objects(fast=True) as objects:
        made = setup.plan(found, objects, target)
        assert isinstance(made, Plan)
        return setup.commit(found, objects, made)


def target_of(repo):
    found = discover(repo.path)
    with found.objects(fast=True) as objects:
        return find_target(objects, objects.refs())


def test_one_commit_on_top_brings_agent_and_nothing_else(repo):
    before = repo.head()
    commit = set_up(repo)
    changed = repo.git("diff", "--name-only", before, commit).splitlines()

    assert commit == repo.head()
    assert before == repo.oid(f"{commit}^")
    assert CONFIG in changed
    assert all(path.startswith(".agent/") for path in changed)
    assert ("Gitagent-Record", "init") in repo.trailers()
    assert "Test Person <person@example.org>" == repo.git(
        "log", "-1", "--format=%an <%ae>"
    )
    assert [] == repo.status()


def test_the_settings_that_it_writes_parse_and_name_the_target(repo):
    set_up(repo)
    parsed = settings.parse(repo.raw("show", f"HEAD:{CONFIG}"))

    assert "main" == parsed.target
    assert () == parsed.check
    assert "refs/heads/main" == target_of(repo)


def test_the_projects_tests_become_the_first_check(project):
    set_up(project)
    parsed = settings.parse(project.raw("show", f"HEAD:{CONFIG}"))

    assert [("tests", "make test")] == [(c.name, c.run) for c in parsed.check]


def test_a_second_time_there_is_nothing_to_do(repo):
    commit = set_up(repo)

    assert Ready("refs/heads/main") == plan(repo)
    assert commit == repo.head()


def test_settings_that_do_not_parse_are_told(repo):
    repo.commit({CONFIG: "wokrer = 1\n"})

    with pytest.raises(ConfigError):
        plan(repo)


def test_a_dirty_checkout_keeps_every_edit(repo):
    repo.commit({"a": "1\n", "b": "1\n"})
    repo.write("a", "edited\n")
    repo.write("new", "untracked\n")
    repo.write("b", "staged\n")
    repo.git("add", "b")
    before = repo.status()
    set_up(repo)

    assert before == repo.status()
    assert "edited\n" == (repo.path / "a").read_text()
    assert (repo.path / CONFIG).is_file()


def test_a_repository_without_commits_gets_its_first(tmp_path):
    repo = Repo.make(tmp_path / "new")
    repo.write("Makefile", "test:\n\ttrue\n")
    repo.write("staged", "staged\n")
    repo.git("add", "staged")
    commit = set_up(repo)

    assert "1" == repo.git("rev-list", "--count", commit)
    assert {"A  staged", "?? Makefile"} == set(repo.status())
    assert all(path.startswith(".agent/") for path in repo.paths())


def test_a_bare_repository_without_commits_gets_its_first(tmp_path):
    repo = Repo.make(tmp_path / "hub.git", bare=True)
    commit = set_up(repo)

    assert commit == repo.ref("refs/heads/main")


def test_a_bare_repository_is_set_up_on_its_head(tmp_path):
    repo = Repo.make(tmp_path / "hub.git", {"a": "a"}, bare=True)
    commit = set_up(repo)

    assert commit == repo.ref("refs/heads/main")
    assert "refs/heads/main" == target_of(repo)


def test_from_a_linked_worktree_the_target_is_the_main_ones(repo, tmp_path):
    linked = repo.worktree(tmp_path / "linked", branch="work")
    commit = set_up(linked)

    assert commit == repo.ref("refs/heads/main")
    assert commit != linked.head()
    assert (repo.path / CONFIG).is_file()
    assert [] == linked.status()


def test_what_is_there_below_agent_stays(repo):
    mine = "# mine\n"
    repo.commit({".agent/README.md": mine, ".agent/agents/x.md": "do it\n"})
    made = plan(repo)

    assert isinstance(made, Plan)
    assert {".agent/README.md", ".agent/agents/x.md"} == set(made.kept)
    set_up(repo)

    assert mine == repo.read(".agent/README.md")


def test_settings_that_lie_there_uncommitted_are_taken(repo):
    mine = 'target = "main"\n[worker]\nparallel = 7\n'
    repo.write(CONFIG, mine)
    set_up(repo)

    assert mine.encode() == repo.raw("show", f"HEAD:{CONFIG}")
    assert [] == repo.status()


def test_the_target_can_be_named(repo):
    repo.branch("agents")
    set_up(repo, "agents")
    text = repo.git("show", f"agents:{CONFIG}")

    assert "agents" == settings.parse(text.encode()).target
    assert "refs/heads/agents" == target_of(repo)
    assert not (repo.path / ".agent").exists()


@pytest.mark.parametrize("name", ["nowhere", "..", "-x", "a b"])
def test_a_target_that_is_no_branch_is_refused(repo, name):
    with pytest.raises(UserError):
        plan(repo, name)


def test_another_target_than_the_one_in_force_is_refused(repo):
    set_up(repo)
    repo.branch("other")

    with pytest.raises(UserError):
        plan(repo, "other")


def test_a_detached_checkout_falls_back_on_the_default_branch(repo):
    repo.git("checkout", "-q", "--detach")

    assert "refs/heads/main" == plan(repo).target


def test_the_only_branch_is_the_target_when_head_names_none(tmp_path):
    hub = Repo.make(tmp_path / "hub.git", bare=True)
    hub.commit_at("refs/heads/trunk", {"a": "a"})

    assert "refs/heads/trunk" == plan(hub).target


def test_a_target_that_cannot_be_told_is_asked_for(tmp_path):
    hub = Repo.make(tmp_path / "hub.git", bare=True)
    for name in ("one", "two"):
        hub.commit_at(f"refs/heads/{name}", {"a": name})

    with pytest.raises(UserError) as caught:
        plan(hub)
    assert "--target" in caught.value.line()


def test_a_branch_in_the_way_of_the_tasks_branches_is_told(repo):
    repo.branch("agent")
    found = discover(repo.path)
    with found.objects(fast=True) as objects:
        made = setup.plan(found, objects, None)

        assert isinstance(made, Plan)
        assert "agent" == setup.branch_in_the_way(objects, made.settings)


def test_an_ignored_agent_folder_is_told(repo):
    repo.commit({".gitignore": ".agent/\n"})
    made = plan(repo)

    assert isinstance(made, Plan)
    assert setup.ignored(discover(repo.path), made)
    set_up(repo)

    assert CONFIG in repo.paths()


def test_a_repository_nobody_can_commit_in_is_told(repo, home, monkeypatch):
    (home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    monkeypatch.delenv("EMAIL", raising=False)

    with pytest.raises(UserError, match="name"):
        set_up(repo)
    assert CONFIG not in repo.paths()
