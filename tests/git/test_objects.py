"""git.objects: one contract for both stores, and the ids that git itself gives."""

import os
import shutil
import subprocess
import sys

import pytest

from gitagent.errors import GitError
from gitagent.git import codec
from gitagent.git.objects import (
    BLOB,
    EXECUTABLE,
    GITLINK,
    LINK,
    TREE,
    Entry,
    MissingObject,
)
from gitagent.git.repository import discover
from gitagent.git.text import Person, parse_signature
from tests.support.repos import Repo

KINDS = ["libgit2", "libgit2-bare", "git", "git-bare", "git-sha256"]
WHO = Person("Jörg Ä", "joerg@example.org", 1_700_000_000, 90)
FILES = {
    "README.md": "hello\n",
    "src/ünï.py": "x = 1\n",
    "src/run*": "#!/bin/sh\n",
    "src-old/a": "a",
    "src.txt": "t",
    "link@": "README.md",
}


@pytest.fixture(scope="module")
def moulds(tmp_path_factory):
    """Keep one repository of each shape, to be copied: that is fast."""
    return {}, tmp_path_factory.mktemp("moulds")


@pytest.fixture(params=KINDS)
def stored(request, moulds, tmp_path):
    """Give a repository with one commit, and a way to open the store under test."""
    engine, _, shape = request.param.partition("-")
    ready, folder = moulds
    if shape not in ready:
        ready[shape] = Repo.make(
            folder / f"mould-{shape}",
            FILES,
            bare=shape == "bare",
            object_format="sha256" if shape == "sha256" else "sha1",
        )
    path = tmp_path / "stored"
    shutil.copytree(ready[shape].path, path, symlinks=True)
    made = Repo(path, bare=shape == "bare")
    found = discover(path)
    return made, lambda: found.objects(fast=engine == "git")


@pytest.fixture
def made(stored):
    return stored[0]


@pytest.fixture
def objects(stored):
    with stored[1]() as opened:
        yield opened


# --- refs


def test_refs_hold_direct_ids_and_are_chosen_by_prefix(made, objects):
    made.git("tag", "-m", "a tag", "v1")
    made.branch("agent/one")
    made.branch("agents")

    assert made.refs() == objects.refs()
    assert made.oid("refs/tags/v1") == objects.refs()["refs/tags/v1"]
    assert ["refs/heads/agent/one"] == list(objects.refs("refs/heads/agent/"))
    assert ["refs/heads/agent/one", "refs/heads/agents"] == list(
        objects.refs("refs/heads/agent")
    )
    assert {} == objects.refs("refs/nothing/")


def test_a_ref_is_found_by_its_full_name_only(made, objects):
    assert made.head() == objects.ref("refs/heads/main")
    assert made.head() == objects.ref("HEAD")
    assert objects.ref("refs/heads/none") is None
    assert objects.ref("refs/heads") is None


def test_symbolic_refs_are_followed_and_broken_ones_left_out(made, objects):
    made.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    made.git("symbolic-ref", "refs/heads/broken", "refs/heads/none")

    assert made.head() == objects.ref("refs/heads/alias")
    assert objects.ref("refs/heads/broken") is None
    assert ["refs/heads/alias", "refs/heads/main"] == list(objects.refs())


@pytest.mark.parametrize("content", ["", "\0" * 41, "junk\n"])
def test_a_ref_that_a_crash_left_broken_hides_no_other(made, objects, content):
    made.branch("good")
    (made.common_dir / "refs/heads/bad").write_text(content)

    assert ["refs/heads/good", "refs/heads/main"] == list(objects.refs())
    assert objects.ref("refs/heads/bad") is None


def test_a_name_that_no_ref_can_have_is_none(objects):
    for name in ("", "main", "refs/heads/a b", "refs/heads/a..b", "refs/heads/"):
        assert objects.ref(name) is None


def test_an_unborn_head_is_none(made, objects):
    made.git("symbolic-ref", "HEAD", "refs/heads/unborn")

    assert objects.ref("HEAD") is None


