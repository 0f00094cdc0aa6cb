"""Linked worktrees: those of workers, and those of people."""

import multiprocessing
import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from gitagent.errors import GitError, UserError
from gitagent.git.repository import discover
from gitagent.git.worktree import (
    Worktree,
    add,
    admin_dir,
    entries,
    parse,
    remove,
)
from gitagent.host.boot import boot_id
from tests.support.repos import Repo


@pytest.fixture
def place(tmp_path):
    return tmp_path / "attempts" / "a" / "tree"


def ours(repo):
    return [each for each in entries(discover(repo.path)) if each.ours]


def test_a_worktree_is_detached_clean_and_locked_for_us(repo, place):
    add(discover(repo.path), place, repo.head())

    [found] = ours(repo)
    assert (place, repo.head(), None) == (found.path, found.head, found.branch)
    assert [] == Repo(place).status()
    assert f":{boot_id()}:{os.getpid()}:" in found.locked


def test_entries_tell_branches_locks_and_missing_folders(repo, tmp_path):
    repo.worktree(tmp_path / "a", branch="topic")
    repo.worktree(tmp_path / "b")
    repo.git("worktree", "lock", str(tmp_path / "b"))
    repo.worktree(tmp_path / "new\nline")
    shutil.rmtree(repo.worktree(tmp_path / "gone").path)

    main, *others = entries(discover(repo.path))
    found = {each.path.name: each for each in others}

    assert Worktree(repo.path, repo.head(), "refs/heads/main") == main
    assert "refs/heads/topic" == found["a"].branch
    assert "" == found["b"].locked
    assert found["gone"].prunable
    assert found["new\nline"].prunable is None
    assert not any(each.ours for each in found.values())


def test_entries_of_a_bare_and_of_an_unborn_repository(tmp_path):
    bare = Repo.make(tmp_path / "bare", {"a": ""}, bare=True)
    unborn = Repo.make(tmp_path / "unborn")

    assert (Worktree(bare.path, None, None, bare=True),) == entries(discover(bare.path))
    [found] = entries(discover(unborn.path))
    assert "refs/heads/main" == found.branch


def test_an_empty_list_has_no_entries():
    assert () == parse(b"")


