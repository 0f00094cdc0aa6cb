"""Every page that a page points to is there."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)(?:#[^)]*)?\)")
PLACE = re.compile(r"\]\((?!https?://)([^)#\s]*)#([^)\s]+)\)")


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


@pytest.mark.parametrize("page", pages())
def test_links_into_a_page_lead_to_a_heading(page: str):
    path = ROOT / page
    found = PLACE.findall(path.read_text())

    assert [
        f"{name}#{place}"
        for name, place in found
        if place not in headings(path.parent / name if name else path)
    ] == []


def headings(path: Path) -> set[str]:
    """Return the headings of a page as forges name them in links."""
    lines = path.read_text().splitlines()
    plain = [line.lstrip("#").strip().lower() for line in lines if line[:1] == "#"]
    return {re.sub(r"[^\w -]", "", line).replace(" ", "-") for line in plain}


def test_the_readme_has_links_to_check():
    assert LINK.findall((ROOT / "README.md").read_text())
