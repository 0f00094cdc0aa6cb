"""Pushes to a hub: what the hooks make of them, and what the pusher reads."""

import subprocess
from contextlib import closing

import pytest

from gitagent.core.ident import submission_id
from gitagent.core.submission import SubmissionState
from gitagent.host.place import state_dir
from gitagent.host.socket import Listener
from tests.support import ledger
from tests.support.cli import call
from tests.support.daemon import record
from tests.support.repos import Repo, settings_text


@pytest.fixture
def hub(tmp_path):
    made = Repo.make(tmp_path / "hub.git", {"a": "a"}, bare=True)
    assert 0 == call(made, "init", "--no-check").code
    return made


@pytest.fixture
def clone(hub, tmp_path):
    made = hub.clone(tmp_path / "clone")
    made.commit({"b": "b\n"}, "Add b")
    return made


def push(clone: Repo, *args: str) -> tuple[int, str]:
    done = subprocess.run(
        ["git", "push", "origin", *args],
        cwd=clone.path,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def read(hub: Repo, name: str):
    found = record(hub, f"refs/gitagent/submissions/{name}")
    assert found is not None
    return found


def test_a_push_to_land_is_a_submission_told_to_the_pusher(hub, clone):
    code, said = push(clone, "HEAD:refs/heads/land/b")
    name = submission_id(clone.head())
    found = read(hub, name)

    assert 0 == code
    assert f"gitagent: land/b is submission {name} (position 1)" in said
    assert "no daemon runs" in said
    assert ("queued", "refs/heads/land/b", clone.head()) == (
        found["state"],
        found["branch"],
        found["tip"],
    )


def test_the_daemon_is_woken(hub, clone):
    heard = []
    path = state_dir(hub.common_dir) / "socket"
    listener = Listener(path, lambda message: heard.append(message) or {"ok": True})
    listener.start()
    with closing(_Stopper(listener)):
        code, said = push(clone, "HEAD:refs/heads/land/b")
        push(clone, "HEAD:refs/heads/other")

    assert 0 == code
    assert "no daemon runs" not in said
    assert [{"op": "poke"}] * 2 == heard


class _Stopper:
    def __init__(self, listener):
        self.close = listener.stop


def test_other_pushes_are_none_of_its_business(hub, clone):
    code, said = push(clone, "HEAD:refs/heads/topic")
    again, _ = push(clone, ":refs/heads/topic")

    assert (0, 0) == (code, again)
    assert "gitagent" not in said
    assert {} == hub.refs("refs/gitagent/")


def test_pushing_the_same_again_and_deleting_it_make_nothing_new(hub, clone):
    push(clone, "HEAD:refs/heads/land/b")
    code, said = push(clone, "HEAD:refs/heads/land/again")
    gone, _ = push(clone, ":refs/heads/land/b")

    assert (0, 0) == (code, gone)
    assert submission_id(clone.head()) in said
    assert 1 == len(hub.refs("refs/gitagent/submissions/"))


def test_several_refs_in_one_push_are_each_told(hub, clone):
    first = clone.head()
    clone.commit({"c": "c"})
    _, said = push(clone, f"{first}:refs/heads/land/1", "HEAD:refs/heads/land/2")

    assert "land/1 is submission" in said
    assert "land/2 is submission" in said
    assert 2 == len(hub.refs("refs/gitagent/submissions/"))


def test_what_was_rejected_before_is_told_with_the_reason(hub, clone):
    made = ledger.submission(hub, fetched(hub, clone))
    ledger.moved(hub, made, SubmissionState.REJECTED, reason="Check tests failed.")
    code, said = push(clone, "HEAD:refs/heads/land/b")

    assert 0 == code
    assert "rejected already: Check tests failed." in said


def fetched(hub: Repo, clone: Repo) -> str:
    push(clone, "HEAD:refs/heads/topic")
    assert hub.ref("refs/heads/topic")
    return clone.head()


def test_with_broken_settings_the_push_stands_and_says_so(hub, clone):
    hub.commit_at("refs/heads/main", {".agent/config.toml": "target = [\n"})
    code, said = push(clone, "HEAD:refs/heads/land/b")

    assert 0 == code
    assert clone.head() == hub.ref("refs/heads/land/b")
    assert "Traceback" not in said


def test_a_repository_that_is_not_set_up_takes_pushes_all_the_same(tmp_path):
    hub = Repo.make(tmp_path / "plain.git", {"a": "a"}, bare=True)
    call(hub, "hooks", "install")
    clone = hub.clone(tmp_path / "plain")
    clone.commit({"b": "b"})
    code, said = push(clone, "HEAD:refs/heads/land/b")
    refused, why = push(clone, "HEAD:refs/for/main")

    assert 0 == code
    assert "Traceback" not in said
    assert 1 == refused
    assert "gitagent init" in why


def test_refs_for_is_answered_with_the_submission(hub, clone):
    code, said = push(clone, "HEAD:refs/for/main", "-o", "divergence=None")
    name = submission_id(clone.head())
    found = read(hub, name)

    assert 0 == code
    assert f"gitagent: submission {name} (position 1)" in said
    assert f"refs/gitagent/submissions/{name}" in said
    assert ("None", None) == (found["divergence"], found.get("branch"))
    assert hub.ref("refs/for/main") is None


def test_a_request_id_comes_with_the_push(hub, clone):
    push(clone, "HEAD:refs/for/main", "-o", "request-id=r1")
    clone.commit({"c": "c"})
    code, _ = push(clone, "HEAD:refs/for/main", "-o", "request-id=r1")

    assert 0 == code
    assert 1 == len(hub.refs("refs/gitagent/submissions/"))


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["HEAD:refs/for/other"], "push to refs/for/main"),
        (["HEAD:refs/for/main/topic"], "push to refs/for/main"),
        (["HEAD:refs/for/main", "-o", "divergence="], "divergence is empty"),
        (["HEAD~1:refs/for/main"], "nothing to land"),
        (["HEAD^{tree}:refs/for/main"], "only a commit"),
        (["HEAD:a:refs/for/main"], ""),
        (["nowhere:refs/for/main"], ""),
        ([":refs/for/main"], ""),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(hub, clone, args, word):
    code, said = push(clone, *args)

    assert 1 == code
    assert word in said
    assert "Traceback" not in said
    assert {} == hub.refs("refs/gitagent/submissions/")


