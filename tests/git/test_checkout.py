"""Integration checkouts: pristine each time, and no change of a check unseen."""

import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gitagent.errors import GitError
from gitagent.git import slots
from gitagent.git.checkout import Pool
from gitagent.git.repository import discover
from gitagent.host.engine import LocalEngine
from gitagent.host.sandbox import Confinement
from tests.support.repos import Repo

FILES = {
    "a": "1\n",
    "same": "1\n",
    "run.sh*": "#!/bin/sh\n",
    "link@": "a",
    "d/e/f": "1\n",
    "d/g": "1\n",
    ".gitignore": "*.o\n/build/\nlogs/*\n!logs/keep\nnode_modules/\n",
    "d/.gitignore": "only-here\n",
    "dos": "one\ntwo\n",
    ".gitattributes": "dos text eol=crlf\n*.id ident\n",
    "x.id": "$Id$\n",
}


@pytest.fixture
def hub(tmp_path):
    return Repo.make(tmp_path / "hub", FILES, bare=True)


@pytest.fixture
def pool(hub, tmp_path):
    return Pool(discover(hub.path), tmp_path / "pool")


@pytest.fixture
def checkout(hub, pool):
    with pool.take() as taken:
        taken.prepare(hub.head())
        taken.inside()
        yield taken


def sh(checkout, script):
    """Run a check in the sandbox as the lander does."""
    inside = Confinement(cwd="/workspace", binds=checkout.binds())
    done = LocalEngine().run(
        ["sh", "-ec", script], inside, timeout=60, merge_stderr=True
    )

    assert 0 == done.code, done
    return done.output.decode()


def files(tree):
    """Return path, mode and content of all that is in a folder but .git."""
    found = {}
    for path in sorted(tree.rglob("*")):
        mode = path.lstat().st_mode
        if path.is_symlink():
            content = path.readlink()
        else:
            content = path.read_bytes() if path.is_file() else None
        if path != tree / ".git":
            found[path.relative_to(tree)] = (mode, content)
    return found


def expected(hub, commit, tmp_path):
    """Return what a plain checkout of the commit holds."""
    place = tmp_path / f"plain-{time.monotonic_ns()}"
    hub.git("worktree", "add", "-q", "--detach", str(place), commit)
    return files(place)


# --- exactly the commit


def test_the_files_are_those_of_a_plain_checkout(hub, checkout, tmp_path):
    assert expected(hub, "HEAD", tmp_path) == files(checkout.tree)
    assert b"one\r\ntwo\r\n" == (checkout.tree / "dos").read_bytes()


def test_another_commit_takes_its_place(hub, checkout, tmp_path):
    other = hub.commit({"a": "2\n", "d/e/f": None, "d/e": "now a file\n", "new/n": ""})

    for commit in (other, f"{other}^", other):
        checkout.prepare(hub.oid(commit))
        assert expected(hub, commit, tmp_path) == files(checkout.tree)
        assert () == checkout.changed()


def test_nothing_of_the_repository_says_how_files_are_written(
    hub, pool, home, tmp_path
):
    """Configuration, hooks, filters and info/attributes are a person's."""
    commit = hub.commit({".gitattributes": "a filter=up\n"})
    hub.git("config", "filter.up.smudge", f"touch '{tmp_path}/ran'; cat")
    hub.git("config", "core.autocrlf", "true")
    hub.git("config", "core.fsmonitor", f"touch '{tmp_path}/ran'")
    hub.hook("post-checkout", f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    (hub.path / "info").mkdir(exist_ok=True)
    (hub.path / "info/attributes").write_text("same text eol=crlf\n")
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/attributes").write_text("same text eol=crlf\n")

    with pool.take() as checkout:
        checkout.prepare(commit)

        assert b"1\n" == (checkout.tree / "same").read_bytes()
        assert not (tmp_path / "ran").exists()


def test_a_commit_that_is_not_here_is_an_error_and_the_next_one_works(hub, checkout):
    with pytest.raises(GitError):
        checkout.prepare("1" * 40)

    checkout.prepare(hub.head())
    assert () == checkout.changed()


def test_sha256(tmp_path):
    hub = Repo.make(tmp_path / "hub", FILES, bare=True, object_format="sha256")
    with Pool(discover(hub.path), tmp_path / "pool").take() as checkout:
        checkout.prepare(hub.head())
        checkout.inside()
        status = sh(checkout, "git status --porcelain; echo x > a")

        assert "" == status
        assert ("a",) == checkout.changed()


def test_a_submodule_is_an_empty_folder(hub, checkout):
    link = f"160000 commit {'1' * 40}\tsub\n"
    tree = hub.git("mktree", stdin=(hub.git("ls-tree", "HEAD") + f"\n{link}").encode())
    commit = hub.git("commit-tree", "-m", "sub", "-p", "HEAD", tree)
    checkout.prepare(commit)
    (checkout.tree / "sub/x").write_text("x")
    (checkout.tree / "sub/.git").mkdir()

    assert () == checkout.changed()

    checkout.prepare(commit)
    assert [] == list((checkout.tree / "sub").iterdir())

    (checkout.tree / "sub").rmdir()
    (checkout.tree / "sub").write_text("a file")
    assert ("sub",) == checkout.changed()


# --- whatever a check left behind


def deep(tree):
    path = tree
    for _ in range(30):
        path /= "deep" * 20
        path.mkdir()


def listen(tree):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tree / "socket"))


