"""gitagent replay: an attempt made once more from its record alone."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from gitagent.core.layout import CONVERSATIONS, EXCHANGES
from gitagent.core.settings import Settings
from gitagent.core.task import Attempt, Outcome, TaskFile, TaskRecord, TaskState
from gitagent.daemon import replaying, tasks
from gitagent.daemon.definitions import Definitions
from gitagent.daemon.target import SettingsInForce
from gitagent.errors import UserError
from gitagent.files import taskfile
from gitagent.git.repository import discover
from gitagent.host.place import cache_root
from gitagent.worker.attempt import run_attempt
from gitagent.worker.models import Models
from gitagent.worker.order import Stop
from tests.support.cli import call
from tests.support.provider import Call, Fault, Gate, Provider, Say, Shell
from tests.support.repos import Repo
from tests.support.talker import AGENT, KEY, PROGRAM, providers
from tests.worker.work import Work

REF = f"{EXCHANGES}fix"
WHEN = "2026-11-30T12:00:00Z"
SCRIPT = "# Do it\n\n```sh\n{}\n```\n"
BUILT_IN = '+++\nbackend = "model"\nmodel = "local:tiny"\n+++\n'
PROSE = '+++\nagent = "talker"\n+++\n# Do it\n\nWrite the file.'


class Made:
    """A repository with a task that an attempt was made at, without a daemon."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.attempts: list[Attempt] = []
        self.record: TaskRecord | None = None
        self.work = Work(repo)

    def task(self, text: str, config: str = "", **files: str) -> None:
        call(self.repo, "init", "--no-check")
        known = self.repo.read(".agent/config.toml")
        self.repo.commit(
            {
                ".agent/config.toml": f"{known}\n{config}",
                ".agent/tasks/fix.md": text,
                **files,
            }
        )

    def attempt(
        self, stop: Stop | None = None, started=lambda *_: None, **fields: object
    ) -> Attempt:
        repository = discover(self.repo.path)
        models = Models(repository)
        with repository.objects() as objects:
            head = objects.ref("HEAD")
            settings, _, problem = SettingsInForce().at(objects, head)
            agents, _ = Definitions(repository).at(objects, head)
        assert isinstance(settings, Settings), problem
        path = ".agent/tasks/fix.md"
        blob, data = self.repo.oid(f"HEAD:{path}"), self.repo.read(path).encode()
        task = taskfile.parse("fix", blob, data, path)
        assert isinstance(task, TaskFile)
        self.work.worker, self.work.settings = settings.worker, settings
        order = self.work.order(
            **{
                "settings": settings,
                "models": models,
                "agent": agents[task.agent] if task.agent else self.work.agent,
                "before": self.attempts[-1] if self.attempts else None,
                **fields,
            }
        )
        attempt = replace(order.attempt, blob=blob)
        order = replace(order, task=task, attempt=attempt)
        begun = TaskRecord(
            "fix",
            TaskState.RUNNING,
            blob,
            WHEN,
            agent=order.agent.name,
            attempt=attempt.number,
            attempts=(*self.attempts, attempt),
            branch=order.branch,
            tip=order.tip,
            feedback=order.feedback,
        )
        begun = tasks.write(repository, self.record, begun, "an attempt begins")
        ended = run_attempt(order, stop or Stop(), started=started).attempt
        models.upstream.close()
        self.attempts.append(ended)
        self.work.tip = ended.tip or self.work.tip
        new = replace(begun, state=TaskState.FAILED, attempts=tuple(self.attempts))
        new = replace(new, tip=self.work.tip)
        self.record = tasks.write(repository, begun, new, "it ended")
        return ended

    @property
    def replays(self) -> Path:
        return cache_root(self.repo.common_dir) / "replays"

    def log(self, attempt: Attempt) -> str:
        raw = self.repo.raw("cat-file", "blob", attempt.log)
        return f"{attempt.reason}\n{raw.decode(errors='replace')}"

    def replay(self, *words: str):
        return call(self.repo, "replay", "fix", *words)


@pytest.fixture
def made(repo):
    made = Made(repo)
    yield made
    made.work.close()


