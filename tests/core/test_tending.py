"""What the memory is owed: each landing looked at once, each proposal ruled on once."""

from collections import Counter
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from gitagent.core import action as act
from gitagent.core.archive import decide_archive
from gitagent.core.distil import landing_of, task_of
from gitagent.core.ident import submission_id
from gitagent.core.question import Question
from gitagent.core.remembering import Op, Operation, Ruled, Ruling
from gitagent.core.settings import Settings
from gitagent.core.snapshot import Live, Moment, Snapshot, Target, Tended
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import (
    Attempt,
    Outcome,
    Refusal,
    TaskFile,
    TaskRecord,
    TaskState,
)
from gitagent.core.tending import AGAIN, decide_memory, weighed
from tests.core.world import World, settings

NOW = Moment("2026-12-01T12:00:00Z", "2026-12-01T12:00:00.000000Z", 100.0)
STATE = SubmissionState
WANTED = Tended(distillers={"wants": "distiller"})
LANDED = Submission(
    "s-1",
    "tip",
    STATE.LANDED,
    "2026-12-01T10:00:00Z",
    "2026-12-01T10:00:00Z",
    task="work",
    commit="c1",
    config="wants",
    priority=7,
)


def snapshot(*submissions: Submission, **fields: object) -> Snapshot:
    return Snapshot(
        target=Target("refs/heads/main", "c1"),
        settings=Settings(),
        submissions={each.id: each for each in submissions},
        **{"memory": WANTED, **fields},
    )


def decided(*submissions: Submission, **fields: object) -> list[act.Action]:
    return decide_memory(snapshot(*submissions, **fields), NOW)


def attempt(
    number: int, outcome: Outcome = Outcome.OK, proposed: str = "blob"
) -> Attempt:
    return Attempt(number, "b", "base", "then", outcome=outcome, proposed=proposed)


def task(
    state: TaskState = TaskState.LANDED, *attempts: Attempt, name: str = "work"
) -> TaskRecord:
    made = attempts or (attempt(1),)
    return TaskRecord(
        name,
        state,
        "b",
        "2026-12-01T11:00:00Z",
        attempt=made[-1].number,
        attempts=made,
        submission="s-1",
    )


def ruling(n: int = 1, upto: int = 1, *, name: str = "work", lands: bool = True):
    commit = f"m{n}" if lands else ""
    made = submission_id(commit) if lands else ""
    one = Ruled(Operation(Op.ADD, "a"), admitted=lands, reason="So.")
    return Ruling("then", "G <g@x>", name, upto, (one,), commit=commit, submission=made)


def of(made: Ruling, state: SubmissionState, reason: str = "Why.") -> Submission:
    return Submission(
        made.submission, made.commit, state, "t", "t", reason=reason, remembers=True
    )


def owes(record: TaskRecord, *submissions: Submission, **fields: object):
    """Return the ruling that a task is owed, None for none."""
    found = decided(*submissions, records={record.id: record}, **fields)
    ruled = [each for each in found if isinstance(each, act.Remember)]
    assert len(ruled) <= 1
    return ruled[0] if ruled else None


# --- landings that are looked at


def test_a_landing_under_settings_that_want_it_is_looked_at_once():
    name = task_of("s-1")
    file = TaskFile(name, "b", "", "")
    done = task(TaskState.DONE, attempt(1, proposed=""), name=name)
    refused = (Refusal(f".agent/tasks/{name}.md", "why"),)

    assert [act.AddTask(LANDED, "distiller")] == decided(LANDED)
    assert [] == decided(LANDED, tasks={name: file})
    assert [] == decided(LANDED, finished=frozenset({name}))
    assert [] == decided(LANDED, records={name: done})
    assert [] == decided(LANDED, refused=refused)