def repository(tree):
    Repo.make(tree / "d/nested", {"x": "1"})
    (tree / "d/.git").mkdir()


def swap(tree):
    """Rename one file over another, keeping its times and content of equal size."""
    (tree / "d/e/f").rename(tree / "d/g")


LEFT = {
    "an edit": lambda tree: (tree / "a").write_text("2\n"),
    "a deletion": lambda tree: (tree / "a").unlink(),
    "a deleted folder": lambda tree: (tree / "d").rename(tree / "build"),
    "a mode": lambda tree: (tree / "run.sh").chmod(0o644),
    "a file that nobody may read": lambda tree: (tree / "a").chmod(0),
    "a file for a folder": lambda tree: (
        (tree / "d").rename(tree / "moved"),
        (tree / "d").write_text(""),
    ),
    "a folder for a file": lambda tree: (
        (tree / "a").unlink(),
        (tree / "a").mkdir(),
        (tree / "a/b").write_text(""),
    ),
    "a pipe": lambda tree: os.mkfifo(tree / "pipe"),
    "a pipe for a file": lambda tree: ((tree / "a").unlink(), os.mkfifo(tree / "a")),
    "a pipe for rules": lambda tree: os.mkfifo(tree / "d/e/.gitignore"),
    "a socket": listen,
    "a repository": repository,
    "deep folders": deep,
    "another link": lambda tree: (
        (tree / "link").unlink(),
        (tree / "link").symlink_to("same"),
    ),
    "a file for a link": lambda tree: (
        (tree / "link").unlink(),
        (tree / "link").write_text("a"),
    ),
    "a hard link": lambda tree: (
        (tree / "a").unlink(),
        (tree / "a").hardlink_to(tree / "same"),
    ),
    "a file in the place of another": swap,
    "folders that deny access": lambda tree: (
        (tree / "d/e").chmod(0),
        (tree / "d").chmod(0),
    ),
    "ignored files": lambda tree: (
        (tree / "x.o").write_text(""),
        (tree / "build").mkdir(),
        (tree / "build/x").write_text(""),
    ),
    "no git": lambda tree: (tree / ".git").unlink(),
    "another git": lambda tree: (
        (tree / ".git").unlink(),
        (tree / ".git").mkdir(),
    ),
}


@pytest.mark.parametrize("leave", LEFT.values(), ids=LEFT)
def test_the_next_prepare_gives_the_commit_again(hub, checkout, tmp_path, leave):
    before = expected(hub, "HEAD", tmp_path)
    leave(checkout.tree)

    checkout.prepare(hub.head())

    assert before == files(checkout.tree)
    assert () == checkout.changed()


