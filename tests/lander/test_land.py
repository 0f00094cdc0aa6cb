import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gitagent.core.action import LandStep
from gitagent.core.receipt import Result
from gitagent.core.settings import Lander
from gitagent.core.submission import CheckLine, SubmissionState
from gitagent.errors import Busy, LostRace
from gitagent.files.frontmatter import split
from gitagent.host import clock
from gitagent.lander import landing, prepare, submit
from gitagent.lander.land import Landed, Obstructed, land
from tests.support.lander import Bench, bench, moment, task_record

ADA = "Ada Author <ada@example.org>"


def tip_of(made: Bench, files: dict[str, str | None], message: str = "Change") -> str:
    """Commit on a branch as Ada."""
    parents = (made.target,)
    return made.repo.commit_at(
        "refs/heads/work", files, message, parents=parents, author=ADA
    )


def landed(result: Landed | Obstructed) -> Landed:
    assert isinstance(result, Landed)
    return result


def note_of(made: Bench, commit: str = "main") -> tuple[str, str]:
    """Return path and text of the note that a landing brought."""
    diff = made.repo.git("diff", "--name-only", f"{commit}^1", commit)
    (path,) = [p for p in diff.splitlines() if p.startswith(".agent/landings/")]
    return path, made.repo.read(path, commit)


# --- one green submission


def test_a_green_submission_moves_the_target_by_one_fast_forward(made: Bench):
    old = made.target
    tip = tip_of(made, {"a.txt": "one\n"}, "Add a\n\nBecause.")
    result = landed(made.land(tip))
    commit = made.objects.commit(made.target)

    assert result.commit == made.target
    assert (old, tip) == commit.parents
    assert made.prepare(result.submissions[0], old).product == product(
        made, made.target
    )
    (moved,) = made.repo.log("%gs", "-g", "-1", "main")
    assert moved.startswith(f"gitagent: land {result.submissions[0].id}")
    assert made.target == submit.find(made.objects, result.submissions[0].id).commit


def test_the_landing_is_the_submitters_and_the_lander_commits_it(made: Bench):
    tip = tip_of(made, {"a.txt": "one\n"})
    made.land(tip)
    who = made.repo.log("%an <%ae> %at|%cn <%ce>", "-1", "main")[0]
    when = made.repo.log("%at", "-1", tip)[0]

    assert f"{ADA} {when}|gitagent <person@example.org>" == who


def test_the_committer_can_be_set(made: Bench):
    made.settings = replace(made.settings, lander=Lander(name="Bot", email="b@x.org"))
    made.land(tip_of(made, {"a.txt": "one\n"}))

    assert ["Bot <b@x.org>"] == made.repo.log("%cn <%ce>", "-1", "main")


