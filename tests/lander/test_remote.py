"""Talking to the remote: pushed, or told what it has that the target lacks."""

import pytest

from gitagent.git.repository import discover
from gitagent.lander.remote import Exchange, exchange
from tests.support.repos import Repo

MAIN = "refs/heads/main"
SEEN = "refs/gitagent/remote/origin"


@pytest.fixture
def hub(repo, tmp_path):
    return repo.clone(tmp_path / "hub", bare=True)


@pytest.fixture
def clone(hub, tmp_path):
    return hub.clone(tmp_path / "clone")


def talk(repo: Repo, *, send: bool = True) -> Exchange:
    found = discover(repo.path)
    return exchange(found, "origin", MAIN, repo.oid(MAIN), send=send)


def test_what_was_pushed_is_what_was_seen_last(clone, hub):
    tip = clone.commit({"a": "1"})

    assert Exchange(pushed=True) == talk(clone)
    assert (tip, tip) == (hub.ref(MAIN), clone.ref(SEEN))


def test_looking_pushes_nothing(clone, hub):
    before = hub.ref(MAIN)
    clone.commit({"a": "1"})

    assert Exchange() == talk(clone, send=False)
    assert (before, before) == (hub.ref(MAIN), clone.ref(SEEN))


@pytest.mark.parametrize("send", [True, False])
def test_a_remote_that_moved_is_told_with_its_commit(clone, hub, send):
    there = hub.commit_at(MAIN, {"b": "1"})
    clone.commit({"a": "1"})

    assert Exchange(moved=there) == talk(clone, send=send)
    assert there == clone.ref(SEEN) == hub.ref(MAIN)


def test_once_it_is_merged_the_next_push_adds_to_it(clone, hub):
    there = hub.commit_at(MAIN, {"b": "1"})
    clone.commit({"a": "1"})
    talk(clone)
    clone.git("merge", "-q", "--no-edit", SEEN)

    assert Exchange(pushed=True) == talk(clone)
    assert 0 == hub.ask("merge-base", "--is-ancestor", there, MAIN)


def test_a_hook_that_says_no_is_no_move(clone, hub):
    hub.hook("pre-receive", "#!/bin/sh\necho not today >&2\nexit 1\n")
    clone.commit({"a": "1"})
    said = talk(clone)

    assert (False, None) == (said.pushed, said.moved)
    assert "not today" in said.error


def test_a_remote_out_of_reach_is_an_error_whatever_is_asked(clone, tmp_path):
    clone.git("remote", "set-url", "origin", str(tmp_path / "gone"))

    assert all(talk(clone, send=send).error for send in (True, False))


def test_a_remote_without_the_target_has_nothing_beyond_it(clone, hub):
    hub.git("update-ref", "-d", MAIN)

    assert Exchange() == talk(clone, send=False)
    assert Exchange(pushed=True) == talk(clone)