@pytest.fixture
def talk(made, monkeypatch):
    """Make an attempt of an agent whose model says these; its provider is gone then."""

    def talk(*steps: object, **options: object) -> Attempt:
        with Provider() as provider:
            monkeypatch.setenv(KEY, provider.key)
            provider.script("fix", list(steps))
            made.task(
                PROSE,
                providers(provider.url),
                **{".agent/agents/talker.md": AGENT, "talk.py": PROGRAM},
            )
            attempt = made.attempt(**options)
        monkeypatch.delenv(KEY)
        return attempt

    return talk


def test_a_script_comes_to_the_same_tree_and_nothing_else_happens(made):
    script = "echo one >one\ngit add one\ngit commit -qm one\necho 2 >b"
    made.task(SCRIPT.format(script))
    attempt = made.attempt()
    before = made.repo.refs()
    found = made.replay()

    assert Outcome.OK is attempt.outcome
    assert "attempt 1 at fix, made once more, came to the same tree\n" == found.out
    assert 0 == found.code
    assert before == made.repo.refs()
    assert [] == list(made.replays.iterdir())
    assert 1 == made.repo.git("worktree", "list", "--porcelain").count("worktree ")


def test_a_script_that_comes_to_another_tree_has_its_paths_named(made):
    script = "mkdir a\ndate +%N >a/now\ncat /proc/sys/kernel/random/uuid >b\necho >c"
    made.task(SCRIPT.format(script))
    made.attempt()
    found = made.replay()

    assert 1 == found.code
    assert [
        "attempt 1 at fix, made once more, came to another tree; these differ:",
        "  a/now",
        "  b",
    ] == found.lines


def test_each_attempt_begins_where_it_began(made):
    made.task(SCRIPT.format("cat README.md one >>two || true\necho x >>one\nexit 1"))
    made.attempt()
    made.attempt(feedback="It failed.")

    assert [0, 0, 0] == [
        made.replay(*words).code
        for words in ((), ("--attempt", "1"), ("--attempt", "2"))
    ]


def test_an_agent_is_answered_from_the_record_without_provider_or_key(made, talk):
    attempt = talk(
        Shell("echo hello >hello; date; cat talk.py | wc -l"),
        Shell("git add hello; git commit -qm hello; git log -1"),
        Say("It is done."),
    )
    before = made.repo.refs()
    found = made.replay("--attempt", "1")

    assert Outcome.OK is attempt.outcome, made.log(attempt)
    assert "hello\n" == made.repo.read("hello", attempt.tip)
    assert (
        "attempt 1 at fix, made once more, with 3 answers from the record, came to the"
        " same tree\n"
    ) == found.out
    assert before == made.repo.refs()


def test_a_failure_that_was_recorded_fails_again(made, talk):
    attempt = talk(Shell("echo x >x"), Fault("overflow"))
    found = made.replay()

    assert Outcome.FAILED is attempt.outcome
    assert "x\n" == made.repo.read("x", attempt.tip)
    assert 0 == found.code, found.err


def test_an_agent_that_was_stopped_in_the_middle_is_stopped_there_again(made, talk):
    stop, gate = Stop(), Gate()
    waiter = threading.Thread(
        target=lambda: (gate.wait(), stop.order(Outcome.INTERRUPTED))
    )
    waiter.start()
    attempt = talk(Shell("echo x >x"), gate, stop=stop)
    waiter.join()
    found = made.replay()

    assert Outcome.INTERRUPTED is attempt.outcome
    assert "x\n" == made.repo.read("x", attempt.tip)
    assert 0 == found.code, found.err


def test_a_request_that_the_record_has_no_answer_to_ends_it(made, talk):
    talk(Shell("echo x >x"), Say("It is done."))
    made.repo.git("update-ref", REF, f"{REF}~2")
    found = made.replay()

    assert (1, "") == (found.code, found.out)
    assert (
        "gitagent: attempt 1 at fix cannot be replayed: Request 2 cannot be answered"
        " from the record: the record has no further one to local:tiny (chat)."
    ) == found.err.splitlines()[-1]


