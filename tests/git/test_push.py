"""Pushes and claims: never forced, and nothing asks for a password."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from gitagent.git.push import (
    Claim,
    NotPushed,
    Pushed,
    Refusal,
    claim,
    fetch,
    push,
    read_claim,
    unclaim,
)
from gitagent.git.repository import discover
from tests.support.repos import Repo

MAIN = "refs/heads/main"
CLAIM = "refs/gitagent/claims/fix"


@pytest.fixture
def hub(repo, tmp_path):
    return repo.clone(tmp_path / "hub", bare=True)


@pytest.fixture
def clone(hub, tmp_path):
    return hub.clone(tmp_path / "clone")


def pushed(repo, ref=MAIN, **how):
    return push(discover(repo.path), "origin", ref, repo.oid(ref), **how)


def refusal(result):
    assert isinstance(result, NotPushed), result
    assert result.reason.endswith(".")
    return result.refusal


def test_a_landing_is_pushed_and_once_more_is_no_change(clone, hub):
    tip = clone.commit({"a": "1"})

    assert Pushed() == pushed(clone)
    assert Pushed() == pushed(clone)
    assert tip == hub.ref(MAIN)


def test_a_new_branch_is_made_there(clone, hub):
    clone.branch("agents")

    assert Pushed() == pushed(clone, "refs/heads/agents")
    assert clone.head() == hub.ref("refs/heads/agents")


def test_only_the_one_ref_is_pushed_and_no_hook_runs(clone, hub, tmp_path):
    clone.git("config", "push.followTags", "true")
    clone.hook("pre-push", f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    clone.branch("other")
    clone.commit({"a": "1"})
    clone.git("tag", "-a", "v1", "-m", "v1")

    pushed(clone)

    assert [MAIN] == list(hub.refs())
    assert not (tmp_path / "ran").exists()


def test_a_remote_that_moved_is_never_forced(clone, hub):
    theirs = hub.commit({"b": "1"})
    clone.commit({"a": "1"})
    clone.git("config", "remote.origin.push", "+refs/heads/*:refs/heads/*")

    assert Refusal.BEHIND is refusal(pushed(clone))
    assert theirs == hub.ref(MAIN)


@pytest.mark.parametrize("hook", ["pre-receive", "update"])
def test_a_hook_that_refuses_is_quoted(clone, hub, hook):
    hub.hook(hook, "#!/bin/sh\necho 'tests first' >&2\necho 'and docs' >&2\nexit 1\n")
    before = hub.ref(MAIN)
    clone.commit({"a": "1"})

    result = pushed(clone)

    assert Refusal.REFUSED is refusal(result)
    assert "tests first and docs" in result.reason
    assert before == hub.ref(MAIN)


def test_a_checked_out_branch_of_the_remote_is_refused(repo, tmp_path):
    clone = repo.clone(tmp_path / "clone")
    clone.commit({"a": "1"})

    assert Refusal.REFUSED is refusal(pushed(clone))
    assert [] == repo.status()


@pytest.mark.parametrize(
    "url",
    [
        "/no/such/repository",
        "ext::sh -c touch% ran",
        "https://localhost:1/x.git",
        "ssh://localhost:1/x.git",
    ],
)
def test_a_remote_that_cannot_be_reached(clone, url):
    clone.git("config", "remote.origin.url", url)
    clone.commit({"a": "1"})

    assert Refusal.UNREACHABLE is refusal(pushed(clone, timeout=20))
    assert not (clone.path / "ran").exists()


def test_a_remote_that_asks_or_hangs_is_given_up(clone):
    clone.git("config", "remote.origin.url", "ssh://host/x.git")
    clone.git("config", "core.sshCommand", "sleep 300; :")

    assert Refusal.UNREACHABLE is refusal(pushed(clone, timeout=0.5))


@pytest.mark.parametrize(
    "name", ["nowhere", "", "-x", "--mirror", "../hub", "ext::sh -c 'touch ran'"]
)
def test_only_a_remote_that_has_a_name_here_is_pushed_to(clone, name):
    found = discover(clone.path)

    result = push(found, name, MAIN, clone.head())

    assert Refusal.UNREACHABLE is refusal(result)
    assert Refusal.UNREACHABLE is refusal(read_claim(found, name, "fix"))


def test_credentials_of_the_person_are_used(clone, hub, tmp_path):
    """A helper in the person's own configuration, here the command for ssh."""
    ran = tmp_path / "ran"
    clone.git("config", "remote.origin.url", f"ssh://host{hub.path}")
    clone.git(
        "config", "--global", "core.sshCommand", f"f() {{ touch {ran}; eval $4; }}; f"
    )
    clone.git("config", "--global", "ssh.variant", "simple")
    clone.commit({"a": "1"})

    pushed(clone, timeout=20)

    assert ran.exists()


