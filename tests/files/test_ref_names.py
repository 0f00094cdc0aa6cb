import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitagent.core.ident import (
    branch_problem,
    ref_matches,
    ref_pattern_reaches,
    ref_problem,
)

parts = st.sampled_from(
    ["a", "é", ".", "..", "/", "@", "{", "~", "lock", " ", "-", "*"]
)


@settings(max_examples=80)
@given(st.lists(parts, min_size=1, max_size=5).map("".join))
@example("x.lock/y")
@example("@{")
@example("a\x7f")
def test_a_ref_name_is_good_where_git_says_so(name):
    done = subprocess.run(
        ["git", "check-ref-format", f"refs/heads/{name}"], check=False
    )

    assert (done.returncode == 0) == (ref_problem(f"refs/heads/{name}") is None)


@pytest.mark.parametrize("branch", ["-x", "HEAD", "", "a b", "a..b", "a/", "x.lock"])
def test_a_name_that_cannot_be_a_branch_is_refused(branch):
    assert branch_problem(branch)


@pytest.mark.parametrize("ref", ["main", "refs/main", "heads/main", "refs/heads/"])
def test_a_full_ref_name_has_its_namespace(ref):
    assert ref_problem(ref)


@pytest.mark.parametrize(
    ("pattern", "ref", "covers"),
    [
        ("refs/heads/land/**", "refs/heads/land/x", True),
        ("refs/heads/land/**", "refs/heads/land/x/y", True),
        ("refs/heads/land/**", "refs/heads/land", False),
        ("refs/heads/land/**", "refs/heads/landing/x", False),
        ("refs/heads/land/*", "refs/heads/land/x/y", False),
        ("refs/heads/land/*", "refs/heads/land/x", True),
        ("refs/heads/*-land", "refs/heads/x-land", True),
        ("refs/heads/?", "refs/heads/x", True),
        ("refs/heads/?", "refs/heads/xy", False),
        ("refs/**/land", "refs/heads/a/land", True),
        ("refs/**/land", "refs/land", True),
        ("refs/heads/v1.0", "refs/heads/v1x0", False),
        ("refs/heads/land", "refs/heads/land", True),
        ("refs/heads/land", "refs/heads/land\n", False),
    ],
)
def test_what_a_pattern_of_refs_covers(pattern, ref, covers):
    assert covers == ref_matches(pattern, ref)


@pytest.mark.parametrize(
    ("pattern", "reaches"),
    [
        ("refs/heads/land/**", False),
        ("refs/gitagentx/**", False),
        ("refs/gitagent", False),
        ("refs/gitagent/**", True),
        ("refs/gitagent/tasks/x", True),
        ("refs/**", True),
        ("refs/*/x", True),
        ("refs/git*/x", True),
        ("**", True),
    ],
)
def test_whether_a_pattern_can_cover_a_ref_in_a_folder(pattern, reaches):
    assert reaches == ref_pattern_reaches(pattern, "refs/gitagent")
