"""The real Claude Code with gitagent's own hooks and server."""

import json
import os
import subprocess

import pytest

from gitagent.core.agent import Agent
from gitagent.core.models import ANTHROPIC, ModelRef, Route
from gitagent.worker import hooklog, returns
from gitagent.worker.backends import claude
from gitagent.worker.backends.launch import Launch, Means
from gitagent.worker.folder import Folder
from gitagent.worker.inside import lines
from gitagent.worker.taskinfo import NAME
from tests.support import agents
from tests.support.provider import Mcp, Provider, Say, Shell

MODEL = "claude-sonnet-4-5"

pytestmark = pytest.mark.slow


@pytest.fixture
def run(work, tmp_path, monkeypatch):
    agents.put_on_path(monkeypatch, "claude")
    folder = Folder(tmp_path / "fix-1", confined=False)
    for each in (folder.tree, folder.home, folder.given, folder.out):
        each.mkdir(parents=True)
    task = {"id": "fix", "accept": ["test -f done"], "retries": 2, "attempt": 1}
    (folder.given / NAME).write_text(json.dumps({**task, "tree": str(folder.tree)}))
    work.agent = Agent("c", "claude")

    def start(provider: Provider) -> list[str]:
        means = Means(
            route=Route((ModelRef("anthropic", MODEL),), ANTHROPIC, pinned=True),
            anthropic_url=provider.url,
            openai_url=f"{provider.url}/v1",
            token=provider.key,
            socket="/nowhere",
            home=str(folder.home),
            mcp=lines.mcp(),
            hook=lines.hook(),
        )
        launch = claude.prepare(work.order(), folder, "script: fix\n", means)

        assert isinstance(launch, Launch)
        for name, data in launch.files:
            (folder.given / name).write_bytes(data)
        env = {
            "HOME": str(folder.home),
            "PATH": os.environ["PATH"],
            "GITAGENT_PROMPT_FILE": str(folder.given / "prompt.md"),
            "GITAGENT_RETURN_FILE": str(folder.out / returns.NAME),
            **dict(launch.env),
        }
        subprocess.run(
            launch.argv,
            input=launch.stdin,
            cwd=folder.tree,
            env=env,
            capture_output=True,
            timeout=120,
            check=True,
        )
        found = (folder.out / hooklog.NAME).read_text().splitlines()
        return [json.loads(line)["verdict"] for line in found]

    start.folder = folder
    with Provider(models=[MODEL]) as provider:
        start.provider = provider
        yield start


def test_it_is_told_what_its_calls_and_its_end_come_to(run):
    done = {"status": "done", "summary": "Mended."}
    run.provider.script(
        "fix",
        [
            Shell("git push origin HEAD"),
            Mcp("finish", done),
            Mcp("finish", {**done, "divergence": "None"}),
            Say("All done."),
            Shell("touch done"),
            Say("Now it is."),
        ],
    )

    verdicts = run(run.provider)
    bodies = [each.body.decode() for each in run.provider.requests]

    assert ["deny", "allow", "allow", "failed", "allow", "passed"] == verdicts
    assert "There is nothing to push to" in bodies[1]
    assert "divergence is empty" in bodies[2]
    assert "Recorded: done" in bodies[3]
    assert "`test -f done` ended with exit code 1" in bodies[4]
    assert "Mended." == returns.parse(run.folder.load_out(returns.NAME)).summary
