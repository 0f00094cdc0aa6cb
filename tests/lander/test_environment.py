import subprocess
import sys

import pytest

from gitagent.core.settings import Sandbox, SandboxMode, Settings
from gitagent.lander.environment import environment

_ASK = (
    "from gitagent.core.settings import Settings;"
    "from gitagent.lander.environment import environment;"
    "print(environment(Settings()))"
)


def test_another_process_gets_the_same_digest():
    told = subprocess.check_output([sys.executable, "-c", _ASK], text=True)

    assert environment(Settings()) == told.strip()


@pytest.mark.parametrize(
    "sandbox",
    [
        Sandbox(mode=SandboxMode.OFF),
        Sandbox(read=("/srv",)),
        Sandbox(write=("/srv",)),
        Sandbox(file_limit=1),
        Sandbox(memory=1),
        Sandbox(processes=1),
    ],
)
def test_each_sandbox_setting_changes_the_digest(sandbox: Sandbox):
    assert environment(Settings()) != environment(Settings(sandbox=sandbox))


def test_what_no_check_can_see_changes_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nonexistent/bin:/usr/bin:/bin")
    before = environment(Settings())
    monkeypatch.setenv("PATH", "/usr/bin:/bin")

    assert before == environment(Settings(target="other"))
