"""The chains that traces tell, from records alone."""

from dataclasses import replace

import pytest

from gitagent.core import tracing
from gitagent.core.distil import task_of
from gitagent.core.exposure import Exposure, Received, Way
from gitagent.core.ident import submission_id
from gitagent.core.links import About, Facts, Link, Mention
from gitagent.core.memory import From, Item, Kind, Mark, Marks, Source, Status
from gitagent.core.proposal import Proposal, Stand, Why
from gitagent.core.remembering import Filed, Op, Operation, Ruled, Ruling
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.core.task import Attempt, Outcome, TaskRecord, TaskState

SOURCE = Source(From.LINES, "c" * 40, "a.py", 1, 2, "x")
ITEM = Item("it", Kind.FACT, "So it is.", "2026-01-02T00:00:00Z", sources=(SOURCE,))
NOW = replace(ITEM, blob="b" * 40)
GONE = replace(NOW, status=Status.WITHDRAWN, because="No.", blob="d" * 40)
MADE = Ruling(
    "2026-01-02T00:00:00Z",
    "Ada <a@x>",
    "work",
    1,
    (
        Ruled(
            Operation(Op.ADD, "it"), True, "It rests on it.", blob=NOW.blob, slug="it"
        ),
    ),
    "e" * 40,
    (Filed("it", NOW.blob),),
    oid="1" * 40,
)
TAKEN = Ruling(
    "2026-01-05T00:00:00Z",
    "Ada <a@x>",
    ruled=(Ruled(Operation(Op.WITHDRAW, "it", of=NOW.blob), True, "It is not so."),),
    commit="f" * 40,
    files=(Filed("it", GONE.blob),),
    oid="2" * 40,
)


def attempt(day: int, number: int = 1, slug: str = "it", **fields: object) -> Attempt:
    received = (Received(slug, NOW.blob, Way.BRIEF),) if slug else ()
    usual = {
        "blob": "a",
        "base": "0" * 40,
        "started": f"2026-01-{day:02}T00:00:00Z",
        "ended": f"2026-01-{day:02}T01:00:00Z",
        "outcome": Outcome.OK,
        "tip": f"tip-{day}",
        "memory": Exposure(received, 0.5),
    }
    return Attempt(number, **(usual | fields))


def task(name: str, *attempts: Attempt) -> TaskRecord:
    return TaskRecord(
        name, TaskState.LANDED, "a", "t", attempts=attempts, oid=f"record of {name}"
    )


def submission(name: str, day: int, **fields: object) -> Submission:
    usual = {
        "state": SubmissionState.LANDED,
        "created": f"2026-01-{day:02}T02:00:00.5Z",
        "since": f"2026-01-{day:02}T03:00:00Z",
        "task": name,
        "checks": (CheckLine("tests", "passed", 1.0, "place"),),
        "commit": f"landing of {name}",
        "oid": "s",
    }
    tip = f"tip-{day}"
    return Submission(submission_id(tip, name, "a"), tip, **(usual | fields))


def facts(*tasks: TaskRecord, submissions=(), **fields: object) -> Facts:
    versions = {each.blob: each for each in (NOW, GONE)}
    usual = {
        "rulings": (MADE,),
        "items": {"it": NOW},
        "marks": {},
        "proposals": (),
        "reverts": {},
        "on_target": lambda oid: oid == MADE.commit,
        "version": lambda _, blob: versions.get(blob),
        "time": lambda oid: "2026-01-01T00:00:00Z" if oid == "c" * 40 else "",
        "receipt": lambda place: f"blob of {place}",
        "context": lambda *_: None,
        "corrections": lambda *_: (),
    }
    return Facts(tasks, {each.id: each for each in submissions}, **(usual | fields))


def texts(links: list[Link]) -> list[str]:
    return [f"{link.about}: {link.text}" for link in links]


