"""A repository that gitagent keeps, as `init` would leave it."""

from pathlib import Path

import pytest

from tests.support.repos import Repo, settings_text

# It fails when the word bad is in the tree: a check that reads what it judges.
CHECK = "! grep -rqw bad --include='*.txt' ."


@pytest.fixture
def kept(tmp_path: Path) -> Repo:
    """Make a repository with settings, one check, and a few files."""
    files = {
        "README.md": "# kept\n",
        "a.txt": "one\ntwo\nthree\nfour\nfive\n",
        "b.txt": "alpha\n",
    }
    repo = Repo.make(tmp_path / "kept", files)
    config = {".agent/config.toml": settings_text(CHECK)}
    repo.commit_at("refs/heads/main", config, "Keep it\n\nGitagent-Record: init\n")
    repo.git("reset", "-q", "--hard")
    return repo
