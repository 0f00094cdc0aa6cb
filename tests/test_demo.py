"""The demo works, and so does the example of a test in CONTRIBUTING."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repos import settings_text

ROOT = Path(__file__).resolve().parent.parent

OWN = "gitagent"  # .git/gitagent, whose lock files stay and are locked by flock

pytestmark = pytest.mark.slow


def test_the_demo_lands_both_tasks_and_leaves_only_its_repository(tmp_path):
    done = subprocess.run(
        [sys.executable, "bench/demo.py"],
        cwd=ROOT,
        env=dict(os.environ, TMPDIR=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    (place,) = tmp_path.iterdir()
    (common,) = place.glob("*/.git")

    assert 0 == done.returncode, done.stdout + done.stderr
    assert not [pid for pid in mentioning(place) if pid != os.getpid()]
    assert not [lock for lock in common.rglob("*.lock") if lock.parent.name != OWN]


def test_the_example_in_contributing_passes(project, daemon):
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names = {"settings_text": settings_text}
    exec(compile(code, "CONTRIBUTING.md", "exec"), names)  # noqa: S102

    names["test_a_task_lands"](project, daemon)


def mentioning(place: Path) -> list[int]:
    """Return the processes that have ``place`` on their command line or as folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
            where = str((entry / "cwd").readlink())
        except OSError:
            continue
        if str(place) in words or where.startswith(str(place)):
            found.append(int(entry.name))
    return found