def test_an_item_that_was_admitted_and_received_is_one_chain():
    done = submission("user", 4)
    held = Mention("2026-01-04T00:30:00Z", "request 2 to a:b", "x")
    work = task("work", attempt(1, slug="", tip=""))
    found = tracing.of_item(
        facts(
            work,
            task("user", attempt(4)),
            submissions=[done],
            context=lambda *asked: (
                held if asked == ("user", 1, "it", NOW.blob) else None
            ),
        ),
        "it",
    )

    assert [
        "source: a.py:1-2 at cccccccccccc",
        "work: work#1 asked for it",
        "ruling: add it: admitted, for Ada <a@x>. It rests on it.",
        "commit: it is on the target: it",
        "received: user#1 received it@bbbbbbbbbbbb by brief",
        "context: request 2 to a:b of user#1 holds it@bbbbbbbbbbbb",
        f"receipt: the check tests passed for {done.id}",
        f"outcome: {done.id} of user is landed",
        f"landing: {done.id} landed",
    ] == texts(found)
    assert "blob of place" in {link.oid for link in found}


def test_what_is_missing_of_an_item_is_said_last():
    found = tracing.of_item(facts(rulings=()), "it")

    assert [
        "gap: No ruling admitted it: it came past the executor.",
        "gap: Nobody has received it yet.",
    ] == texts(found)


@pytest.mark.parametrize(
    ("attempts", "said"),
    [
        (attempt(4, outcome=None), "outcome: user#1 is under way"),
        (
            attempt(4, outcome=Outcome.FAILED),
            "outcome: user#1 ended as failed, and nothing was submitted",
        ),
    ],
)
def test_an_attempt_without_a_submission_says_how_it_ended(attempts, said):
    assert said in texts(tracing.of_item(facts(task("user", attempts)), "it"))


def test_a_rejected_submission_says_why_and_has_no_landing():
    no = submission("user", 4, state=SubmissionState.REJECTED, reason="It is red.")
    found = tracing.of_item(facts(task("user", attempt(4)), submissions=[no]), "it")

    assert f"outcome: {no.id} of user is rejected: It is red." in texts(found)
    assert About.LANDING not in {link.about for link in found}


def test_marks_proposals_and_what_the_coin_kept_stand_in_the_chain_of_an_item():
    mark = Mark(Marks.CHANGED, "9" * 40)
    found = Proposal("p-1", Why.CHANGED, TAKEN.ruled[0].operation, "No.", (), "t")
    kept = attempt(4, slug="", memory=Exposure(rate=0.5, withheld=("it",)))
    told = texts(
        tracing.of_item(
            facts(
                task("other", kept, kept),
                marks={"it": (mark,)},
                proposals=[(found, found)],
            ),
            "it",
        )
    )

    assert "mark: evidence changed at 999999999999" in told
    assert "proposal: p-1 proposes to withdraw it: No." in told
    assert "gap: The coin kept it from 2 attempts." in told


def test_a_landing_leads_to_what_was_learnt_of_it_and_to_who_was_given_that():
    landed = submission("work", 1)
    distil = task(task_of(landed.id), attempt(2, slug="", tip=""))
    ruling = replace(MADE, task=distil.id)
    user = task("user", attempt(4, tip="", outcome=Outcome.FAILED))
    back = {landed.commit: "7" * 40}
    found = tracing.of_landing(
        facts(
            task("work", attempt(1)),
            distil,
            user,
            submissions=[landed],
            rulings=[ruling],
            reverts=back,
            time=lambda _: "2026-01-09T00:00:00Z",
        ),
        landed,
    )

    assert [
        "work: work#1 began",
        "received: work#1 received it by brief",
        f"work: {landed.id} was submitted",
        f"receipt: the check tests passed for {landed.id}",
        f"outcome: {landed.id} of work is landed",
        f"landing: {landed.id} landed",
        f"work: {distil.id}#1 looked at what it teaches",
        "ruling: add it: admitted, for Ada <a@x>. It rests on it.",
        "commit: it is on the target: it",
        "item: it (active): So it is.",
        "received: user#1 received it@bbbbbbbbbbbb by brief",
        "outcome: user#1 ended as failed, and nothing was submitted",
        f"landing: {landed.id} was rolled back",
    ] == [text for text in texts(found) if "work#1 received it@" not in text]