def test_nothing_is_written_or_removed_through_a_link(hub, checkout, tmp_path):
    outside = tmp_path / "outside"
    (outside / "e").mkdir(parents=True)
    for name in ("g", "e/f", "precious"):
        (outside / name).write_text("mine")
    (checkout.tree / "d").rename(tmp_path / "moved")
    (checkout.tree / "d").symlink_to(outside)
    (checkout.tree / "more").symlink_to(outside)

    assert {"d", "d/e/f", "d/g", "more"} <= set(checkout.changed())
    checkout.prepare(hub.head(), keep=["more"])

    assert not (checkout.tree / "d").is_symlink()
    assert ["mine"] * 3 == [
        (outside / name).read_text() for name in ("g", "e/f", "precious")
    ]
    assert not (checkout.tree / "more").exists()


def test_folders_that_deny_access_are_no_obstacle_without_roots_rights(hub, tmp_path):
    script = f"""
import pathlib
from gitagent.git import slots
from gitagent.git.checkout import Pool
from gitagent.git.repository import discover
repo = discover(pathlib.Path({str(hub.path)!r}))
with Pool(repo, pathlib.Path({str(tmp_path / "pool")!r})).take() as checkout:
    checkout.prepare({hub.head()!r})
    (checkout.tree / "new").mkdir()
    (checkout.tree / "new/file").write_text("x")
    for path in ("new", "d/e", "d", "."):
        (checkout.tree / path).chmod(0)
    assert ("new/file",) == checkout.changed()
    (checkout.tree / "a").chmod(0)
    for path in ("new", "d/e", "d", "."):
        (checkout.tree / path).chmod(0)
    checkout.prepare({hub.head()!r})
    assert () == checkout.changed()
    assert "1\\n" == (checkout.tree / "a").read_text()
"""
    confined = ["bwrap", "--dev-bind", "/", "/", "--unshare-user", "--uid", "1000"]
    subprocess.run(
        [*confined, "--cap-drop", "ALL", sys.executable, "-P", "-c", script],
        check=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )


# --- what is cleared up behind a run


@pytest.mark.parametrize("leave", LEFT.values(), ids=LEFT)
def test_what_was_tidied_is_the_next_commit_as_exactly(hub, pool, tmp_path, leave):
    other = hub.commit({"a": "2\n", "d/e/f": None, "new/n": ""})
    with pool.take() as checkout:
        checkout.prepare(f"{other}^")
        checkout.inside()
        leave(checkout.tree)
        checkout.changed()
        checkout.tidy()

        assert expected(hub, f"{other}^", tmp_path) == files(checkout.tree)
        assert not (checkout.tree.parent / "inside.git/HEAD").exists()
    with pool.take() as checkout:
        checkout.prepare(other)
        checkout.inside()

        assert expected(hub, other, tmp_path) == files(checkout.tree)
        assert () == checkout.changed()


def test_the_same_commit_again_needs_no_git(hub, pool, monkeypatch):
    with pool.take() as checkout:
        checkout.prepare(hub.head())
        checkout.changed()
        checkout.tidy()
    with pool.take() as checkout:
        monkeypatch.setattr(checkout, "_git", None)
        checkout.prepare(hub.head())

        assert () == checkout.changed()


def test_what_somebody_else_did_there_meanwhile_counts(hub, pool, tmp_path):
    with pool.take() as checkout:
        checkout.prepare(hub.head())
        checkout.tidy()
    with Pool(discover(hub.path), tmp_path / "pool").take() as checkout:
        (checkout.tree / "a").unlink()
    with pool.take() as checkout:
        checkout.prepare(hub.head())

        assert expected(hub, "HEAD", tmp_path) == files(checkout.tree)


def test_what_was_done_there_after_some_time_counts(hub, pool, tmp_path, monkeypatch):
    with pool.take() as checkout:
        checkout.prepare(hub.head())
        checkout.tidy()
    (tmp_path / "pool/0/tree/a").unlink()
    monkeypatch.setattr(slots, "TIDY_S", 0.0)
    with pool.take() as checkout:
        checkout.prepare(hub.head())

        assert expected(hub, "HEAD", tmp_path) == files(checkout.tree)


def test_a_checkout_removed_after_it_was_tidied_is_made_anew(hub, pool, tmp_path):
    with pool.take() as checkout:
        checkout.prepare(hub.head())
        checkout.tidy()
    shutil.rmtree(tmp_path / "pool")
    with pool.take() as checkout:
        checkout.prepare(hub.head())

        assert expected(hub, "HEAD", tmp_path) == files(checkout.tree)


