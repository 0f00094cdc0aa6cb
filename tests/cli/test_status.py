"""gitagent status: the contract of --json, and the page for people."""

import os
import pty
import subprocess
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gitagent.core.action import Archive
from gitagent.core.submission import CheckLine, SubmissionState
from gitagent.core.task import Attempt, Outcome, TaskState
from gitagent.core.usage import Usage
from gitagent.daemon import archive
from gitagent.daemon.overview import SETTLED_SHOWN
from gitagent.git.repository import discover
from tests.support import ledger
from tests.support.cli import call
from tests.support.daemon import COMMAND, gitagent
from tests.support.repos import Repo

TOP = [
    *("version", "daemon", "target", "tasks", "submissions"),
    *("questions", "automations", "refused", "inbox", "memory"),
]
TASK = ["id", "title", "state", "agent", "attempt", "branch", "reason", "since"]
SUBMISSION = [
    *("id", "tip", "branch", "task", "state", "position", "reason", "commit", "checks"),
]
LONG_AGO = "2026-01-01T00:00:00Z"


@pytest.fixture(autouse=True)
def _set_up(repo):
    call(repo, "init", "--no-check")


def test_json_has_the_keys_of_the_contract_in_their_order(repo):
    repo.add_task("a", "true", title="Do a")
    tip = repo.commit({"x": "x"}, branch="work")
    ledger.submission(repo, tip, checks=(CheckLine("tests", "running"),))
    said = call(repo, "status", "--json").json

    assert TOP == list(said)
    assert ["running", "pid", "code", "swap"] == list(said["daemon"])
    keys = ["ref", "commit", "paused", "direct", "findings", "push", "checks"]
    assert keys == list(said["target"])
    assert TASK == list(said["tasks"][0])[: len(TASK)]
    assert SUBMISSION == list(said["submissions"][0])[: len(SUBMISSION)]
    check = list(said["submissions"][0]["checks"][0])
    assert ["name", "state", "seconds"] == check[:3]


def test_a_fresh_repository_is_idle(repo):
    said = call(repo, "status", "--json").json

    off = {"running": False, "pid": None, "code": None, "swap": None}
    assert off == said["daemon"]
    assert ("refs/heads/main", repo.head()) == (
        said["target"]["ref"],
        said["target"]["commit"],
    )
    assert [[], [], [], [], []] == [said[key] for key in TOP[3:-2]]
    assert {"unacknowledged": 0} == said["inbox"]
    assert {"proposals": 0} == said["memory"]


def test_a_repository_that_is_not_set_up_says_so(tmp_path):
    answer = call(Repo.make(tmp_path / "other", {"a": "a"}), "status", "--json")

    assert (1, "") == (answer.code, answer.out)
    assert "gitagent init" in answer.err


def test_a_task_that_no_daemon_has_seen_waits_and_says_why(repo):
    repo.add_task("b", "true", front='after = ["a"]')
    (line,) = call(repo, "status", "--json").json["tasks"]

    assert ("waiting", 0, None) == (line["state"], line["attempt"], line["branch"])
    assert "Waits for a" in line["reason"]
    assert "gitagent up" in line["reason"]
    assert datetime.fromisoformat(line["since"]).tzinfo == UTC


def test_a_record_is_shown_as_it_is(repo):
    repo.add_task("a", "true")
    ledger.task(
        repo,
        "a",
        TaskState.RUNNING,
        title="The title",
        agent="claude",
        attempt=2,
        branch="refs/heads/agent/a",
        since=LONG_AGO,
    )
    (line,) = call(repo, "status", "--json").json["tasks"]

    assert {
        "id": "a",
        "title": "The title",
        "state": "running",
        "agent": "claude",
        "attempt": 2,
        "branch": "refs/heads/agent/a",
        "reason": None,
        "since": LONG_AGO,
        "after": [],
        "model": None,
        "usage": {"requests": 0, "tokens": 0, "usd": 0.0},
    } == line


def test_what_a_task_has_used_of_models_is_told_of_all_its_attempts(repo):
    used = Usage(requests=2, input=100, output=10, usd=0.25)
    attempts = tuple(
        Attempt(number, "", "", "", model=model, usage=used)
        for number, model in ((1, "one:cheap"), (2, "one:dear"))
    )
    repo.add_task("a", "true")
    ledger.task(repo, "a", TaskState.RUNNING, attempt=2, attempts=attempts)
    (line,) = call(repo, "status", "--json").json["tasks"]

    assert "one:dear" == line["model"]
    assert {"requests": 4, "tokens": 220, "usd": 0.5} == line["usage"]