@pytest.mark.parametrize(
    "change",
    [
        {"config": "another"},
        {"state": STATE.REJECTED},
        {"state": STATE.CHECKING},
        {"task": None},  # of a person's, as a rollback is
        {"task": task_of("s-0")},
        {"remembers": True},
    ],
)
def test_no_other_submission_is_looked_at(change):
    assert [] == decided(replace(LANDED, **change))


def test_a_task_that_looks_at_a_landing_stays_as_long_as_the_landing_is_listed():
    old = "2026-01-01T00:00:00Z"
    looked = replace(task(TaskState.STOPPED, name=task_of("s-1")), since=old, oid="r")
    ruled = (ruling(name=looked.id, lands=False),)
    known = replace(WANTED, rulings=ruled)
    pending = replace(LANDED, since=old, push="pending")
    there = snapshot(pending, records={looked.id: looked}, memory=known)
    gone = replace(there, submissions={})

    assert [] == [*decide_archive(there, NOW)]
    assert 1 == len([*decide_archive(gone, NOW)])


# --- proposals that are ruled on


def test_what_work_proposed_that_passed_is_examined_when_the_task_has_settled():
    assert act.Remember(task(), 0, 1) == owes(task())
    assert act.Remember(task(TaskState.DONE), 0, 1) == owes(task(TaskState.DONE))
    assert owes(task(TaskState.SUBMITTED)) is None
    assert owes(task(TaskState.LANDED, attempt(1, proposed=""))) is None


@pytest.mark.parametrize(
    "state", [TaskState.FAILED, TaskState.STOPPED, TaskState.REFUSED]
)
def test_what_other_work_proposed_is_dropped_with_the_reason(state):
    found = owes(task(state))

    assert found is not None
    assert f"The work did not pass: task work is {state}." == found.dropped
    assert [(attempt(1), found.dropped)] == [*weighed(found)]


def test_what_is_looked_at_leaves_its_proposals_to_that():
    found = owes(task(), LANDED, finished=frozenset({task_of("s-1")}))

    assert found is not None
    assert found.dropped == (
        "It is left to distil-s-1, which looks at what was learned."
    )


def test_what_an_attempt_went_on_from_counts_and_what_did_not_pass_does_not():
    tries = (
        attempt(1, Outcome.QUESTION),
        attempt(2, Outcome.OK),
        attempt(3, Outcome.INTERRUPTED),
        attempt(4, Outcome.OK),
    )
    found = owes(task(TaskState.LANDED, *tries))

    assert found is not None
    why = "Attempt 2 did not pass, and another followed."
    assert [(1, why), (2, why), (3, ""), (4, "")] == [
        (each.number, said) for each, said in weighed(found)
    ]


def test_a_ruling_is_about_what_came_since_the_one_before():
    again = task(TaskState.LANDED, attempt(1), attempt(2))
    made = ruling(upto=1)
    known = replace(WANTED, rulings=(made,))
    found = owes(again, of(made, STATE.LANDED), memory=known)

    assert act.Remember(again, 1, 2) == found
    assert [2] == [each.number for each, _ in weighed(found)]
    assert owes(task(), of(made, STATE.LANDED), memory=known) is None


def test_a_ruling_is_handed_to_the_lander_once():
    made, other = ruling(1), ruling(2, name="")
    known = replace(WANTED, rulings=(made, other))
    records = {"work": task()}
    first, second = decided(
        LANDED, records=records, memory=known, finished={"distil-s-1"}
    )
    archived = replace(known, archived=frozenset({made.submission, other.submission}))

    assert isinstance(first, act.Submit)
    assert ("m1", STATE.QUEUED, True, 7, "G <g@x>", None) == (
        first.submission.tip,
        first.submission.state,
        first.submission.remembers,
        first.submission.priority,
        first.submission.submitter,
        first.submission.task,
    )
    assert "m2" == second.submission.tip
    assert [] == decided(memory=archived)