def test_a_taker_waits_for_one_that_is_tidied_and_makes_no_other(hub, pool, tmp_path):
    taken, release = threading.Event(), threading.Event()

    def tidy():
        with pool.take() as checkout:
            checkout.prepare(hub.head())
            checkout.tidy()
            taken.set()
            release.wait()

    thread = threading.Thread(target=tidy)
    thread.start()
    taken.wait()
    threading.Timer(0.05, release.set).start()
    with pool.take() as checkout:
        assert tmp_path / "pool/0/tree" == checkout.tree
    thread.join()


def test_tidying_keeps_declared_folders_until_they_are_not(hub, pool):
    with pool.take() as checkout:
        checkout.prepare(hub.head())
        (checkout.tree / "node_modules/x").mkdir(parents=True)
        (checkout.tree / "build").mkdir()
        checkout.changed()
        checkout.tidy(["node_modules"])
    with pool.take() as checkout:
        assert not (checkout.tree / "build").exists()
        checkout.prepare(hub.head(), keep=["node_modules"])
        assert (checkout.tree / "node_modules/x").exists()
        checkout.changed()
        checkout.tidy(["node_modules"])
    with pool.take() as checkout:
        checkout.prepare(hub.head())
        assert not (checkout.tree / "node_modules").exists()


def test_tidying_what_was_never_prepared_is_harmless(hub, pool):
    with pool.take() as checkout:
        checkout.tidy()
    with pool.take() as checkout:
        checkout.prepare(hub.head())

        assert () == checkout.changed()


# --- what counts as changed


CHANGES = {
    "an edit": ("echo 2 > a", ["a"]),
    "an edit that stays as long": ("printf '2\\n' > a", ["a"]),
    "written again as it was": ("cp a b; cat b > a; rm b; touch d/g", []),
    "replaced by its copy": ("cp -p a b; mv b a", []),
    "a mode": ("chmod -x run.sh", ["run.sh"]),
    "a mode git does not keep": ("chmod 600 a; chmod 777 d", []),
    "a deletion": ("rm a d/g", ["a", "d/g"]),
    "a new file": ("touch new 'ü b' d/e/n", ["d/e/n", "new", "ü b"]),
    "a new folder": ("mkdir -p n/m; touch n/m/o n/p; mkdir empty", ["n/m/o", "n/p"]),
    "names that are magic": (
        "mkdir ':!d'; touch ':!d/x' ':%y' ':(exclude)z' :only.o :d",
        [":!d/x", ":%y", ":(exclude)z", ":d"],
    ),
    "a new link": ("ln -s /etc/passwd l", ["l"]),
    "pipes and empty folders": ("mkfifo p; mkdir -p q/r", []),
    "ignored files": ("touch x.o d/x.o d/only-here; mkdir build; touch build/x", []),
    "a rule that holds elsewhere": ("touch only-here", ["only-here"]),
    "a rule with an exception": (
        "mkdir logs; touch logs/x logs/keep",
        ["logs/keep"],
    ),
    "the cache of a tool": ("mkdir .c; echo '*' > .c/.gitignore; touch .c/x", []),
    "rules beside tracked files": (
        "echo '*' > d/e/.gitignore; touch d/e/x; echo 'x -text' > d/e/.gitattributes",
        ["d/e/.gitattributes", "d/e/.gitignore", "d/e/x"],
    ),
    "rules that were edited": (
        "echo new >> .gitignore; touch new",
        [".gitignore", "new"],
    ),
    "info/exclude": ("echo new >> .git_/info/exclude; touch new", ["new"]),
    "assume-unchanged": ("git update-index --assume-unchanged a; echo 2 > a", ["a"]),
    "skip-worktree": ("git update-index --skip-worktree a; rm a", ["a"]),
    "a commit": ("echo 2 > a; git commit -qam x", [".git/HEAD", "a"]),
    "only a commit": ("git commit -q --allow-empty -m x", [".git/HEAD"]),
    "rm --cached": ("git rm -q --cached a; echo a >> .gitignore", [".gitignore"]),
    "times put back": (
        "touch -r a ref; printf '2\\n' > a; touch -r ref a; rm ref",
        ["a"],
    ),
    "a renormalised file": ("printf 'one\\ntwo\\n' > dos", ["dos"]),
    "attributes that hide it": (
        "printf 'one\\ntwo\\n' > dos; echo 'dos text eol=lf' > .gitattributes",
        [".gitattributes", "dos"],
    ),
    "a repository": ("git init -q n; touch n/x", ["n/"]),
    "branches and stashes": (
        "git branch x; git config a.b c; touch .git_/index.lock",
        [],
    ),
}


