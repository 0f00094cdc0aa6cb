"""core.glob: what a glob lets through and what it keeps out."""

import pytest

from gitagent.core.glob import barred, matching

PROTECTED = (".agent/**", ".claude/**", ".mcp.json", ".github/workflows/**")


@pytest.mark.parametrize(
    "path",
    [
        ".claude/settings.json",
        ".claude",
        ".github",
        ".github/workflows",
        ".agent",
        ".mcp.json",
        ".Claude/Settings.json",
        ".GITHUB/workflows/x.yml",
    ],
)
def test_what_stands_at_a_protected_folder_is_barred_as_its_content_is(path):
    assert (path,) == barred(PROTECTED, (path,))


@pytest.mark.parametrize(
    "path", [".github/CODEOWNERS", "claude", "src/.github", ".claudette", "github"]
)
def test_what_only_resembles_a_protected_path_is_not_barred(path):
    assert () == barred(PROTECTED, (path,))


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("secrets/", "secrets"),
        ("**/keys/*.pem", "a/b/keys"),
        ("conf/*/live.toml", "conf/eu"),
        ("conf/*/live.toml", "conf"),
    ],
)
def test_a_link_cannot_take_the_place_of_a_forbidden_folder(glob, path):
    assert () == matching((glob,), (path,))
    assert (path,) == barred((glob,), (path,))


def test_without_globs_nothing_is_barred():
    assert () == barred((), ("a", ".claude"))


def test_what_a_barred_glob_does_not_name_is_free_whatever_its_letters():
    assert () == barred(("x",), ("a.txt", "src/b.txt"))
    assert ("x", "sub/x") == barred(("x",), ("x", "sub/x"))
