"""The process of the built-in agent, and what is left of it when it is killed."""

import os
import sys
from pathlib import Path

from gitagent.host import kin
from gitagent.host.engine import LED
from gitagent.host.process import Cancel
from gitagent.worker import ahead

LOOP = """
import os, signal, sys
sys.path.insert(0, {root!r})
from gitagent.host.confinement import Confinement
from gitagent.host.engine import LocalEngine
sys.stdin.readline()
def begun(data):
    os.kill(os.getpid(), signal.SIGKILL)
LocalEngine("test-ahead").run(
    ["sh", "-c", "echo begun; exec sleep 600"],
    Confinement(cwd="/", mode="off"),
    timeout=600,
    on_output=begun,
)
"""


def test_nothing_that_it_started_is_left_when_it_was_killed(monkeypatch):
    root = str(Path(ahead.__file__).resolve().parents[2])
    command = (sys.executable, "-I", "-c", LOOP.format(root=root))
    monkeypatch.setattr(ahead, "_command", lambda: command)
    seen = []
    made = ahead.Ahead("openai", "test-ahead", Cancel())
    done = made.go(b"{}", seconds=60, on_start=seen.append, on_output=lambda _: None)
    made.close()

    assert 128 + 9 == done.code
    assert 0 == kin.kill_marked(LED, made._name)
    assert not Path(f"/proc/{seen[0]}").exists()


def test_one_that_gets_no_order_ends_by_itself(monkeypatch):
    command = (sys.executable, "-c", "import sys; sys.exit(len(sys.stdin.read()))")
    monkeypatch.setattr(ahead, "_command", lambda: command)
    made = ahead.Ahead("openai", f"test-{os.getpid()}", Cancel())
    made.close()

    assert 0 == made._done[0].code