def test_ten_thousand_refs_are_listed(made, objects):
    head = made.head()
    names = [f"refs/gitagent/tasks/t{number:05}" for number in range(10_000)]
    lines = "".join(f"{head} {name}\n" for name in names)
    header = "# pack-refs with: peeled fully-peeled sorted \n"
    (made.common_dir / "packed-refs").write_text(header + lines)

    assert dict.fromkeys(names, head) == objects.refs("refs/gitagent/tasks/")


def test_a_thousand_loose_refs_are_listed(repo):
    head = repo.head()
    names = [f"refs/gitagent/tasks/t{number:04}" for number in range(1000)]
    (repo.common_dir / "refs/gitagent/tasks").mkdir(parents=True)
    for name in names:
        (repo.common_dir / name).write_text(f"{head}\n")

    for fast in (False, True):
        with discover(repo.path).objects(fast=fast) as objects:
            assert dict.fromkeys(names, head) == objects.refs("refs/gitagent/tasks/")


def test_a_ref_that_git_moved_is_seen_by_an_open_store(made, objects):
    objects.refs()
    moved = made.commit({"a": "b"}, branch="other")

    assert moved == objects.ref("refs/heads/other")
    made.git("pack-refs", "--all")
    assert moved == objects.ref("refs/heads/other")
    assert moved == objects.refs()["refs/heads/other"]


# --- reading


def test_objects_tell_kind_size_and_content(made, objects):
    blob, tree = made.oid("HEAD:README.md"), made.oid("HEAD^{tree}")
    made.git("tag", "-m", "a tag", "v1")

    assert "blob" == objects.kind(blob)
    assert "tree" == objects.kind(tree)
    assert "commit" == objects.kind(made.head())
    assert "tag" == objects.kind(made.oid("refs/tags/v1"))
    assert 6 == objects.size(blob)
    assert b"hello\n" == objects.blob(blob)


def test_an_object_that_is_not_here_is_none_or_missing(made, objects):
    absent = "1" * len(made.head())

    assert objects.kind(absent) is None
    for read in (objects.blob, objects.tree, objects.commit, objects.size):
        with pytest.raises(MissingObject):
            read(absent)
    with pytest.raises(MissingObject):
        objects.path(absent, "a")


def test_an_object_of_another_kind_is_missing(made, objects):
    with pytest.raises(MissingObject):
        objects.blob(made.head())
    with pytest.raises(MissingObject):
        objects.commit(made.oid("HEAD:README.md"))


def test_a_tree_has_its_entries_in_gits_order(made, objects):
    tree = objects.tree(made.oid("HEAD^{tree}"))

    assert [
        ("README.md", BLOB),
        ("link", LINK),
        ("src-old", TREE),
        ("src.txt", BLOB),
        ("src", TREE),
    ] == [(entry.name, entry.mode) for entry in tree]


def test_paths_are_found_in_commits_and_trees(made, objects):
    head, tree = made.head(), made.oid("HEAD^{tree}")

    for treeish in (head, tree):
        run = objects.path(treeish, "src/run")
        assert Entry("run", EXECUTABLE, made.oid("HEAD:src/run")) == run
        assert TREE == objects.path(treeish, "src").mode
        assert "ünï.py" == objects.path(treeish, "src/ünï.py").name
        for absent in ("none", "src/none", "README.md/x", "", "src/", "../src", "/src"):
            assert objects.path(treeish, absent) is None


def test_a_commit_has_people_times_and_parents(made, objects):
    first = made.head()
    made.git("config", "user.name", "Ömer")
    second = made.commit({"x": "y"}, "Grüße\n\nmehr Text")

    commit = objects.commit(second)

    assert (first,) == commit.parents
    assert made.oid(f"{second}^{{tree}}") == commit.tree
    assert "Grüße\n\nmehr Text" == commit.message.strip()
    assert commit.committer.when == commit.time
    assert made.git("log", "-1", "--format=%an <%ae>", second) == commit.author.ident


