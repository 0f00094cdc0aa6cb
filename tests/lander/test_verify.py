import json
import zlib
from dataclasses import replace

import pytest

from gitagent.core.action import LandStep
from gitagent.core.approval import Approval, Content
from gitagent.core.candidate import Candidate
from gitagent.core.receipt import Result
from gitagent.core.settings import Check
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.files.message import annotated
from gitagent.lander import submit
from gitagent.lander.approval import write
from gitagent.lander.land import Landed, land
from gitagent.lander.verify import Finding, verify
from tests.support.lander import INIT, Bench, archive, moment, task_record
from tests.support.repos import settings_text

MAIN = "refs/heads/main"


def findings(made: Bench) -> list[Finding]:
    """Verify with a store that remembers nothing; the summary is the last."""
    with made.repository.objects() as objects:
        found = list(verify(made.repository, objects, made.settings))
    assert not found[-1].problem
    assert all(each.problem for each in found[:-1])
    return found


def problems(made: Bench) -> list[Finding]:
    return findings(made)[:-1]


def landed(made: Bench, name: str = "a") -> tuple[Submission, Candidate]:
    submission = made.submit(made.offer({name: "1"}, branch=f"b-{name}"))
    candidate = made.prepare(submission)
    result = made.land_ready(made.green(submission, candidate), candidate)
    assert isinstance(result, Landed)
    return made.settle(result.submissions[0]), candidate


def test_what_was_landed_as_it_should_be_is_proven(made: Bench):
    made.repo.add_task("fix", "true")
    blob = made.repo.oid("main:.agent/tasks/fix.md")
    made.repo.commit({"past.txt": "before\n"})
    made.repo.git("reset", "-q", "--hard", "HEAD^")
    landed(made)
    result = made.land(
        made.offer({"b": "1"}, branch="b"),
        task_record("fix", blob, "Fix"),
        task="fix",
        task_blob=blob,
    )
    assert isinstance(result, Landed)
    made.settle(result.submissions[0])
    found = findings(made)

    assert [] == found[:-1]
    assert "2 landings" in found[-1].text
    assert "2 receipts" in found[-1].text


def test_a_landing_that_is_not_yet_settled_is_proven(made: Bench):
    assert isinstance(made.land(made.offer({"a": "1"})), Landed)

    assert [] == problems(made)


def approved(made: Bench, tip: str, *contents: Content) -> Landed:
    """Land a tip with an approval of these contents."""
    submission = made.submit(tip)
    candidate = made.prepare(submission)
    given = Approval(submission.id, tip, contents, by="", when=moment().stamp)
    who = made.objects.commit(made.target).author
    facts = (made.repository, made.objects, given, who, made.settings, made.target)
    approval = write(*facts)
    ready = made.green(submission, candidate)
    step = LandStep(ready, candidate, None, candidate.product, approval)
    result = land(made.repository, made.objects, (step,), made.settings, moment())
    assert isinstance(result, Landed)
    made.settle(result.submissions[0])
    return result


def test_a_protected_path_lands_with_the_approval_of_its_content(made: Bench):
    tip = made.offer({".mcp.json": "{}"}, branch="b")
    blob = made.repo.oid(f"{tip}:.mcp.json")
    approved(made, tip, Content(".mcp.json", 0o100644, blob))

    assert [] == problems(made)


def test_a_protected_path_without_its_approval_is_named(made: Bench):
    approved(made, made.offer({".mcp.json": "{}"}, branch="b"))
    landed(made, ".mcp.json")
    found = [each.text for each in problems(made)]

    assert 2 == len(found)
    assert "names no approval" in found[0]
    assert "does not name .mcp.json" in found[1]


def test_a_flaky_pass_without_a_failed_run_is_named(made: Bench):
    submission = made.submit(made.offer({"a": "1"}))
    candidate = made.prepare(submission)
    ready = made.green(submission, candidate)
    made.receipt(candidate, replace(made.settings.check[0], run="false"))
    claimed = replace(ready, checks=(replace(ready.checks[0], state="flaky"),))
    made.land_ready(claimed, candidate)

    assert any("flaky" in each.text for each in problems(made))


def test_a_flaky_landing_with_its_failed_run_is_fine(made: Bench):
    submission = made.submit(made.offer({"a": "1"}))
    candidate = made.prepare(submission)
    made.receipt(candidate, result=Result.FAILED)
    passed = made.receipt(candidate, run=2)
    line = CheckLine("tests", "flaky", passed.seconds, passed.place)
    config = made.repo.oid("main:.agent/config.toml")
    made.land_ready(replace(submission, checks=(line,), config=config), candidate)

    assert [] == problems(made)


def test_an_archived_landing_is_proven(made: Bench):
    submission, _ = landed(made)
    archive(made, submission)

    assert [] == problems(made)


def test_a_direct_commit_is_named(made: Bench):
    landed(made)
    evil = made.repo.commit({"evil.txt": "x\n"})
    landed(made, "b")

    assert [evil] == [each.where for each in problems(made)]


def test_a_second_init_hides_nothing_from_the_proof(made: Bench):
    gone = made.repo.commit({".agent/config.toml": None, "evil.txt": "x\n"})
    again = made.repo.commit_at(
        MAIN, {".agent/config.toml": settings_text("true")}, INIT
    )

    assert [again, gone] == [each.where for each in problems(made)]