def test_an_amended_task_that_had_ended_waits_again(repo):
    repo.add_task("a", "true")
    ledger.task(repo, "a", TaskState.FAILED, reason="Attempt 1 failed.")
    before = call(repo, "status", "--json").json["tasks"]
    repo.commit({".agent/tasks/a.md": "# Another\n"})
    after = call(repo, "status", "--json").json["tasks"]

    assert ["failed"] == [line["state"] for line in before]
    assert ["waiting"] == [line["state"] for line in after]


def test_the_queue_is_in_order_and_numbered(repo):
    tips = [repo.commit({"x": name}, branch=name) for name in "abc"]
    created = [f"2026-01-01T00:00:0{n}.000000Z" for n in (3, 2, 1)]
    made = [
        ledger.submission(repo, tip, created=when, branch=f"refs/heads/{name}")
        for name, tip, when in zip("abc", tips, created, strict=True)
    ]
    urgent = ledger.submission(repo, repo.commit({"x": "d"}, branch="d"), priority=1)
    lines = call(repo, "status", "--json").json["submissions"]

    assert [urgent.id, *(each.id for each in reversed(made))] == [
        line["id"] for line in lines
    ]
    assert [1, 2, 3, 4] == [line["position"] for line in lines]


def test_a_settled_submission_has_no_position(repo):
    made = ledger.submission(repo, repo.commit({"x": "x"}, branch="work"))
    ledger.moved(repo, made, SubmissionState.REJECTED, reason="No.")
    (line,) = call(repo, "status", "--json").json["submissions"]

    assert ("rejected", None, "No.") == (
        line["state"],
        line["position"],
        line["reason"],
    )


def test_checks_have_their_seconds_and_a_running_one_counts(repo):
    checks = (CheckLine("lint", "passed", 2.04), CheckLine("tests", "running"))
    made = ledger.submission(repo, repo.commit({"x": "x"}, branch="work"))
    ledger.moved(repo, made, SubmissionState.CHECKING, checks=checks)
    (line,) = call(repo, "status", "--json").json["submissions"]
    passed, running = line["checks"]

    assert ("lint", "passed", 2.0) == tuple(passed.values())[:3]
    assert "running" == running["state"]
    assert running["seconds"] >= 0


def test_checks_and_the_reason_of_a_held_submission_are_two_things(repo):
    made = ledger.submission(repo, repo.commit({"x": "x"}, branch="work"))
    checks = (CheckLine("tests", "passed", 2.0),)
    ledger.moved(repo, made, SubmissionState.HELD, checks=checks, reason="In the way.")

    assert "tests passed 2.0 s; In the way." in call(repo, "status").out


def test_of_settled_records_the_newest_hundred_are_listed(repo):
    settled(repo, SETTLED_SHOWN + 3)
    repo.add_task("open", "true")
    some = call(repo, "status", "--json").json["tasks"]
    everything = call(repo, "status", "--json", "--all").json["tasks"]
    page = call(repo, "status")

    assert SETTLED_SHOWN + 1 == len(some)
    assert SETTLED_SHOWN + 4 == len(everything)
    assert "open" == some[0]["id"]
    assert {f"task-{n}" for n in range(3)} == {line["id"] for line in everything} - {
        line["id"] for line in some
    }
    assert "more are settled" in page.out


def settled(repo: Repo, count: int) -> None:
    """Write ``count`` settled records at once, the later the newer."""
    template = ledger.task(repo, "template", TaskState.FAILED, reason="No.")
    blob = repo.raw("cat-file", "blob", "refs/gitagent/tasks/template:record-v1.json")
    repo.git("update-ref", "-d", "refs/gitagent/tasks/template")
    assert template.state is TaskState.FAILED
    out = []
    for n in range(count):
        data = blob.replace(b'"template"', f'"task-{n}"'.encode())
        head = f"commit refs/gitagent/tasks/task-{n}\ncommitter g <g@g> {n + 1} +0000\n"
        out.append(head.encode() + b"data 11\nfailed: No.\n")
        out.append(b"M 100644 inline record-v1.json\ndata %d\n%b\n" % (len(data), data))
    repo.git("fast-import", "--quiet", stdin=b"".join(out))


