"""Random lives of tasks and submissions: what must hold whatever happens when."""

from dataclasses import replace

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from gitagent.core.answering import Taken, still_open
from gitagent.core.question import Asker, Question
from gitagent.core.receipt import Result
from gitagent.core.settings import LanderMode
from gitagent.core.submission import Submission
from gitagent.core.task import SETTLED, Land, Outcome, TaskState
from tests.core.world import World, settings

IDS = st.sampled_from(["a", "b", "c"])
RESULTS = st.sampled_from(
    [Result.PASSED] * 6 + [Result.FAILED, Result.TIMEOUT, Result.CHANGED]
)
ENDINGS = st.sampled_from(
    [Outcome.OK] * 4
    + [Outcome.FAILED, Outcome.TIMEOUT, Outcome.BLOCKED, Outcome.REFUSED]
    + [Outcome.QUESTION] * 2
)
ASKED = (Question("Which?", ("this", "that")), Question("What else?"))
WORDS = st.lists(
    st.sampled_from(["1=a", "1=other", "2=so", "2=2.50", "1=2.50", "1=stop", "3=x"]),
    min_size=1,
    max_size=2,
    unique=True,
)


class Schedules(RuleBasedStateMachine):
    """People, workers and checks act; the core decides after each of them."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(settings=settings(parallel=2, retries=1))
        self.counter = 0
        self.settled: dict[str, Submission] = {}

    @initialize(mode=st.sampled_from(LanderMode), window=st.integers(0, 3))
    def lands_by(self, mode, window):
        now = self.world.settings
        lander = replace(now.lander, mode=mode, window=window)
        self.world.settings = replace(now, lander=lander)

    def fresh(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    @rule(task=IDS, after=st.none() | IDS, manual=st.booleans())
    def a_task_is_committed_or_amended(self, task, after, manual):
        land = Land.MANUAL if manual else Land.AUTO
        needs = (after,) if after and after != task else ()
        self.world.add_task(task, blob=self.fresh("b"), after=needs, land=land)

    @rule(task=IDS)
    def a_task_file_is_deleted(self, task):
        if self.world.tasks.pop(task, None):
            self.world.move_target(self.world.product)

    @rule(task=IDS, words=WORDS)
    def a_person_answers(self, task, words):
        record = self.world.records.get(task)
        taken = self.world.answer(task, *words) if record else None
        if isinstance(taken, Taken):
            assert record.state is TaskState.QUESTION

    @rule(task=IDS, number=st.integers(1, 3), amount=st.booleans())
    def an_answer_file_is_committed(self, task, number, amount):
        said = (number, "3 usd" if amount else "so")
        self.world.answer_file(task, self.fresh("f"), said)

    @rule(task=IDS, wish=st.sampled_from(["stop", "retry", "answer"]))
    def a_person_asks(self, task, wish):
        record = self.world.records.get(task)
        if record:
            self.world.records[task] = replace(record, request=wish)

    @rule(branch=st.sampled_from(["x", "y"]), conflicting=st.booleans())
    def a_branch_is_pushed(self, branch, conflicting):
        tip = self.fresh("h")
        self.world.offers[f"refs/heads/land/{branch}"] = tip
        if conflicting:
            self.world.conflicting.add(tip)

    @precondition(lambda self: self.world.attempts)
    @rule(outcome=ENDINGS, works=st.booleans(), spent=st.booleans(), data=st.data())
    def an_attempt_ends(self, outcome, works, spent, data):
        task = data.draw(st.sampled_from(sorted(self.world.attempts)))
        if task not in self.world.ended:
            tip = self.fresh("w") if works else None
            asker = Asker.BUDGET if spent else Asker.AGENT
            asked = ASKED[:1] if spent else ASKED
            self.world.end(task, outcome, tip, questions=asked, asker=asker)

    @precondition(lambda self: self.world.runs)
    @rule(result=RESULTS, data=st.data())
    def a_check_ends(self, result, data):
        key = data.draw(st.sampled_from(sorted(self.world.runs)))
        self.world.end_run(key, result)

    @rule(product=st.booleans())
    def a_person_moves_the_target(self, product):
        world = self.world
        world.move_target(self.fresh("p") if product else world.product)

    @rule(there=st.booleans())
    def edits_are_in_the_way(self, there):
        self.world.in_the_way = there

    @rule()
    def time_passes(self):
        self.world.clock += 3

    @rule()
    def the_daemon_is_killed(self):
        self.world.crash()

    @invariant()
    def it_comes_to_rest_and_holds(self):
        self.world.settle()
        self.an_outcome_is_final()
        self.nothing_lands_twice()
        self.attempts_stay_within_bounds()
        self.a_question_is_somebodys_to_answer()

    def an_outcome_is_final(self):
        for submission in self.world.submissions.values():
            before = self.settled.get(submission.id)
            if before is not None:
                assert submission.state is before.state
                assert submission.commit == before.commit
            elif submission.settled:
                self.settled[submission.id] = submission

    def nothing_lands_twice(self):
        ids = [entry for entry, _ in self.world.landings]
        assert len(ids) == len(set(ids))

    def attempts_stay_within_bounds(self):
        world = self.world
        assert len(world.attempts) <= world.settings.worker.parallel
        for record in world.records.values():
            assert record.failures <= 2
            running = record.state is TaskState.RUNNING
            assert running == (record.id in world.attempts)

    def a_question_is_somebodys_to_answer(self):
        for record in self.world.records.values():
            waits = record.state is TaskState.QUESTION
            assert waits == (record.card is not None)
            if waits:
                assert still_open(record), "all is answered, and it does not go on"
                assert f"gitagent answer {record.id} " in record.reason
                numbers = [a.number for a in record.answers]
                assert len(numbers) == len(
                    {(a.attempt, a.number) for a in record.answers}
                )

    def teardown(self) -> None:
        """Whatever is open ends, once workers and checks do."""
        world = self.world
        world.in_the_way = False
        for _ in range(40):
            world.clock += 3
            world.pass_all()
            for task in sorted(world.attempts):
                if task not in world.ended:
                    world.end(task, Outcome.OK, self.fresh("w"))
            for record in world.open_tasks():
                budget = record.card and record.card.asker is Asker.BUDGET
                for number in still_open(record):
                    world.answer(record.id, f"{number}={'1.50' if budget else 'so'}")
            world.settle()
        assert all(s.settled for s in world.submissions.values())
        for record in world.records.values():
            if record.state not in SETTLED:
                assert record.reason, record
                assert record.state in {TaskState.WAITING, TaskState.SUBMITTED}
                if record.state is TaskState.SUBMITTED:
                    assert world.tasks[record.id].land is Land.MANUAL


TestSchedules = Schedules.TestCase
# Each run draws others, so as many as are usual do; `make soak` draws thousands.
TestSchedules.settings = hypothesis_settings(stateful_step_count=30, deadline=None)
