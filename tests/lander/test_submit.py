import subprocess
import sys
from dataclasses import replace

import pytest

from gitagent.core.ident import submission_id
from gitagent.core.layout import SUBMISSIONS
from gitagent.core.submission import Submission, SubmissionState
from gitagent.errors import LostRace, UserError
from gitagent.git import records
from gitagent.git.archived import Archived
from gitagent.lander import submit
from tests.support.lander import Bench, archive

# Children of one process, so that they are at the same point when the pipe closes;
# libgit2 cannot be loaded before, since they would share the names of its files.
_CREATE = """
import os
import sys
from pathlib import Path
from gitagent.git.repository import discover
from gitagent.lander import submit
repository = discover(Path(sys.argv[1]))
gate, opened = os.pipe()
for _ in range(50):
    if os.fork() == 0:
        os.close(opened)
        with repository.objects(fast=True) as objects:
            made = submit.new(objects, sys.argv[2], request_id="once")
            os.read(gate, 1)
            answer = submit.create(repository, objects, made)
        os.write(1, f"{answer}\\n".encode())
        os._exit(0)
os.close(opened)
codes = {os.wait()[1] for _ in range(50)}
sys.exit(max(codes))
"""


def test_submitting_the_same_tip_again_gives_the_same_submission(made: Bench):
    tip = made.offer({"a": "1"})
    first = submit.create(
        made.repository, made.objects, submit.new(made.objects, tip, branch="b")
    )
    second = submit.create(made.repository, made.objects, submit.new(made.objects, tip))

    assert submission_id(tip) == first.id
    assert first == second
    assert [submit.ref_of(first.id)] == list(made.repo.refs(SUBMISSIONS))


def test_a_request_id_names_one_submission_whatever_the_tip(made: Bench):
    tips = made.offer({"a": "1"}), made.offer({"a": "2"}, branch="other")
    first, second = (
        submit.create(
            made.repository,
            made.objects,
            submit.new(made.objects, tip, request_id="r-1"),
        )
        for tip in tips
    )

    assert tips[0] == first.tip == second.tip
    assert submission_id("request", "r-1") == first.id


def test_the_submitter_is_the_author_of_the_tip(made: Bench):
    tip = made.repo.commit_at(
        "refs/heads/work", {"a": "1"}, author="Ada <ada@example.org>"
    )
    made_now = submit.new(made.objects, tip, divergence="None", priority=2)

    assert "Ada <ada@example.org>" == made_now.submitter
    assert ("None", 2) == (made_now.divergence, made_now.priority)


@pytest.mark.parametrize("kind", ["blob", "tree", "missing"])
def test_only_a_commit_can_be_submitted(made: Bench, kind: str):
    tip = {
        "blob": made.repo.oid("main:README.md"),
        "tree": made.repo.oid("main^{tree}"),
        "missing": "1" * 40,
    }[kind]

    with pytest.raises(UserError):
        submit.new(made.objects, tip)
    forged = Submission("s-1", tip, SubmissionState.QUEUED, "2026", "2026")
    with pytest.raises(UserError):
        submit.create(made.repository, made.objects, forged)
    assert {} == made.repo.refs(SUBMISSIONS)


def test_the_record_keeps_the_tip_alive(made: Bench):
    tip = made.offer({"a": "1"})
    submission = made.submit(tip)
    made.repo.git("branch", "-D", "work")
    made.repo.git("reflog", "expire", "--expire=now", "--all")
    made.repo.git("gc", "-q", "--prune=now")

    assert "commit" == made.repo.git("cat-file", "-t", tip)
    story = made.repo.log("%s", "--first-parent", submit.ref_of(submission.id))
    assert any(tip[:12] in line for line in story)


def test_a_record_written_from_an_older_one_loses_the_race(made: Bench):
    old = made.submit(made.offer({"a": "1"}))
    new = replace(old, reason="Waits.")
    written = submit.write(made.repository, old, new, "waits")

    assert written == submit.find(made.objects, old.id)
    with pytest.raises(LostRace):
        submit.write(made.repository, old, new, "waits")


def test_all_submissions_reads_each_and_says_which_it_cannot_read(made: Bench):
    submission = made.submit(made.offer({"a": "1"}))
    made.repo.git("update-ref", submit.ref_of("s-bad"), made.target)
    found = submit.all_submissions(made.objects, made.objects.refs())

    assert submission == found[submission.id]
    assert isinstance(found["s-bad"], UserError)


def test_what_was_archived_is_not_taken_again(made: Bench):
    submission = made.submit(made.offer({"a": "1"}))
    rejected = submit.write(
        made.repository,
        submission,
        replace(submission, state=SubmissionState.REJECTED),
        "rejected",
    )
    archive(made, rejected)
    again = submit.create(
        made.repository, made.objects, submit.new(made.objects, submission.tip)
    )

    assert SubmissionState.REJECTED is again.state
    assert {} == made.repo.refs(SUBMISSIONS)


def test_the_archive_is_read_step_by_step_and_the_newest_counts(made: Bench):
    first = made.submit(made.offer({"a": "1"}))
    second = made.submit(made.offer({"b": "1"}, branch="other"))
    known = Archived()
    archive(made, first)

    assert first.oid == known.record(made.objects, submit.ref_of(first.id))
    assert known.record(made.objects, submit.ref_of(second.id)) is None
    archive(made, second)
    archive(made, replace(first, oid=second.oid))
    assert second.oid == known.record(made.objects, submit.ref_of(second.id))
    assert second.oid == known.record(made.objects, submit.ref_of(first.id))


def test_fifty_creates_at_once_give_one_ref_and_one_answer(made: Bench):
    tip = made.offer({"a": "1"})
    command = [sys.executable, "-c", _CREATE, str(made.repo.path), tip]
    answers = subprocess.check_output(command, text=True).splitlines()

    assert 50 == len(answers)
    assert 1 == len(set(answers))
    assert 1 == len(made.repo.refs(SUBMISSIONS))
    ref = next(iter(made.repo.refs(SUBMISSIONS)))
    assert 1 == len(list(records.history(made.objects, made.repo.oid(ref))))
