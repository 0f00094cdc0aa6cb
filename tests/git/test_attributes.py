"""The files of attributes in a tree."""

import pytest

from gitagent.errors import UserError
from gitagent.git import attributes as module
from gitagent.git.attributes import attribute_files
from gitagent.git.repository import discover
from tests.support.repos import Repo

SIDE = "refs/heads/side"


def test_attribute_files_are_found_and_remembered_by_tree(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_attributes", {})
    names = [".gitattributes", "a/.gitattributes", "a/b/c/.gitattributes"]
    files = {**dict.fromkeys(names, "x y\n"), "n/n": "", "a/b/f": ""}
    repo = Repo.make(tmp_path / "repo", files)
    tree = repo.oid("HEAD^{tree}")
    found = discover(repo.path)

    with found.objects() as objects:
        first = attribute_files(objects, tree)
    with found.objects() as closed:
        closed.close()
        again = attribute_files(None, tree)

    assert names == sorted(path for path, _ in first)
    assert first == again


def test_a_tree_that_unfolds_without_end_is_refused(repo, monkeypatch):
    monkeypatch.setattr(module, "_attributes", {})
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"x y\n")
    tree = repo.git("mktree", stdin=f"100644 blob {blob}\t.gitattributes\n".encode())
    for _ in range(20):
        both = "".join(f"040000 tree {tree}\t{name}\n" for name in ("a", "b"))
        tree = repo.git("mktree", stdin=both.encode())

    with discover(repo.path).objects() as objects, pytest.raises(UserError):
        attribute_files(objects, tree)


def test_a_tree_nested_deeper_than_the_stack_is_read(repo):
    path = "/".join(["d"] * 1200)
    commit = repo.commit_at(SIDE, {f"{path}/f": ""})

    with discover(repo.path).objects() as objects:
        assert () == attribute_files(objects, objects.commit(commit).tree)