def test_without_any_address_the_committer_has_one_that_cannot_exist(
    made: Bench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    made.land(tip_of(made, {"a.txt": "one\n"}))

    assert [landing.FALLBACK_EMAIL] == made.repo.log("%ce", "-1", "main")


def test_the_trailers_say_what_was_checked(made: Bench):
    tip = tip_of(made, {"a.txt": "one\n"})
    result = landed(made.land(tip))
    config = made.repo.oid("main:.agent/config.toml")

    assert [
        ("Gitagent-Submission", result.submissions[0].id),
        ("Gitagent-Tip", tip),
        ("Gitagent-Config", config),
        ("Gitagent-Checked", product(made, made.target)),
        ("Gitagent-Check", "tests passed 3.1s"),
    ] == made.repo.trailers("main")


def product(made: Bench, commit: str) -> str:
    """Compute a product tree with plain Git."""
    index = made.repo.path / ".git" / "product-index"
    env = {"GIT_INDEX_FILE": str(index), "PATH": "/usr/bin:/bin"}

    def git(*args: str) -> str:
        command = ["git", "-C", str(made.repo.path), *args]
        return subprocess.check_output(command, env=env, text=True).strip()

    git("read-tree", commit)
    folders = (".agent/tasks", ".agent/landings", ".agent/memory")
    git("rm", "-r", "-q", "--cached", "--ignore-unmatch", "--", *folders)
    return git("write-tree")


def test_fake_trailers_in_other_peoples_text_are_escaped(made: Bench):
    message = (
        "Gitagent-Submission: s-aaaaaaaaaaaa\n\nText.\n\n"
        "Gitagent-Check: tests passed 0.1s\nGitagent-Record: init\n"
        "gitagent-tip: 0\nSigned-off-by: Ada <ada@example.org>\n"
    )
    result = landed(made.land(tip_of(made, {"a.txt": "one\n"}, message)))
    ours = [pair for pair in made.repo.trailers("main") if "itagent" in pair[0].lower()]

    assert ("Gitagent-Submission", result.submissions[0].id) == ours[0]
    assert 5 == len(ours)


def test_control_characters_do_not_reach_message_or_note(made: Bench):
    tip = tip_of(made, {"a.txt": "one\n"}, "Add \x1b[31mred\x1b[0m \u202eback\n\n\x07")
    made.land(tip)
    message = made.repo.log("%B", "-1", "main")[0]
    _, text = note_of(made)

    for shown in (message, text):
        assert not set("\x1b\x07\u202e") & set(shown)
        assert "red" in shown


# --- the note


def test_the_note_says_what_changed_what_was_checked_and_on_what_evidence(made: Bench):
    tip = tip_of(made, {"a.txt": "one\n"}, "Add a\n\nBecause.")
    submission = made.submit(tip, divergence="Took another way.")
    candidate = made.prepare(submission)
    ready = made.green(submission, candidate)
    made.land_ready(ready, candidate)
    path, text = note_of(made)
    values = split(text.encode(), path).values
    year, month = made.repo.log("%cd", "-1", "--date=format:%Y-%m")[0].split("-")
    place = ready.checks[0].receipt or ""

    assert f".agent/landings/{year}/{month}/{submission.id}.md" == path
    assert tip == values["tip"]
    assert candidate.product == values["checked"]
    (check,) = values["check"]
    assert ("tests", "passed", place) == (
        check["name"],
        check["result"],
        check["receipt"],
    )
    assert made.repo.oid(place) == check["blob"]
    assert "a.txt" in text
    assert "Because." in text
    assert "Took another way." in text


def test_the_failing_output_of_a_flaky_check_is_in_the_note(made: Bench):
    submission = made.submit(tip_of(made, {"a.txt": "one\n"}))
    candidate = made.prepare(submission)
    made.receipt(candidate, result=Result.FAILED, output=b"it broke here\n")
    passed = made.receipt(candidate, run=2)
    line = CheckLine("tests", "flaky", passed.seconds, passed.place)
    made.land_ready(replace(submission, checks=(line,), config="0" * 40), candidate)

    assert "it broke here" in note_of(made)[1]
    assert ("Gitagent-Check", "tests flaky 3.1s") in made.repo.trailers("main")


def test_deleted_and_skipped_tests_are_named_in_the_note(made: Bench):
    """The agent weakens the checks."""
    made.repo.commit({"tests/a.py": "assert 1\n", "tests/b.py": "assert 2\n"})
    skip = "import pytest\n\npytest.skip('later')\n"
    made.land(tip_of(made, {"tests/a.py": None, "tests/b.py": skip}))
    _, text = note_of(made)

    assert "## Tests that judge less than before" in text
    assert "- `tests/a.py`: deleted\n- `tests/b.py`: " in text
    assert "1 more skip" in text


def test_a_note_that_exists_already_is_not_overwritten(made: Bench):
    submission = made.submit(tip_of(made, {"a.txt": "one\n"}))
    path = landing.note_path(submission.id, moment().stamp)
    made.repo.commit({path: "somebody's\n"})
    candidate = made.prepare(submission)
    made.land_ready(made.green(submission, candidate), candidate)

    assert "somebody's\n" == made.repo.read(path, "main")
    assert path.replace(".md", "-2.md") == note_of(made)[0]


def test_a_landing_of_gitagent_itself_says_that_a_daemon_changes_over(
    made: Bench, monkeypatch: pytest.MonkeyPatch
):
    package = made.repo.path / "src" / "gitagent"
    monkeypatch.setattr(landing.gitagent, "__file__", str(package / "__init__.py"))
    made.land(tip_of(made, {"src/other.py": "1\n"}))
    without = note_of(made)[1]
    made.land(tip_of(made, {"src/gitagent/loop.py": "1\n"}))

    assert "changes over" not in without
    assert "changes over" in note_of(made)[1]


# --- the task's file


def test_the_task_file_moves_to_done_with_the_same_bytes(made: Bench):
    made.repo.add_task("fix", "true", title="Fix the login")
    blob = made.repo.oid("main:.agent/tasks/fix.md")
    record = task_record("fix", blob, "Fix the login")
    tip = tip_of(made, {"a.txt": "one\n"}, "wip")
    made.land(tip, record, task="fix", task_blob=blob)

    assert blob == made.repo.oid("main:.agent/tasks/done/fix.md")
    assert ".agent/tasks/fix.md" not in made.repo.paths("main")
    assert ["Fix the login"] == made.repo.log("%s", "-1", "main")
    assert ("Gitagent-Task", "fix") in made.repo.trailers("main")
    assert [] == made.repo.status()


def test_a_product_tree_with_records_in_it_cannot_land(made: Bench):
    """Only what was checked is a product, and no check sees records."""
    submission = made.submit(tip_of(made, {"a.txt": "one\n"}))
    candidate = made.prepare(submission)
    odd = made.repo.commit_at(
        "refs/heads/odd", {".agent/memory/a.md": "x\n"}, parents=(candidate.tip,)
    )
    old = made.target
    wrong = replace(candidate, product=made.objects.commit(odd).tree)

    with pytest.raises(AssertionError, match="BUG"):
        made.land_ready(submission, wrong)
    assert old == made.target


def test_what_lands_has_the_checked_product_and_the_newest_records(made: Bench):
    """The candidate was made before the target's records moved."""
    submission = made.submit(tip_of(made, {"a.txt": "one\n"}))
    candidate = made.prepare(submission)
    moved = made.repo.commit({".agent/memory/a.md": "new\n"})
    ready = made.green(submission, candidate)
    landed(made.land_ready(ready, replace(candidate, base=moved)))

    assert candidate.product == product(made, made.target)
    assert "new\n" == made.repo.read(".agent/memory/a.md", "main")


def test_a_record_that_both_changed_is_merged_anew(made: Bench):
    path = ".agent/memory/a.md"
    made.repo.commit({path: "one\n"})
    submission = made.submit(tip_of(made, {path: "mine\n", "a.txt": "x\n"}))
    candidate = made.prepare(submission)
    moved = made.repo.commit({path: "theirs\n"})
    ready = made.green(submission, candidate)

    with pytest.raises(LostRace):
        made.land_ready(ready, replace(candidate, base=moved))
    assert moved == made.target


# --- races on the target


def test_a_target_that_moved_is_a_lost_race_and_nobodys_commit_is_lost(made: Bench):
    submission = made.submit(tip_of(made, {"a.txt": "one\n"}))
    candidate = made.prepare(submission)
    ready = made.green(submission, candidate)
    moved = made.repo.commit({"b.txt": "meanwhile\n"})

    with pytest.raises(LostRace):
        made.land_ready(ready, candidate)
    assert moved == made.target
    assert submission == submit.find(made.objects, submission.id)
    again = made.prepare(submission)
    assert landed(made.land_ready(made.green(submission, again), again))
    assert {"a.txt", "b.txt"} <= set(made.repo.paths("main"))


def test_a_record_that_moved_is_a_lost_race_before_the_target_is_touched(made: Bench):
    submission = made.submit(tip_of(made, {"a.txt": "one\n"}))
    candidate = made.prepare(submission)
    ready = made.green(submission, candidate)
    withdrawn = replace(submission, state=SubmissionState.WITHDRAWN)
    submit.write(made.repository, submission, withdrawn, "withdrawn")
    old = made.target

    with pytest.raises(LostRace):
        made.land_ready(ready, candidate)
    assert old == made.target


def test_a_locked_index_is_busy_and_nothing_is_half_done(made: Bench):
    submission = made.submit(tip_of(made, {"a.txt": "one\n"}))
    candidate = made.prepare(submission)
    ready = made.green(submission, candidate)
    old, lock = made.target, made.repo.path / ".git" / "index.lock"
    lock.touch()

    with pytest.raises(Busy):
        made.land_ready(ready, candidate)
    assert old == made.target
    lock.unlink()
    recorded = submit.find(made.objects, submission.id)
    again = replace(ready, commit=recorded.commit, oid=recorded.oid)
    assert landed(made.land_ready(again, candidate)).commit == recorded.commit


_LAND = """
import json, sys
from dataclasses import replace
from pathlib import Path
from gitagent.core.action import LandStep
from gitagent.core.settings import Settings, Check
from gitagent.errors import Busy, LostRace
from gitagent.lander import submit, prepare, land
from gitagent.git.repository import discover
from tests.support.lander import Bench, moment
from tests.support.repos import Repo
path = Path(sys.argv[1])
repository = discover(path)
tip, wins = sys.argv[2], 0
with repository.objects() as objects:
    bench = Bench(Repo(path, repository.bare), repository, objects)
    submission = submit.create(repository, objects, submit.new(objects, tip))
    sys.stdin.readline()
    while True:
        candidate = bench.prepare(submission)
        if candidate.contained:
            break
        now = submit.find(objects, submission.id)
        ready = replace(submission, commit=now.commit, oid=now.oid)
        try:
            result = land.land(
                repository,
                objects,
                (LandStep(ready, candidate, None, candidate.product),),
                Settings(),
                moment(),
            )
            wins += isinstance(result, land.Landed)
        except (LostRace, Busy):
            continue
print(wins)
"""


@pytest.mark.slow
def test_two_landers_at_once_land_everything_once_in_one_line(tmp_path: Path):
    with bench(tmp_path / "hub", bare=True) as made:
        base = made.target
        tips = [made.offer({f"f{n}": "1"}, branch=f"w{n}") for n in range(4)]
        running = [
            subprocess.Popen(
                [sys.executable, "-c", _LAND, str(made.repo.path), tip],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for tip in tips
        ]
        for process in running:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        wins = [process.communicate()[0] for process in running]

        assert ["1\n"] * 4 == wins
        line = made.repo.log("%P", "--first-parent", f"{base}..main")
        assert 4 == len(line)
        assert set(tips) == {parents.split(" ")[1] for parents in line}
        assert {f"f{n}" for n in range(4)} <= set(made.repo.paths("main"))


# --- held checkouts


def test_the_checkout_of_the_target_follows(made: Bench):
    made.land(tip_of(made, {"a.txt": "one\n", "README.md": "# new\n"}))

    assert [] == made.repo.status()
    assert "one\n" == (made.repo.path / "a.txt").read_text()


def test_edits_to_other_files_are_kept_staged_ones_too(made: Bench):
    made.repo.commit({"x": "1\n", "y": "1\n"})
    made.repo.write("x", "edited\n")
    made.repo.write("y", "staged\n")
    made.repo.git("add", "y")
    landed(made.land(tip_of(made, {"a.txt": "one\n"})))

    assert [" M x", "M  y"] == made.repo.status()
    assert "edited\n" == (made.repo.path / "x").read_text()


def test_edits_in_the_way_hold_the_landing_and_name_the_paths(made: Bench):
    submission = made.submit(tip_of(made, {"README.md": "# theirs\n"}))
    candidate = made.prepare(submission)
    ready = made.green(submission, candidate)
    old = made.target
    made.repo.write("README.md", "# mine, uncommitted\n")
    result = made.land_ready(ready, candidate)

    assert isinstance(result, Obstructed)
    assert "README.md" in result.reason
    assert old == made.target
    assert "# mine, uncommitted\n" == (made.repo.path / "README.md").read_text()
    assert [" M README.md"] == made.repo.status()


def test_an_untracked_file_in_the_way_holds_the_landing(made: Bench):
    made.repo.write("a.txt", "mine\n")
    result = made.land(tip_of(made, {"a.txt": "one\n"}))

    assert isinstance(result, Obstructed)
    assert "a.txt" in result.reason
    assert "mine\n" == (made.repo.path / "a.txt").read_text()


def test_a_held_landing_is_recorded_once_and_lands_when_the_way_is_free(made: Bench):
    submission = made.submit(tip_of(made, {"README.md": "# theirs\n"}))
    candidate = made.prepare(submission)
    ready = made.green(submission, candidate)
    made.repo.write("README.md", "# mine\n")
    for _ in range(3):
        assert isinstance(made.land_ready(ready, candidate), Obstructed)
        now = submit.find(made.objects, submission.id)
        ready = replace(ready, commit=now.commit, oid=now.oid)
    story = made.repo.log("%s", "--first-parent", submit.ref_of(submission.id))
    made.repo.git("checkout", "-q", "README.md")

    assert landed(made.land_ready(ready, candidate)).commit == ready.commit
    assert 1 == sum("lands as" in line for line in story)
    assert [] == made.repo.status()


# --- crashes


def test_after_a_crash_before_the_swap_a_fresh_commit_lands_on_the_moved_target(
    made: Bench,
):
    submission = made.submit(tip_of(made, {"a.txt": "one\n"}))
    candidate = made.prepare(submission)
    ready = made.green(submission, candidate)
    stale = landing.build(
        made.repository,
        made.objects,
        LandStep(ready, candidate, None, candidate.product),
        candidate.base,
        made.settings,
        landing.committer(made.repository, made.settings, clock.now()),
        (),
    )
    left = submit.write(
        made.repository, submission, replace(ready, commit=stale), "lands"
    )
    made.repo.commit({"b.txt": "meanwhile\n"})
    again = made.prepare(left)
    result = landed(made.land_ready(left, again))

    assert stale != result.commit == made.target
    assert result.commit == submit.find(made.objects, submission.id).commit


def test_the_landing_commit_cannot_be_pruned_before_the_swap(made: Bench):
    made.repo.write("a.txt", "in the way\n")
    submission = made.submit(tip_of(made, {"a.txt": "one\n"}))
    candidate = made.prepare(submission)
    assert isinstance(
        made.land_ready(made.green(submission, candidate), candidate), Obstructed
    )
    prepare.unpin(made.repository, [candidate])
    made.repo.git("gc", "-q", "--prune=now")
    commit = submit.find(made.objects, submission.id).commit

    assert "commit" == made.repo.git("cat-file", "-t", commit)


def test_a_candidate_whose_merged_tree_was_pruned_still_lands(made: Bench):
    made.repo.add_task("open", "true")
    tip = tip_of(made, {"a.txt": "one\n"})
    submission = made.submit(tip)
    made.repo.commit({".agent/tasks/more.md": "# More\n"})
    *_, candidate = made.line(submission)
    candidate = prepare.pin(made.repository, made.objects, candidate)
    ready = made.green(submission, candidate)
    made.repo.git("gc", "-q", "--prune=now")
    landed(made.land_ready(ready, candidate))

    assert ".agent/tasks/more.md" in made.repo.paths("main")
    made.repo.fsck()


def set_of(made: Bench, *names: str) -> tuple[LandStep, ...]:
    """Return landings of one file each that the last tree vouches for."""
    submissions = [made.submit(made.offer({n: "1\n"}, n, branch=n)) for n in names]
    _, *line = made.line(*submissions)
    last = prepare.pin(made.repository, made.objects, line[-1])
    return tuple(
        LandStep(made.green(each, last), candidate, None, last.product)
        for each, candidate in zip(submissions, line, strict=True)
    )


def land_all(made: Bench, steps: tuple[LandStep, ...]) -> Landed | Obstructed:
    return land(made.repository, made.objects, steps, made.settings, moment())


def test_a_set_lands_as_one_commit_each_by_one_move_of_the_target(made: Bench):
    old = made.target
    steps = set_of(made, "a", "b", "c")
    result = landed(land_all(made, steps))
    moves = made.repo.log("%gs", "-g", "main")

    tips = [step.candidate.tip for step in reversed(steps)]
    line = made.repo.log("%H %P", "--first-parent", f"{old}..main")
    assert tips == [each.split()[2] for each in line]
    assert [s.commit for s in reversed(result.submissions)] == [
        each.split()[0] for each in line
    ]
    assert old == line[-1].split()[1]
    assert moves[0].startswith("gitagent: land ")
    assert all(step.submission.id in moves[0] for step in steps)
    assert 1 == sum("land s-" in move for move in moves)
    assert product(made, made.target) == steps[-1].checked
    said = {dict(made.repo.trailers(c.split()[0]))["Gitagent-Checked"] for c in line}
    assert {steps[-1].checked} == said
    assert [] == made.repo.status()


def test_a_set_with_one_that_left_the_queue_meanwhile_lands_nothing(made: Bench):
    steps = set_of(made, "a", "b", "c")
    gone = steps[1].submission
    known = submit.find(made.objects, gone.id)
    withdrawn = replace(known, state=SubmissionState.WITHDRAWN)
    submit.write(made.repository, known, withdrawn, "withdrawn")
    old = made.target

    with pytest.raises(LostRace):
        land_all(made, steps)
    assert old == made.target


def test_edits_in_the_way_of_one_of_a_set_name_that_one(made: Bench):
    steps = set_of(made, "a", "b", "c")
    made.repo.write("b", "mine\n")
    result = land_all(made, steps)

    assert isinstance(result, Obstructed)
    assert (steps[1].submission.id,) == result.submissions


# --- other repositories


@pytest.mark.parametrize(("bare", "object_format"), [(True, "sha1"), (False, "sha256")])
def test_it_lands_in_bare_and_in_sha256_repositories(
    tmp_path: Path, *, bare: bool, object_format: str
):
    with bench(tmp_path / "r", bare=bare, object_format=object_format) as made:
        made.repo.commit_at("refs/heads/main", {".agent/tasks/x.md": "# X\n"})
        if not bare:
            made.repo.git("reset", "-q", "--hard")
        result = landed(made.land(tip_of(made, {"a.txt": "one\n"})))

        assert result.commit == made.target
        made.repo.fsck()


def test_the_record_is_read_with_plain_git(made: Bench):
    result = landed(made.land(tip_of(made, {"a.txt": "one\n"})))
    text = made.repo.read("record-v1.json", submit.ref_of(result.submissions[0].id))

    assert made.target == json.loads(text)["commit"]
