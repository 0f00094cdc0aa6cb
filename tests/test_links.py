"""Every page that a page points to is there."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)(?:#[^)]*)?\)")


def pages() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.md"], cwd=ROOT, capture_output=True, check=True
    )
    return [name for name in listed.stdout.decode().split("\0") if name]


@pytest.mark.parametrize("page", pages())
def test_relative_links_lead_somewhere(page: str):
    path = ROOT / page
    targets = LINK.findall(path.read_text())

    assert [name for name in targets if not (path.parent / name).exists()] == []


def test_the_readme_has_links_to_check():
    assert LINK.findall((ROOT / "README.md").read_text())