def test_a_commit_in_another_encoding_is_read(made, objects):
    head = [f"tree {made.oid('HEAD^{tree}')}", "author J\xf6rg <j@x> 5 -0330"]
    head += [
        "committer J\xf6rg <j@x> 5 -0330",
        "encoding ISO-8859-1",
        "",
        "Gr\xfc\xdfe",
    ]
    data = "\n".join(head).encode("latin-1")
    oid = made.git("hash-object", "-w", "-t", "commit", "--stdin", stdin=data)

    commit = objects.commit(oid)

    assert "Grüße" == commit.message
    assert Person("Jörg", "j@x", 5, -210) == commit.author


@pytest.mark.parametrize("encoding", ["undefined", "idna", "punycode", "a\0b", "hex"])
def test_a_commit_in_an_encoding_that_is_none_is_read_as_utf_8(made, objects, encoding):
    head = [f"tree {made.oid('HEAD^{tree}')}", "author Jörg <j@x> 5 +0000"]
    head += ["committer Jörg <j@x> 5 +0000", f"encoding {encoding}", "", "Grüße"]
    data = "\n".join(head).encode()
    oid = made.git("hash-object", "-w", "-t", "commit", "--stdin", stdin=data)

    assert "Grüße" == objects.commit(oid).message


def test_many_blobs_are_read_at_once_in_the_order_asked(made, objects):
    head = made.head()
    absent = "1" * len(head)
    big = made.commit({"big": "x" * 300_000}, branch="big")
    wanted = {
        (head, "README.md"): b"hello\n",
        (head, "none"): None,
        (head, "src"): None,
        (head, ""): None,
        (head, "two\nlines"): None,
        (absent, "README.md"): None,
        (big, "big"): b"x" * 300_000,
        (made.oid("HEAD^{tree}"), "src/ünï.py"): b"x = 1\n",
    }
    pairs = list(wanted) + [(head, "README.md")] * 2000

    found = objects.blobs_at(pairs)

    assert [*wanted.values(), *[b"hello\n"] * 2000] == found
    assert [] == objects.blobs_at([])


def test_names_that_are_no_text_survive(made, objects):
    name = b"caf\xe9".decode(errors="surrogateescape")
    blob = objects.write_blob(b"x")

    tree = objects.write_tree([Entry(name, BLOB, blob)])

    assert b"caf\xe9\0" == made.raw("ls-tree", "-z", "--name-only", tree)
    assert (Entry(name, BLOB, blob),) == objects.tree(tree)
    assert Entry(name, BLOB, blob) == objects.path(tree, name)


# --- writing


def test_a_blob_has_gits_id_and_git_reads_it(made, objects):
    for data in (b"", b"plain\n", b"\0\r\n\xff" * 1000):
        oid = objects.write_blob(data)

        assert made.git("hash-object", "--stdin", stdin=data) == oid
        assert data == made.raw("cat-file", "blob", oid)
        assert data == objects.blob(oid)
        assert oid == objects.write_blob(data)


def test_a_tree_has_gits_id_in_whatever_order_its_entries_come(made, objects):
    listed = made.raw("ls-tree", "-z", "HEAD")
    entries = objects.tree(made.oid("HEAD^{tree}"))

    assert made.git("mktree", "-z", stdin=listed) == objects.write_tree(
        reversed(entries)
    )


def test_an_empty_tree_can_be_written(made, objects):
    tree = objects.write_tree(())

    assert made.git("hash-object", "-t", "tree", "--stdin") == tree
    assert () == objects.tree(tree)


def test_a_tree_with_a_submodule_can_be_written(made, objects):
    link = Entry("sub", GITLINK, "2" * len(made.head()))

    tree = objects.write_tree([link])

    assert (link,) == objects.tree(tree)
    assert [None] == objects.blobs_at([(tree, "sub")])