@pytest.mark.parametrize(("script", "paths"), CHANGES.values(), ids=CHANGES)
def test_what_a_check_changed(hub, checkout, script, paths):
    before = (hub.refs(), (hub.path / "config").read_bytes())

    sh(checkout, script.replace(".git_", "/gitagent/git"))

    assert tuple(sorted(paths)) == checkout.changed()
    assert before == (hub.refs(), (hub.path / "config").read_bytes())
    checkout.prepare(hub.head())
    assert () == checkout.changed()


def test_an_edit_at_once_with_its_times_put_back_is_seen(hub, checkout):
    """Within the second of the checkout git itself would not see it."""
    hidden = 0
    for _ in range(20):
        checkout.prepare(hub.commit({"a": "1\n", "n": str(time.time_ns())}))
        file = checkout.tree / "a"
        checkout.prepare(hub.commit({"a": "2\n"}))
        before = file.stat()
        file.write_text("3\n")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        hidden += "a" not in checkout.changed()

    assert 0 == hidden


def test_many_new_files_are_told_up_to_a_limit(checkout):
    sh(checkout, "for i in $(seq 1500); do : > n$i; done")

    assert 1000 == len(checkout.changed())


def test_new_folders_without_end_are_told_as_folders(checkout):
    sh(checkout, "p=.; for i in $(seq 80); do p=$p/n; mkdir $p; done; touch $p/x")

    [path] = checkout.changed()
    assert path.endswith("/n/")


def test_new_folders_with_names_too_long_for_the_kernel_are_told_as_folders(checkout):
    sh(
        checkout,
        "n=$(printf %0250d 0); for i in $(seq 20); do mkdir $n; cd -P $n; done; : > x",
    )

    [path] = checkout.changed()
    assert path.endswith("0/")


def test_a_changed_check_is_judged_even_if_everything_was_touched(hub, pool):
    many = {f"f{n // 50}/{n}": f"{n}\n" for n in range(500)}
    commit = hub.commit(many)
    with pool.take() as checkout:
        checkout.prepare(commit)
        checkout.inside()
        sh(checkout, "find . -name '[0-9]*' -type f | xargs touch; echo x > f3/151")

        assert ("f3/151",) == checkout.changed()


# --- what is kept


def test_declared_folders_stay_and_others_go(hub, checkout):
    sh(checkout, "mkdir -p node_modules/x build web/node_modules; touch build/x")
    (checkout.tree / "web/node_modules/y").write_text("y")

    checkout.prepare(hub.head(), keep=["node_modules", "web/node_modules"])

    assert (checkout.tree / "node_modules/x").exists()
    assert (checkout.tree / "web/node_modules/y").exists()
    assert not (checkout.tree / "build").exists()
    assert () == checkout.changed()
    checkout.prepare(hub.head())
    assert not (checkout.tree / "web").exists()
    assert not (checkout.tree / "node_modules").exists()


@pytest.mark.parametrize("keep", ["..", "/etc", "d/../..", ".git", "", ".", "a//b"])
def test_a_path_that_leads_elsewhere_is_not_kept(hub, checkout, keep):
    checkout.prepare(hub.head(), keep=[keep])

    assert () == checkout.changed()


def test_a_link_of_the_commit_at_a_kept_path_is_not_followed(hub, checkout, tmp_path):
    outside = tmp_path / "outside"
    (outside / "in").mkdir(parents=True)
    sh(checkout, "mkdir -p cache/in")
    commit = hub.commit_at("refs/heads/main", {"cache@": str(outside)})

    checkout.prepare(commit, keep=["cache/in"])

    assert (outside / "in").exists()
    assert () == checkout.changed()


