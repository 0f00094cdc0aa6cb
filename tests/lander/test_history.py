"""Batches, squashed and replayed landings: proven, and no finding of the audit."""

from dataclasses import replace

import pytest

from gitagent.core.settings import Check, Settings
from gitagent.core.submission import Submission
from gitagent.files.message import annotated
from gitagent.lander import submit
from gitagent.lander.audit import Audit, Memory, rewound
from gitagent.lander.trail import lands, steps
from gitagent.lander.verify import Finding, verify
from tests.support.history import MAIN, History
from tests.support.lander import Bench

STRATEGIES = ["merge", "squash", "rebase"]


def problems(made: Bench) -> list[Finding]:
    with made.repository.objects() as objects:
        *found, last = verify(made.repository, objects, made.settings)
    assert not last.problem
    return found


def records(made: Bench) -> dict[str, Submission]:
    known = submit.all_submissions(made.objects, made.objects.refs())
    return {k: v for k, v in known.items() if isinstance(v, Submission)}


def direct(made: Bench) -> tuple[str, ...]:
    return Audit(made.repository).direct(made.objects, made.target, records(made))


def offers(made: Bench, count: int, *, commits: int = 1) -> list[str]:
    """Return tips that start at the target as it is."""
    tips = []
    for number in range(count):
        base = MAIN
        for each in range(commits):
            name = f"{made.target[:6]}-{number}-{each}"
            base = made.offer({name: "x\n"}, branch=f"b{number}", base=base)
        tips.append(base)
    return tips