# --- claims


def make_claim(repo, who):
    tree = repo.git("mktree")
    return repo.git("commit-tree", "-m", f"{who} works on it", tree)


def test_one_of_two_clones_gets_the_task(clone, hub, tmp_path):
    other = hub.clone(tmp_path / "other")
    ours, theirs = make_claim(clone, "one"), make_claim(other, "two")

    assert Pushed() == claim(discover(clone.path), "origin", "fix", ours)
    assert Pushed() == claim(discover(clone.path), "origin", "fix", ours)
    result = claim(discover(other.path), "origin", "fix", theirs)

    assert Refusal.BEHIND is refusal(result)
    assert ours == hub.ref(CLAIM)
    found = read_claim(discover(other.path), "origin", "fix")
    assert Claim(ours, "one works on it\n") == found


def test_at_the_same_moment_exactly_one_gets_it(hub, tmp_path):
    clones = [hub.clone(tmp_path / f"c{n}") for n in range(4)]

    def take(each):
        oid = make_claim(each, each.path.name)
        return claim(discover(each.path), "origin", "fix", oid)

    with ThreadPoolExecutor(len(clones)) as threads:
        results = list(threads.map(take, clones))

    assert 1 == results.count(Pushed())
    assert {Refusal.BEHIND} == {refusal(x) for x in results if x != Pushed()}


def test_a_claim_is_given_back_by_its_holder_only(clone, hub):
    found = discover(clone.path)
    ours, theirs = make_claim(clone, "one"), make_claim(clone, "two")
    claim(found, "origin", "fix", theirs)

    assert Refusal.BEHIND is refusal(unclaim(found, "origin", "fix", ours))
    assert theirs == hub.ref(CLAIM)
    assert Pushed() == unclaim(found, "origin", "fix", theirs)
    assert Pushed() == unclaim(found, "origin", "fix", theirs)
    assert hub.ref(CLAIM) is None
    assert read_claim(found, "origin", "fix") is None


def test_a_claim_that_is_a_blob_is_read(clone, hub):
    oid = hub.git("hash-object", "-w", "--stdin", stdin=b"somebody")
    hub.git("update-ref", CLAIM, oid)

    assert Claim(oid, "somebody") == read_claim(discover(clone.path), "origin", "fix")


def test_reading_a_claim_leaves_nothing_here(clone, hub):
    hub.git("update-ref", CLAIM, make_claim(hub, "other"))
    before = clone.refs()

    read_claim(discover(clone.path), "origin", "fix")

    assert before == clone.refs()
    assert not (clone.common_dir / "FETCH_HEAD").exists()
    assert not (clone.common_dir / "shallow").exists()


def test_a_bare_hub_pushes_too(hub, tmp_path):
    far = Repo.make(tmp_path / "far", bare=True)
    hub.git("remote", "set-url", "origin", str(far.path))

    assert Pushed() == pushed(hub)
    assert hub.ref(MAIN) == far.ref(MAIN)


# --- what the remote has


SEEN = "refs/gitagent/remote/origin"


def fetched(repo, ref=MAIN):
    return fetch(discover(repo.path), "origin", ref, SEEN)


def test_what_the_remote_has_is_kept_and_no_other_ref_moves(clone, hub):
    before = clone.refs()
    there = hub.commit_at(MAIN, {"a": "1"})

    assert there == fetched(clone)
    assert before | {SEEN: there} == clone.refs()
    assert not (clone.common_dir / "FETCH_HEAD").exists()


def test_a_remote_that_was_rewound_is_seen_as_it_is(clone, hub):
    first = hub.ref(MAIN)
    hub.commit_at(MAIN, {"a": "1"})
    fetched(clone)
    hub.git("update-ref", MAIN, first)

    assert first == fetched(clone)


def test_a_branch_that_is_not_there_is_nothing(clone):
    assert None is fetched(clone, "refs/heads/none")
    assert {} == clone.refs("refs/gitagent/")


def test_what_cannot_be_fetched_has_a_reason(clone, tmp_path):
    clone.git("remote", "set-url", "origin", str(tmp_path / "gone"))

    assert Refusal.UNREACHABLE is refusal(fetched(clone))
    assert Refusal.UNREACHABLE is refusal(
        fetch(discover(clone.path), "--upload-pack=x", MAIN, SEEN)
    )


def test_an_unsound_object_is_not_taken_over(clone, hub):
    tree = hub.oid(f"{MAIN}^{{tree}}")
    bad = f"tree {tree}\nauthor x\ncommitter x <x> 1 +0000\n\nbad\n".encode()
    oid = hub.git(
        "hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=bad
    )
    hub.git("update-ref", MAIN, oid)

    assert isinstance(fetched(clone), NotPushed)
    assert {} == clone.refs("refs/gitagent/")
