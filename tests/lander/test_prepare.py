import subprocess
from functools import partial

import pytest

from gitagent.core.candidate import Change
from gitagent.git.objects import BLOB, TREE, Entry
from gitagent.lander import prepare
from gitagent.lander.scope import colliding, fold, only_in
from tests.support.lander import Bench


def test_a_tip_that_the_target_has_is_contained(made: Bench):
    candidate = made.prepare(made.submit(made.target))

    assert candidate.contained
    assert "" == candidate.commit


def test_a_candidate_says_what_the_merge_changes(made: Bench):
    tip = made.offer({"a.txt": "one\n", "README.md": "# changed\n"})
    made.repo.commit({"b.txt": "meanwhile\n"})
    candidate = made.prepare(made.submit(tip))

    assert (("README.md", Change.MODIFIED), ("a.txt", Change.ADDED)) == tuple(
        (each.path, each.change) for each in candidate.changes
    )
    assert {"README.md", "a.txt", "b.txt"} <= set(made.repo.paths(candidate.commit))
    assert (made.target, tip) == made.objects.commit(candidate.commit).parents
    assert candidate.product == made.objects.commit(candidate.commit).tree


def test_the_commit_under_check_has_the_product_tree_and_no_records(made: Bench):
    made.repo.add_task("open", "true")
    more = ".agent/tasks/more.md"
    tip = made.offer({"a.txt": "one\n", more: "# More\n"})
    candidate = made.prepare(made.submit(tip))

    under_check = made.repo.paths(candidate.commit)
    assert {".agent/config.toml", "README.md", "a.txt"} == set(under_check)
    assert {"a.txt", more} == {each.path for each in candidate.changes}


def test_a_line_is_merged_one_onto_the_other(made: Bench):
    tips = [made.offer({name: f"{name}\n"}, branch=name) for name in "abc"]
    base = made.target
    bare, *line = made.line(*(made.submit(tip) for tip in tips))

    assert (base, ()) == bare.key
    for k, each in enumerate(line, 1):
        assert tuple(tips[:k]) == each.tips
        assert ["abc"[k - 1]] == [change.path for change in each.changes]
        pinned = prepare.pin(made.repository, made.objects, each)
        assert (base, *tips[:k]) == made.objects.commit(pinned.commit).parents
        assert {*"abc"[:k]} == set(made.repo.paths(pinned.commit)) & {*"abc"}


def test_a_line_ends_with_what_conflicts_with_one_ahead_of_it(made: Bench):
    one = made.offer({"README.md": "# one\n"}, branch="one")
    other = made.offer({"README.md": "# other\n"}, branch="other")
    last = made.offer({"c": "c\n"}, branch="last")
    *_, found = made.line(*(made.submit(tip) for tip in (one, other, last)))

    assert (one, other) == found.tips
    assert ("README.md",) == found.conflicts
    assert not found.final


def test_what_conflicts_with_the_target_too_does_so_finally(made: Bench):
    other = made.offer({"README.md": "# other\n"}, branch="other")
    one = made.offer({"a": "a\n"}, branch="one")
    made.repo.commit({"README.md": "# meanwhile\n"})
    *_, found = made.line(made.submit(one), made.submit(other))

    assert (one, other) == found.tips
    assert found.conflicts
    assert found.final


def test_what_is_known_is_not_made_again(made: Bench):
    one, two = (made.submit(made.offer({n: n}, branch=n)) for n in ("one", "two"))
    known = {each.key: each for each in made.line(one)}
    lines = [(one,), (one, two)]
    new = prepare.prepare(made.repository, made.objects, made.target, lines, known)

    tips = [[each.tips for each in line] for line in new]
    assert [[], [(one.tip, two.tip)]] == tips


def test_a_records_only_move_of_the_target_keeps_the_product_tree(made: Bench):
    submission = made.submit(made.offer({"a.txt": "one\n"}))
    before = made.prepare(submission)
    made.repo.add_task("other", "true")
    after = made.prepare(submission)

    assert before.base != after.base
    assert before.product == after.product


def test_preparing_again_gives_the_same_commit(made: Bench):
    submission = made.submit(made.offer({"a.txt": "one\n"}))

    assert made.prepare(submission) == made.prepare(submission)


