"""git.tree: trees with some paths changed, and what differs, judged by git itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.core.candidate import Change, PathChange
from gitagent.errors import UserError
from gitagent.git import tree
from gitagent.git.objects import BLOB, EXECUTABLE, GITLINK, LINK, TREE, Entry
from gitagent.git.repository import discover
from tests.support.repos import Repo

NAMES = ("a", "a.b", "a-b", "b", "Ä", "tasks", ".agent")
MODES = (BLOB, EXECUTABLE, LINK)


@pytest.fixture(params=[False, True], ids=["libgit2", "git"])
def objects(request, repo):
    with discover(repo.path).objects(fast=request.param) as opened:
        yield opened


def _tree(repo, files):
    commit = repo.commit_at("refs/heads/scratch", files, parents=())
    repo.git("update-ref", "-d", "refs/heads/scratch")
    return repo.oid(f"{commit}^{{tree}}")


# --- the product tree


def test_the_product_tree_is_without_tasks_landings_and_memory(repo, objects):
    code = {"src/a.py": "1", ".agent/config.toml": "", ".agent/agents/x.md": "x"}
    records = {
        ".agent/tasks/t.md": "t",
        ".agent/tasks/done/u.md": "u",
        ".agent/landings/2026/11/s-1.md": "n",
        ".agent/memory/m.md": "m",
    }

    product = tree.product_tree(objects, _tree(repo, code | records))

    assert _tree(repo, code) == product
    assert product == tree.product_tree(objects, product)


def test_an_agent_folder_that_held_only_records_is_no_product(repo, objects):
    whole = _tree(repo, {"a": "1", ".agent/tasks/t.md": "t"})

    assert _tree(repo, {"a": "1"}) == tree.product_tree(objects, whole)


def test_a_repository_of_records_alone_has_an_empty_product(repo, objects):
    whole = _tree(repo, {".agent/tasks/t.md": "t"})

    assert () == objects.tree(tree.product_tree(objects, whole))


@pytest.mark.parametrize(
    "files",
    [
        {"a": "1"},
        {"a": "1", ".agent": "a file"},
        {"a": "1", ".agent@": "elsewhere"},
        {"a": "1", "tasks/t": "2", "x/.agent/tasks/t.md": "3"},
        {"a": "1", ".agent/config.toml": "", ".agent/tasks.md": ""},
    ],
)
def test_a_tree_without_records_is_its_own_product(repo, objects, files):
    whole = _tree(repo, files)

    assert whole == tree.product_tree(objects, whole)


def test_a_file_in_the_place_of_a_record_folder_is_no_product(repo, objects):
    whole = _tree(repo, {"a": "1", ".agent/tasks": "a file"})

    assert _tree(repo, {"a": "1"}) == tree.product_tree(objects, whole)


# --- editing


def test_a_file_is_put_with_the_folders_it_needs(repo, objects):
    blob = objects.write_blob(b"new")
    before = _tree(repo, {"a": "1", "x/y": "2"})

    after = tree.put(objects, before, "x/deep/er/ünï.md", blob)

    assert _tree(repo, {"a": "1", "x/y": "2", "x/deep/er/ünï.md": "new"}) == after


def test_a_file_is_replaced_with_its_mode(repo, objects):
    blob = objects.write_blob(b"new")
    before = _tree(repo, {"x/run": "old"})

    after = tree.put(objects, before, "x/run", blob, EXECUTABLE)

    assert _tree(repo, {"x/run*": "new"}) == after


def test_a_tree_can_begin_from_nothing(repo, objects):
    after = tree.put(objects, None, "x/y", objects.write_blob(b"1"))

    assert _tree(repo, {"x/y": "1"}) == after


def test_removing_takes_the_folders_that_are_empty_then(repo, objects):
    before = _tree(repo, {"a": "1", "x/y/z": "2"})

    assert _tree(repo, {"a": "1"}) == tree.remove(objects, before, "x/y/z")
    assert _tree(repo, {"a": "1"}) == tree.remove(objects, before, "x")


def test_removing_everything_leaves_the_empty_tree(repo, objects):
    before = _tree(repo, {"x/y": "1"})

    assert () == objects.tree(tree.remove(objects, before, "x/y"))


def test_removing_what_is_not_there_is_no_change(repo, objects):
    before = _tree(repo, {"a": "1", "x/y": "2"})

    for path in ("none", "x/none", "a/none", "none/at/all"):
        assert before == tree.remove(objects, before, path)


def test_a_move_is_one_edit(repo, objects):
    before = _tree(repo, {".agent/tasks/t.md": "t", "a": "1"})
    entry = objects.path(before, ".agent/tasks/t.md")

    after = tree.edit(
        objects,
        before,
        {
            ".agent/tasks/t.md": None,
            ".agent/tasks/done/t.md": (entry.mode, entry.oid),
        },
    )

    assert _tree(repo, {".agent/tasks/done/t.md": "t", "a": "1"}) == after


def test_a_file_where_a_folder_is_needed_is_named(repo, objects):
    before = _tree(repo, {".agent": "a file"})

    with pytest.raises(UserError) as caught:
        tree.put(objects, before, ".agent/tasks/t.md", objects.write_blob(b"t"))

    assert ".agent " in caught.value.message


def test_a_folder_is_never_replaced_by_a_file(repo, objects):
    before = _tree(repo, {"x/y/z": "1"})

    with pytest.raises(UserError) as caught:
        tree.put(objects, before, "x/y", objects.write_blob(b"t"))

    assert "x/y" in caught.value.message


@pytest.mark.parametrize(
    "path", ["", "/a", "a/", "a//b", "../a", "a/./b", ".git/config", "x/.GIT", "a\0b"]
)
def test_a_path_that_git_does_not_take_is_refused(repo, objects, path):
    with pytest.raises(ValueError, match="path"):
        tree.put(objects, _tree(repo, {"a": "1"}), path, objects.write_blob(b"t"))


def test_changes_that_contradict_each_other_are_refused(repo, objects):
    blob = objects.write_blob(b"t")

    with pytest.raises(ValueError, match="both"):
        tree.edit(
            objects, _tree(repo, {"z": "1"}), {"a": (BLOB, blob), "a/b": (BLOB, blob)}
        )


# --- reading


def test_a_folder_lists_its_entries_and_an_absent_one_none(repo, objects):
    whole = _tree(repo, {".agent/tasks/t.md": "t", ".agent/tasks/done/u.md": "u"})

    names = [entry.name for entry in tree.folder(objects, whole, ".agent/tasks")]

    assert ["done", "t.md"] == names
    assert () == tree.folder(objects, whole, ".agent/memory")
    assert () == tree.folder(objects, whole, ".agent/tasks/t.md")


def test_submodules_are_listed_by_path(repo, objects):
    link = "1" * 40
    whole = _tree(repo, {"a": "1", "x/y": "2"})

    whole = tree.edit(
        objects, whole, {"x/sub": (GITLINK, link), "lib": (GITLINK, link)}
    )

    assert ("lib", "x/sub") == tree.gitlinks(objects, whole)


# --- what differs


def test_changes_tell_paths_kinds_modes_and_blobs(repo, objects):
    one = _tree(repo, {"same/x": "1", "mod": "1", "gone": "1", "run": "1", "kind": "1"})
    other = _tree(
        repo, {"same/x": "1", "mod": "2", "new/n": "1", "run*": "1", "kind/k": "1"}
    )
    blobs = {text: objects.write_blob(text.encode()) for text in "12"}

    assert (
        PathChange("gone", Change.DELETED, BLOB, 0, blobs["1"], ""),
        PathChange("kind", Change.DELETED, BLOB, 0, blobs["1"], ""),
        PathChange("kind/k", Change.ADDED, 0, BLOB, "", blobs["1"]),
        PathChange("mod", Change.MODIFIED, BLOB, BLOB, blobs["1"], blobs["2"]),
        PathChange("new/n", Change.ADDED, 0, BLOB, "", blobs["1"]),
        PathChange("run", Change.MODIFIED, BLOB, EXECUTABLE, blobs["1"], blobs["1"]),
    ) == tree.walk_changes(objects, one, other)


def test_equal_trees_do_not_differ(repo, objects):
    whole = _tree(repo, {"a/b": "1"})

    assert () == tree.walk_changes(objects, whole, whole)
    assert () == tree.walk_changes(objects, None, None)


def test_nothing_to_something_adds_all_of_it(repo, objects):
    whole = _tree(repo, {"a/b": "1", "c": "2"})

    added = tree.walk_changes(objects, None, whole)
    deleted = tree.walk_changes(objects, whole, None)

    assert [("a/b", "added"), ("c", "added")] == [(x.path, x.change) for x in added]
    assert ["deleted", "deleted"] == [x.change for x in deleted]


def test_equal_subtrees_are_not_looked_into(objects):
    """What it costs is what changed: the equal subtree is not even here."""
    blob = objects.write_blob(b"x")
    far = Entry("far", TREE, "1" * 40)
    trees = [
        objects.write_tree([far, Entry("near", mode, blob)])
        for mode in (BLOB, EXECUTABLE)
    ]

    assert ["near"] == [x.path for x in tree.walk_changes(objects, *trees)]


def test_few_objects_that_unfold_without_end_are_refused(objects):
    blob = objects.write_blob(b"boom")
    bomb = objects.write_tree([Entry(f"f{n}", BLOB, blob) for n in range(10)])
    for _ in range(12):
        bomb = objects.write_tree([Entry(f"d{n}", TREE, bomb) for n in range(10)])

    with pytest.raises(UserError):
        tree.walk_changes(objects, None, bomb, limit=10_000)
    with pytest.raises(UserError):
        list(tree.walk(objects, bomb, limit=10_000))


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("n" * 256, BLOB),
        ("..", TREE),
        (".git", TREE),
        (".GIT ", TREE),
        ("git~1", BLOB),
        ("a\\.git", TREE),
        (".gitmodules", LINK),
    ],
)
def test_a_new_path_that_no_checkout_can_hold_is_refused(objects, name, mode):
    blob = objects.write_blob(b"x")
    oid = objects.write_tree([Entry("f", BLOB, blob)]) if mode == TREE else blob
    new = objects.write_tree([Entry(name, mode, oid), Entry("a", BLOB, blob)])
    edited = objects.write_tree([Entry(name, mode, oid)])

    with pytest.raises(UserError):
        tree.walk_changes(objects, None, new)
    assert 1 == len(tree.walk_changes(objects, new, edited))


def test_a_path_too_long_for_the_kernel_is_refused(objects):
    long = objects.write_tree([Entry("f", BLOB, objects.write_blob(b"x"))])
    for _ in range(20):
        long = objects.write_tree([Entry("d" * 200, TREE, long)])

    with pytest.raises(UserError):
        tree.walk_changes(objects, None, long)


@pytest.mark.parametrize("names", [("a", "a"), ("a/b",)])
def test_a_broken_tree_is_refused(repo, objects, names):
    blob = objects.write_blob(b"x")
    data = b"".join(
        b"100644 %b\0%b" % (name.encode(), bytes.fromhex(blob)) for name in names
    )
    literally = ("hash-object", "-t", "tree", "-w", "--stdin", "--literally")
    broken = repo.git(*literally, stdin=data)

    with pytest.raises(UserError):
        tree.walk_changes(objects, None, broken)


@pytest.mark.parametrize(
    ("odd", "mode"), [("40755", TREE), ("100664", BLOB), ("100777", EXECUTABLE)]
)
def test_an_odd_mode_hides_nothing(repo, objects, odd, mode):
    """Git takes it for what it is nearest to, and checks that out."""
    blob = objects.write_blob(b"x")
    inner = objects.write_tree([Entry("f", BLOB, blob)])
    oid = inner if mode == TREE else blob
    data = b"%b n\0%b" % (odd.encode(), bytes.fromhex(oid))
    literally = ("hash-object", "-t", "tree", "-w", "--stdin", "--literally")
    stored = repo.git(*literally, stdin=data)

    [change] = tree.walk_changes(objects, None, stored)

    assert ("n/f" if mode == TREE else "n") == change.path
    assert (Entry("n", mode, oid),) == objects.tree(stored)


def test_a_tree_nested_to_any_depth_is_walked(repo):
    with discover(repo.path).objects() as objects:
        deep = objects.write_tree([Entry("f", BLOB, objects.write_blob(b"x"))])
        for _ in range(1100):
            deep = objects.write_tree([Entry("d", TREE, deep)])

        assert 1 == len(tree.walk_changes(objects, None, deep))
        assert () == tree.gitlinks(objects, deep)


_paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
_files = st.dictionaries(_paths, st.tuples(st.sampled_from(MODES), st.integers(0, 2)))


def _consistent(files):
    """Drop what lies below a path that is itself a file."""
    return {
        path: leaf
        for path, leaf in files.items()
        if not any(path.startswith(f"{other}/") for other in files)
    }


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    made = Repo.make(tmp_path_factory.mktemp("tree") / "repo", {})
    with discover(made.path).objects() as objects:
        yield made, objects


@given(_files, _files)
def test_any_two_trees_are_built_and_compared_as_git_does(shared, one, other):
    made, objects = shared
    one, other = _consistent(one), _consistent(other)

    def build(start, files):
        return tree.edit(
            objects,
            start,
            {
                path: (mode, objects.write_blob(b"%d" % content))
                for path, (mode, content) in files.items()
            },
        )

    first, second = build(None, one), build(None, other)
    changes = tree.walk_changes(objects, first, second)

    gone = dict.fromkeys(one)
    assert second == build(tree.edit(objects, first, gone), other)
    assert second == tree.edit(
        objects,
        tree.edit(
            objects, first, {x.path: None for x in changes if x.change == "deleted"}
        ),
        {x.path: (x.new_mode, x.new_blob) for x in changes if x.change != "deleted"},
    )
    expected = made.raw("diff-tree", "-r", "-z", "--no-renames", first, second)
    fields = expected.decode().split("\0")[:-1]
    assert dict(zip(fields[1::2], fields[::2], strict=True)) == {
        x.path: f":{x.old_mode:06o} {x.new_mode:06o} {x.old_blob or '0' * 40}"
        f" {x.new_blob or '0' * 40} {x.change[0].upper().replace('M', _letter(x))}"
        for x in changes
    }


def _letter(change):
    """Git calls a change between file and link T; see git-diff(1)."""
    return (
        "T"
        if LINK in (change.old_mode, change.new_mode)
        and (change.old_mode != change.new_mode)
        else "M"
    )