@pytest.mark.parametrize("name", ["", "a/b", "a\0b"])
def test_a_name_that_no_tree_takes_is_refused(made, objects, name):
    with pytest.raises(ValueError, match="name"):
        objects.write_tree([Entry(name, BLOB, made.oid("HEAD:README.md"))])


def test_a_name_may_not_stand_in_a_tree_twice(made, objects):
    entry = Entry("a", BLOB, made.oid("HEAD:README.md"))

    with pytest.raises(ValueError, match="name"):
        objects.write_tree([entry, entry])


def test_a_commit_has_gits_id(made, objects, monkeypatch):
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", WHO.name)
        monkeypatch.setenv(f"GIT_{role}_EMAIL", WHO.email)
        monkeypatch.setenv(f"GIT_{role}_DATE", f"{WHO.when} +0130")
    tree, head = made.oid("HEAD^{tree}"), made.head()
    message = "Grüße aus Zürich\n\nText\n"

    oid = objects.write_commit(tree, (head,), message, WHO, WHO)

    assert oid == made.git(
        "commit-tree", tree, "-p", head, "-F", "-", stdin=message.encode()
    )
    assert (WHO, WHO) == (objects.commit(oid).author, objects.commit(oid).committer)
    made.git("update-ref", "refs/heads/new", oid)
    made.fsck()


def test_messages_and_identities_are_mended(made, objects):
    """Messages and identities are mended to what every git accepts."""
    tree, oid = made.oid("HEAD^{tree}"), made.head()
    for name, email in [
        ("", ""),
        ("  ", "<>"),
        ("a\nb\0c", "x y@z\n"),
        ("Eve <eve@x>", "a<b>c"),
        ("...", "e@x"),
        ("\udcff", "\ud800@x"),
        ("n" * 5000, "e" * 5000),
    ]:
        who = Person(name, email, 1_700_000_000)
        message = "one\0two\x1b[31m\r\nthree\ud800\n\n\n"

        oid = objects.write_commit(tree, (oid,), message, who, who)
        commit = objects.commit(oid)

        assert "onetwo[31m\nthree?\n" == commit.message
        assert commit.author.name
        assert commit.author.email
        assert len(commit.author.ident) < 500
    made.git("update-ref", "refs/heads/odd", oid)
    made.fsck()


def test_a_commit_of_what_is_not_here_is_refused(made, objects):
    absent = "1" * len(made.head())
    tree, blob = made.oid("HEAD^{tree}"), made.oid("HEAD:README.md")

    for of, parents in ((absent, ()), (blob, ()), (tree, (absent,)), (tree, (tree,))):
        with pytest.raises(MissingObject):
            objects.write_commit(of, parents, "no", WHO, WHO)


def test_both_stores_write_the_same_ids(repo):
    found = discover(repo.path)

    def write(fast):
        with found.objects(fast=fast) as objects:
            blob = objects.write_blob(b"one")
            tree = objects.write_tree(
                [Entry("ä", BLOB, blob), Entry("a.b", BLOB, blob)]
            )
            commit = objects.write_commit(tree, (repo.head(),), "Grüße", WHO, WHO)
            return blob, tree, commit

    assert write(fast=False) == write(fast=True)


def test_a_store_that_cannot_be_written_says_so_in_one_line(made, objects):
    """A file where each folder belongs fails for root too, as a full disk does."""
    for number in range(256):
        folder = made.common_dir / "objects" / f"{number:02x}"
        if not folder.exists():
            folder.write_text("in the way")

    with pytest.raises(GitError) as caught:
        objects.write_blob(b"new")

    assert "\n" not in caught.value.line()


# --- history


# --- many at once