def test_the_candidate_survives_a_gc_that_prunes_at_once(made: Bench):
    submission = made.submit(made.offer({"a.txt": "one\n"}))
    candidate = made.prepare(submission)
    made.repo.git("gc", "-q", "--prune=now")

    assert candidate.commit == made.repo.ref(prepare.pin_ref(candidate))
    made.repo.fsck()


def test_a_candidate_that_is_let_go_has_no_ref(made: Bench):
    candidate = made.prepare(made.submit(made.offer({"a.txt": "one\n"})))
    prepare.unpin(made.repository, [candidate])
    prepare.unpin(made.repository, [candidate])

    assert {} == made.repo.refs("refs/gitagent/candidates/")


def test_a_textual_conflict_gives_the_paths(made: Bench):
    tip = made.offer({"README.md": "# theirs\n", "a.txt": "one\n"})
    made.repo.commit({"README.md": "# ours\n"})
    candidate = made.prepare(made.submit(tip))

    assert ("README.md",) == candidate.conflicts
    assert "" == candidate.commit
    assert {} == made.repo.refs("refs/gitagent/candidates/")


def test_a_history_of_its_own_is_a_conflict(made: Bench):
    tip = made.repo.commit_at("refs/heads/other", {"x": "y"}, parents=())
    candidate = made.prepare(made.submit(tip))

    assert candidate.conflicts
    assert "" == candidate.product


@pytest.mark.slow
def test_what_unfolds_without_end_is_found_before_git_unfolds_it(
    made: Bench, monkeypatch: pytest.MonkeyPatch
):
    """A deletion lets git look for renames, in all that is new."""
    monkeypatch.delattr(prepare.Round, "_merge")
    # Of as many as are the limit, the counting alone would take seconds.
    few = partial(prepare.walk_changes, limit=10_000)
    monkeypatch.setattr(prepare, "walk_changes", few)
    objects = made.objects
    bomb = objects.write_tree([Entry("f", BLOB, objects.write_blob(b"boom"))])
    for _ in range(5):
        bomb = objects.write_tree([Entry(f"d{n}", TREE, bomb) for n in range(8)])
    top = objects.tree(objects.commit(made.target).tree)
    kept = [entry for entry in top if entry.name != "README.md"]
    who = objects.commit(made.target).author
    tree = objects.write_tree([*kept, Entry("bomb", TREE, bomb)])
    tip = objects.write_commit(tree, (made.target,), "Boom\n", who, who)
    candidate = made.prepare(made.submit(tip))

    assert "a tree unfolds to more than 10000 paths" in candidate.fault
    assert "" == candidate.commit


@pytest.mark.parametrize("path", [".agent", ".agent/tasks", ".agent/memory"])
def test_what_stands_where_records_are_kept_is_a_fault(made: Bench, path: str):
    made.repo.add_task("open", "true")
    files = {".agent/config.toml": None, ".agent/tasks/open.md": None}
    tip = made.repo.commit_at(
        "refs/heads/work", {**files, f"{path}@": "x"}, parents=(made.target,)
    )
    found = made.prepare(made.submit(tip))

    assert "has to be a folder" in found.fault
    assert found.final


def test_settings_that_are_a_link_are_a_fault(made: Bench):
    text = "lander.allow_unchecked = true"
    tip = made.repo.commit_at(
        "refs/heads/work", {".agent/config.toml@": text}, parents=(made.target,)
    )

    assert "has to be a regular file" in made.prepare(made.submit(tip)).fault


def test_a_path_that_no_checkout_can_hold_is_a_fault(made: Bench):
    objects = made.objects
    blob = objects.write_blob(b"x")
    top = objects.tree(objects.commit(made.target).tree)
    who = objects.commit(made.target).author
    tree = objects.write_tree([*top, Entry("n" * 300, BLOB, blob)])
    tip = objects.write_commit(tree, (made.target,), "Long\n", who, who)

    assert made.prepare(made.submit(tip)).fault


