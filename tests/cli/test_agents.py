"""gitagent agents: who can be named, what is missing, and how they have fared."""

import pytest

from gitagent.core.task import Attempt, TaskRecord, TaskState
from gitagent.core.usage import Usage
from gitagent.files import record
from gitagent.git.records import Records
from gitagent.git.repository import discover
from gitagent.host.clock import stamp
from tests.support import ledger
from tests.support.cli import call
from tests.support.repos import Repo


@pytest.fixture(autouse=True)
def _set_up(repo, monkeypatch):
    call(repo, "init", "--no-check")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


def listed(repo):
    said = call(repo, "agents", "--json").json

    assert ["version", "agents", "refused"] == list(said)
    return {each["name"]: each for each in said["agents"]}


def definition(repo, name, front, text="Be kind."):
    repo.commit({f".agent/agents/{name}.md": f"+++\n{front}\n+++\n\n{text}\n"})


def test_those_that_need_no_file_are_there_and_the_default_is_named(repo):
    found = listed(repo)

    assert {"shell", "claude", "codex", "opencode", "aider"} <= set(found)
    assert found["shell"]["default"]
    assert None is found["shell"]["problem"]
    assert "shell (default)" in call(repo, "agents").out


def test_a_program_that_is_missing_is_told_with_how_to_install_it(repo, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")

    assert "npm install -g" in listed(repo)["claude"]["problem"]


def test_a_key_that_is_missing_is_told(repo):
    definition(repo, "own", 'backend = "command"\nargv = ["sh"]\nmodel = "sonnet"')
    own = listed(repo)["own"]

    assert "anthropic:claude-sonnet-4-5" == own["model"]
    assert "ANTHROPIC_API_KEY" in own["problem"]


def test_one_that_has_all_it_needs_can_start(repo, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-not-shown")
    definition(repo, "own", 'backend = "command"\nargv = ["sh"]\nmodel = "sonnet"')
    answer = call(repo, "agents")

    assert None is listed(repo)["own"]["problem"]
    assert "can start" in answer.out
    assert "sk-not-shown" not in answer.out


def test_a_definition_that_cannot_be_used_is_shown_with_its_reason(repo):
    definition(repo, "odd", 'backend = "nonsense"')
    answer = call(repo, "agents")

    assert 0 == answer.code
    assert "odd.md" in answer.out
    assert "odd" not in listed(repo)


def test_a_program_of_a_definition_that_is_not_there_is_told(repo):
    definition(repo, "own", 'backend = "command"\nargv = ["no-such-program"]')

    assert "no-such-program" in listed(repo)["own"]["problem"]


def test_how_they_have_fared_is_counted_from_the_records(repo):
    attempt = Attempt(
        1, "", "", "", model="m", usage=Usage(requests=2, input=1000, usd=0.5)
    )
    done = TaskRecord(
        "fix", TaskState.LANDED, "", stamp(), agent="gone", attempts=(attempt,)
    )
    Records(discover(repo.path)).append(
        "refs/gitagent/tasks/fix",
        None,
        record.dump_task(done),
        what="landed: x",
        kind="task",
    )

    (tally,) = listed(repo)["gone"]["so_far"]

    assert (1, 1, 1) == (tally["tasks"], tally["well"], tally["attempts"])
    assert "1 of 1 tasks ended well" in call(repo, "agents").out
    assert "Its definition is gone." == listed(repo)["gone"]["problem"]


@pytest.mark.parametrize(
    ("unpriced", "money"), [(0, "0.50 usd"), (1, "0.50 usd"), (2, "no known price")]
)
def test_money_is_told_where_a_price_is_known(repo, unpriced, money):
    usage = Usage(requests=2, input=1000, usd=0.5, unpriced=unpriced)
    attempt = Attempt(1, "", "", "", model="m", usage=usage)
    ledger.task(repo, "fix", TaskState.FAILED, agent="gone", attempts=(attempt,))

    assert f"1,000 tokens, {money}" in call(repo, "agents").out


def test_what_can_start_says_so_beside_what_it_is_for(repo):
    definition(repo, "own", 'backend = "shell"\ndescription = "Sweeps"')

    assert "can start: Sweeps" in call(repo, "agents").out


def test_without_a_target_it_is_one_line(tmp_path):
    bare = Repo.make(tmp_path / "bare", {"a": "b\n"})
    answer = call(bare, "agents")

    assert 0 != answer.code
    assert "gitagent init" in answer.err
