from dataclasses import replace

import pytest

from gitagent.core.ident import submission_id
from gitagent.core.submission import Submission
from gitagent.files.message import annotated
from gitagent.git.repository import discover
from gitagent.lander import submit
from gitagent.lander.audit import SHOWN, Audit
from gitagent.lander.land import Landed
from tests.support.lander import INIT, Bench, archive
from tests.support.repos import settings_text

MAIN = "refs/heads/main"


def direct(made: Bench, audit: Audit | None = None) -> tuple[str, ...]:
    """Audit the target with the records as they are."""
    known = submit.all_submissions(made.objects, made.objects.refs())
    records = {k: v for k, v in known.items() if isinstance(v, Submission)}
    return (audit or Audit(made.repository)).direct(made.objects, made.target, records)


def landed(made: Bench, name: str = "a") -> Submission:
    result = made.land(made.offer({name: "1"}, branch=f"b-{name}"))
    assert isinstance(result, Landed)
    return result.submissions[0]


def forged(made: Bench, key: str, value: str, path: str) -> str:
    """Commit a change on the target that claims to be gitagent's."""
    message = annotated("Looks like one of ours", [(key, value)])
    return made.repo.commit_at(MAIN, {path: "x\n"}, message)


def test_history_before_init_is_nobodys_business(made: Bench):
    assert () == direct(made)


def test_a_direct_commit_is_found(made: Bench):
    found = made.repo.commit({"a.txt": "past the checks\n"})

    assert (found,) == direct(made)


def test_a_landing_and_gitagents_own_commits_are_no_findings(made: Bench):
    landed(made)
    forged(made, "Gitagent-Record", "done", ".agent/tasks/done/x.md")

    assert () == direct(made)


def test_a_commit_that_changes_only_tasks_is_a_way_in(made: Bench):
    made.repo.add_task("fix", "true")
    made.repo.commit({".agent/tasks/fix.md": None})

    assert () == direct(made)


def test_tasks_together_with_anything_else_are_a_finding(made: Bench):
    files = {".agent/tasks/fix.md": "# Fix\n", "a.txt": "x\n"}

    assert (made.repo.commit(files),) == direct(made)


def test_copied_trailers_prove_nothing(made: Bench):
    submission = landed(made)
    found = forged(made, "Gitagent-Submission", submission.id, "evil.txt")

    assert (found,) == direct(made)


def test_an_invented_submission_proves_nothing(made: Bench):
    found = forged(made, "Gitagent-Submission", "s-000000000000", "evil.txt")

    assert (found,) == direct(made)


def test_submitting_what_is_there_already_does_not_launder_it(made: Bench):
    named = submission_id("request", "r-1")
    found = forged(made, "Gitagent-Submission", named, "evil.txt")
    late = submit.create(
        made.repository,
        made.objects,
        submit.new(made.objects, found, request_id="r-1"),
    )
    made.settle(replace(late, commit=found))

    assert named == late.id
    assert (found,) == direct(made)


@pytest.mark.parametrize("kind", ["done", "task-add", "init", "task"])
def test_a_record_trailer_excuses_no_change_of_the_product(made: Bench, kind: str):
    found = forged(made, "Gitagent-Record", kind, "evil.txt")

    assert (found,) == direct(made)


def test_a_second_init_that_changes_the_settings_is_a_finding(made: Bench):
    hidden = made.repo.commit({"evil.txt": "x\n"})
    weaker = made.repo.commit_at(
        MAIN, {".agent/config.toml": settings_text("true || true")}, INIT
    )

    assert (weaker, hidden) == direct(made)


def test_a_second_init_that_only_adds_is_none_and_begins_nothing(made: Bench):
    hidden = made.repo.commit({"evil.txt": "x\n"})
    made.repo.commit_at(MAIN, {".agent/agents/README.md": "# Agents\n"}, INIT)

    assert (hidden,) == direct(made)


