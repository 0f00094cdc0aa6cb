"""The backend ``command``: which program, what it sees, what it is told."""

import os
import sys
from pathlib import Path

import pytest

from gitagent.core.agent import Agent
from gitagent.core.settings import Check
from gitagent.core.task import Outcome
from gitagent.worker.backends import program
from tests.worker.work import Work


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def tools(tmp_path, monkeypatch):
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def agent(*argv: str, **fields: object) -> Agent:
    return Agent("helper", "command", argv=argv, **fields)


def test_the_prompt_comes_on_standard_input_and_as_a_file(work):
    work.agent = agent("sh", "-c", "cat > got; cmp got $1; echo $2 $3 > said", "sh",
                       "{prompt_file}", "{worktree}", "{task}")  # fmt: skip
    end = work.run(text="Change the thing.", accept=("make ok",))
    prompt = work.repo.read("got", end.attempt.tip)

    assert Outcome.OK is end.attempt.outcome, work.log(end)
    assert "/workspace fix\n" == work.repo.read("said", end.attempt.tip)
    assert "# Task fix: Mend the thing" in prompt
    assert "Change the thing." in prompt
    assert "`make ok` has to pass." in prompt


def test_the_prompt_says_what_may_be_touched_and_what_went_wrong(work):
    work.settings = work.settings.__class__(check=(Check("tests", "make test"),))
    work.agent = agent("sh", "-c", "cat > got", instructions="Be brief.")
    work.run(paths=("src/**",), forbidden=("*.lock",))
    end = work.run(
        paths=("src/**",), forbidden=("*.lock",), feedback="```\nit broke\n```"
    )
    prompt = work.repo.read("got", end.attempt.tip)

    assert prompt.startswith("Be brief.\n\n# Task fix")
    for words in ("`src/**`", "`*.lock`", "`.agent/**`", "`make test`", "attempt 2"):
        assert words in prompt
    assert "````text\n```\nit broke\n```\n````" in prompt


def test_only_known_placeholders_are_filled_in(work):
    work.agent = agent("sh", "-c", "echo '{other} {task}{task} {' ${x:-{task}}")

    assert "{other} fixfix { fix\n" == work.log(work.run())


def test_a_program_on_the_path_of_the_daemon_is_shown(work, tools):
    script(tools / "agent", "#!/bin/sh\necho here > a; ls -A " + str(tools))
    script(tools / "neighbour", "#!/bin/sh\n")
    work.agent = agent("agent")
    end = work.run()

    assert Outcome.OK is end.attempt.outcome, end.attempt.reason
    assert "agent\n" == work.log(end)


def test_a_program_of_node_modules_sees_the_whole_of_it(work, tools):
    modules = tools / "prefix/lib/node_modules"
    script(modules / "thing/cli.sh", '#!/bin/sh\ncat "$(dirname "$0")/../dep/data"\n')
    (modules / "dep").mkdir()
    (modules / "dep/data").write_text("found\n")
    (tools / "thing").symlink_to(modules / "thing/cli.sh")
    work.agent = agent("thing")

    assert "found\n" == work.log(work.run())


def test_a_program_of_a_virtual_environment_runs_in_it(work, tools):
    venv = tools / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin/python").symlink_to(sys.executable)
    (venv / "lib").mkdir()
    (venv / "lib/data").write_text("found\n")
    home = Path(sys.base_prefix, "bin")
    (venv / "pyvenv.cfg").write_text(f"home = {home}\n")
    script(
        venv / "bin/tool",
        f"#!{venv}/bin/python\nimport sys\n"
        "print(sys.prefix, open(sys.prefix + '/lib/data').read().strip())\n",
    )
    work.agent = agent(str(venv / "bin/tool"))

    assert f"{venv} found\n" == work.log(work.run())


def test_an_interpreter_that_env_finds_is_shown_too(tools):
    script(tools / "deep/interp", '#!/bin/sh\nshift; echo "interpreted $@"\n')
    script(tools / "interp", f'#!/bin/sh\nexec sh {tools}/deep/interp x "$@"\n')
    script(tools / "agent", "#!/usr/bin/env interp\n")
    found = program.find("agent")

    assert None is not found
    assert {str(tools / "agent"), str(tools / "interp")} == {*found.read}


def test_a_program_of_the_worktree_needs_nothing(work):
    work.repo.commit_at("refs/heads/main", {"tools/agent*": "#!/bin/sh\necho mine\n"})
    work.agent = agent("./tools/agent")

    assert "mine\n" == work.log(work.run())


def test_a_missing_program_is_refused_with_its_name(work):
    work.agent = agent("no-such-agent", "{task}")
    end = work.run()

    assert Outcome.REFUSED is end.attempt.outcome
    assert "no-such-agent" in end.attempt.reason
    assert not (work.folder / "tree").exists()


def test_a_program_that_the_worktree_lacks_fails_the_attempt(work):
    work.agent = agent("./missing")
    end = work.run()

    assert Outcome.FAILED is end.attempt.outcome
    assert "missing" in end.attempt.reason


def test_a_program_that_does_not_read_its_prompt_is_no_failure(work):
    work.agent = agent("true")
    end = work.run(text="x" * 200_000)

    assert Outcome.OK is end.attempt.outcome


def test_a_home_is_never_shown(home, monkeypatch):
    script(home / "bin/python9", "#!/bin/sh\n")
    script(home / ".local/bin/tool", "#!/bin/sh\n")
    monkeypatch.setenv("PATH", f"{home}/bin:{home}/.local/bin:{os.environ['PATH']}")
    shown = [program.find(name).read for name in ("python9", "tool")]

    assert [(str(home / "bin/python9"),), (str(home / ".local/bin/tool"),)] == shown


def test_system_programs_need_nothing():
    assert program.Program("/usr/bin/env") == program.find("/usr/bin/env")


def test_a_command_can_return_and_retry(work):
    work.agent = agent("sh", "-c", 'cat "$GITAGENT_PREVIOUS_OUTPUT_FILE"')

    assert "what broke" == work.log(work.run(feedback="what broke"))


def test_the_agent_commits_in_repositories_of_its_own(work):
    work.agent = agent(
        "sh", "-c", "git init -q /tmp/r; cd /tmp/r; git commit -q --allow-empty -m x"
    )

    assert Outcome.OK is work.run().attempt.outcome


def test_a_worktree_is_not_shared_with_the_next_attempt(repo):
    work = Work(repo, agent=agent("sh", "-c", "ls -A ~ /gitagent/out /tmp; touch ~/x"))
    first, second = work.log(work.run()), work.log(work.run())

    assert first == second
