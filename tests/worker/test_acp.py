"""The backend ``acp``: our client of an agent, with agents that are real processes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gitagent.core.agent import Agent
from gitagent.core.models import ModelRef, Route
from gitagent.host.confinement import HOME, Bind, Confinement
from gitagent.host.engine import LocalEngine
from gitagent.host.process import Exit
from gitagent.worker.backends import acp
from gitagent.worker.backends.acp_stream import AcpStream
from gitagent.worker.backends.launch import Launch, Means, Refused
from gitagent.worker.backends.stream import Entry, Final
from gitagent.worker.folder import Folder
from gitagent.worker.workspace import give
from tests.worker.work import Work

HERE = Path(__file__).parent
SMALL = (sys.executable, str(HERE / "acp_agent.py"))
RAW = (sys.executable, str(HERE / "acp_raw.py"))


def means(**fields: Any) -> Means:
    route = Route((ModelRef("p", "m-1"),), "anthropic", pinned=True)
    url = "http://127.0.0.1:3130"
    return Means(route, url, f"{url}/v1", "token", "/nowhere", HOME, **fields)


@dataclass(slots=True)
class Place:
    """One attempt's folder, and what its agent said last."""

    work: Work
    folder: Folder
    entries: tuple[Entry, ...] = ()
    final: Final = field(default_factory=Final)

    def launch(self, *argv: str, may: tuple[str, ...], **fields: Any) -> Launch:
        agent = Agent("helper", "acp", argv=argv, may=may)
        launch = acp.prepare(
            self.work.order(agent=agent), self.folder, "Do it.", means(**fields)
        )

        assert isinstance(launch, Launch), launch
        for name, data in launch.files:
            give(self.folder, name, data)
        return launch

    def run(
        self,
        *argv: str,
        may: tuple[str, ...] = ("write", "shell"),
        **fields: Any,
    ) -> Exit:
        """Run an agent in the sandbox."""
        launch = self.launch(*argv, may=may, **fields)
        binds = (
            Bind(str(self.folder.home), HOME, writable=True),
            Bind(str(self.folder.given), self.folder.inside_given),
            Bind(str(self.folder.tree), self.folder.inside_tree, writable=True),
        )
        inside = Confinement(
            cwd=self.folder.inside_tree,
            binds=binds,
            env=(*launch.env, ("GITAGENT_OUT", "/gitagent/out")),
            read=(*launch.read, str(HERE)),
        )
        done = LocalEngine().run(launch.argv, inside, timeout=60, stdin=launch.stdin)
        self.hear(done.output)
        return done

    def hear(self, output: bytes) -> None:
        stream = AcpStream()
        lines = output.split(b"\n")
        self.entries = tuple(each for line in lines for each in stream.feed(line))
        self.final = stream.final()

    @property
    def said(self) -> dict[str, Any]:
        """What the agent said as JSON."""
        found: dict[str, Any] = json.loads(self.final.answer)
        return found


@pytest.fixture
def place(work: Work, tmp_path: Path) -> Place:
    folder = Folder(tmp_path / "attempt", confined=True)
    for each in (folder.tree, folder.home, folder.given, folder.out):
        each.mkdir(parents=True)
    (folder.tree / "link").symlink_to("/etc")
    return Place(work, folder)


def environ(launch: Launch, home: Path) -> Mapping[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), **dict(launch.env)}


def test_a_turn_is_done_in_the_sandbox_and_told(place):
    done = place.run(*SMALL, mcp=("python3", "-I", "mcp.py"))
    said = place.said
    env = {each["name"]: each["value"] for each in said["mcp"][0]["env"]}

    assert 0 == done.code, done.stderr
    assert ["think", "call", "result", "say"] == [each.kind for each in place.entries]
    assert Entry("think", "Let me see.") == place.entries[0]
    assert Entry("call", '{"command": "make"}', "Run it", "t1") == place.entries[1]
    assert Entry("result", "done", "Run it", "t1") == place.entries[2]
    assert ("s-1", "", "Small 0.1") == (
        place.final.session,
        place.final.error,
        place.final.program,
    )
    assert "/workspace" == said["cwd"]
    assert "http://127.0.0.1:3130" == said["url"]
    assert {"execute": "once", "edit": "once"} == said["granted"]
    assert ["ok", "Invalid params", "Invalid params"] == said["wrote"]
    assert ["two\n", "Invalid params", "Resource not found"] == said["read"]
    assert "one\ntwo\nthree\n" == (place.folder.tree / "new/made.txt").read_text()
    assert ("python3", ["-I", "mcp.py"]) == (
        said["mcp"][0]["command"],
        said["mcp"][0]["args"],
    )
    assert "/gitagent/out" == env["GITAGENT_OUT"]


