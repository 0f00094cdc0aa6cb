"""Advancing a checkout of a person's: nothing of theirs is overwritten."""

import os
import subprocess

import pytest

from gitagent.errors import Busy, GitError, LostRace, UserError
from gitagent.git import advance as module
from gitagent.git.advance import Advanced, Blocked, advance
from gitagent.git.repository import discover
from tests.support.landing import MAIN, Landing, snapshot
from tests.support.repos import Repo

AGES_AGO = 1_767_603_600


@pytest.fixture
def case(tmp_path):
    return Landing(
        tmp_path / "repo",
        {
            "a": "1\n",
            "gone": "1\n",
            "other": "1\n",
            "deep/er/file": "1\n",
            ".gitignore": "*.o\n",
        },
        {"a": "2\n", "gone": None, "new/file": "new\n", "run.sh*": "#!/bin/sh\n"},
    )


# --- where nothing is checked out


def test_a_bare_repository_moves_its_ref_and_tells_why(tmp_path):
    case = Landing(tmp_path / "bare", {"a": "1"}, {"a": "2"}, bare=True)

    assert Advanced() == case.advance()
    assert case.new == case.repo.ref(MAIN)
    assert "land s-1" in case.repo.git("reflog", "show", MAIN)


def test_a_branch_that_is_checked_out_nowhere_moves_alone(case):
    case.repo.git("switch", "-q", "-c", "topic")

    assert Advanced() == case.advance()
    assert case.new == case.repo.ref(MAIN)
    assert "1\n" == (case.repo.path / "a").read_text()
    assert [] == case.repo.status()


@pytest.mark.parametrize("bare", [True, False])
def test_an_unborn_target_is_created(tmp_path, bare):
    repo = Repo.make(tmp_path / "repo", bare=bare)
    new = repo.commit_at("refs/gitagent/landing", {"a": "1", "d/b": "2"})

    result = advance(discover(repo.path), MAIN, None, new, "gitagent: land")

    assert Advanced(None if bare else repo.path) == result
    assert new == repo.ref(MAIN)
    assert bare or [] == repo.status()


def test_files_in_the_way_of_an_unborn_target_stay(tmp_path):
    repo = Repo.make(tmp_path / "repo")
    (repo.common_dir / "info").mkdir(exist_ok=True)
    (repo.common_dir / "info/exclude").write_text("a\n")
    repo.write("a", "mine")
    new = repo.commit_at("refs/gitagent/landing", {"a": "1"})

    result = advance(discover(repo.path), MAIN, None, new, "gitagent: land")

    assert ("a",) == result.paths
    assert "mine" == (repo.path / "a").read_text()
    assert repo.ref(MAIN) is None


@pytest.mark.parametrize("bare", [True, False])
def test_a_target_that_is_not_at_the_old_commit_loses_the_race(tmp_path, bare):
    case = Landing(tmp_path / "repo", {"a": "1"}, {"a": "2"}, bare=bare)
    mine = case.repo.commit({"b": "1"})

    with pytest.raises(LostRace):
        case.advance()

    assert mine == case.repo.ref(MAIN)
    assert bare or [] == case.repo.status()


def test_a_commit_that_a_person_reset_away_is_not_brought_back(case):
    """Its tip is an ancestor of the landing, so a plain --ff-only would go through."""
    middle = case.repo.commit({"b": "1"})
    case.old, case.new = middle, case.land({"c": "1"})
    case.repo.git("reset", "-q", "--hard", "HEAD~1")
    before = case.repo.head()

    with pytest.raises(LostRace):
        case.advance()

    assert before == case.repo.head()
    assert [] == case.repo.status()


# --- a checkout goes along


def test_a_clean_checkout_goes_along(case):
    assert Advanced(case.repo.path) == case.advance()
    assert case.landed
    assert [] == case.repo.status()
    assert os.access(case.repo.path / "run.sh", os.X_OK)
    assert not (case.repo.path / "gone").exists()
    assert "gitagent: land s-1" in case.repo.git("reflog", "-1")


def test_a_linked_worktree_goes_along_and_the_main_one_stays(case, tmp_path):
    case.repo.git("switch", "-q", "-c", "topic")
    linked = Repo(tmp_path / "linked")
    case.repo.git("worktree", "add", "-q", str(linked.path), "main")

    assert Advanced(linked.path) == case.advance()
    assert [] == linked.status()
    assert [] == case.repo.status()
    assert "2\n" == (linked.path / "a").read_text()


def test_edits_to_other_files_stay_staged_ones_too(case):
    case.repo.write("other", "edited\n")
    case.repo.write("staged", "new\n")
    case.repo.write("untracked", "x\n")
    case.repo.write("x.o", "ignored\n")
    case.repo.write("deep/er/file", "2\n")
    case.repo.git("add", "staged", "deep")

    case.advance()

    assert case.repo.ref(MAIN) == case.new
    assert sorted(["M  deep/er/file", "A  staged", " M other", "?? untracked"]) == (
        sorted(case.repo.status())
    )
    assert "ignored\n" == (case.repo.path / "x.o").read_text()


