"""A seeded storm: work of every kind, and SIGKILL of the daemon at random moments.

What has to come of each piece of work is noted when it is made; what came of it is
looked up at the end, in the target's files, its history and the records.
"""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gitagent.core.ident import submission_id
from gitagent.core.snapshot import Snapshot
from gitagent.daemon.read import Reader
from gitagent.git.repository import discover
from gitagent.host.place import cache_root
from tests.support.daemon import COMMAND, gitagent
from tests.support.repos import Content, GitFailed, Repo, task_text
from tests.support.stepping import config, holders, keep

TARGET = "refs/heads/main"
SHARED = 400  # files that rivals fight over, each once
STUCK_S = 60.0  # without any progress
PATIENCE_S = 60.0  # of a person whose commit meets a lock

# Every run holds a file and leaves a child in a session of its own behind.
_TRACE = "exec 3>> {0}/held; (setsid sleep 1000 &);"
_CHECK = (
    _TRACE + " sleep 0.1;"
    "for f in flaky/*; do"
    ' seen="{0}/seen-${{f##*/}}";'
    ' [ ! -e "$f" ] || [ -e "$seen" ] || {{ : > "$seen"; flake=1; }};'
    # One flake a run: two in a row on one tree are a failure, by the lander's own rule.
    "done; test -z \"$flake\" && ! grep -rqwF BAD --include='*.txt' ."
)