def test_a_conversation_is_gone_on_with_and_not_told_again(place):
    (place.folder.home / "saved.json").write_text('["What came first."]')
    done = place.run(*SMALL, session="s-1", may=())

    assert 0 == done.code, done.stderr
    assert b'"resumed": true' in done.output
    assert "old words" not in done.output.decode()
    assert ["What came first."] == place.said["before"]
    # This one may neither run nor write anything.
    assert {"execute": "no", "edit": "no"} == place.said["granted"]
    assert {"read_text_file": True, "write_text_file": False} == place.said["files"]
    assert "Method not found" == place.said["wrote"][0]


def test_a_conversation_that_is_lost_is_begun_anew(place):
    done = place.run(*SMALL, session="s-2")

    assert 0 == done.code, done.stderr
    assert [] == place.said["before"]
    assert "s-1" == place.final.session
    assert place.entries[0].text.startswith("the saved conversation is not there")


def test_an_agent_that_dies_is_no_answer(place):
    done = place.run(*RAW, "dies")

    assert 1 == done.code
    assert "" == place.final.answer
    assert (
        "The agent's program: it ended in the middle, with exit code 3"
        == place.final.error
    )


def test_a_program_that_is_not_there_inside_is_an_error(place):
    done = place.run("./none")

    assert 127 == done.code
    assert (
        "The agent's program: it cannot be started: No such file or directory"
        == place.final.error
    )


@pytest.mark.parametrize(
    ("mode", "error"),
    [
        ("list", "it ended in the middle"),
        ("fails", "Internal error: no"),
        ("version", "it speaks version 9 of ACP, and this is 1"),
        (
            "browser",
            "it wants a login, and offers none by a key of the environment",
        ),
    ],
)
def test_what_an_agent_cannot_do_is_the_reason(place, mode, error):
    done = place.run(*RAW, mode)

    assert 1 == done.code
    assert place.final.error.startswith(f"The agent's program: {error}")
    assert "" == place.final.answer


def test_noise_and_what_is_not_offered_harm_nothing(place):
    done = place.run(*RAW, "noise")

    assert (0, "") == (done.code, place.final.error), done.stderr
    assert {"logins": [], "chosen": []} == place.said


def test_a_login_is_done_with_the_key_of_the_environment(place):
    place.run(*RAW, "login")

    assert ["api-key"] == place.said["logins"]


@pytest.mark.parametrize(
    ("mode", "chosen"),
    [
        ("options", {"sessionId": "r", "configId": "m", "value": "a/m-1"}),
        ("models", {"sessionId": "r", "modelId": "m-1"}),
    ],
)
def test_the_model_is_chosen_where_there_is_a_choice(place, mode, chosen):
    place.run(*RAW, mode)

    assert [chosen] == place.said["chosen"]


def test_sigterm_cancels_the_turn(place):
    place.folder = Folder(place.folder.path, confined=False)
    launch = place.launch(*RAW, "waits", may=("write", "shell"))
    with subprocess.Popen(
        launch.argv,
        env=environ(launch, place.folder.home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write(launch.stdin or b"")
        client.stdin.close()
        output = b""
        while b"Waiting." not in output:
            output += client.stdout.readline()
        client.send_signal(signal.SIGTERM)
        output += client.stdout.read()
    place.hear(output)

    assert 128 + signal.SIGTERM == client.returncode
    assert "The agent was told to stop." == place.final.error
    assert "r" == place.final.session


def test_who_has_no_program_or_names_none_is_refused(place, monkeypatch):
    orders = [
        place.work.order(agent=Agent("helper", "acp", argv=argv))
        for argv in ((), ("gemini", "--acp"), ("opencode", "acp"))
    ]
    monkeypatch.setenv("PATH", "/nonexistent")
    found = [acp.prepare(order, place.folder, "", means()) for order in orders]

    assert [
        Refused(
            "Agent helper has the backend acp, but no argv; name its program: argv ="
            ' ["opencode", "acp"].'
        ),
        Refused(
            "There is no program `gemini` for agent helper on the PATH of the daemon;"
            " install it, or write its whole path into `argv`."
        ),
        Refused(
            "There is no program `opencode` on the PATH of the daemon; install it:"
            " `npm install -g opencode-ai`."
        ),
    ] == found
