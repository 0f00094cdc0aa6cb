"""The lander's parts on a real repository, put together as the daemon does it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitagent.core.action import LandStep, StartRun
from gitagent.core.candidate import Candidate
from gitagent.core.receipt import Receipt, Result, check_key
from gitagent.core.settings import Check, Settings
from gitagent.core.snapshot import Moment
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.core.task import TaskRecord, TaskState
from gitagent.git.objects import Objects
from gitagent.git.records import Records
from gitagent.git.repository import Repository, discover
from gitagent.host import clock
from gitagent.lander import land as landing
from gitagent.lander import prepare, receipts, submit
from tests.support.repos import Content, Repo, settings_text

INIT = "Begin with gitagent\n\nGitagent-Record: init\n"
ENVIRONMENT = "e" * 16


def moment() -> Moment:
    """Return now."""
    now = clock.now()
    return Moment(clock.stamp(now), clock.stamp_us(now), clock.monotonic())


@dataclass(slots=True)
class Bench:
    """A repository with settings on its target, and the lander's hands."""

    repo: Repo
    repository: Repository
    objects: Objects
    settings: Settings = field(
        default_factory=lambda: Settings(check=(Check("tests", "true"),))
    )

    @property
    def target(self) -> str:
        """The target's commit."""
        return self.repo.oid("refs/heads/main")

    def offer(
        self,
        files: Mapping[str, Content],
        message: str = "Change",
        *,
        branch: str = "work",
        base: str = "refs/heads/main",
    ) -> str:
        """Commit ``files`` on a branch that starts at ``base``; return the tip."""
        ref = f"refs/heads/{branch}"
        parent = self.repo.oid(base)
        return self.repo.commit_at(ref, files, message, parents=(parent,))

    def submit(self, tip: str, **fields: object) -> Submission:
        """Store a submission of ``tip``."""
        made = submit.new(self.objects, tip)
        return submit.create(
            self.repository,
            self.objects,
            replace(made, **fields),  # type: ignore[arg-type]
        )

    def prepare(self, submission: Submission, base: str = "") -> Candidate:
        """Make the candidate on the target, and pin it as for a check."""
        (*_, made) = self.line(submission, base=base)
        if not made.product:
            return made
        return prepare.pin(self.repository, self.objects, made)

    def line(self, *submissions: Submission, base: str = "") -> list[Candidate]:
        """Make the candidates of a line, the bare target first."""
        base = base or self.target
        lines = [submissions]
        facts = (self.repository, self.objects, base, lines, {})
        return [each for made in prepare.prepare(*facts) for each in made]

    def receipt(
        self,
        candidate: Candidate,
        check: Check | None = None,
        result: Result = Result.PASSED,
        run: int = 1,
        output: bytes = b"all is well\n",
    ) -> Receipt:
        """Store a receipt for one check, as if it had run."""
        check = check or self.settings.check[0]
        parents = (candidate.base, *candidate.tips)
        made = Receipt(
            check=check.name,
            key=check_key(check, candidate.product, ENVIRONMENT, parents),
            product=candidate.product,
            run=run,
            command=check.run,
            result=result,
            exit_code=0 if result is Result.PASSED else 1,
            seconds=3.14,
            started=f"2026-11-30T12:00:{run:02}Z",
            sandbox="required",
            environment=ENVIRONMENT,
            output="",
            tail=output.decode(errors="replace"),
        )
        return receipts.store(self.repository, self.objects, made, output)

    def green(self, submission: Submission, candidate: Candidate) -> Submission:
        """Return the submission with a passing receipt for each check."""
        lines = []
        for check in self.settings.check:
            receipt = self.receipt(candidate, check)
            line = CheckLine(check.name, "passed", receipt.seconds, receipt.place)
            lines.append(line)
        config = self.objects.path(candidate.base, ".agent/config.toml")
        return replace(
            submission,
            state=SubmissionState.CHECKING,
            checks=tuple(lines),
            config=config.oid if config else None,
        )

    def land(
        self, tip: str, record: TaskRecord | None = None, **fields: object
    ) -> landing.Landed | landing.Obstructed:
        """Submit, prepare, call it green, and land."""
        submission = self.submit(tip, **fields)
        candidate = self.prepare(submission)
        ready = self.green(submission, candidate)
        return self.land_ready(ready, candidate, record)

    def land_ready(
        self,
        submission: Submission,
        candidate: Candidate,
        record: TaskRecord | None = None,
    ) -> landing.Landed | landing.Obstructed:
        """Land what is green."""
        return landing.land(
            self.repository,
            self.objects,
            (LandStep(submission, candidate, record, candidate.product),),
            self.settings,
            moment(),
        )

    def settle(self, submission: Submission) -> Submission:
        """Record a landing as the loop does."""
        new = replace(submission, state=SubmissionState.LANDED, reason="Landed.")
        return submit.write(self.repository, submission, new, "landed")

    def start(self, candidate: Candidate, check: Check, run: int = 1) -> StartRun:
        """Return the order to run one check."""
        parents = (candidate.base, *candidate.tips)
        key = check_key(check, candidate.product, ENVIRONMENT, parents)
        return StartRun(("s-000000000000",), candidate, check, key, run)


@contextmanager
def bench(
    path: Path,
    files: Mapping[str, Content] | None = None,
    *,
    settings: str = "",
    bare: bool = False,
    object_format: str = "sha1",
) -> Iterator[Bench]:
    """Make a repository whose second commit is that of `gitagent init`."""
    repo = Repo.make(
        path,
        {"README.md": "# a repository\n", **(files or {})},
        bare=bare,
        object_format=object_format,
    )
    repo.commit_at(
        "refs/heads/main",
        {".agent/config.toml": settings or settings_text("true")},
        INIT,
    )
    if not bare:
        repo.git("reset", "-q", "--hard")
    repository = discover(path)
    with repository.objects() as objects:
        yield Bench(repo, repository, objects)


def archive(made: Bench, submission: Submission) -> None:
    """Move a record to the archive as the daemon does."""
    ref = "refs/gitagent/archive/2026-11"
    name = submit.ref_of(submission.id)
    Records(made.repository).append(
        ref,
        made.objects.ref(ref),
        json.dumps({"records": {name: submission.oid}}).encode(),
        what="1 settled record archived",
        kind="archive",
        parents=(submission.oid,),
    )
    made.repo.git("update-ref", "-d", name)


def task_record(task: str, blob: str, title: str = "", **fields: object) -> TaskRecord:
    """Return the record of a task that is submitted."""
    return TaskRecord(
        task,
        TaskState.SUBMITTED,
        blob,
        "2026-11-30T12:00:00Z",
        title=title,
        **fields,  # type: ignore[arg-type]
    )
