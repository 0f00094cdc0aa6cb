import os

import pytest

from gitagent.host.place import (
    cache_problem,
    cache_root,
    free_bytes,
    make_private,
    state_dir,
)


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_cache_is_named_after_the_repository(tmp_path):
    found = cache_root(tmp_path / "my app" / ".git")

    assert found.parent == tmp_path / "cache" / "gitagent"
    assert found.name.startswith("my-app-")


def test_a_bare_repository_gives_its_own_name(tmp_path):
    assert cache_root(tmp_path / "hub.git").name.startswith("hub-")


def test_two_repositories_of_one_name_do_not_share(tmp_path):
    assert cache_root(tmp_path / "a/x/.git") != cache_root(tmp_path / "b/x/.git")


def test_a_path_through_a_link_is_the_same_place(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    assert cache_root(tmp_path / "real/.git") == cache_root(tmp_path / "link/.git")


def test_a_private_folder_is_shut_to_others_even_if_it_was_open(tmp_path):
    folder = tmp_path / "a/b"
    make_private(folder)
    first = folder.stat().st_mode & 0o777
    folder.chmod(0o755)
    make_private(folder)

    assert 0o700 == first == folder.stat().st_mode & 0o777


@pytest.mark.parametrize("given", ["", "relative/cache"])
def test_without_a_usable_setting_it_lies_in_the_home(tmp_path, monkeypatch, given):
    monkeypatch.setenv("XDG_CACHE_HOME", given)

    assert cache_root(tmp_path / ".git").is_relative_to(tmp_path / "home/.cache")


def test_a_name_without_usable_letters_still_has_a_place(tmp_path):
    assert cache_root(tmp_path / "…" / ".git").name.startswith("repository-")


def test_the_daemon_keeps_its_files_in_the_git_directory(tmp_path):
    assert state_dir(tmp_path) == tmp_path / "gitagent"


def test_free_space_is_told_of_a_place_that_is_not_made_yet(tmp_path):
    facts = os.statvfs(tmp_path)
    found = free_bytes(tmp_path / "a" / "b")

    assert abs(found - facts.f_bavail * facts.f_frsize) < 1 << 30


def test_a_cache_that_is_not_there_yet_is_no_problem(tmp_path):
    assert cache_problem(tmp_path / ".git") is None


def test_a_file_where_the_cache_should_be_is_one(tmp_path):
    (tmp_path / "cache").write_text("no folder")

    said = cache_problem(tmp_path / ".git")
    assert said is not None
    assert f"{tmp_path / 'cache'} is no folder" in said
    assert "XDG_CACHE_HOME" in said


def test_a_cache_that_cannot_be_written_is_one(tmp_path, monkeypatch):
    # Not even root can make a folder there; a mode would not keep it from that.
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/sys")

    assert "cannot be written" in (cache_problem(tmp_path / ".git") or "")
