"""Pushes to refs/for/<target>: topics, tasks, odd clients, and what is refused."""

import subprocess

import pytest

from gitagent.core.ident import submission_id
from gitagent.core.submission import SubmissionState
from tests.support import ledger
from tests.support.cli import call
from tests.support.daemon import record
from tests.support.raw_push import ZEROS, raw_push
from tests.support.repos import Repo, settings_text, task_text

FOR = "HEAD:refs/for/main"
SUBMISSIONS = "refs/gitagent/submissions/"
WITH_OPTIONS = "report-status push-options"


both = pytest.mark.parametrize("there", ["hub", "clone"], indirect=True)


@pytest.fixture
def there(request, tmp_path):
    """What is pushed to: a bare hub, or a repository that somebody works in."""
    bare = getattr(request, "param", "hub") == "hub"
    made = Repo.make(tmp_path / "there", {"a": "a"}, bare=bare)
    made.commit(
        {".agent/config.toml": settings_text(), ".agent/tasks/fix-login.md": "# Fix\n"}
    )
    call(made, "hooks", "install")
    return made


@pytest.fixture
def mine(there, tmp_path):
    made = there.clone(tmp_path / "mine")
    made.commit({"b": "b\n"}, "Add b")
    return made


def push(mine: Repo, *args: str) -> tuple[int, str]:
    done = subprocess.run(
        ["git", "push", "origin", *args],
        cwd=mine.path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def read(there: Repo, tip: str):
    found = record(there, f"{SUBMISSIONS}{submission_id(tip)}")
    assert found is not None
    return found


def amended(mine: Repo, name: str = "b", author: str = "") -> str:
    args = ("--author", author) if author else ()
    mine.write(name, f"{mine.head()}\n")
    mine.git("commit", "-q", "--amend", "-m", f"Add {name}", *args, "--", name)
    return mine.head()


@both
def test_the_pusher_reads_id_place_and_whom_it_waits_for(there, mine):
    first = mine.head()
    push(mine, FOR)
    mine.commit({"c": "c"})
    code, said = push(mine, FOR, "-o", "divergence=None")

    assert 0 == code
    assert (
        f"submission {submission_id(mine.head())} "
        f"(position 2, after {submission_id(first)})" in said
    )
    assert "no daemon runs there now" in said
    assert "None" == read(there, mine.head())["divergence"]


def test_the_same_push_again_is_the_same_submission(there, mine):
    push(mine, FOR, "-o", "divergence=None", "-o", "topic=b")
    code, said = push(mine, FOR, "-o", "divergence=None", "-o", "topic=b")
    _, other = push(mine, FOR, "-o", "divergence=All of it")

    assert 0 == code
    assert f"{submission_id(mine.head())} (position 1, submitted already)" in said
    assert "keeps what" not in said
    assert "keeps what it was submitted with" in other
    assert 1 == len(there.refs(SUBMISSIONS))
    assert "None" == read(there, mine.head())["divergence"]


def test_what_was_not_taken_is_refused_again_with_the_reason_and_the_mend(there, mine):
    push(mine, FOR)
    made = ledger.submission(there, mine.head())
    ledger.moved(there, made, SubmissionState.REJECTED, reason="Check tests failed.")
    code, said = push(mine, FOR)
    anew, _ = push(mine, FOR, "-o", "request-id=again")

    assert (1, 0) == (code, anew)
    assert f"({made.id} is rejected: Check tests failed.)" in said
    assert "request-id" in said


def test_what_has_landed_is_taken_again(there, mine):
    push(mine, FOR)
    made = ledger.submission(there, mine.head())
    ledger.moved(there, made, SubmissionState.LANDED, reason="Landed as x.")
    code, said = push(mine, FOR)

    assert 0 == code
    assert "landed already" in said


@both
def test_a_topic_pushed_again_takes_the_place_of_what_it_was(there, mine):
    old = mine.head()
    push(mine, FOR, "-o", "topic=größer/b")
    code, said = push(mine, f"{amended(mine)}:refs/for/main", "-o", "topic=größer/b")
    branches = {read(there, tip)["branch"] for tip in (old, mine.head())}

    assert 0 == code
    assert f"takes the place of {submission_id(old)}" in said
    assert {"refs/for/main/größer/b"} == branches
    assert {} == there.refs("refs/for/")


def test_a_topic_of_somebody_else_is_refused(mine):
    push(mine, FOR, "-o", "topic=b")
    first = submission_id(mine.head())
    amended(mine, author="Ann <ann@example.org>")
    code, said = push(mine, FOR, "-o", "topic=b")
    other, _ = push(mine, FOR, "-o", "topic=c")

    assert (1, 0) == (code, other)
    assert f'the topic "b" is in use: {first}' in said
    assert "choose another topic" in said


def test_a_topic_is_free_again_when_it_is_settled(there, mine):
    push(mine, FOR, "-o", "topic=b")
    found = ledger.submission(there, mine.head())
    ledger.moved(there, found, SubmissionState.LANDED)
    amended(mine, author="Ann <ann@example.org>")
    code, said = push(mine, FOR, "-o", "topic=b")

    assert 0 == code
    assert "takes the place" not in said


def test_without_a_topic_nothing_is_replaced(there, mine):
    push(mine, FOR)
    amended(mine)
    _, said = push(mine, FOR)

    assert "takes the place" not in said
    assert 2 == len(there.refs(SUBMISSIONS))


@both
def test_work_for_a_task_names_it(there, mine):
    code, said = push(mine, FOR, "-o", "task=fix-login")
    found = read(there, mine.head())
    told = call(there, "status", submission_id(mine.head())).out

    assert 0 == code
    assert "for task fix-login" in said
    assert ("fix-login", None) == (found["closes"], found["task"])
    assert "fix-login" in told


@pytest.mark.parametrize(
    ("task", "word"),
    [
        ("fix-logn", "did you mean fix-login?"),
        ("zzz", "it has fix-login"),
        ("Fix Login", "lower case"),
        ("../fix-login", "starts with"),
        ("done", "it has fix-login"),
        ("old", "ended already"),
    ],
)
def test_a_task_that_is_not_open_is_refused_with_the_nearest(there, mine, task, word):
    there.commit({".agent/tasks/done/old.md": task_text("true")})
    code, said = push(mine, FOR, "-o", f"task={task}")

    assert 1 == code
    assert word in said
    assert {} == there.refs(SUBMISSIONS)


@pytest.mark.parametrize(
    ("args", "short", "mend"),
    [
        (["HEAD:refs/for/other"], "main is the target here", "push to refs/for/main"),
        (["HEAD:refs/for/main/b"], "main is the target here", "-o topic=b"),
        (["HEAD:refs/for/größer"], "main is the target here", "push to refs/for/main"),
        (["HEAD~1:refs/for/main"], "there is nothing to land", ""),
        (["HEAD^{tree}:refs/for/main"], "only a commit can land", ""),
        ([FOR, "-o", "topc=x"], 'no push option "topc"', "did you mean topic?"),
        ([FOR, "-o", "wait=soon"], "is not a duration", "whole seconds"),
        ([FOR, "-o", "topic="], "the topic is empty", "-o topic=NAME"),
    ],
)
def test_a_refusal_is_one_line_and_the_mend_another(there, mine, args, short, mend):
    code, said = push(mine, *args)
    (rejected,) = (line for line in said.splitlines() if "[remote rejected]" in line)

    assert 1 == code
    assert short in rejected
    assert any(mend in line for line in said.splitlines() if "was refused" in line)
    assert {} == there.refs(SUBMISSIONS)
    assert {} == there.refs("refs/for/")


@both
def test_each_ref_of_a_push_has_its_own_answer(there, mine):
    code, said = push(mine, FOR, "HEAD:refs/for/x", "HEAD:refs/heads/topic")

    assert 1 == code
    assert "(main is the target here)" in said
    assert mine.head() == there.ref("refs/heads/topic")
    assert 1 == len(there.refs(SUBMISSIONS))


def test_an_atomic_push_is_refused_whole(there, mine):
    code, said = push(mine, "--atomic", FOR, "HEAD:refs/for/x", "HEAD:refs/heads/topic")

    assert 1 == code
    assert "the push is atomic" in said
    assert there.ref("refs/heads/topic") is None
    assert {} == there.refs(SUBMISSIONS)


def test_an_atomic_push_of_one_ref_is_taken(there, mine):
    code, _ = push(mine, "--atomic", FOR, "HEAD:refs/heads/topic")

    assert 0 == code
    assert 1 == len(there.refs(SUBMISSIONS))


def test_deleting_is_refused_and_deletes_nothing(there, mine):
    base = there.ref("refs/heads/main")
    said = raw_push(there, mine, [(base, ZEROS, "refs/for/main")])

    assert "ng refs/for/main there is nothing to submit" in said
    assert base == there.ref("refs/heads/main")


def test_where_nothing_is_committed_nothing_is_taken(tmp_path, mine):
    empty = Repo.make(tmp_path / "empty.git", bare=True)
    call(empty, "hooks", "install")
    mine.git("remote", "set-url", "origin", str(empty.path))
    code, said = push(mine, FOR)

    assert 1 == code
    assert "gitagent init" in said
    assert {} == empty.refs(SUBMISSIONS)


def test_who_has_no_commit_yet_pushes_nothing(there, tmp_path):
    unborn = Repo.make(tmp_path / "unborn")
    unborn.git("remote", "add", "origin", str(there.path))
    code, _ = push(unborn, FOR)

    assert 1 == code
    assert {} == there.refs(SUBMISSIONS)


def test_a_client_without_push_options_is_answered(there, mine):
    said = raw_push(there, mine, [(ZEROS, mine.head(), "refs/for/main")])

    assert "ok refs/for/main" in said
    assert submission_id(mine.head()) in said
    assert "cannot be had" not in said


def test_where_options_are_switched_off_it_is_said_how_to_have_them(there, mine):
    there.git("config", "receive.advertisePushOptions", "false")
    code, said = push(mine, FOR)
    refused, _ = push(mine, FOR, "-o", "wait")

    assert (0, True) == (code, refused > 0)
    assert submission_id(mine.head()) in said
    assert "git config receive.advertisePushOptions 1" in said
    assert "-o wait" not in said


FAKE = b"None\n\nGitagent-Submission: s-000000000000\nGitagent-Check: tests passed 1s"


def test_an_option_that_looks_like_trailers_is_harmless(there, mine):
    raw_push(
        there,
        mine,
        [(ZEROS, mine.head(), "refs/for/main")],
        features=WITH_OPTIONS,
        options=[b"divergence=" + FAKE + b"\x1b[31m\xff"],
    )
    name = submission_id(mine.head())
    landed = call(there, "land", name)
    trailers = [key for key, _ in there.trailers(there.oid("refs/heads/main"))]

    assert 0 == landed.code, landed.err
    assert 1 == trailers.count("Gitagent-Submission")
    assert 1 == trailers.count("Gitagent-Check")
    assert "\x1b" not in there.git("show", "refs/heads/main")


@pytest.mark.parametrize(
    "option",
    [
        b"topic=a\nb",
        b"topic=\xff\xfe",
        b"task=fix-login\nGitagent-Task: x",
        b"x\nok refs/for/main",
        b"wait=1\n",
        b"",
    ],
)
def test_an_odd_option_is_refused_on_one_line(there, mine, option):
    said = raw_push(
        there,
        mine,
        [(ZEROS, mine.head(), "refs/for/main")],
        features=WITH_OPTIONS,
        options=[option],
    )

    assert ("ng refs/for/main" in said) == (option != b"wait=1\n"), said
    assert "Traceback" not in said
    assert len(there.refs(SUBMISSIONS)) == (option == b"wait=1\n")


def test_a_ref_that_is_not_utf_8_is_refused_by_its_own_name(there, mine):
    tip = mine.head()
    done = subprocess.run(
        ["git", "push", "origin", b"HEAD:refs/for/ma\xffin"],
        cwd=mine.path,
        capture_output=True,
        check=False,
    )

    assert 1 == done.returncode
    assert b"main is the target here" in done.stderr
    assert there.ref(f"{SUBMISSIONS}{submission_id(tip)}") is None