def written(made: Bench, strategy: str, extra: str = "") -> History:
    """Put the strategy into the settings, before the audit begins to look."""
    text = f'[lander]\nstrategy = "{strategy}"\n[[check]]\nname = "tests"\nrun = "true"'
    made.repo.commit_at(
        MAIN,
        {".agent/config.toml": f"{text}\n{extra}"},
        "Begin\n\nGitagent-Record: init\n",
        parents=(made.repo.oid(f"{MAIN}^"),),
    )
    return History(made, strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("chain", [True, False])
@pytest.mark.parametrize("commits", [1, 3])
def test_what_came_in_one_move_is_proven(made: Bench, strategy, chain, commits):
    history = written(made, strategy)
    history.move(offers(made, 1, commits=commits))
    history.move(offers(made, 3, commits=commits), chain=chain)
    history.move(offers(made, 2, commits=commits), chain=chain)

    assert ([], ()) == (problems(made), direct(made))


def test_a_check_that_sees_history_is_proven_from_all_that_was_below_it(made: Bench):
    check = Check("tests", "true", history=True)
    made.settings = Settings(check=(check,))
    history = written(made, "merge", "history = true\n")
    history.move(offers(made, 1))
    history.move(offers(made, 3))
    history.move(offers(made, 2), chain=True)

    assert [] == problems(made)


def test_a_product_that_came_in_another_move_vouches_for_nothing(made: Bench):
    history = History(made)
    first, second = offers(made, 2)
    late = history._trees(made.target, (first, second))[1]
    history.move((first,), checked=made.repo.oid(late))
    where = made.target
    history.move((second,))

    assert [where] == [each.where for each in problems(made)]


def test_a_product_that_was_never_on_the_target_vouches_for_nothing(made: Bench):
    History(made).move(offers(made, 2), checked="1" * 40)

    assert 2 == len(problems(made))


def test_a_commit_between_two_of_a_move_ends_what_one_vouches_for(made: Bench):
    history = History(made)
    first, second = history.move(offers(made, 2))
    commit = made.objects.commit(second.commit or "")
    between = made.repo.commit_at(
        MAIN, {".agent/tasks/x.md": "# X\n"}, parents=(first.commit or "",)
    )
    moved = made.repo.git(
        *("commit-tree", commit.tree, "-p", between, "-p", second.tip),
        *("-m", commit.message),
    )
    made.repo.git("update-ref", MAIN, moved)
    submit.write(made.repository, second, replace(second, commit=moved), "forged")

    assert first.commit in {each.where for each in problems(made)}


def test_a_batch_whose_receipts_are_gone_is_named_for_each_of_it(made: Bench):
    landed = History(made).move(offers(made, 2))
    place = landed[0].checks[0].receipt or ""
    made.repo.git("update-ref", "-d", place.partition(":")[0])

    assert {s.commit for s in landed} == {each.where for each in problems(made)}


def test_the_settings_of_a_landing_are_those_of_the_target_then(made: Bench):
    history = History(made)
    (landed,) = history.move(offers(made, 1))
    weaker = made.objects.write_blob(b'[[check]]\nname = "tests"\nrun = "true"\n#')
    submit.write(made.repository, landed, replace(landed, config=weaker), "forged")

    assert any("settings" in each.text for each in problems(made))


def test_a_single_parent_is_none_of_a_landing_that_merges(made: Bench):
    History(made, "squash").move(offers(made, 1))

    assert any("second parent" in each.text for each in problems(made))


# --- replayed


@pytest.mark.parametrize("place", ["below", "above"])
def test_a_commit_that_names_a_replayed_submission_is_not_part_of_it(
    made: Bench, place
):
    history = written(made, "rebase")
    (tip,) = offers(made, 1, commits=2)
    name = made.submit(tip).id
    message = annotated("Evil", [("Gitagent-Submission", name)])
    if place == "below":
        evil = made.repo.commit_at(MAIN, {"evil": "x"}, message)
        history.move((tip,))
    else:
        history.move((tip,))
        evil = made.repo.commit_at(MAIN, {"evil": "x"}, message)

    assert evil in direct(made)
    assert evil in {each.where for each in problems(made)}


def test_a_merge_among_replayed_commits_is_named(made: Bench):
    history = written(made, "rebase")
    (landed,) = history.move(offers(made, 1, commits=2))
    last = made.objects.commit(landed.commit or "")
    part = made.objects.commit(last.parents[0])
    args = ("-p", part.parents[0], "-p", landed.tip, "-m", part.message)
    merge = made.repo.git("commit-tree", part.tree, *args)
    again = made.repo.git("commit-tree", last.tree, "-p", merge, "-m", last.message)
    made.repo.git("update-ref", MAIN, again)
    submit.write(made.repository, landed, replace(landed, commit=again), "forged")

    assert [merge] == [each.where for each in problems(made)]


def test_each_commit_of_a_replayed_submission_knows_its_last(made: Bench):
    history = written(made, "rebase")
    (landed,) = history.move(offers(made, 1, commits=3))
    seen = [each for each in steps(made.objects, made.target) if each.submission]

    assert [landed.commit] * 3 == [each.last for each in seen]
    assert all(lands(made.objects, each, landed) for each in seen)


def test_what_an_audit_remembers_of_a_replayed_landing_is_cleared_by_its_record(
    made: Bench,
):
    history = written(made, "rebase")
    audit = Audit(made.repository)
    history.move(offers(made, 1, commits=3))
    found = audit.direct(made.objects, made.target, {})
    later = Audit(made.repository)
    assert audit.memory is not None
    later.resume(made.objects, Memory(*map(_field(audit.memory), _FIELDS)))

    assert 3 == len(found)
    assert () == later.direct(made.objects, made.target, records(made))


_FIELDS = ("tip", "begun", "found")


def _field(memory: Memory):
    return lambda name: getattr(memory, name)


# --- rewound


def test_landings_that_vanished_are_told(made: Bench):
    history = History(made)
    (first,) = history.move(offers(made, 1))
    second, third = history.move(offers(made, 2))
    made.repo.git("update-ref", MAIN, first.commit or "")
    found = rewound(made.repository, made.target, records(made).values())

    assert {second.commit: second.id, third.commit: third.id} == found


def test_a_landing_that_vanished_stays_told_when_others_land_after_it(made: Bench):
    history = History(made)
    begin = made.target
    (lost,) = history.move(offers(made, 1))
    made.repo.git("update-ref", MAIN, begin)
    history.move([made.offer({"other": "x"}, branch="other")])
    found = rewound(made.repository, made.target, records(made).values())

    assert {lost.commit: lost.id} == found


def test_nothing_vanished_while_all_is_there(made: Bench):
    history = History(made)
    history.move(offers(made, 3))
    made.repo.commit_at(MAIN, {"direct": "x"})

    assert {} == rewound(made.repository, made.target, records(made).values())
    assert {} == rewound(made.repository, made.target, ())