def test_a_merge_by_hand_is_one_finding_however_much_it_brings(made: Bench):
    made.repo.branch("side")
    made.repo.commit({"b.txt": "x\n"}, branch="side")
    made.repo.commit({"c.txt": "x\n"}, branch="side")
    made.repo.git("merge", "-q", "--no-ff", "-m", "by hand", "side")

    assert (made.target,) == direct(made)


def test_a_record_that_is_written_later_clears_its_landing(made: Bench):
    submission = landed(made)
    audit = Audit(made.repository)

    assert (made.target,) == audit.direct(made.objects, made.target, {})
    known = {submission.id: submission}
    assert () == audit.direct(made.objects, made.target, known)


def test_an_archived_record_still_proves_its_landing(made: Bench):
    submission = made.settle(landed(made))
    archive(made, submission)
    landed(made, "b")

    assert () == direct(made)


def test_a_rewound_target_is_looked_at_from_the_start(made: Bench):
    audit = Audit(made.repository)
    first = made.repo.commit({"a.txt": "x\n"})
    second = made.repo.commit({"b.txt": "x\n"})

    assert (second, first) == direct(made, audit)
    made.repo.git("reset", "-q", "--hard", first)
    assert (first,) == direct(made, audit)
    made.repo.git("reset", "-q", "--hard", f"{first}^")
    assert () == direct(made, audit)
    third = made.repo.commit({"c.txt": "x\n"})
    assert (third,) == direct(made, audit)


class Counting:
    """An object store that counts what is read."""

    def __init__(self, made: Bench) -> None:
        self.made = made
        self.reads = 0

    def __getattr__(self, name: str) -> object:
        self.reads += 1
        return getattr(self.made.objects, name)


def test_a_target_that_stays_costs_no_read(made: Bench):
    made.repo.commit({"a.txt": "x\n"})
    audit, objects = Audit(made.repository), Counting(made)
    first = audit.direct(objects, made.target, {})
    reads = objects.reads

    assert first == audit.direct(objects, made.target, {})
    assert reads == objects.reads


def test_a_thousand_commits_cost_reads_in_proportion_and_fifty_are_shown(made: Bench):
    start = f"from {MAIN}^0\n"
    stream = "".join(
        f"commit {MAIN}\ncommitter T <t@t> {n} +0000\ndata 1\nx\n"
        f"{'' if n else start}M 644 inline d{n % 7}/f{n}\ndata 1\nx\n"
        for n in range(1000)
    )
    audit, objects = Audit(made.repository), Counting(made)
    audit.direct(objects, made.target, {})
    made.repo.git("fast-import", "--quiet", stdin=stream.encode())
    objects.reads = 0
    found = audit.direct(objects, made.target, {})

    assert SHOWN == len(found)
    assert made.target == found[0]
    assert objects.reads < 10_000
    objects.reads = 0
    made.repo.commit_at(MAIN, {"one.more": "x"})
    assert SHOWN == len(audit.direct(objects, made.target, {}))
    assert objects.reads < 20


def test_many_landings_push_no_finding_out(made: Bench):
    found = made.repo.commit({"evil.txt": "x\n"})
    records = {}
    for n in range(SHOWN + 5):
        submission = f"s-{n:012}"
        commit = forged(made, "Gitagent-Submission", submission, f"f{n}")
        records[submission] = replace(
            submit.new(made.objects, found), id=submission, commit=commit
        )

    audit = Audit(made.repository)
    assert (found,) == audit.direct(made.objects, made.target, records)


def test_a_target_without_init_has_no_beginning_and_no_findings(made: Bench):
    made.repo.commit_at("refs/heads/bare", {"a": "1"}, parents=())
    tip = made.repo.commit_at("refs/heads/bare", {"b": "1"})

    assert () == Audit(made.repository).direct(made.objects, tip, {})


def test_the_end_of_a_shallow_history_is_an_end(made: Bench, tmp_path):
    made.repo.commit({"a.txt": "x\n"})
    url = f"file://{made.repo.path}"
    made.repo.git("clone", "-q", "--depth=1", url, str(tmp_path / "shallow"))
    repository = discover(tmp_path / "shallow")
    with repository.objects() as objects:
        assert () == Audit(repository).direct(objects, made.target, {})