@dataclass(slots=True)
class Storm:
    """One repository, its people, and a daemon that does not live long."""

    repo: Repo
    outside: Path
    dice: random.Random
    process: subprocess.Popen[bytes] | None = None
    made: int = 0  # pieces of work
    files: dict[str, set[str | None]] = field(default_factory=dict)  # None: absent
    tasks: dict[str, set[str]] = field(default_factory=dict)  # states to end in
    tips: dict[str, set[str]] = field(default_factory=dict)
    rivals: list[tuple[str, str, str]] = field(default_factory=list)  # path, two tips
    later: list[Callable[[], None]] = field(default_factory=list)

    # --- the daemon

    @property
    def log(self) -> str:
        """What all daemons printed."""
        path = self.repo.path.with_name("storm.log")
        return path.read_text(errors="replace") if path.exists() else ""

    def start(self) -> None:
        """Start a daemon; nobody waits for it."""
        with self.repo.path.with_name("storm.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*COMMAND, "up"],
                cwd=self.repo.path,
                env=dict(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def end(self, number: signal.Signals) -> int:
        """End the daemon with a signal; return its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    # --- work

    def work(self) -> None:
        """Do one thing that people do, chosen by the dice."""
        if self.later and self.dice.random() < 0.4:
            self.later.pop(0)()
            return
        kinds = (
            *(self._good_branch,) * 4,
            *(self._good_task,) * 3,
            self._bad_branch,
            self._flaky_branch,
            self._rivals,
            self._twice,
            self._pushed_anew,
            self._failing_task,
            self._idle_task,
            self._amended_task,
            self._deleted_task,
            self._person,
        )
        self.made += 1
        self.dice.choice(kinds)()

    def _name(self, kind: str) -> str:
        return f"{kind}-{self.made}"

    def _push(
        self,
        name: str,
        files: Mapping[str, Content],
        *states: str,
        on: str = "",
    ) -> str:
        """Put a commit on ``refs/heads/land/<name>``; it has to end in a state."""
        parent = on or self.repo.oid(TARGET)
        ref = f"refs/heads/land/{name}"
        tip = self.repo.commit_at(ref, files, f"{name}\n", parents=(parent,))
        self.tips[tip] = {*states}
        return tip

    def _good_branch(self) -> None:
        path = f"branches/{self._name('good')}.txt"
        self.files[path] = {"good\n"}
        self._push(self._name("good"), {path: "good\n"}, "landed")

    def _bad_branch(self) -> None:
        path = f"branches/{self._name('bad')}.txt"
        self.files[path] = {None}
        self._push(self._name("bad"), {path: "this is BAD\n"}, "rejected")

    def _flaky_branch(self) -> None:
        path = f"flaky/{self._name('flaky')}"
        self.files[path] = {"flaky\n"}
        self._push(self._name("flaky"), {path: "flaky\n"}, "landed")

    def _rivals(self) -> None:
        path, base = f"shared/{self.made % SHARED}", self.repo.oid(TARGET)
        if any(path == each for each, _, _ in self.rivals):
            return
        one, two = (
            self._push(
                f"{self._name('rival')}-{who}",
                {path: f"{who}\n"},
                "landed",
                "rejected",
                on=base,
            )
            for who in ("one", "two")
        )
        self.rivals.append((path, one, two))
        self.files[path] = {"one\n", "two\n"}

    def _twice(self) -> None:
        path = f"branches/{self._name('twice')}.txt"
        self.files[path] = {"twice\n"}
        tip = self._push(self._name("twice"), {path: "twice\n"}, "landed")
        self.repo.git("update-ref", f"refs/heads/land/{self._name('again')}", tip)

    def _pushed_anew(self) -> None:
        name, base = self._name("anew"), self.repo.oid(TARGET)
        old, new = f"branches/{name}-old.txt", f"branches/{name}-new.txt"
        self._push(name, {old: "old\n"}, "landed", "withdrawn", on=base)
        self.files[old] = {None, "old\n"}

        def again() -> None:
            self._push(name, {new: "new\n"}, "landed", on=base)
            self.files[new] = {"new\n"}

        self.later.append(again)

    def _task(self, name: str, script: str, *states: str, front: str = "") -> None:
        text = task_text(_TRACE.format(self.outside) + script, front=front)
        self.commit({f".agent/tasks/{name}.md": text})
        self.tasks[name] = {*states}

    def _good_task(self) -> None:
        name, pause = self._name("good"), self.dice.choice((0, 0, 0.3, 1))
        script = f" mkdir -p tasks; sleep {pause}; echo done > tasks/{name}.txt"
        self.files[f"tasks/{name}.txt"] = {"done\n"}
        self._task(name, script, "landed")

    def _failing_task(self) -> None:
        name = self._name("failing")
        script = " echo half > half.txt; exit 3"
        self._task(name, script, "failed", front=f"retries = {self.made % 2}")
        self.files["half.txt"] = {None}

    def _idle_task(self) -> None:
        self._task(self._name("idle"), " true", "done")

    def _amended_task(self) -> None:
        name = self._name("amended")
        script = f" mkdir -p tasks; sleep 0.5; echo {{}} > tasks/{name}.txt"
        self._task(name, script.format("first"), "landed")
        self.files[f"tasks/{name}.txt"] = {"first\n"}

        def amend() -> None:
            self._task(name, script.format("second"), "landed")
            self.files[f"tasks/{name}.txt"] = {"second\n"}

        self.later.append(amend)

    def _deleted_task(self) -> None:
        name = self._name("deleted")
        script = f" mkdir -p tasks; sleep 1; echo x > tasks/{name}.txt"
        self._task(name, script, "landed", "stopped")
        self.files[f"tasks/{name}.txt"] = {None, "x\n"}

        def delete() -> None:
            path = f".agent/tasks/{name}.md"
            if self.repo.ask("cat-file", "-e", f"{TARGET}:{path}") == 0:
                self.commit({path: None})

        self.later.append(delete)

    def _person(self) -> None:
        path = f"person/{self._name('mine')}.txt"
        self.commit({path: "mine\n"})
        self.files[path] = {"mine\n"}

    def commit(self, files: Mapping[str, Content]) -> None:
        """Commit in the checkout as a person does: again, if a lock is in the way."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                for name, content in files.items():
                    if content is None and not (self.repo.path / name).exists():
                        return
                self.repo.commit(files, "By hand")
            except GitFailed as error:
                if "nothing to commit" in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    # --- the end

    def wait(self) -> list[str]:
        """Wait until everything is settled; return what is not."""
        repo = discover(self.repo.path)
        reader = Reader(repo)
        before, deadline = [""], 0.0
        while True:
            with repo.objects() as objects:
                left = list(self._open(reader.read(objects, audit=False)))
            if left != before:
                before, deadline = left, time.monotonic() + STUCK_S
            if not left or time.monotonic() > deadline:
                return left
            assert self.process is not None
            if self.process.poll() is not None:
                return ["the daemon ended by itself", *left]
            time.sleep(0.2)

    def _open(self, snapshot: Snapshot) -> Iterator[str]:
        for offer in snapshot.offers:
            if submission_id(offer.tip) not in snapshot.submissions:
                yield f"{offer.ref} is not submitted"
        for each in snapshot.submissions.values():
            if not each.settled:
                yield f"{each.id} is {each.state}: {each.reason}"
        for name in self.tasks:
            record, file = snapshot.records.get(name), snapshot.tasks.get(name)
            if record is None and file is not None:
                yield f"task {name} was not seen"
            elif record is not None and not record.settled:
                yield f"task {name} is {record.state}: {record.reason}"
            elif record is not None and file is not None and file.blob != record.blob:
                yield f"task {name} is {record.state} and was amended"
            elif record is not None and record.state == "done" and file is not None:
                yield f"the file of {name} was not moved"

    def problems(self) -> Iterator[str]:
        """Yield everything that is not as it has to be."""
        repo = discover(self.repo.path)
        with repo.objects() as objects:
            snapshot = Reader(repo).read(objects)
        yield from self._wrong_files()
        yield from self._wrong_submissions(snapshot)
        yield from self._wrong_tasks(snapshot)
        yield from self._wrong_landings(snapshot)
        yield from self._spoiled()
        yield from self._left()

    def _wrong_files(self) -> Iterator[str]:
        there = set(self.repo.paths(TARGET))
        for path, allowed in self.files.items():
            content = self.repo.read(path, TARGET) if path in there else None
            if content not in allowed:
                yield f"{path} is {content!r} on the target, not in {allowed}"
        for path in there - set(self.files):
            if path.startswith(("branches/", "tasks/", "flaky/", "person/")):
                yield f"{path} came from nowhere"

    def _wrong_submissions(self, snapshot: Snapshot) -> Iterator[str]:
        for tip, states in self.tips.items():
            found = snapshot.submissions.get(submission_id(tip))
            # A tip that was replaced before anybody looked was never submitted.
            if found is None and "withdrawn" not in states:
                yield f"{tip} was never submitted"
            elif found is not None and found.state not in states:
                yield f"{found.id} is {found.state} ({found.reason}), not in {states}"
        for path, *tips in self.rivals:
            ends = [snapshot.submissions[submission_id(tip)].state for tip in tips]
            if sorted(ends) != ["landed", "rejected"]:
                yield f"the rivals for {path} are {ends}"

    def _wrong_tasks(self, snapshot: Snapshot) -> Iterator[str]:
        for name, states in self.tasks.items():
            record = snapshot.records.get(name)
            if record is None and "stopped" in states:
                continue
            state = record.state if record else None
            if state not in states:
                why = record.reason if record else "no record"
                yield f"task {name} is {state} ({why}), not in {states}"
            path = f"tasks/{name}.txt"
            if len(states) > 1 and path in self.files:
                landed = self.repo.ask("cat-file", "-e", f"{TARGET}:{path}") == 0
                if landed != (state == "landed"):
                    yield f"task {name} is {state}, and its file says otherwise"

    def _wrong_landings(self, snapshot: Snapshot) -> Iterator[str]:
        form = "%(trailers:key=Gitagent-Submission,valueonly,separator=%x2C)"
        listed = self.repo.log(f"%H {form}", "--first-parent", TARGET)
        pairs = [line.split(" ", 1) for line in listed]
        landed = [submission for _, submission in pairs if submission]
        if len(landed) != len(set(landed)):
            yield f"something landed twice: {sorted(landed)}"
        for each in snapshot.submissions.values():
            on_target = each.id in landed
            contained = each.commit == each.tip
            if (each.state == "landed") != (on_target or contained):
                yield f"{each.id} is {each.state}, and the target says otherwise"
            if each.state == "landed" and not contained:
                commits = [commit for commit, name in pairs if name == each.id]
                if commits != [each.commit]:
                    yield f"{each.id} is at {commits}, recorded as {each.commit}"
        proven = gitagent(self.repo, "verify")
        by_hand = proven.stdout + proven.stderr
        wrong = [line for line in by_hand.splitlines() if "s-" in line]
        if wrong:
            yield f"verify: {wrong}"

    def _spoiled(self) -> Iterator[str]:
        changed = [line for line in self.repo.status() if line != " M dirty.txt"]
        if changed:
            yield f"the checkout is changed: {changed}"
        if (self.repo.path / "dirty.txt").read_text() != "my own edit\n":
            yield "a person's edit is gone"
        try:
            self.repo.fsck()
        except GitFailed as error:
            yield f"fsck: {error}"

    def _left(self) -> Iterator[str]:
        if held := holders(self.outside / "held"):
            yield f"processes are left: {held}"
        locks = list(self.repo.common_dir.rglob("*.lock"))
        if locks := [lock for lock in locks if lock.name != "worktree.lock"]:
            yield f"locks are left: {locks}"
        for prefix in ("refs/gitagent/candidates/", "refs/gitagent/harvest/"):
            if found := self.repo.refs(prefix):
                yield f"refs are left: {found}"
        if left := set(self.repo.refs("refs/heads/land/").values()) - self._refused():
            yield f"landed branches are left: {left}"
        if self.repo.git("worktree", "list", "--porcelain").count("worktree ") != 1:
            yield f"worktrees are left: {self.repo.git('worktree', 'list')}"
        attempts = cache_root(self.repo.common_dir) / "attempts"
        if attempts.is_dir() and (names := sorted(attempts.iterdir())):
            yield f"attempts are left: {names}"

    def _refused(self) -> set[str]:
        return {tip for tip, states in self.tips.items() if "rejected" in states}


def begin(folder: Path, seed: int) -> Storm:
    """Make the repository of a storm in an empty folder."""
    outside = folder / "outside"
    outside.mkdir(parents=True)
    settings = config(
        _CHECK.format(outside),
        sandbox={"write": [str(outside)]},
        lander={"flaky_budget": 1000},
        worker={"parallel": 2},
    )
    files = {f"shared/{number}": "nobody\n" for number in range(SHARED)}
    repo = keep(folder / "repo", files | {"dirty.txt": "theirs\n"}, settings)
    repo.write("dirty.txt", "my own edit\n")
    return Storm(repo, outside, random.Random(seed))  # noqa: S311 - a storm to repeat


def run(
    storm: Storm,
    kills: int,
    *,
    pause: tuple[float, float] = (0.1, 3.0),
    work: float = 3.0,
    tell: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Let the storm pass; return everything that is wrong afterwards.

    ``pause`` is the range of seconds that a daemon lives, ``work`` the pieces of work
    for each daemon.
    """
    storm.start()
    try:
        for number in range(kills):
            alive_until = time.monotonic() + storm.dice.uniform(*pause)
            while (left := alive_until - time.monotonic()) > 0:
                if storm.made < work * (number + 1):
                    storm.work()
                else:
                    time.sleep(min(left, 0.02))
            storm.end(signal.SIGKILL)
            tell(f"kill {number + 1}, {storm.made} pieces of work")
            # A daemon killed in an advance leaves the index locked for the next one.
            storm.start()
        for each in storm.later:
            each()
        wrong = storm.wait()
        code = storm.end(signal.SIGTERM)
    finally:
        storm.end(signal.SIGKILL)
    if code != 0:
        wrong.append(f"the last daemon ended with {code}")
    return [*wrong, *storm.problems()]