def ignored(repo):
    (repo.common_dir / "info").mkdir(exist_ok=True)
    (repo.common_dir / "info/exclude").write_text("new/\n")
    repo.write("new/file", "mine\n")


def staged(repo):
    repo.write("a", "mine\n")
    repo.git("add", "a")


def staged_and_restored(repo):
    staged(repo)
    repo.write("a", "1\n")


IN_THE_WAY = {
    "edit": (lambda repo: repo.write("a", "mine\n"), ("a",)),
    "staged": (staged, ("a",)),
    "staged and restored": (staged_and_restored, ("a",)),
    "edit of what lands deleted": (lambda repo: repo.write("gone", "x"), ("gone",)),
    "untracked": (lambda repo: repo.write("new/file", "mine\n"), ("new/file",)),
    "ignored": (ignored, ("new/file",)),
    "file for a folder": (lambda repo: repo.write("new", "mine\n"), ("new/file",)),
    "link for a folder": (
        lambda repo: (repo.path / "new").symlink_to("deep"),
        ("new/file",),
    ),
    "folder for a file": (lambda repo: repo.write("run.sh/x", "mine\n"), ("run.sh",)),
    "mode": (lambda repo: (repo.path / "a").chmod(0o755), ("a",)),
}


@pytest.mark.parametrize(("put", "paths"), IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_what_is_in_the_way_stays_and_is_named(case, put, paths):
    put(case.repo)
    before = snapshot(case.repo)

    result = case.advance()

    assert isinstance(result, Blocked)
    assert paths == result.paths
    assert before == snapshot(case.repo)


def test_a_conflict_elsewhere_that_is_not_resolved_is_named(case):
    repo = case.repo
    repo.write("other", "mine\n")
    repo.git("stash", "-q")
    repo.write("other", "yours\n")
    repo.git("add", "other")
    repo.git("commit", "-q", "-m", "yours")
    repo.raw("stash", "pop", ok=(1,))
    old, new = repo.head(), repo.commit_at("refs/x", {"a": "3\n"}, parents=("HEAD",))
    result = advance(discover(repo.path), MAIN, old, new, "land")
    blocked = repo.head()
    repo.git("checkout", "-q", "--theirs", "other")
    repo.git("add", "other")

    assert isinstance(result, Blocked)
    assert ("other",) == result.paths
    assert old == blocked
    assert Advanced(repo.path) == advance(discover(repo.path), MAIN, old, new, "land")


def test_once_it_is_out_of_the_way_the_landing_goes_through(case):
    case.repo.write("a", "mine\n")
    case.advance()
    case.repo.git("stash", "-q")

    assert Advanced(case.repo.path) == case.advance()
    assert case.landed


def test_names_of_every_kind_are_in_the_way_by_their_own_name(tmp_path):
    names = ["ü/ß", "a b", "-x", "line\nbreak", 'quo"te', "*x"]
    case = Landing(tmp_path / "repo", {"keep": ""}, dict.fromkeys(names, "landed\n"))
    for name in names:
        case.repo.write(name, "mine\n")

    assert sorted(names) == sorted(case.advance().paths)


def test_an_edit_that_is_the_landings_own_is_not_in_the_way(case):
    """A git killed while it wrote files leaves such ones."""
    case.repo.write("a", "2\n")
    case.repo.write("new/file", "new\n")

    assert Advanced(case.repo.path) == case.advance()
    assert [] == case.repo.status()


def test_a_missing_file_is_no_edit(case):
    case.repo.write("a", None)

    assert Advanced(case.repo.path) == case.advance()
    assert [] == case.repo.status()


# The target is a lower branch of the stack that is rebased.
STACK = """
    git switch -q -c top && git commit -q --allow-empty -m top
    GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i --update-refs HEAD~2
"""


@pytest.mark.parametrize(
    "script",
    [
        "git merge -q --no-commit --no-ff side || true",
        "git cherry-pick side || true",
        "git revert --no-commit HEAD",
        "GIT_SEQUENCE_EDITOR='echo break >' git rebase -q -i HEAD~1",
        "git rebase -q side || true",
        "git format-patch -q -1 side && git am -q *.patch || true",
        "git bisect start",
        "git bisect start && git bisect bad HEAD && git bisect good HEAD~2",
        STACK,
    ],
)
def test_a_rebase_merge_or_bisect_under_way_blocks(case, script):
    root = case.repo.head()
    case.repo.commit({"other": "2\n"})
    case.repo.commit({"other": "3\n"})
    case.repo.commit_at("refs/heads/side", {"other": "4\n"}, "side", parents=(root,))
    case.old, case.new = case.repo.head(), case.land({"a": "5\n"})
    subprocess.run(
        ["sh", "-c", script], cwd=case.repo.path, check=True, capture_output=True
    )
    before = snapshot(case.repo)

    result = case.advance()

    assert isinstance(result, Blocked), result
    assert before == snapshot(case.repo)


def test_a_rebase_of_another_branch_does_not_block(case, tmp_path):
    linked = case.repo.worktree(tmp_path / "linked", branch="topic")
    linked.commit({"other": "2\n"})
    linked.commit({"other": "3\n"})
    subprocess.run(
        ["git", "rebase", "-q", "-i", "HEAD~1"],
        cwd=linked.path,
        env=os.environ | {"GIT_SEQUENCE_EDITOR": "echo break >"},
        check=True,
        capture_output=True,
    )

    assert Advanced(case.repo.path) == case.advance()


def test_two_checkouts_of_the_target_block(case, tmp_path):
    case.repo.git("worktree", "add", "-q", "-f", str(tmp_path / "two"), "main")

    result = case.advance()

    assert isinstance(result, Blocked)
    assert str(tmp_path / "two") in result.reason
    assert case.untouched


@pytest.mark.parametrize(("locked", "kind"), [(False, Advanced), (True, Blocked)])
def test_a_checkout_that_is_gone_counts_only_if_it_can_come_back(
    case, tmp_path, locked, kind
):
    case.repo.git("switch", "-q", "-c", "topic")
    case.repo.git("worktree", "add", "-q", str(tmp_path / "usb"), "main")
    if locked:
        case.repo.git("worktree", "lock", str(tmp_path / "usb"))
    (tmp_path / "usb").rename(tmp_path / "unplugged")

    assert isinstance(case.advance(), kind)


@pytest.mark.parametrize(("branch", "kind"), [("topic", Advanced), ("main", Blocked)])
def test_a_broken_worktree_counts_only_if_it_has_the_target(
    case, tmp_path, branch, kind
):
    case.repo.git("branch", "topic")
    case.repo.git("switch", "-q", "-c", "elsewhere")
    case.repo.git("worktree", "add", "-q", str(tmp_path / "broken"), branch)
    (tmp_path / "broken/.git").write_text("gitdir: /nowhere\n")

    assert isinstance(case.advance(), kind)


@pytest.mark.parametrize("lock", ["index.lock", "HEAD.lock"])
def test_a_young_lock_of_a_persons_git_is_waited_for(case, lock):
    (case.repo.common_dir / lock).write_text("")

    with pytest.raises(Busy):
        case.advance()

    assert (case.repo.common_dir / lock).exists()
    (case.repo.common_dir / lock).unlink()
    assert case.untouched
    assert Advanced(case.repo.path) == case.advance()


def test_an_old_lock_is_told_and_never_removed(case):
    lock = case.repo.common_dir / "index.lock"
    lock.write_text("")
    os.utime(lock, (AGES_AGO, AGES_AGO))

    assert isinstance(case.advance(), Blocked)
    assert lock.exists()


def test_a_locked_ref_is_waited_for_and_nothing_stays_staged(case):
    lock = case.repo.common_dir / f"{MAIN}.lock"
    lock.write_text("")
    case.repo.write("other", "edited\n")
    case.repo.git("add", "other")

    with pytest.raises(Busy) as caught:
        case.advance()

    lock.unlink()
    assert f"if none runs there, remove {lock}" == caught.value.hint
    assert ["M  other"] == case.repo.status()
    assert case.old == case.repo.head()


# --- what a person's configuration may hold


@pytest.mark.parametrize(
    "settings",
    [
        {"merge.ff": "false"},
        {"branch.main.mergeOptions": "--no-ff -s ours --squash"},
        {"merge.autoStash": "true", "merge.stat": "true", "merge.log": "true"},
        {"merge.verifySignatures": "true", "commit.gpgSign": "true"},
        {"core.fileMode": "false"},
        {"core.autocrlf": "true"},
        {"core.splitIndex": "true", "core.untrackedCache": "true"},
        {"feature.manyFiles": "true"},
        {"submodule.recurse": "true"},
        {"status.showUntrackedFiles": "no", "core.quotePath": "false"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_no_setting_of_a_person_changes_what_an_advance_is(case, settings):
    for key, value in settings.items():
        case.repo.git("config", key, value)
    case.repo.git("rm", "-q", "-r", "--cached", ".")
    case.repo.git("reset", "-q", "--hard")

    assert Advanced(case.repo.path) == case.advance()
    assert case.landed
    assert [] == case.repo.git("status", "--porcelain", "-uall").splitlines()


def test_auto_stash_does_not_move_a_persons_edits(case):
    case.repo.git("config", "merge.autoStash", "true")
    case.repo.write("a", "mine\n")

    assert ("a",) == case.advance().paths
    assert "" == case.repo.git("stash", "list")


def test_hooks_of_a_person_do_not_run(case, tmp_path):
    for name in ("post-merge", "reference-transaction", "post-index-change"):
        case.repo.hook(name, f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")

    case.advance()

    assert case.landed
    assert not (tmp_path / "ran").exists()


def test_a_persons_filters_and_line_endings_are_used(tmp_path):
    case = Landing(
        tmp_path / "repo",
        {".gitattributes": "*.up filter=up\n*.dos text eol=crlf\n"},
        {"x.up": "text\n", "x.dos": "one\ntwo\n"},
    )
    case.repo.git("config", "--global", "filter.up.smudge", "tr a-z A-Z")
    case.repo.git("config", "--global", "filter.up.clean", "tr A-Z a-z")

    case.advance()

    assert "TEXT\n" == (case.repo.path / "x.up").read_text()
    assert b"one\r\ntwo\r\n" == (case.repo.path / "x.dos").read_bytes()
    assert [] == case.repo.status()


def test_a_filter_that_fails_leaves_the_checkout_as_it_was(tmp_path):
    case = Landing(
        tmp_path / "repo",
        {".gitattributes": "*.x filter=need\n", "a": "1\n"},
        {"a": "2\n", "z.x": "text\n"},
    )
    case.repo.git("config", "filter.need.smudge", "false")
    case.repo.git("config", "filter.need.required", "true")

    with pytest.raises(GitError):
        case.advance()

    assert case.untouched
    case.repo.git("config", "filter.need.smudge", "cat")
    case.repo.git("config", "filter.need.clean", "cat")
    assert Advanced(case.repo.path) == case.advance()
    assert [] == case.repo.status()


def test_a_sparse_checkout_stays_sparse(case):
    case.repo.git("sparse-checkout", "set", "--cone", "deep")
    assert Advanced(case.repo.path) == case.advance()
    assert not (case.repo.path / "new").exists()
    assert [] == case.repo.status()


def test_a_rename_of_case_only_and_a_file_that_becomes_a_folder(tmp_path):
    case = Landing(
        tmp_path / "repo",
        {"Readme": "1\n", "thing": "1\n", "was/a": "1\n", "l@": "Readme"},
        {
            "Readme": None,
            "README": "1\n",
            "thing": None,
            "thing/in": "2\n",
            "was/a": None,
            "was": "2\n",
            "l": "a file\n",
        },
    )

    assert Advanced(case.repo.path) == case.advance()
    assert case.landed
    assert [] == case.repo.status()


def test_a_submodule_pointer_moves_and_its_checkout_stays(tmp_path):
    sub = Repo.make(tmp_path / "sub", {"s": "1"})
    case = Landing(tmp_path / "repo", {"a": "1"}, {"a": "2"})
    case.repo.git("submodule", "--quiet", "add", str(sub.path), "sub")
    case.repo.git("commit", "-q", "-m", "sub")
    first, second = sub.head(), sub.commit({"s": "2"})
    case.repo.git("-C", "sub", "fetch", "-q")
    case.old = case.repo.head()
    case.repo.git("update-index", "--cacheinfo", f"160000,{second},sub")
    tree = case.repo.git("write-tree")
    case.repo.git("reset", "-q", "--hard")
    case.new = case.repo.git("commit-tree", "-m", "x", "-p", case.old, tree)

    assert Advanced(case.repo.path) == case.advance()
    assert [" M sub"] == case.repo.status()
    assert first == case.repo.git("-C", "sub", "rev-parse", "HEAD")


def test_a_repository_that_is_a_submodule_itself_goes_along(tmp_path):
    sub = Repo.make(tmp_path / "sub", {"s": "1"})
    outer = Repo.make(tmp_path / "outer", {"a": "1"})
    outer.git("submodule", "--quiet", "add", str(sub.path), "sub")
    inner = Repo(outer.path / "sub")
    old, new = inner.head(), inner.commit({"s": "2"})
    inner.git("reset", "-q", "--hard", old)

    result = advance(discover(inner.path), MAIN, old, new, "gitagent: land")

    assert Advanced(inner.path) == result
    assert [] == inner.status()


def test_sha256(tmp_path):
    case = Landing(tmp_path / "repo", {"a": "1"}, {"a": "2"}, object_format="sha256")

    assert Advanced(case.repo.path) == case.advance()
    assert [] == case.repo.status()


def test_without_its_guard_no_checkout_moves(case, tmp_path, monkeypatch):
    (tmp_path / "reference-transaction").write_text("#!/bin/sh\n")
    monkeypatch.setattr(module, "data_path", lambda _: tmp_path)

    with pytest.raises(UserError):
        case.advance()

    assert case.untouched