@pytest.mark.parametrize("path", ["cache", "cache/tracked", "cache/in/deep"])
def test_what_the_commit_has_at_a_kept_path_wins(hub, checkout, tmp_path, path):
    sh(checkout, "mkdir -p cache/in; touch cache/in/x")
    commit = hub.commit({path: "tracked\n"})

    checkout.prepare(commit, keep=["cache/in"])

    if path != "cache/tracked":
        assert expected(hub, commit, tmp_path) == files(checkout.tree)
    assert "tracked\n" == (checkout.tree / path).read_text()
    assert () == checkout.changed()


# --- what the check sees


def test_inside_status_is_clean_and_head_is_the_commit(hub, checkout):
    out = sh(
        checkout,
        """
        git status --porcelain
        git diff-files --name-only
        git rev-parse HEAD
        git log --format=%s
        git stash list
        env | grep ^GIT_ || true
        """,
    )

    assert f"{hub.head()}\nBegin\n" == out


def test_unconfined_the_git_directory_is_named_by_its_place(hub, checkout):
    checkout.prepare(hub.head())
    checkout.inside(confined=False)
    tree = Repo(checkout.tree)

    assert [] == tree.status()
    assert hub.head() == tree.head()


def test_our_git_directory_and_index_are_not_shown(checkout):
    shown = [bind.source for bind in checkout.binds()]

    assert not any("own.git" in source for source in shown)
    assert all(
        not bind.writable or Path(bind.source).name in {"tree", "inside.git"}
        for bind in checkout.binds()
    )


def test_nobody_else_can_start_a_program_that_a_check_left(checkout):
    """With the setuid bit it would run as the daemon's user."""
    sh(checkout, "cp /bin/true x.o; chmod 4755 x.o")

    left = checkout.tree / "x.o"
    assert 0o4755 == stat.S_IMODE(left.stat().st_mode)
    assert any(each.stat().st_mode & 0o077 == 0 for each in left.parents[:2])


def test_refs_can_be_given(hub, checkout):
    checkout.inside(refs={"refs/heads/main": hub.head()})

    assert f"{hub.head()}\n" == sh(checkout, "git rev-parse refs/heads/main")


# --- the pool


def test_each_taker_has_one_of_its_own_and_they_are_used_again(pool):
    with pool.take() as one, pool.take() as two:
        assert one.tree != two.tree
    with pool.take() as again:
        assert again.tree in {one.tree, two.tree}


def test_what_a_dead_taker_held_is_free_and_mended(hub, pool, tmp_path):
    script = f"""
import os, pathlib, signal
from gitagent.git import slots
from gitagent.git.checkout import Pool
from gitagent.git.repository import discover
repo = discover(pathlib.Path({str(hub.path)!r}))
with Pool(repo, pathlib.Path({str(tmp_path / "pool")!r})).take() as checkout:
    checkout.prepare({hub.head()!r})
    (checkout.tree / "a").write_text("half")
    (checkout.tree.parent / "own.git/index.lock").write_text("")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )

    assert -9 == done.returncode
    with pool.take() as checkout:
        assert tmp_path / "pool/0/tree" == checkout.tree
        checkout.prepare(hub.head())
        assert expected(hub, "HEAD", tmp_path) == files(checkout.tree)


def test_a_torn_index_costs_time_and_nothing_else(hub, pool, tmp_path):
    with pool.take() as checkout:
        checkout.prepare(hub.head())
        index = checkout.tree.parent / "own.git/index"
        for data in (b"", b"DIRC", index.read_bytes()[:200], b"x" * 5000):
            index.write_bytes(data)
            checkout.prepare(hub.head())

            assert expected(hub, "HEAD", tmp_path) == files(checkout.tree)


def test_a_slot_of_another_object_format_is_made_anew(hub, pool, tmp_path):
    with pool.take() as checkout:
        checkout.prepare(hub.head())
    other = Repo.make(tmp_path / "other", FILES, bare=True, object_format="sha256")

    with Pool(discover(other.path), tmp_path / "pool").take() as checkout:
        checkout.prepare(other.head())

        assert expected(other, "HEAD", tmp_path) == files(checkout.tree)


def test_a_commit_nested_deeper_than_the_stack_is_checked_out(hub, checkout):
    path = "/".join(["d"] * 1100) + "/f"
    commit = hub.commit({path: "x"})
    checkout.prepare(commit)

    assert () == checkout.changed()
    checkout.prepare(f"{commit}^")
    assert () == checkout.changed()