def test_what_is_written_together_is_what_is_written_one_by_one(made, objects):
    with objects.together():
        blob = objects.write_blob(b"together")
        tree = objects.write_tree([Entry("a", BLOB, blob)])
        commit = objects.write_commit(tree, (made.head(),), "All\n", WHO, WHO)

        assert (b"together", "blob", 8) == (
            objects.blob(blob),
            objects.kind(blob),
            objects.size(blob),
        )
        assert blob == objects.path(commit, "a").oid
        assert 0 != made.ask("cat-file", "-e", commit)

    assert "together" == made.git("cat-file", "blob", f"{commit}:a")
    assert [tree, made.head()] == [made.oid(f"{commit}^{{tree}}"), made.oid("HEAD")]
    assert b"together" == objects.blob(blob)
    made.git("update-ref", "refs/heads/all", commit)
    made.fsck()


def test_an_error_leaves_nothing_of_what_was_to_be_together(made, objects):
    written = []

    def write():
        with objects.together():
            written.append(objects.write_blob(b"never stored"))
            objects.blob("1" * len(written[0]))

    with pytest.raises(MissingObject):
        write()

    [blob] = written
    assert objects.kind(blob) is None
    assert 0 != made.ask("cat-file", "-e", blob)


def test_together_within_together_is_stored_at_the_outer_end(made, objects):
    with objects.together():
        with objects.together():
            blob = objects.write_blob(b"inner")
        assert 0 != made.ask("cat-file", "-e", blob)

    assert "inner" == made.git("cat-file", "blob", blob)


def test_a_thousand_objects_are_stored_together(made, objects):
    with objects.together():
        blobs = [objects.write_blob(b"%d" % number) for number in range(1000)]

    lines = made.git("cat-file", "--batch-check", stdin="\n".join(blobs).encode())
    assert ["blob"] * 1000 == [line.split()[1] for line in lines.splitlines()]
    objects_dir = made.common_dir / "objects"
    assert [] == list(objects_dir.rglob("tmp_obj_*"))


def test_what_is_there_is_kept_from_a_gc_and_what_is_torn_is_mended(made, objects):
    with objects.together():
        blob = objects.write_blob(b"old")
    file = made.common_dir / "objects" / blob[:2] / blob[2:]
    os.utime(file, (1, 1))
    inode = file.stat().st_ino

    with objects.together():
        objects.write_blob(b"old")

    assert (inode, True) == (file.stat().st_ino, file.stat().st_mtime > 1)
    file.chmod(0o644)
    file.write_bytes(b"")
    with objects.together():
        objects.write_blob(b"old")
    assert "old" == made.git("cat-file", "blob", blob)


def test_what_cannot_be_stored_together_says_so_in_one_line(made, objects):
    folder = made.common_dir / "objects"
    for number in range(256):
        if not (folder / f"{number:02x}").exists():
            (folder / f"{number:02x}").write_text("in the way")

    def write():
        with objects.together():
            for number in range(10):
                objects.write_blob(b"%d" % number)

    with pytest.raises(GitError) as caught:
        write()

    assert "\n" not in caught.value.line()
    assert [] == list(folder.rglob("tmp_obj_*"))


def test_the_commits_of_a_tip_beyond_a_base_are_counted_up_to_a_limit(made, objects):
    base = made.head()
    one = made.commit({"a": "1"}, branch="work")
    two = made.commit({"a": "2"}, branch="work")

    assert {one, two} == objects.beyond(base, two, 10)
    assert 1 == len(objects.beyond(base, two, 1))
    assert frozenset() == objects.beyond(two, base, 10)
    with pytest.raises(GitError):
        objects.beyond(base, "1" * len(base), 10)


def test_ancestors_and_merge_bases(made, objects):
    base = made.head()
    ours = made.commit({"a": "1"}, branch="ours")
    theirs = made.commit({"b": "1"}, branch="theirs")
    alone = made.commit_at("refs/heads/alone", {"c": "1"}, parents=())

    assert objects.ancestor(base, ours)
    assert objects.ancestor(ours, ours)
    assert not objects.ancestor(ours, base)
    assert not objects.ancestor(ours, theirs)
    assert not objects.ancestor(alone, ours)
    assert base == objects.merge_base(ours, theirs)
    assert ours == objects.merge_base(ours, ours)
    assert objects.merge_base(ours, alone) is None
    with pytest.raises(GitError):
        objects.ancestor("1" * len(base), ours)
    with pytest.raises(GitError):
        objects.merge_base("1" * len(base), ours)