def test_a_landing_with_a_copied_trailer_is_named(made: Bench):
    submission, _ = landed(made)
    trailers = [*made.repo.trailers("main")]
    evil = made.repo.commit_at(MAIN, {"evil": "x"}, annotated("Land", trailers))

    assert {evil} == {each.where for each in problems(made)}
    assert submission.commit != evil


def test_a_landing_whose_content_was_swapped_is_named(made: Bench):
    """The record names the commit, but its tree is not the one that was checked."""
    submission, _ = landed(made)
    commit = made.objects.commit(made.target)
    message = commit.message
    evil = made.repo.commit_at(MAIN, {"a": "evil\n"}, message, parents=commit.parents)
    submit.write(
        made.repository, submission, replace(submission, commit=evil), "forged"
    )

    assert any("Gitagent-Checked" in each.text for each in problems(made))
    assert {evil} == {each.where for each in problems(made)}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tip", "1" * 40),
        ("task", "other"),
        ("config", "2" * 40),
        ("state", SubmissionState.REJECTED),
        ("checks", ()),
    ],
)
def test_a_record_that_says_otherwise_is_named(made: Bench, field: str, value: object):
    submission, _ = landed(made)
    forged = replace(submission, **{field: value})  # type: ignore[arg-type]
    submit.write(made.repository, submission, forged, "forged")

    assert made.target in {each.where for each in problems(made)}


def test_a_missing_record_is_named(made: Bench):
    submission, _ = landed(made)
    made.repo.git("update-ref", "-d", submit.ref_of(submission.id))

    (found,) = problems(made)
    assert made.target == found.where
    assert submission.id in found.text


def test_a_landing_that_left_the_target_is_named(made: Bench):
    submission, _ = landed(made)
    made.repo.git("reset", "-q", "--hard", "HEAD^")

    assert [submit.ref_of(submission.id)] == [each.where for each in problems(made)]


def test_a_check_of_the_settings_that_was_not_run_is_named(made: Bench):
    text = settings_text("true", '[[check]]\nname = "lint"\nrun = "true"\n')
    made.repo.commit_at(MAIN, {".agent/config.toml": text}, "Ask for lint")
    landed(made)

    assert any("lint" in each.text for each in problems(made))


def test_a_receipt_of_another_command_proves_nothing(made: Bench):
    made.settings = replace(made.settings, check=(Check("tests", "echo fake"),))
    landed(made)

    assert any("another command" in each.text for each in problems(made))


# --- receipts


def rewrite(made: Bench, place: str, change: dict[str, object], *, amend: bool) -> None:
    """Put other content where a receipt lies."""
    ref, _, path = place.partition(":")
    values = json.loads(made.repo.read(path, ref)) | change
    log = path.replace(".json", ".log")
    files = {path: json.dumps(values), log: made.repo.raw("show", f"{ref}:{log}")}
    if amend:
        parents = tuple(made.repo.git("rev-parse", f"{ref}^@").split())
        made.repo.commit_at(ref, files, "tests passed", parents=parents)
    else:
        made.repo.commit_at(ref, files, "tests passed")


@pytest.mark.parametrize("amend", [True, False])
def test_a_changed_receipt_is_named(made: Bench, *, amend: bool):
    submission, _ = landed(made)
    place = submission.checks[0].receipt or ""
    rewrite(made, place, {"seconds": 3.15}, amend=amend)
    found = problems(made)

    assert any(place in each.where + each.text for each in found)
    assert any(each.where == made.target for each in found)


def test_a_receipt_that_names_another_product_is_named(made: Bench):
    submission, _ = landed(made)
    place = submission.checks[0].receipt or ""
    rewrite(made, place, {"product": "1" * 40}, amend=True)

    assert any(place == each.where for each in problems(made))


def test_a_receipt_that_is_gone_is_named(made: Bench):
    submission, _ = landed(made)
    ref = (submission.checks[0].receipt or "").partition(":")[0]
    made.repo.git("update-ref", "-d", ref)

    assert [made.target] == [each.where for each in problems(made)]


@pytest.mark.parametrize("suffix", [".json", ".log"])
@pytest.mark.parametrize("how", ["flip", "other", "gone"])
def test_a_flipped_byte_in_a_receipt_or_its_output_is_named(
    made: Bench, suffix: str, how: str
):
    submission, _ = landed(made)
    place = submission.checks[0].receipt or ""
    oid = made.repo.oid(place.removesuffix(".json") + suffix)
    file = made.repo.path / ".git/objects" / oid[:2] / oid[2:]
    file.chmod(0o644)
    data = bytearray(file.read_bytes())
    if how == "flip":
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    elif how == "other":
        content = bytearray(zlib.decompress(data))
        content[-3] ^= 1
        file.write_bytes(zlib.compress(content))
    else:
        file.unlink()
    found = problems(made)

    assert any(place in each.where + each.text for each in found)


def test_a_target_that_gitagent_never_saw_is_no_traceback(made: Bench):
    other = replace(made.settings, target="none")
    with made.repository.objects() as objects:
        found = list(verify(made.repository, objects, other))

    assert found[0].problem
