"""gitagent approve: what is shown, what is written, and when the answer is no."""

import json

import pytest

from gitagent.core.ident import submission_id
from gitagent.core.submission import SubmissionState
from gitagent.core.task import TaskState
from tests.support import ledger
from tests.support.cli import call
from tests.support.daemon import record
from tests.support.keys import Key
from tests.support.repos import settings_text

CONFIG = ".agent/config.toml"
ME = "person@example.org"
SIGNERS = "signers"


@pytest.fixture(autouse=True)
def _set_up(repo):
    call(repo, "init", "--no-check")


def submitted(repo, files, branch="work"):
    """Hand a branch over and return the submission's id."""
    return submission_tip(repo, files, branch)[0]


def submission_tip(repo, files, branch="work"):
    """Hand a branch over; return the submission's id and its tip."""
    tip = repo.commit(files, branch=branch)
    return call(repo, "submit", branch).lines[0], tip


def approval(repo, name):
    """Return the newest approval of a submission, or None."""
    return record(repo, f"refs/gitagent/approvals/{name}")


@pytest.fixture
def trusting(repo, tmp_path):
    """Have approvals signed; return the key that may."""
    key = Key.make(tmp_path / "key")
    settings = settings_text("true", f'[trust]\nallowed_signers = "{SIGNERS}"')
    repo.commit({SIGNERS: key.allowed(ME), CONFIG: settings}, "Trust")
    return key


def test_the_paths_are_shown_with_old_and_new_blob_and_written(repo):
    old = repo.oid(f"HEAD:{CONFIG}")[:12]
    files = {CONFIG: settings_text("make"), ".mcp.json": "{\n}\n", "a": "a\n"}
    name, tip = submission_tip(repo, files)
    answer = call(repo, "approve", name, "--because", "we want make")
    new = [repo.oid(f"work:{path}") for path in (CONFIG, ".mcp.json")]
    found = approval(repo, name)

    assert (0, name) == (answer.code, answer.lines[-1])
    assert f"{CONFIG}  {old} -> {new[0][:12]}" in answer.lines[0]
    assert f".mcp.json  nothing -> {new[1][:12]}  +2 -0" in answer.lines[1]
    assert "no daemon runs" in answer.err
    assert found is not None
    assert (name, tip, "we want make") == tuple(
        found[key] for key in ("submission", "tip", "why")
    )
    assert [[CONFIG, 0o100644, new[0]], [".mcp.json", 0o100644, new[1]]] == [
        [each[key] for key in ("path", "mode", "blob")] for each in found["paths"]
    ]
    assert f"Test Person <{ME}>" == repo.git(
        "log", "-1", "--format=%an <%ae>", f"refs/gitagent/approvals/{name}"
    )


def test_deleted_and_executable_paths_say_so(repo):
    repo.commit({".mcp.json": "{}"}, "Add")
    ref, files = "refs/heads/work", {".mcp.json": None, ".claude/run*": "#!/bin/sh\n"}
    repo.commit_at(ref, files, parents=(repo.head(),))
    answer = call(repo, "approve", call(repo, "submit", "work").lines[0])

    assert "mode 100755" in answer.lines[0]
    assert "-> nothing" in answer.lines[1]


def test_approving_again_is_no_second_approval(repo):
    name = submitted(repo, {".mcp.json": "{}"})
    call(repo, "approve", name)
    before = repo.refs("refs/gitagent/approvals/")
    answer = call(repo, "approve", name)

    assert (0, name) == (answer.code, answer.lines[-1])
    assert "approved this already" in answer.err
    assert before == repo.refs("refs/gitagent/approvals/")


def test_content_that_changed_is_approved_anew(repo):
    repo.commit({".mcp.json": "1\n2\n3\n4\n5\n"}, "Begin")
    name = submitted(repo, {".mcp.json": "1\n2\n3\n4\n5\n6\n"})
    call(repo, "approve", name)
    repo.commit({".mcp.json": "0\n1\n2\n3\n4\n5\n"}, "Meanwhile")
    answer = call(repo, "approve", name)
    found = approval(repo, name)

    assert "approved by" in answer.err
    assert found is not None
    assert [repo.oid("work:.mcp.json")] != [each["blob"] for each in found["paths"]]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"a": "a"}, "nothing in"),
        ({"README.md": "other\n"}, "conflicts with the target in README.md"),
    ],
)
def test_where_there_is_nothing_to_approve_the_answer_is_no(repo, files, reason):
    name = submitted(repo, files)
    repo.commit({"README.md": "ours\n"}, "Ours")
    answer = call(repo, "approve", name)

    assert (1, "") == (answer.code, answer.out)
    assert reason in answer.err
    assert 1 == len(answer.err.splitlines())
    assert approval(repo, name) is None