@pytest.mark.parametrize(
    ("fields", "gaps"),
    [
        (
            {"task": None},
            [
                "It is a person's work: no attempt was given anything.",
                "No task has looked at what it teaches.",
                "No item came of it.",
            ],
        ),
        (
            {},
            [
                "The record of the task lost is not here.",
                "No task has looked at what it teaches.",
                "No item came of it.",
            ],
        ),
        ({"task": None, "remembers": True}, ["No item came of it."]),
    ],
)
def test_what_is_missing_of_a_landing_is_said(fields, gaps):
    landed = submission("lost", 4, **fields)
    found = tracing.of_landing(facts(submissions=[landed]), landed)

    assert gaps == [link.text for link in found if link.about is About.GAP]


def proposal(stand: Stand, **fields: str) -> tuple[Proposal, Proposal]:
    asked = TAKEN.ruled[0].operation
    found = Proposal(
        "p-1", Why.CHANGED, asked, "No.", ("9" * 40,), "2026-01-03T0", oid="a"
    )
    return found, replace(found, stand=stand, **fields)


def test_a_critique_leads_to_who_was_told_and_who_went_without():
    told = Mention("2026-01-05T01:00:00Z", "user#1 was told", "x")
    after = [task(f"t{n}", attempt(6 + n, slug="new", tip="")) for n in range(7)]
    found, now = proposal(
        Stand.ACCEPTED, by="Ada", decided="2026-01-04T00:00:00Z", because="Yes."
    )
    links = tracing.of_proposal(
        facts(
            task("user", attempt(4)),
            task("still", attempt(8)),
            *after,
            rulings=(MADE, TAKEN),
            corrections=lambda task, _: [told] if task == "user" else [],
        ),
        found,
        now,
    )
    said = texts(links)

    assert [
        "source: evidence against it",
        "proposal: p-1 proposes to withdraw it: No.",
        "decision: p-1 is accepted by Ada: Yes.",
        "ruling: withdraw it: admitted, for Ada <a@x>. It is not so.",
        "commit: it is not on the target: it",
        "correction: user#1 was told",
        "without: t0#1 was given 1 item, and not it",
        "outcome: t0#1 ended as ok, and nothing was submitted",
    ] == said[:8]
    assert "received: still#1 received it@bbbbbbbbbbbb by brief" in said
    assert "gap: 2 attempts more began without it." == said[-1]


def test_an_update_leads_to_who_received_it_as_it_is_since():
    new = replace(NOW, blob="5" * 40)
    changed = replace(
        TAKEN,
        ruled=(Ruled(Operation(Op.UPDATE, "it"), True, "So."),),
        files=(Filed("it", new.blob),),
    )
    seen = Exposure((Received("it", new.blob, Way.RECALL),))
    known = facts(
        task("early", attempt(4)),
        task("later", attempt(6, memory=seen, tip="")),
        rulings=(MADE, changed),
        version=lambda *_: new,
    )
    said = texts(tracing.of_ruling(known, changed))
    nobody = texts(tracing.of_ruling(replace(known, tasks=()), changed))

    assert "received: later#1 received it@555555555555 by recall" in said
    assert not [text for text in said if "early" in text]
    assert "gap: Nobody has received it as it is since." == nobody[-1]


@pytest.mark.parametrize(
    ("stand", "gap"),
    [
        (Stand.WAITING, "Nobody has decided yet, so nothing has changed."),
        (Stand.REJECTED, "It is rejected, so nothing has changed."),
        (Stand.MOOT, "It is moot, so nothing has changed."),
        (Stand.ACCEPTED, "It was accepted, and no ruling has carried it out."),
    ],
)
def test_a_critique_that_came_to_nothing_says_so(stand, gap):
    found = tracing.of_proposal(facts(), *proposal(stand, decided="2026-01-04"))

    assert gap == found[-1].text


def test_a_ruling_that_refused_all_has_changed_nothing():
    no = replace(MADE, ruled=(replace(MADE.ruled[0], admitted=False),), commit="")

    assert "gap: It has changed nothing." == texts(tracing.of_ruling(facts(), no))[-1]


def test_what_was_withdrawn_and_nobody_began_since_is_said():
    said = texts(tracing.of_ruling(facts(task("user", attempt(4))), TAKEN))

    assert "gap: No attempt with a memory has begun since." == said[-1]
