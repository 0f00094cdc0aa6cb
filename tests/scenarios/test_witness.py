"""The outside witness of a real daemon, and a record that is gone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scenarios.conftest import CHECK
from tests.support.daemon import Daemon, gitagent, status
from tests.support.repos import Repo, settings_text

MAIN = "refs/heads/main"
WITNESS = "refs/gitagent/witness/"

pytestmark = pytest.mark.slow


def test_a_landing_is_witnessed_and_cannot_be_made_to_have_never_been(
    tmp_path: Path, daemon: Callable[..., Daemon]
):
    hub = Repo.make(tmp_path / "hub.git", {"a.txt": "one\n"}, bare=True)
    settings = settings_text(CHECK, '[lander]\npush = "origin"\n')
    message = "Keep it\n\nGitagent-Record: init\n"
    hub.commit_at(MAIN, {".agent/config.toml": settings}, message)
    repo = hub.clone(tmp_path / "repo")
    running = daemon(repo)
    repo.commit_at(
        "refs/heads/land/b", {"b.txt": "x\n"}, "b", parents=(repo.oid(MAIN),)
    )
    running.until(lambda: hub.refs(WITNESS), timeout=60, what="the witness is there")
    running.until(
        lambda: status(repo)["target"]["push"]["behind"] == 0, timeout=60, what="pushed"
    )
    sound = gitagent(repo, "verify", "--witness")
    running.stop()
    (ref,) = repo.refs("refs/gitagent/submissions/")
    repo.git("update-ref", "-d", ref)
    forged = gitagent(repo, "verify", "--witness")

    assert 0 == sound.returncode, sound.stdout
    assert hub.refs(WITNESS) == repo.refs(WITNESS)
    assert 1 == forged.returncode
    assert f"{ref}: It was dropped" in forged.stdout