def test_one_that_the_lander_rejects_is_ruled_on_again_a_few_times_and_given_up():
    rulings = [ruling(n) for n in range(1, AGAIN + 3)]
    rejected = [of(each, STATE.REJECTED, "It conflicts.") for each in rulings]
    for n in range(1, AGAIN + 1):
        known = replace(WANTED, rulings=tuple(rulings[:n]))

        assert act.Remember(task(), 0, 1) == owes(task(), *rejected[:n], memory=known)
    most = replace(WANTED, rulings=tuple(rulings[: AGAIN + 1]))
    last = owes(task(), *rejected, memory=most)
    said = replace(most, rulings=(*most.rulings, ruling(lands=False)))

    assert last is not None
    why = f"The lander has rejected it {AGAIN + 1} times, at last since: It conflicts."
    assert why == last.dropped
    assert owes(task(), *rejected, memory=said) is None


def test_one_that_a_person_took_back_is_not_ruled_on_again():
    made = ruling()
    known = replace(WANTED, rulings=(made,))

    assert owes(task(), of(made, STATE.WITHDRAWN), memory=known) is None


def test_one_ruling_is_under_way_at_a_time():
    made = ruling(name="other")
    known = replace(WANTED, rulings=(made,))
    queued = of(made, STATE.QUEUED)

    assert owes(task(), queued, memory=known) is None
    assert owes(task(TaskState.FAILED), queued, memory=known) is not None
    assert owes(task(), live=Live(remembering="other")) is None


def test_one_that_was_put_off_stands_in_nobodys_way():
    first, second = task(), replace(task(name="later"), since="2026-12-01T11:30:00Z")
    records = {"work": first, "later": second}
    waits = {"remember work": 200.0}
    (found,) = decided(records=records, live=Live(waits=waits))

    assert act.Remember(second, 0, 1) == found


def test_a_log_that_cannot_be_read_stops_it_all():
    odd = replace(WANTED, readable=False)

    assert [] == decided(LANDED, records={"work": task()}, memory=odd)


# --- whatever happens when


@dataclass
class Tending(World):
    """A world in which attempts propose and landings are looked at."""

    wants: bool = True
    rulings: list[Ruling] = field(default_factory=list)
    thinking: act.Remember | None = None  # in a thread

    def snapshot(self) -> Snapshot:
        seen = super().snapshot()
        known = Tended({"config": "shell"} if self.wants else {}, tuple(self.rulings))
        task = self.thinking.record.id if self.thinking else ""
        return replace(seen, memory=known, live=replace(seen.live, remembering=task))

    def enact(self, action: act.Action) -> bool:
        match action:
            case act.AddTask(submission, _):
                name = task_of(submission.id)
                assert name not in {*self.tasks, *self.finished, *self.records}
                self.add_task(name, kind="distil")
            case act.Remember():
                assert self.thinking is None
                self.thinking = action
        return super().enact(action)

    def crash(self) -> None:
        super().crash()
        self.thinking = None

    def rule(self, *, admits: bool) -> None:
        """Let the ruling that is under way be recorded."""
        action, self.thinking = self.thinking, None
        assert action is not None
        lands = admits and not action.dropped
        made = ruling(len(self.rulings) + 1, action.upto, name=action.record.id)
        if not lands:
            made = replace(made, commit="", submission="")
        self.rulings.append(made)