def test_a_new_name_that_differs_only_in_case_or_accents_collides(made: Bench):
    composed, apart = "caf\u00e9.txt", "cafe\u0301.txt"
    files = {"src/Foo.py": "1", composed: "1", "Docs/a.md": "1", "free.txt": "1"}
    made.repo.commit(files)
    new = {
        "src/foo.py": "2",
        apart: "2",
        "docs/b.md": "2",
        "src/bar.py": "2",
        "twin": "1",
        "TWIN": "2",
    }
    candidate = made.prepare(made.submit(made.offer(new)))

    expected = {"src/foo.py", apart, "docs/b.md", "twin", "TWIN"}
    assert expected == set(candidate.colliding)


def test_a_rename_that_changes_only_the_case_does_not_collide(made: Bench):
    made.repo.commit({"Readme.txt": "same\n", "Dir/x": "1"})
    files = {"Readme.txt": None, "README.txt": "same\n", "Dir/x": None, "dir/x": "1"}
    candidate = made.prepare(made.submit(made.offer(files)))

    assert () == candidate.colliding


def test_what_the_target_has_already_collides_with_nothing_new(made: Bench):
    made.repo.commit_at("refs/heads/main", {"A/x": "1", "a/x": "1"})
    made.repo.commit_at("refs/heads/main", {"A/y": "1"})
    candidate = made.prepare(made.submit(made.offer({"b": "1", "a/z": "1"})))

    assert () == candidate.colliding


def test_a_file_under_a_second_spelling_of_its_folder_collides(made: Bench):
    made.repo.commit_at("refs/heads/main", {"A/x": "1", "a/x": "1", "A/Y": "1"})
    candidate = made.prepare(made.submit(made.offer({"a/y": "1"})))

    assert ("a/y",) == candidate.colliding


def test_colliding_reads_only_the_folders_of_what_is_new(made: Bench):
    wide = {f"d{n}/f{m}": "x" for n in range(20) for m in range(5)}
    made.repo.commit_at("refs/heads/main", wide)
    candidate = made.prepare(made.submit(made.offer({"d3/new": "1"})))
    read: list[str] = []
    objects = made.objects

    class Counting:
        def tree(self, oid: str) -> object:
            read.append(oid)
            return objects.tree(oid)

    base = objects.commit(candidate.base).tree
    after = made.objects.commit(candidate.commit).tree
    found = colliding(Counting(), base, after, candidate.changes)

    assert () == found
    assert len(read) <= 4


def test_sharp_s_and_final_sigma_fold_as_file_systems_do():
    assert fold("STRASSE") == fold("stra\u00dfe")
    assert fold("\u03a3") == fold("\u03c2")
    assert fold("a") != fold("b")


def test_only_in_tells_whether_the_rest_is_the_same(made: Bench):
    old = made.objects.commit(made.target).tree
    made.repo.add_task("one", "true")
    tasks = made.objects.commit(made.target).tree
    made.repo.commit({".agent/config.toml": "# empty\n"})
    config = made.objects.commit(made.target).tree

    assert only_in(made.objects, old, tasks, (".agent/tasks",))
    assert not only_in(made.objects, old, config, (".agent/tasks",))
    assert only_in(made.objects, old, config, (".agent",))
    assert not only_in(made.objects, None, old, (".agent",))


def test_a_file_in_place_of_a_record_folders_parent_is_noticed(made: Bench):
    old = made.objects.commit(made.target).tree
    made.repo.commit_at("refs/heads/main", {".agent": "a file\n"})
    new = made.objects.commit(made.target).tree

    assert not only_in(made.objects, old, new, (".agent/tasks",))


def test_the_repositorys_configuration_and_hooks_decide_nothing(made: Bench):
    hit = made.repo.path / "hit"
    made.repo.git("config", "merge.default", "evil")
    made.repo.git("config", "merge.evil.driver", f"touch {hit}")
    tip = made.offer({"README.md": "# a repository\ntheirs\n"})
    made.repo.commit_at("refs/heads/main", {"README.md": "ours\n# a repository\n"})
    before = subprocess.check_output(["git", "-C", made.repo.path, "config", "-l"])
    made.repo.hook("reference-transaction", f"#!/bin/sh\ntouch {hit}\n")
    made.prepare(made.submit(tip))

    assert not hit.exists()
    after = subprocess.check_output(["git", "-C", made.repo.path, "config", "-l"])
    assert before == after
