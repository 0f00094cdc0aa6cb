"""Where agent definitions come from, and which of one name counts."""

import pytest

from gitagent.core.task import Refusal
from gitagent.daemon.definitions import Definitions
from gitagent.git.repository import discover

BUILT_IN = {
    "aider",
    "claude",
    "codex",
    "distiller",
    "model",
    "opencode",
    "standing",
}


@pytest.fixture
def own(home):
    folder = home / "own" / "gitagent" / "agents"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(autouse=True)
def _config_home(home, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "own"))


def found(repo, known=None):
    opened = discover(repo.path)
    with opened.objects(fast=True) as objects:
        return (known or Definitions(opened)).at(objects, repo.head())


def test_the_built_in_ones_are_there_without_any_file(repo):
    agents, refused = found(repo)

    assert BUILT_IN == agents.keys()
    assert [] == refused
    assert "model" == agents.pop("standing").backend == agents.pop("distiller").backend
    assert all(agents[name].backend == name for name in agents)
    assert all(agents[name].path == f"built in: {name}.md" for name in agents)


def test_a_content_that_no_commit_has_is_carried_under_the_id_that_git_gives_it(
    repo, own
):
    (own / "mine.md").write_text("---\n---\nBe brief, ünd so.\n")
    agents, _ = found(repo)
    oids = {
        name: repo.git(
            "hash-object", "-w", "--stdin", stdin=agents[name].source.encode()
        )
        for name in ("mine", "claude")
    }

    assert {name: agents[name].blob for name in oids} == oids


def test_the_repository_comes_before_the_user_and_the_user_before_what_is_built_in(
    repo, own
):
    (own / "claude.md").write_text("of the user\n")
    (own / "codex.md").write_text("of the user\n")
    (own / "both.md").write_text("---\n---\nof the user\n")
    repo.commit(
        {
            ".agent/agents/README.md": "read me\n",
            ".agent/agents/claude.md": "of the repository\n",
            ".claude/agents/both.md": "---\nname: both\n---\nof Claude Code\n",
            ".claude/agents/claude.md": "---\nname: claude\n---\nof Claude Code\n",
        }
    )
    agents, refused = found(repo)
    del agents["standing"], agents["distiller"]  # these have instructions

    assert [] == refused
    assert {
        "aider": "",
        "both": "of Claude Code",
        "claude": "of the repository",
        "codex": "of the user",
        "model": "",
        "opencode": "",
    } == {name: agent.instructions for name, agent in agents.items()}
    assert ".agent/agents/claude.md" == agents["claude"].path
    assert repo.oid("HEAD:.agent/agents/claude.md") == agents["claude"].blob
    assert "~/own/gitagent/agents/codex.md" == agents["codex"].path
    assert "" == agents["claude"].source


def test_no_definition_puts_another_program_behind_a_built_in_name(repo, own):
    (own / "aider.md").write_text('+++\nbackend = "command"\nargv = ["x"]\n+++\n')
    repo.commit({".agent/agents/codex.md": '+++\nbackend = "claude"\n+++\n'})
    agents, refused = found(repo)

    assert BUILT_IN - {"aider", "codex"} == agents.keys()
    assert ["codex", "aider"] == [r.path.split("/")[-1][:-3] for r in refused]
    assert all("rename the file" in r.reason for r in refused)


def test_a_file_that_cannot_be_used_does_not_give_way_to_one_with_fewer_bounds(
    repo, own
):
    (own / "helper.md").write_text("---\n---\n")
    repo.commit({".agent/agents/helper.md": "+++\npath = []\n+++\n"})
    agents, (refused,) = found(repo)

    assert "helper" not in agents
    assert ".agent/agents/helper.md" == refused.path


def test_among_those_of_claude_code_other_files_are_passed_over(repo):
    repo.commit(
        {
            ".claude/agents/notes.md": "# Notes\n",
            ".claude/agents/run.sh": "true\n",
            ".claude/agents/team/x.md": "---\nname: x\n---\n",
            ".claude/agents/codex.md": "---\nname: codex\n---\n",
        }
    )
    agents, (refused,) = found(repo)

    assert agents.keys() == BUILT_IN
    assert "codex" == agents["codex"].backend
    assert ".claude/agents/codex.md" == refused.path


def test_the_users_own_are_read_again_when_they_change(repo, own):
    known = Definitions(discover(repo.path))
    before, _ = found(repo, known)
    (own / "x.md").write_text("---\n---\none\n")
    one, _ = found(repo, known)
    (own / "x.md").write_text("---\n---\nand two\n")
    two, _ = found(repo, known)

    assert "x" not in before
    assert ["one", "and two"] == [each["x"].instructions for each in (one, two)]


def test_what_is_odd_among_the_users_own_is_refused_alone(repo, own):
    (own / "folder.md").mkdir()
    (own / "gone.md").symlink_to(own / "nowhere")
    (own / "Bad Name.md").write_text("x\n")
    (own / "large.md").write_text("x" * 300_000)
    (own / "latin.md").write_bytes(b"\xff\n")
    (own / "notes.txt").write_text("x\n")
    (own / "linked.md").symlink_to(own / "good")
    (own / "good").write_text("---\n---\n")
    agents, refused = found(repo)

    assert "linked" in agents
    assert 5 == len(refused)
    for each in refused:
        assert isinstance(each, Refusal)
        assert each.reason.startswith(each.path)
        assert 1 == len(each.reason.splitlines())


def test_a_relative_folder_for_settings_is_ignored(repo, home, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "own")
    folder = home / ".config/gitagent/agents"
    folder.mkdir(parents=True)
    (folder / "x.md").write_text("---\n---\n")

    assert "~/.config/gitagent/agents/x.md" == found(repo)[0]["x"].path