class Schedules(RuleBasedStateMachine):
    """People, workers and checks act; the memory is tended after each of them."""

    def __init__(self) -> None:
        super().__init__()
        self.world = Tending(settings=settings(parallel=2, retries=1))
        self.counter = 0

    def fresh(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    @rule(name=st.sampled_from(["a", "b"]))
    def a_task_is_committed_or_amended(self, name):
        self.world.add_task(name, self.fresh("b"))

    @precondition(lambda self: self.world.attempts)
    @rule(
        outcome=st.sampled_from(
            [Outcome.OK] * 4 + [Outcome.FAILED, Outcome.QUESTION, Outcome.STOPPED]
        ),
        works=st.booleans(),
        proposes=st.booleans(),
        data=st.data(),
    )
    def an_attempt_ends(self, outcome, works, proposes, data):
        world = self.world
        name = data.draw(st.sampled_from(sorted(world.attempts)))
        if name in world.ended:
            return
        asks = (Question("Which?", ("this", "that")),)
        asks = asks if outcome is Outcome.QUESTION else ()
        world.end(name, outcome, self.fresh("w") if works else None, questions=asks)
        if proposes:
            ended = world.ended[name]
            said = replace(ended.attempt, proposed=self.fresh("p"))
            world.ended[name] = replace(ended, attempt=said)

    @precondition(lambda self: self.world.thinking)
    @rule(admits=st.booleans(), conflicts=st.booleans())
    def a_ruling_is_recorded(self, admits, conflicts):
        if conflicts:
            self.world.conflicting.add(f"m{len(self.world.rulings) + 1}")
        self.world.rule(admits=admits)

    @rule()
    def all_checks_end(self):
        self.world.pass_all()

    @rule(wants=st.booleans())
    def the_settings_change(self, wants):
        self.world.wants = wants

    @rule(name=st.sampled_from(["a", "b"]))
    def a_task_file_is_deleted(self, name):
        if self.world.tasks.pop(name, None):
            self.world.move_target(self.world.product)

    @rule()
    def the_daemon_is_killed(self):
        self.world.crash()

    @invariant()
    def it_comes_to_rest_and_holds(self):
        self.world.settle()
        self.each_landing_is_looked_at_once_at_most()
        self.what_did_not_pass_teaches_nothing()
        self.each_proposal_is_ruled_on_once()

    def each_landing_is_looked_at_once_at_most(self):
        added = [x.submission for x in self.world.log if isinstance(x, act.AddTask)]

        assert all(1 == n for n in Counter(each.id for each in added).values())
        assert all(each.task in {"a", "b"} for each in added)

    def what_did_not_pass_teaches_nothing(self):
        ruled = set()
        for each in self.world.log:
            if isinstance(each, act.Remember) and not each.dropped:
                # Made again, it is about an attempt that passed before, whatever
                # became of the task since.
                name = (each.record.id, each.upto)
                state = each.record.state
                assert name in ruled or state in {TaskState.LANDED, TaskState.DONE}
                ruled.add(name)
                for tried, why in weighed(each):
                    passed = tried.number == each.upto
                    goes_on = tried.outcome in {Outcome.QUESTION, Outcome.INTERRUPTED}
                    assert why or passed or goes_on

    def each_proposal_is_ruled_on_once(self):
        by: dict[tuple[str, int], list[Ruling]] = {}
        for each in self.world.rulings:
            by.setdefault((each.task, each.attempt), []).append(each)
        for same in by.values():
            assert len(same) <= AGAIN + 2
            for each in same[:-1]:
                found = self.world.submissions[each.submission]
                assert found.state is SubmissionState.REJECTED

    def teardown(self) -> None:
        """All that is owed is paid, once rulings and checks end."""
        world = self.world
        for _ in range(40):
            world.clock += 3
            world.pass_all()
            for name in sorted(world.attempts):
                if name not in world.ended:
                    world.end(name, Outcome.OK)
            for record in world.open_tasks():
                if record.card is not None:
                    world.answer(record.id, "1=so")
            world.settle()
            if world.thinking:
                world.rule(admits=True)
                world.settle()
        self.nothing_is_owed()

    def nothing_is_owed(self):
        world = self.world
        assert world.thinking is None
        upto = {(each.task): each.attempt for each in world.rulings}
        for record in world.records.values():
            if record.settled:
                newest = max(
                    (a.number for a in record.attempts if a.proposed), default=0
                )
                assert upto.get(record.id, 0) >= newest
        for each in world.submissions.values():
            assert each.settled
            if each.remembers:
                assert landing_of(each.task or "") is None


TestSchedules = Schedules.TestCase
TestSchedules.settings = hypothesis_settings(
    max_examples=40, stateful_step_count=25, deadline=None
)
