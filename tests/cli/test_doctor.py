"""gitagent doctor: what does not hold is named, and nothing hides the rest."""

import os

import pytest

from tests.support.cli import call

CONFIG = ".agent/config.toml"


@pytest.fixture(autouse=True)
def _set_up(repo):
    repo.commit({"Makefile": "test:\n\ttrue\n"})
    call(repo, "init", "--no-check")


def facts(repo, verdict):
    said = call(repo, "doctor", "--json").json
    return {
        fact["about"]: fact["text"]
        for fact in said["facts"]
        if fact["verdict"] == verdict
    }


def test_a_sound_repository_is_exit_0(repo):
    answer = call(repo, "doctor")
    said = call(repo, "doctor", "--json").json

    assert 0 == answer.code
    assert ["version", "good", "facts"] == list(said)
    assert said["good"] is True
    assert {"git", "sandbox", "settings", "watching", "disk"} <= set(
        facts(repo, "good")
    )
    assert {"hooks", "daemon"} <= set(facts(repo, "note"))


def test_settings_that_do_not_parse_are_bad(repo):
    repo.commit({CONFIG: "[wrker]\n"})

    assert 1 == call(repo, "doctor").code
    assert "worker" in facts(repo, "bad")["settings"]


def test_no_check_is_bad(repo):
    repo.commit({CONFIG: 'target = "main"\n'})

    assert "[[check]]" in facts(repo, "bad")["settings"]


def test_a_repository_that_is_not_set_up_is_bad_and_the_rest_is_told(repo):
    repo.commit({CONFIG: None})

    assert "gitagent init" in facts(repo, "bad")["settings"]
    assert "git" in facts(repo, "good")


def test_a_missing_sandbox_is_bad_with_the_mend(repo, monkeypatch, tmp_path):
    for name in ("git", "prlimit"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("gitagent.host.sandbox._candidates", list)

    assert "bubblewrap" in facts(repo, "bad")["sandbox"]


def test_a_switched_off_sandbox_is_worth_knowing(repo):
    text = repo.read(CONFIG).replace('mode = "required"', 'mode = "off"')
    repo.commit({CONFIG: text})

    assert "not confined" in facts(repo, "note")["sandbox"]


def test_a_cache_that_cannot_be_used_is_bad(repo, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(repo.write("no-folder", "")))
    answer = call(repo, "doctor")

    assert 1 == answer.code
    assert "no-folder is no folder" in answer.out


def test_old_locks_are_named_and_fresh_ones_are_not(repo):
    old = repo.common_dir / "refs/heads/main.lock"
    fresh = repo.common_dir / "index.lock"
    for lock in (old, fresh):
        lock.write_text("")
    os.utime(old, (0, 0))
    said = facts(repo, "bad")

    assert str(old) in said["locks"]
    assert str(fresh) not in said["locks"]


def test_a_branch_in_the_way_is_bad(repo):
    repo.branch("agent")

    assert "worker.branch" in facts(repo, "bad")["branches"]


def test_hooks_elsewhere_are_told(repo):
    repo.git("config", "core.hooksPath", ".husky")

    assert "hooksPath" in facts(repo, "note")["hooks"]


def test_kinds_of_repositories_are_told(repo, tmp_path):
    repo.git("config", "uploadpack.allowFilter", "true")
    url = f"file://{repo.path}"
    repo.git("clone", "-q", "--depth=1", url, str(tmp_path / "shallow"))
    shallow = call(tmp_path / "shallow", "doctor")
    repo.git("config", "remote.origin.promisor", "true")

    assert "shallow" in shallow.out
    assert "partial" in " ".join(call(repo, "doctor").lines)


def test_a_ref_that_belongs_to_no_store_is_told_and_keeps_nothing_from_working(repo):
    sound = call(repo, "doctor", "--dead", "--json")
    repo.git("update-ref", "refs/gitagent/narrative", "HEAD")
    answer = call(repo, "doctor", "--dead")

    assert 0 == sound.code
    assert {"stores"} == {fact["about"] for fact in sound.json["facts"]}
    assert 1 == answer.code
    assert "refs/gitagent/narrative belongs to nothing" in answer.out
    assert 0 == call(repo, "doctor").code
    assert "narrative" in facts(repo, "note")["stores"]


def test_files_of_the_memory_that_count_for_nothing_are_told(repo):
    repo.commit({".agent/memory/mine.md": "# Mine\n"})

    told = "1 file counts for nothing; see: gitagent memory list"

    assert told == facts(repo, "note")["memory"]