def test_no_hook_runs(repo, place, tmp_path):
    repo.hook("post-checkout", f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")

    add(discover(repo.path), place, repo.head())

    assert not (tmp_path / "ran").exists()


def test_files_are_the_bytes_of_the_objects(repo, place, tmp_path):
    """Inside the sandbox no filter is known; see the module."""
    commit = repo.commit(
        {
            ".gitattributes": "*.enc filter=my=secret\n*.lf filter=need\n",
            "x.enc": "cipher\n",
            "y.lf": "text\n",
            "z": "one\ntwo\n",
        }
    )
    repo.git("config", "filter.my=secret.smudge", f"touch '{tmp_path}/ran'; cat")
    repo.git("config", "filter.need.required", "true")
    repo.git("config", "filter.need.process", "false")
    repo.git("config", "core.autocrlf", "true")
    repo.git("config", "core.splitIndex", "true")

    add(discover(repo.path), place, commit)

    assert not (tmp_path / "ran").exists()
    assert b"cipher\n" == (place / "x.enc").read_bytes()
    assert b"one\ntwo\n" == (place / "z").read_bytes()
    assert ["index"] == [path.name for path in admin_dir_of(repo, place).glob("*ind*")]


def admin_dir_of(repo, place):
    return admin_dir(discover(repo.path), place)


def test_a_sparse_checkout_of_a_person_does_not_thin_the_worktree(repo, place):
    commit = repo.commit({"in/a": "", "out/b": ""})
    repo.git("sparse-checkout", "set", "--cone", "in")

    add(discover(repo.path), place, commit)

    assert (place / "out" / "b").exists()
    assert not (repo.path / "out").exists()


def test_many_threads_and_processes_add_at_once(repo, tmp_path):
    places = [tmp_path / f"t{n}" for n in range(8)]
    spawn = multiprocessing.get_context("spawn")
    found, head = discover(repo.path), repo.head()

    with spawn.Pool(2) as processes, ThreadPoolExecutor(4) as threads:
        other = processes.starmap_async(add, [(found, p, head) for p in places[:4]])
        list(threads.map(lambda path: add(found, path, head), places[4:]))
        other.get(60)

    assert set(places) == {each.path for each in ours(repo)}


def test_listing_and_removing_stand_what_others_make_and_remove(repo, tmp_path):
    found, head = discover(repo.path), repo.head()

    def come_and_go(name):
        for _ in range(6):
            add(found, tmp_path / name, head)
            remove(found, tmp_path / name)

    with ThreadPoolExecutor(3) as threads:
        jobs = [threads.submit(come_and_go, name) for name in ("a", "b", "c")]
        while not all(job.done() for job in jobs):
            entries(found)
        for job in jobs:
            job.result()

    assert [] == ours(repo)


def test_a_commit_that_is_not_here_leaves_nothing(repo, place):
    with pytest.raises(GitError):
        add(discover(repo.path), place, "1" * 40)

    assert [] == ours(repo)
    assert not place.exists()


def test_a_place_that_is_taken_is_left_alone(repo, place):
    place.mkdir(parents=True)
    (place / "precious").write_text("x")

    with pytest.raises(UserError):
        add(discover(repo.path), place, repo.head())

    assert (place / "precious").exists()


def test_a_missing_worktree_of_ours_gives_way(repo, place):
    """ "Crash leaves missing but locked worktree"."""
    add(discover(repo.path), place, repo.head())
    shutil.rmtree(place)

    add(discover(repo.path), place, repo.head())

    assert [place] == [each.path for each in ours(repo)]


@pytest.mark.parametrize("gone", [False, True])
def test_removal_takes_the_folder_and_the_entry(repo, place, gone):
    add(discover(repo.path), place, repo.head())
    (place / "more").write_text("work")
    if gone:
        shutil.rmtree(place)

    remove(discover(repo.path), place)
    remove(discover(repo.path), place)

    assert [] == ours(repo)
    assert not place.exists()
    assert [] == list((repo.common_dir / "worktrees").glob("*"))


def test_removal_does_not_look_at_what_the_worker_made_of_git(repo, place, tmp_path):
    """ "Swapped .git file / commondir"."""
    other = Repo.make(tmp_path / "other", {"a": ""})
    add(discover(repo.path), place, repo.head())
    (place / ".git").write_text(f"gitdir: {other.common_dir}\n")

    remove(discover(repo.path), place)

    assert [] == ours(repo)
    assert [] == other.status()


def test_a_worktree_of_a_person_is_not_removed(repo, tmp_path):
    mine = repo.worktree(tmp_path / "mine")
    shutil.rmtree(repo.worktree(tmp_path / "unmounted").path)
    found = discover(repo.path)
    add(found, tmp_path / "a", repo.head())

    for path in (mine.path, tmp_path / "unmounted", repo.path):
        with pytest.raises(UserError):
            remove(found, path)
    remove(found, tmp_path / "a")

    assert [] == mine.status()
    assert 3 == len(entries(found))


def test_a_clone_is_not_removed(repo, tmp_path):
    clone = repo.clone(tmp_path / "clone")

    with pytest.raises(UserError):
        remove(discover(repo.path), clone.path)

    assert [] == clone.status()


def test_the_admin_folder_is_believed_only_if_it_points_back(repo, place, tmp_path):
    found = discover(repo.path)
    add(found, place, repo.head())

    assert (admin_dir(found, place) / "index").exists()
    relative = os.path.relpath(admin_dir(found, place), place)
    (place / ".git").write_text(f"gitdir: {relative}\n")
    assert (admin_dir(found, place) / "index").exists()
    for lie in (f"gitdir: {tmp_path}\n", f"gitdir: {repo.common_dir}\n", "x"):
        (place / ".git").write_text(lie)
        with pytest.raises(UserError):
            admin_dir(found, place)