def test_refused_files_are_listed_and_the_rest_goes_on(repo):
    repo.add_task("good", "true")
    repo.commit(
        {
            ".agent/tasks/Bad Name.md": "# x\n",
            ".agent/tasks/notes.txt": "x",
            ".agent/tasks/broken.md": "+++\na = \n+++\n",
            ".agent/agents/odd.md": "+++\nbackend = 'nothing'\n+++\n",
        }
    )
    said = call(repo, "status", "--json").json
    page = call(repo, "status").out

    assert ["good"] == [line["id"] for line in said["tasks"]]
    assert {
        ".agent/tasks/Bad Name.md",
        ".agent/tasks/notes.txt",
        ".agent/tasks/broken.md",
        ".agent/agents/odd.md",
    } == {line["path"] for line in said["refused"]}
    assert all(line["reason"] for line in said["refused"])
    assert "Bad Name.md" in page


def test_a_record_of_a_newer_release_is_refused_alone(repo):
    repo.add_task("good", "true")
    data = b'{"version": 2}'
    repo.commit_at(
        "refs/gitagent/tasks/newer",
        {"record-v2.json": data},
        "Begin\n\nGitagent-Record: task\nGitagent-Release: 9.9.9",
        parents=(),
    )
    said = call(repo, "status", "--json").json

    assert ["good"] == [line["id"] for line in said["tasks"]]
    assert ["refs/gitagent/tasks/newer"] == [line["path"] for line in said["refused"]]
    assert "9.9.9" in said["refused"][0]["reason"]


def test_a_direct_commit_is_a_finding_and_a_task_is_none(repo):
    repo.add_task("good", "true")
    none = call(repo, "status", "--json").json["target"]["direct"]
    direct = repo.commit({"x": "x"}, "Sneaked in")
    after = call(repo, "status", "--json").json["target"]["direct"]
    again = call(repo, "status", "--json").json["target"]["direct"]
    repo.add_task("another", "true")
    later = call(repo, "status", "--json").json["target"]["direct"]
    page = call(repo, "status").out

    assert [] == none
    assert [direct] == after == again == later
    assert "Sneaked in" in page


def test_a_pause_of_all_landings_is_told_and_forgotten(repo):
    good = call(repo, "status", "--json").json["target"]["paused"]
    repo.commit({".agent/config.toml": '[lander]\nstrtegy = "merge"\n'})
    broken = call(repo, "status", "--json").json["target"]["paused"]
    repo.commit({".agent/config.toml": '[[check]]\nname = "a"\nrun = "true"\n'})
    mended = call(repo, "status", "--json").json["target"]["paused"]

    assert "[[check]]" in good
    assert broken.endswith("strategy?")
    assert mended is None


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"release": "x"}', "null"])
def test_a_damaged_memory_is_forgotten(repo, damage):
    repo.commit({"x": "x"})
    before = call(repo, "status", "--json").json
    (repo.common_dir / "gitagent/overview.json").write_text(damage)

    assert before == call(repo, "status", "--json").json


def test_it_works_where_nothing_can_be_written(repo, tmp_path):
    (tmp_path / "file").write_text("x")
    (repo.common_dir / "gitagent").mkdir(exist_ok=True)
    for path in (repo.common_dir / "gitagent").iterdir():
        path.unlink()
    (repo.common_dir / "gitagent").rmdir()
    (repo.common_dir / "gitagent").symlink_to(tmp_path / "file")

    assert 0 == call(repo, "status").code


def test_the_page_says_who_waits_for_whom(repo):
    repo.add_task("a", "true", title="First")
    repo.add_task("b", "true", title="Second")
    ledger.task(repo, "a", TaskState.RUNNING, attempt=1, agent="shell")
    ledger.task(repo, "b", TaskState.WAITING, reason="Waits for a, which is running.")
    page = call(repo, "status").out

    assert "no daemon runs" in page
    assert "Waits for a, which is running." in page
    assert "attempt 1 by shell" in page


def test_one_task_is_told_with_its_story(repo):
    repo.add_task("a", "true", title="First")
    attempt = Attempt(
        1,
        "0" * 40,
        repo.head(),
        LONG_AGO,
        ended=LONG_AGO,
        outcome=Outcome.FAILED,
        exit_code=3,
        reason="It ended with 3.",
    )
    ledger.task(
        repo,
        "a",
        TaskState.FAILED,
        reason="It ended with 3.",
        attempt=1,
        attempts=(attempt,),
    )
    page = call(repo, "status", "a").out
    said = call(repo, "status", "a", "--json").json

    for part in ("failed", "exit 3", "It ended with 3.", "gitagent logs a", "git log"):
        assert part in page
    assert ("a", "failed") == (said["task"]["id"], said["task"]["state"])
    assert [(1, "failed", 3)] == [
        (each["number"], each["outcome"], each["exit_code"])
        for each in said["attempts"]
    ]
    assert ["attempt 1 starts", "failed: It ended with 3."] == [
        step["text"] for step in said["story"]
    ]


