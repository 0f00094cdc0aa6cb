"""gitagent submit: what is handed over, under which id, and waiting for the outcome."""

import subprocess
from contextlib import contextmanager
from dataclasses import replace

import pytest

from gitagent.core.ident import submission_id
from gitagent.core.submission import SubmissionState
from gitagent.git.repository import discover
from gitagent.lander import submit
from tests.support import ledger
from tests.support.cli import call
from tests.support.daemon import COMMAND, record
from tests.support.repos import Repo

NONE = "None"


@pytest.fixture(autouse=True)
def _set_up(repo):
    call(repo, "init", "--no-check")


@pytest.fixture
def tip(repo):
    return repo.commit({"a": "a\n"}, "Add a", branch="work")


def read(repo: Repo, name: str):
    found = record(repo, f"refs/gitagent/submissions/{name}")
    assert found is not None
    return found


def test_a_branch_becomes_a_submission_whose_id_is_printed(repo, tip):
    answer = call(repo, "submit", "work", "--divergence", NONE)
    found = read(repo, answer.lines[0])

    assert (0, submission_id(tip)) == (answer.code, answer.lines[0])
    assert ("queued", tip, "refs/heads/work", NONE) == tuple(
        found[key] for key in ("state", "tip", "branch", "divergence")
    )


def test_without_a_branch_it_is_what_is_checked_out(repo, tmp_path):
    linked = repo.worktree(tmp_path / "linked", branch="other")
    tip = linked.commit({"b": "b\n"})
    answer = call(linked, "submit")

    assert submission_id(tip) == answer.lines[0]
    assert "refs/heads/other" == read(repo, answer.lines[0])["branch"]


def test_a_detached_checkout_is_submitted_without_a_branch(repo, tip):
    repo.git("checkout", "-q", "--detach", "work")
    answer = call(repo, "submit")

    assert submission_id(tip) == answer.lines[0]
    assert read(repo, answer.lines[0])["branch"] is None


def test_a_commit_or_a_tag_is_submitted_as_its_commit(repo, tip):
    repo.git("tag", "-a", "-m", "v1", "v1", "work")
    by_tag = call(repo, "submit", "v1")
    by_id = call(repo, "submit", tip[:10])

    assert submission_id(tip) == by_tag.lines[0] == by_id.lines[0]


def test_handing_over_again_gives_the_same_submission(repo, tip):
    first = call(repo, "submit", "work")
    again = call(repo, "submit", "work")

    assert first.out == again.out == f"{submission_id(tip)}\n"
    assert 1 == len(repo.refs("refs/gitagent/submissions/"))


def test_a_request_id_gives_one_submission_whatever_the_tip(repo, tip):
    first = call(repo, "submit", "work", "--request-id", "r1")
    repo.commit({"b": "b\n"}, branch="work2")
    again = call(repo, "submit", "work2", "--request-id", "r1")

    assert first.out == again.out
    assert (0, tip) == (again.code, read(repo, first.lines[0])["tip"])
    assert tip[:12] in again.err


def test_a_landed_one_is_still_the_same(repo, tip):
    made = ledger.submission(repo, tip)
    ledger.moved(repo, made, SubmissionState.LANDED, commit=tip)
    repo.git("merge", "-q", "--ff-only", "work")
    answer = call(repo, "submit", "work")

    assert (0, f"{made.id}\n") == (answer.code, answer.out)
    assert "landed" in answer.err


@pytest.mark.parametrize(
    "args",
    [
        ["main"],
        ["nowhere"],
        ["refs/heads/nowhere"],
        ["--", "-x"],
        ["HEAD~1"],
        ["README.md"],
    ],
)
def test_what_cannot_land_is_exit_1_and_one_line(repo, tip, args):
    answer = call(repo, "submit", *args)

    assert tip
    assert (1, "") == (answer.code, answer.out)
    assert 1 == len(answer.err.splitlines())
    assert {} == repo.refs("refs/gitagent/submissions/")


@pytest.mark.parametrize("option", ["--divergence", "--request-id"])
@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_statement_is_wrong_usage(repo, tip, option, text):
    answer = call(repo, "submit", "work", option, text)

    assert tip
    assert (2, "") == (answer.code, answer.out)
    assert {} == repo.refs("refs/gitagent/submissions/")


def test_without_settings_it_says_to_set_up(tmp_path):
    other = Repo.make(tmp_path / "other", {"a": "a"})
    answer = call(other, "submit")

    assert 1 == answer.code
    assert "gitagent init" in answer.err


def test_what_is_not_committed_is_said_to_be_left_out(repo, tip):
    repo.git("checkout", "-q", "work")
    repo.write("README.md", "edited\n")
    answer = call(repo, "submit")

    assert submission_id(tip) == answer.lines[0]
    assert "not committed" in answer.err


@contextmanager
def waiting(repo: Repo, *args: str):
    """Run a command that waits, from when it says that no daemon runs."""
    with subprocess.Popen(
        [*COMMAND, *args],
        cwd=repo.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "no daemon runs" in line:
                break
        try:
            yield process
        finally:
            process.kill()


def test_what_is_only_edited_has_to_be_committed_first(repo):
    repo.git("switch", "-q", "-c", "fresh", "main")
    repo.write(".agent/config.toml", "# edited\n")
    answer = call(repo, "submit")

    assert (1, "") == (answer.code, answer.out)
    assert "commit what is changed" in answer.err


def test_what_was_rejected_says_how_to_submit_it_anew(repo, tip):
    made = ledger.submission(repo, tip)
    ledger.moved(repo, made, SubmissionState.REJECTED, reason="No.")
    again = call(repo, "submit", "work")
    anew = call(repo, "submit", "work", "--request-id", "once more")

    assert (0, [made.id]) == (again.code, again.lines)
    assert "--request-id" in again.err
    assert (0, 1) == (anew.code, len(anew.lines))
    assert made.id not in anew.lines


OUTCOMES = {
    "landed": (SubmissionState.LANDED, 0),
    "rejected": (SubmissionState.REJECTED, 1),
    "withdrawn": (SubmissionState.WITHDRAWN, 1),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_waiting_ends_with_the_outcome(repo, tip, case):
    state, code = OUTCOMES[case]
    with waiting(repo, "submit", "work", "--wait") as process:
        found = discover(repo.path)
        with found.objects(fast=True) as objects:
            old = submit.find(objects, submission_id(tip))
        assert old is not None
        submit.write(
            found,
            old,
            replace(old, state=state, reason="For a reason.", output="line 1\nline 2"),
            "settled",
        )
        out, err = process.communicate(timeout=60)

    assert code == process.returncode
    assert out == f"{submission_id(tip)}\n"
    assert "For a reason." in err
    assert ("line 2" in err) == (state is SubmissionState.REJECTED)