def test_one_refused_ref_does_not_take_the_others_along(hub, clone):
    code, said = push(clone, "HEAD:refs/for/main", "HEAD:refs/for/other")

    assert 1 == code
    assert "(main is the target here)" in said
    assert "push to refs/for/main" in said
    assert 1 == len(hub.refs("refs/gitagent/submissions/"))


def test_a_clone_takes_pushes_to_land_too(repo, tmp_path):
    repo.commit({".agent/config.toml": settings_text()})
    call(repo, "hooks", "install")
    other = repo.clone(tmp_path / "other")
    other.commit({"b": "b"})
    code, said = push(other, "HEAD:refs/heads/land/b")

    assert 0 == code
    assert submission_id(other.head()) in said


def test_submit_refs_of_the_settings_count(repo, tmp_path):
    extra = '[lander]\nsubmit = ["refs/heads/queue/*"]\n'
    repo.commit({".agent/config.toml": settings_text(extra=extra)})
    call(repo, "hooks", "install")
    other = repo.clone(tmp_path / "other")
    other.commit({"b": "b"})
    _, no = push(other, "HEAD:refs/heads/land/b")
    _, yes = push(other, "HEAD:refs/heads/queue/b")

    assert "submission" not in no
    assert "queue/b is submission" in yes


@pytest.mark.parametrize("text", ["", "zzzz", "0004", "000fversion=2\n0000"])
def test_anything_but_git_is_told_off(hub, text):
    answer = call(hub, "hook", "proc-receive", stdin=text)

    assert 1 == answer.code
    assert 1 == len(answer.err.splitlines())


def test_an_unknown_hook_is_refused(hub):
    assert 1 == call(hub, "hook", "pre-push").code
