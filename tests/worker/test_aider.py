"""The backend ``aider``: what the program is told, and that it does it."""

import os
import subprocess
from pathlib import Path

import pytest

from gitagent.core.agent import Agent
from gitagent.core.models import ANTHROPIC, OPENAI, ModelRef, Route
from gitagent.worker.backends import aider
from gitagent.worker.backends.launch import Launch, Means, Refused
from gitagent.worker.folder import Folder
from tests.support import agents
from tests.support.provider import Fault, Provider, Say
from tests.support.repos import Repo

MODEL = "some-model"

WHOLE = "calc.py\n```\ndef add(a, b):\n    return a + b\n```\n\nIt adds."


def means(url: str = "http://127.0.0.1:3130", *, api: str = OPENAI, **fields) -> Means:
    values = {
        "route": Route((ModelRef("p", MODEL),), api, pinned=True),
        "anthropic_url": url,
        "openai_url": f"{url}/v1",
        "token": "token-1",
        "socket": "/nowhere",
        "home": "/home/worker",
        **fields,
    }
    return Means(**values)


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path / "fix-1", confined=True)
    for each in (made.home, made.tree):
        each.mkdir(parents=True)
    return made


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Have a program in a virtual environment that only looks like aider."""
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text("home = /usr/bin\n")
    program = venv / "bin/aider"
    program.write_text("#!/bin/sh\nexit 9\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    def at(version: str) -> Path:
        name = f"lib/python3.11/site-packages/aider_chat-{version}.dist-info"
        (venv / name).mkdir(parents=True)
        return program

    return at


def prepared(
    work, folder, prompt="Mend it.\n", *, agent=None, given=None, **fields
) -> Launch:
    work.agent = agent or Agent("a", "aider")
    launch = aider.prepare(work.order(**fields), folder, prompt, given or means())

    assert isinstance(launch, Launch)
    return launch


def flag(launch: Launch, name: str) -> str:
    return launch.argv[launch.argv.index(name) + 1]


def flags(launch: Launch, name: str) -> list[str]:
    pairs = zip(launch.argv, launch.argv[1:], strict=False)
    return [value for each, value in pairs if each == name]


def test_without_the_program_it_is_refused_with_the_command(
    work, folder, monkeypatch, tmp_path
):
    order = work.order()
    monkeypatch.setenv("PATH", str(tmp_path))
    refused = aider.prepare(order, folder, "x", means())

    assert isinstance(refused, Refused)
    assert "pipx install aider-chat" in refused.reason


def test_too_old_a_program_is_refused_with_the_command(work, folder, installed):
    installed("0.50.1")
    refused = aider.prepare(work.order(), folder, "x", means())

    assert isinstance(refused, Refused)
    assert "0.50.1" in refused.reason
    assert "pipx install" in refused.reason


def test_without_a_model_it_is_refused(work, folder):
    assert isinstance(aider.prepare(work.order(), folder, "x", None), Refused)


@pytest.mark.parametrize(
    ("api", "variable", "url"),
    [
        (OPENAI, "OPENAI_API", "http://127.0.0.1:3130/v1"),
        (ANTHROPIC, "ANTHROPIC_API", "http://127.0.0.1:3130"),
    ],
)
def test_the_only_model_is_the_one_of_the_gateway(
    work, folder, installed, api, variable, url
):
    program = installed("0.86.2")
    launch = prepared(work, folder, given=means(api=api))
    models = {flag(launch, f"--{kind}model") for kind in ("", "weak-", "editor-")}

    assert str(program) == launch.argv[0]
    assert "0.86.2" == launch.program
    assert {f"{api}/{MODEL}"} == models
    assert [f"{variable}_BASE={url}", f"{variable}_KEY=token-1"] == flags(
        launch, "--set-env"
    )


@pytest.mark.parametrize("prompt", ["/run rm", "!rm", "# Task", ""])
def test_a_prompt_is_never_a_command_of_the_program(work, folder, installed, prompt):
    installed("0.86.2")
    launch = prepared(work, folder, prompt)
    given = dict(launch.files)[aider.MESSAGE_FILE].decode()

    assert f"/gitagent/in/{aider.MESSAGE_FILE}" == flag(launch, "--message-file")
    assert prompt == given.removeprefix(" ")
    assert given[:1] not in {"/", "!"}


def test_files_that_the_task_names_are_shown_if_they_are_there(work, folder, installed):
    installed("0.86.2")
    (folder.tree / "src").mkdir()
    (folder.tree / "src/a b.py").write_text("")
    (folder.tree / "link").symlink_to("/etc/passwd")
    paths = ("src/a b.py", "src", "src/**", "new.py", "link", "x\0y")

    assert ["/workspace/src/a b.py"] == flags(
        prepared(work, folder, paths=paths), "--file"
    )


@pytest.mark.parametrize(
    ("may", "edits", "tests"),
    [
        (("write", "shell"), True, True),
        (("write",), True, False),
        (("shell",), False, False),
        ((), False, False),
    ],
)
def test_it_edits_and_runs_what_its_grants_allow(
    work, folder, installed, may, edits, tests
):
    installed("0.86.2")
    agent = Agent("a", "aider", may=may)
    launch = prepared(work, folder, agent=agent, accept=("make a # b", "make c"))

    assert edits == ("ask" not in launch.argv)
    assert tests == ("--auto-test" in launch.argv)
    if tests:
        assert "(\nmake a # b\n) && (\nmake c\n)" == flag(launch, "--test-cmd")


def test_a_conversation_goes_on_if_there_is_one(work, folder, installed):
    installed("0.86.2")
    again = prepared(work, folder, given=means(session="chat"))

    assert "--restore-chat-history" in again.argv
    assert "--restore-chat-history" not in prepared(work, folder).argv


# --- the real program


class Run:
    """The real program in a private HOME, without a sandbox."""

    def __init__(self, work, tmp_path: Path, provider: Provider) -> None:
        self._work, self.provider = work, provider
        self.folder = Folder(tmp_path / "fix-1", confined=False)
        for each in (self.folder.home, self.folder.given):
            each.mkdir(parents=True)
        self.repo = Repo.make(
            self.folder.tree,
            {"calc.py": "def add(a, b):\n    return a - b\n", "other.py": "x = 1\n"},
        )

    def __call__(self, **fields) -> tuple[Launch, list]:
        given = means(
            self.provider.url, token=self.provider.key, home=str(self.folder.home)
        )
        text = "script: fix\nMend add.\n"
        launch = prepared(self._work, self.folder, text, given=given, **fields)
        for name, data in launch.files:
            (self.folder.given / name).write_bytes(data)
        for name, data in launch.home:
            path = self.folder.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        env = {"HOME": str(self.folder.home), "PATH": os.environ["PATH"]}
        done = subprocess.run(
            launch.argv,
            cwd=self.folder.tree,
            env={**env, **dict(launch.env)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=90,
            check=False,
        )
        told = [
            e for line in done.stdout.splitlines() for e in launch.stream.feed(line)
        ]
        return launch, told


@pytest.fixture
def run(work, tmp_path, monkeypatch):
    agents.put_on_path(monkeypatch, "aider")
    with Provider(models=[MODEL]) as provider:
        yield Run(work, tmp_path, provider)


def left(repo: Repo) -> list[str]:
    return repo.git("ls-files", "--others").split()


@pytest.mark.slow
def test_the_real_program_looks_for_the_file_mends_it_tests_it_and_commits(run):
    # A key that somebody has in a worktree is nothing to it.
    (run.folder.tree / ".env").write_text("OPENAI_API_KEY=sk-other\n")
    wrong = WHOLE.replace("a + b", "a * b")
    right = f"{WHOLE} {'long ' * 40}"
    words = ("I need calc.py.", wrong, "fix: try", right, "fix: add adds")
    run.provider.script("fix", [Say(each) for each in words], bare=True)
    accept = "python3 -B -c 'import calc; assert calc.add(2, 3) == 5, \"not five\"'"

    launch, _ = run(accept=(accept,))
    final = launch.stream.final()
    who = run.repo.git("log", "-1", "--format=%an|%cn|%s|%b")
    requests = run.provider.requests

    assert "" == final.error
    assert final.answer.endswith("It adds. " + ("long " * 40).strip())
    assert "def add(a, b):\n    return a + b" == run.repo.git("show", "HEAD:calc.py")
    assert "fix: add adds" == who.split("|")[2]
    assert "aider" not in who
    assert b"not five" in requests[3].body
    assert {MODEL} == {each.json["model"] for each in requests}
    assert {"/v1/chat/completions"} == {each.path for each in requests}

    caches = [each for each in left(run.repo) if each != ".env"]

    assert all(each.startswith(".aider.tags.cache.v") for each in caches)


@pytest.mark.slow
def test_the_real_program_ends_with_a_sentence_when_its_model_fails(run):
    run.provider.script("fix", [Fault("overflow")], bare=True)
    launch, _ = run()
    final = launch.stream.final()

    assert final.error.startswith("aider: ")
    assert "" == final.answer


@pytest.mark.parametrize(("count", "tokens"), [(3000, "2048"), (3001, "0")])
def test_a_large_worktree_is_not_read_for_a_map(work, folder, installed, count, tokens):
    installed("0.86.2")
    for number in range(count):
        (folder.tree / f"f{number}").touch()

    launch = prepared(work, folder)

    assert tokens == launch.argv[launch.argv.index("--map-tokens") + 1]