def test_one_submission_is_told_with_its_story(repo):
    made = ledger.submission(repo, repo.commit({"x": "x"}, branch="work"))
    ledger.moved(
        repo,
        made,
        SubmissionState.REJECTED,
        reason="Check tests failed.",
        output="boom",
    )
    page = call(repo, "status", made.id).out
    said = call(repo, "status", made.id, "--json").json

    for part in ("rejected", "Check tests failed.", "boom", f"gitagent logs {made.id}"):
        assert part in page
    assert made.tip == said["submission"]["tip"]
    assert 2 == len(said["story"])


def test_a_task_without_a_record_is_told_too(repo):
    repo.add_task("a", "true", title="First")

    assert "First" in call(repo, "status", "a").out
    assert "waiting" == call(repo, "status", "a", "--json").json["task"]["state"]


@pytest.mark.parametrize("name", ["nope", "s-000000000000", "../x", "A"])
def test_what_is_not_there_is_exit_1(repo, name):
    answer = call(repo, "status", name)

    assert (1, "") == (answer.code, answer.out)


def test_on_a_terminal_it_has_colour_and_elsewhere_none(repo):
    repo.add_task("a", "true", title="[red]First[/red]")
    plain = gitagent(repo, "status").stdout
    controller, terminal = pty.openpty()
    env = dict(os.environ, TERM="xterm-256color", COLUMNS="120")
    done = subprocess.run(
        [*COMMAND, "status"], cwd=repo.path, stdout=terminal, env=env, check=False
    )
    os.close(terminal)
    shown = os.read(controller, 1 << 16).decode()
    os.close(controller)

    assert 0 == done.returncode
    assert "\x1b[" in shown
    assert "\x1b[" not in plain
    assert "[red]First[/red]" in shown
    assert "[red]First[/red]" in plain


def test_a_repository_with_sha256_has_a_status(tmp_path):
    repo = Repo.make(tmp_path / "other", {"a": "a"}, object_format="sha256")
    call(repo, "init", "--no-check")
    repo.add_task("a", "true")
    said = call(repo, "status", "--json").json

    assert ["a"] == [line["id"] for line in said["tasks"]]
    assert 64 == len(said["target"]["commit"])


def test_a_settled_record_begins_its_message_with_its_state(repo):
    """Overview tells open records from settled ones by this."""
    made = ledger.submission(repo, repo.commit({"x": "x"}, branch="work"))
    ledger.moved(repo, made, SubmissionState.WITHDRAWN, reason="No.")
    ref = f"refs/gitagent/submissions/{made.id}"

    assert "withdrawn: No." == repo.git("log", "-1", "--format=%s", ref)
    assert replace(made, state=SubmissionState.WITHDRAWN).settled


def test_an_archived_submission_is_still_told(repo):
    made = ledger.submission(repo, repo.commit({"x": "x"}, branch="work"))
    done = ledger.moved(repo, made, SubmissionState.REJECTED, reason="No.")
    ref = f"refs/gitagent/submissions/{made.id}"
    found = discover(repo.path)
    with found.objects(fast=True) as objects:
        archive.enact(found, objects, Archive("2026-01", ((ref, done.oid),)))
    said = call(repo, "status", made.id, "--json").json

    assert repo.ref(ref) is None
    assert ("rejected", True) == (said["submission"]["state"], said["archived"])
    assert 0 == call(repo, "logs", made.id).code


def test_a_target_that_is_named_anew_is_found(repo):
    repo.branch("agents")
    repo.git("checkout", "-q", "agents")
    repo.commit({".agent/config.toml": 'target = "agents"\n'})
    repo.git("checkout", "-q", "main")
    repo.commit({".agent/config.toml": None})
    before = call(repo, "status", "--json").json["target"]["ref"]
    repo.commit({".agent/config.toml": 'target = "main"\n'})
    after = call(repo, "status", "--json").json["target"]["ref"]

    assert ("refs/heads/agents", "refs/heads/main") == (before, after)


def test_of_a_red_target_the_head_says_what_concerns_all(repo):
    tip = repo.commit({"x": "x"}, branch="work")
    red = "The target is red: Check a failed. Land a repair."
    ledger.submission(repo, tip, reason=f"{red} This is none yet: Check b failed.")
    said = call(repo, "status", "--json").json

    assert red == said["target"]["paused"]
    assert said["submissions"][0]["reason"].endswith("Check b failed.")