# --- beside other processes


def test_stale_object_cache_after_gc_or_repack(made, objects):
    """Objects that went into a pack after the opening."""
    commits = [made.commit({"f": f"{number}"}, branch="work") for number in range(4)]
    blobs = [made.oid(f"{commit}:f") for commit in commits]
    assert b"0" == objects.blob(blobs[0])

    made.git("repack", "-a", "-d", "-q")
    made.git("prune-packed")
    assert b"1" == objects.blob(blobs[1])

    made.git("gc", "-q", "--prune=now")
    assert b"2" == objects.blob(blobs[2])

    late = made.commit({"f": "late"}, branch="work")
    made.git("repack", "-a", "-d", "-f", "-q")
    assert b"late" == objects.blob(objects.path(late, "f").oid)
    assert [b"3", b"late"] == objects.blobs_at([(commits[3], "f"), (late, "f")])


def test_an_object_that_comes_later_is_seen(made, objects):
    oid = made.git("hash-object", "--stdin", stdin=b"later")
    assert objects.kind(oid) is None

    made.git("hash-object", "-w", "--stdin", stdin=b"later")

    assert "blob" == objects.kind(oid)
    assert b"later" == objects.blob(oid)


def test_closing_twice_is_harmless_and_nothing_is_left(stored):
    objects = stored[1]()
    objects.kind(stored[0].head())

    objects.close()
    objects.close()


def test_the_fast_store_does_not_import_pygit2(repo):
    script = f"""
import sys
from pathlib import Path
from gitagent.git.repository import discover
with discover(Path({str(repo.path)!r})).objects(fast=True) as objects:
    objects.blobs_at([(objects.ref("HEAD"), "README.md")])
print("pygit2" in sys.modules)
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )

    assert "False\n" == ended.stdout


# --- pure


@pytest.mark.parametrize(
    ("line", "who"),
    [
        (b"A B <a@b> 12 +0200", Person("A B", "a@b", 12, 120)),
        (b"A <a@b> 12 -0130", Person("A", "a@b", 12, -90)),
        (b" <> 0 +0000", Person("", "")),
        (b"A <a@b>", Person("A", "a@b")),
        (b"nothing", Person("nothing", "")),
        (b"", Person("", "")),
        (b"A <a@b> %b +0000" % (b"9" * 5000), Person("A", "a@b")),
        (b"A <a@b> 12 +9999", Person("A", "a@b", 12, 1439)),
        (b"A <a@b> 12 -9999", Person("A", "a@b", 12, -1439)),
    ],
)
def test_whatever_stands_in_a_signature_is_read(line, who):
    assert who == parse_signature(line)


def test_a_broken_commit_is_read_as_far_as_it_goes():
    assert "" == codec.load_commit("0", b"").tree
    assert () == codec.load_commit("0", b"junk\n\nmore").parents


def test_a_history_with_a_commit_that_is_no_good_is_walked_all_the_same(made, objects):
    base = made.oid("HEAD")
    tree = made.oid("HEAD^{tree}")
    raw = f"tree {tree}\nparent {base}\nauthor x\ncommitter \x01> 1 -0000\n\nOdd\n"
    how = ("-t", "commit", "-w", "--literally", "--stdin")
    odd = made.git("hash-object", *how, stdin=raw.encode())
    tip = made.commit_at("refs/heads/odd", {"o": "o"}, parents=(odd,))

    assert {odd, tip} == objects.beyond(base, tip, 10)
    assert objects.ancestor(base, tip)
    assert not objects.ancestor(tip, base)
    assert base == objects.merge_base(base, tip)
    assert "Odd\n" == objects.commit(odd).message