def test_a_settled_one_an_unknown_one_and_a_task_without_work_are_refused(repo):
    name = submitted(repo, {".mcp.json": "{}"})
    made = ledger.submission(repo, repo.commit({"b": "b"}, branch="b"))
    ledger.moved(repo, made, SubmissionState.REJECTED, reason="No.")
    answers = [
        call(repo, "approve", other)
        for other in (made.id, submission_id("x"), "no-task", "..", "-x")
    ]

    assert [1, 1, 1, 1, 2] == [answer.code for answer in answers]
    assert "rejected for good" in answers[0].err
    assert approval(repo, name) is None


@pytest.mark.parametrize("lasting", ["", "soon", "-1d", "0"])
def test_a_time_that_is_none_is_wrong_usage(repo, lasting):
    name = submitted(repo, {".mcp.json": "{}"})
    answer = call(repo, "approve", name, "--for", lasting)

    assert (2, "") == (answer.code, answer.out)
    assert approval(repo, name) is None


def test_an_approval_can_be_for_a_time(repo):
    name = submitted(repo, {".mcp.json": "{}"})
    call(repo, "approve", name, "--for", "2d")
    found = approval(repo, name)

    assert found is not None
    assert found["when"] < found["until"]


def test_where_signers_are_named_it_is_signed_with_gits_key_or_the_one_given(
    repo, trusting
):
    first = submitted(repo, {".mcp.json": "{}"}, "first")
    second = submitted(repo, {".mcp.json": "[]"}, "second")
    given = call(repo, "approve", first, "--key", str(trusting.path))
    repo.git("config", "gpg.format", "ssh")
    repo.git("config", "user.signingkey", str(trusting.path))
    configured = call(repo, "approve", second)
    allowed = f"gpg.ssh.allowedSignersFile={repo.path / SIGNERS}"

    assert (0, 0) == (given.code, configured.code), given.err + configured.err
    for name in (first, second):
        ref = f"refs/gitagent/approvals/{name}"
        assert 0 == repo.ask("-c", allowed, "verify-commit", ref)


def test_an_approval_that_would_not_count_is_refused_at_once(repo, trusting, tmp_path):
    name = submitted(repo, {".mcp.json": "{}"})
    other = Key.make(tmp_path / "other")
    locked = Key.make(tmp_path / "locked", passphrase="open sesame")  # noqa: S106
    answers = [
        call(repo, "approve", name),
        call(repo, "approve", name, "--key", str(other.path)),
        call(repo, "approve", name, "--key", str(locked.path)),
    ]

    assert [1, 1, 1] == [answer.code for answer in answers]
    assert "--key FILE" in answers[0].err
    assert f"no key that may sign for {ME}" in answers[1].err
    assert "ssh-add" in answers[2].err
    assert [1, 1, 1] == [len(answer.err.splitlines()) for answer in answers]
    assert approval(repo, name) is None
    assert trusting.path.exists()


def test_an_approval_that_does_not_count_is_named_and_replaced(repo, trusting):
    name, tip = submission_tip(repo, {".mcp.json": "{}"})
    text = {
        "version": 1,
        "submission": name,
        "tip": tip,
        "by": f"Test Person <{ME}>",
        "when": "2026-11-30T12:00:00Z",
        "paths": [],
    }
    ref = f"refs/gitagent/approvals/{name}"
    forged = {"record-v1.json": json.dumps(text)}
    repo.commit_at(ref, forged, author=f"Test Person <{ME}>")
    before = call(repo, "status", name)
    answer = call(repo, "approve", name, "--key", str(trusting.path))

    assert "does not count: its commit is that of something else" in before.out
    assert 0 == answer.code
    assert "does not count: its commit is that of something else" in answer.err
    assert "1 path by Test Person" in call(repo, "status", name).out


def test_the_file_of_signers_itself_needs_an_approval(repo, trusting, tmp_path):
    mine = Key.make(tmp_path / "mine")
    name = submitted(repo, {SIGNERS: mine.allowed(ME)})
    with_new = call(repo, "approve", name, "--key", str(mine.path))
    with_old = call(repo, "approve", name, "--key", str(trusting.path))

    assert (1, 0) == (with_new.code, with_old.code)


def test_a_task_is_named_for_its_newest_submission(repo):
    tip = repo.commit({".mcp.json": "{}"}, branch="agent/fix")
    made = ledger.submission(repo, tip, task="fix")
    ledger.task(repo, "fix", TaskState.SUBMITTED, submission=made.id)
    answer = call(repo, "approve", "fix")

    assert (0, made.id) == (answer.code, answer.lines[-1])


def test_the_status_of_a_submission_tells_its_approval(repo):
    name = submitted(repo, {".mcp.json": "{}"})
    before = call(repo, "status", name, "--json").json["submission"]["approval"]
    call(repo, "approve", name, "--because", "ours", "--for", "2d")
    after = call(repo, "status", name, "--json").json["submission"]["approval"]

    assert before is None
    assert (f"Test Person <{ME}>", "ours", [".mcp.json"], None) == tuple(
        after[key] for key in ("by", "why", "paths", "problem")
    )
    assert after["when"] < after["until"]
    assert ", until 2" in call(repo, "status", name).out