def test_a_record_whose_bytes_are_gone_is_refused(made, talk):
    talk(Shell("echo x >x"), Say("It is done."))
    blob = made.repo.oid(f"{REF}:answer")
    (made.repo.common_dir / "objects" / blob[:2] / blob[2:]).unlink()
    found = made.replay()

    assert 1 == found.code
    assert (
        "gitagent: the record of request 2 of attempt 1 at fix cannot be used: the blob"
        f" {blob[:12]} is not here; see: git log --first-parent {REF}\n"
    ) == found.err


def test_it_works_beside_a_daemon(made, talk, daemon):
    talk(Shell("echo x >x"), Say("It is done."))
    made.repo.commit({".agent/tasks/fix.md": None})
    daemon(made.repo)

    assert 0 == made.replay().code


def test_what_a_killed_replay_left_is_removed_by_the_next(made):
    made.task(SCRIPT.format("echo one >one"))
    made.attempt()
    dead, odd = made.replays / "fix-4194303-1" / "1", made.replays / "odd"
    for each in (dead / "tree", odd):
        each.mkdir(parents=True)
    (dead / "tree/file").write_text("x")

    assert 0 == made.replay().code
    assert [] == list(made.replays.iterdir())


def test_one_that_went_on_from_a_conversation_needs_those_before(made):
    made.task(SCRIPT.format("true"))
    first = replace(made.attempt(), session="abc")
    second = replace(made.attempt(), resumed=True)
    task = replace(made.record, attempts=(first, second))
    repository = discover(made.repo.path)
    with repository.objects() as objects:
        found = replaying.steps(repository, objects, task, 2)
        alone = replaying.steps(repository, objects, task, 1)

    assert [1, 2] == [each.order.attempt.number for each in found]
    assert [1] == [each.order.attempt.number for each in alone]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"outcome": None}, "attempt 1 at fix is still running"),
        (
            {"outcome": Outcome.REFUSED, "reason": "There is no sandbox."},
            "attempt 1 at fix was never started: There is no sandbox.",
        ),
        (
            {"blob": "1" * 40},
            ".agent/tasks/fix.md as it was then (111111111111) is not here",
        ),
    ],
)
def test_what_cannot_be_made_once_more_is_said(made, changes, why):
    made.task(SCRIPT.format("true"))
    attempt = replace(made.attempt(), **changes)
    task = replace(made.record, attempts=(attempt,))
    repository = discover(made.repo.path)
    with repository.objects() as objects, pytest.raises(UserError) as error:
        replaying.steps(repository, objects, task, 1)

    assert why == error.value.line()


def test_what_the_built_in_agent_went_on_with_comes_to_the_same_tree(made, monkeypatch):
    with Provider() as provider:
        monkeypatch.setenv(KEY, provider.key)
        steps = [
            Shell("echo ran >>ran"),
            Fault("invalid"),
            Call("read", {"path": "README.md"}),
            Call("edit", {"path": "README.md", "old": "# a", "new": "# the"}),
            Shell("echo ran >>ran; cat ran; git add -A; git commit -qm ran"),
            Say("It is done."),
        ]
        provider.script("fix", steps)
        files = {".agent/agents/talker.md": BUILT_IN}
        made.task(PROSE, providers(provider.url), **files)
        first, second = made.attempt(), made.attempt()
    monkeypatch.delenv(KEY)
    before = made.repo.refs()
    found = made.replay()

    assert [Outcome.FAILED, Outcome.OK] == [first.outcome, second.outcome]
    assert second.resumed
    assert "ran\nran\n" == made.repo.read("ran", second.tip)
    assert "# the repository\n" == made.repo.read("README.md", second.tip)
    assert (
        "attempt 2 at fix, made once more, with 4 answers from the record, came to the"
        " same tree\n"
    ) == found.out, found.err
    assert before == made.repo.refs()


def test_the_conversation_of_a_killed_replay_is_removed_by_the_next(made):
    made.task(SCRIPT.format("true"))
    made.attempt()
    before = made.repo.refs()
    made.repo.git("update-ref", f"{CONVERSATIONS}-replay-4194303-1", "HEAD")

    assert 0 == made.replay().code
    assert before == made.repo.refs()


def test_an_attempt_that_there_is_not_is_said_in_one_line(made):
    made.task(SCRIPT.format("true"))
    made.attempt()
    found = made.replay("--attempt", "2")

    assert (1, "gitagent: fix has no attempt 2; it has 1\n") == (found.code, found.err)
