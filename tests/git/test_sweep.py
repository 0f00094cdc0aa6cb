"""Removing what a check or a worker can leave behind."""

import os
import socket
import subprocess
import sys

import pytest

from gitagent.git.sweep import remove_tree

DEPTH = 1200  # deeper than a path, the stack and the limit on descriptors allow


def deep(path, depth=DEPTH):
    path.mkdir()
    fd = os.open(path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("deep", dir_fd=fd)
        below = os.open("deep", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)


def test_nothing_there_is_no_error(tmp_path):
    remove_tree(tmp_path / "none")
    remove_tree(tmp_path / "no" / "folder")


def test_a_file_and_a_link_are_removed_themselves(tmp_path):
    (tmp_path / "kept").write_text("x")
    (tmp_path / "link").symlink_to("kept")

    remove_tree(tmp_path / "link")

    assert [tmp_path / "kept"] == list(tmp_path.iterdir())


def test_links_in_the_tree_are_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "folder").symlink_to(outside)
    (tree / "below").mkdir()
    (tree / "below" / "up").symlink_to("../..")

    remove_tree(tree)

    assert not tree.exists()
    assert (outside / "precious").exists()


def test_pipes_and_sockets_are_removed(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    os.mkfifo(tree / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tree / "socket"))

    remove_tree(tree)

    assert not tree.exists()


def test_the_depth_does_not_matter(tmp_path):
    deep(tmp_path / "tree")

    remove_tree(tmp_path / "tree")

    assert not (tmp_path / "tree").exists()


@pytest.mark.parametrize("mode", [0o000, 0o500, 0o300])
def test_folders_that_deny_access_are_removed(tmp_path, mode):
    """Run without root's right to go anywhere, as a person's daemon is."""
    tree = tmp_path / "tree"
    below = tree / "a" / "b" / "c"
    below.mkdir(parents=True)
    (below / "file").write_text("x")
    (tree / "a" / "file").write_text("x")
    script = f"""
import os, pathlib
from gitagent.git.sweep import remove_tree
top = pathlib.Path({str(tree)!r})
for path in (top / "a/b/c", top / "a/b", top / "a", top):
    path.chmod({mode})
remove_tree(top)
"""
    confined = ["bwrap", "--dev-bind", "/", "/", "--unshare-user", "--uid", "1000"]
    subprocess.run(
        [*confined, "--cap-drop", "ALL", sys.executable, "-c", script], check=True
    )

    assert not tree.exists()
