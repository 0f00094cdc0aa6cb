"""What a command costs: `--version` against `import click`, and a large `status`."""

import json
import statistics
import subprocess
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import measure, project
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.core.task import TaskRecord, TaskState
from gitagent.files import record

RUNS = 15
SETTLED, OPEN = 2000, 50


def version() -> None:
    """Compare the two in turn, so that a machine that drifts hits both."""
    ours, floor = [], []
    for _ in range(RUNS):
        ours.append(
            measure.seconds(lambda: _quiet(measure.script("gitagent"), "--version"))
        )
        floor.append(
            measure.seconds(lambda: _quiet(sys.executable, "-c", "import click"))
        )
    print("gitagent --version:")
    print(f"  gitagent     {measure.milliseconds(ours)}")
    print(f"  import click {measure.milliseconds(floor)}")
    ratio = statistics.median(o / f for o, f in zip(ours, floor, strict=True))
    measure.verdict("times import click", ratio, 1.6, "x")


def status() -> None:
    """Time `status` on a repository with many records."""
    with measure.private_home() as scratch:
        repo = scratch / "almanac"
        project.make(repo)
        measure.run([*measure.GITAGENT, "init", "--no-check"], repo)
        _fill(repo)
        for words in (["status"], ["status", "--json"]):
            spent = [
                measure.seconds(
                    partial(measure.run, [measure.script("gitagent"), *words], repo)
                )
                for _ in range(5)
            ]
            print(
                f"gitagent {' '.join(words)}, {SETTLED} settled and {OPEN} open tasks, "
                "and as many submissions:"
            )
            print(f"  {measure.milliseconds(spent)}")
            measure.verdict("median", statistics.median(spent), 0.5, "s")
        shown = json.loads(measure.run([*measure.GITAGENT, "status", "--json"], repo))
        open_tasks = [t for t in shown["tasks"] if t["state"] == "waiting"]
        queue = [s for s in shown["submissions"] if s["position"]]
        if len(open_tasks) != OPEN or len(queue) != OPEN:
            sys.exit("status does not show all that is open")


def _fill(repo: Path) -> None:
    """Write the records and the open task files with one fast-import."""
    lines = []
    files = []
    for n in range(SETTLED + OPEN):
        settled = n < SETTLED
        task = f"task-{n:04}"
        state = TaskState.LANDED if settled else TaskState.WAITING
        content = f"# Task {n}\n\n```sh\ntrue\n```\n".encode()
        blob = (
            subprocess.run(
                ["git", "hash-object", "--stdin"],
                input=content,
                cwd=repo,
                capture_output=True,
                check=True,
            ).stdout.decode()
            if not settled
            else "0" * 40
        )
        data = record.dump_task(
            TaskRecord(
                id=task,
                state=state,
                blob=blob.strip(),
                since=f"2026-11-{n % 28 + 1:02}T12:00:00Z",
                title=f"Task {n}",
                agent="shell",
                reason="Waits for a free worker." if not settled else None,
                attempt=1 if settled else 0,
            )
        )
        lines.append(b"commit refs/gitagent/tasks/%s\n" % task.encode())
        lines.append(b"committer gitagent <gitagent@localhost> 1767603600 +0000\n")
        lines.append(b"data 6\nlanded\nM 100644 inline record-v1.json\n")
        lines.append(b"data %d\n%b\n" % (len(data), data))
        if not settled:
            files.append((f".agent/tasks/{task}.md", content))
        lines += _submission(n, settled=settled)
    lines.append(b"commit refs/heads/main\n")
    lines.append(b"committer Bench <bench@example.org> 1796040000 +0000\n")
    lines.append(b"data 5\ntasks\nfrom refs/heads/main^0\n")
    for path, content in files:
        lines.append(b"M 100644 inline %s\n" % path.encode())
        lines.append(b"data %d\n%b\n" % (len(content), content))
    subprocess.run(
        ["git", "fast-import", "--quiet"], input=b"".join(lines), cwd=repo, check=True
    )


def _submission(number: int, *, settled: bool) -> list[bytes]:
    """Return the record of a submission for fast-import."""
    state = SubmissionState.LANDED if settled else SubmissionState.QUEUED
    checks = (CheckLine("tests", "passed", number % 90, f"ref:{number}"),)
    data = record.dump_submission(
        Submission(
            id=f"s-{number:012x}",
            tip=f"{number:040x}",
            state=state,
            created=f"2026-11-{number % 28 + 1:02}T12:00:00.000000Z",
            since=f"2026-11-{number % 28 + 1:02}T12:00:00Z",
            branch=f"refs/heads/land/{number}",
            reason=None if settled else "Waits for s-0, which is ahead of it.",
            checks=checks if settled else (),
        )
    )
    return [
        b"commit refs/gitagent/submissions/s-%012x\n" % number,
        b"committer gitagent <gitagent@localhost> 1767603600 +0000\n",
        b"data 6\n%b\nM 100644 inline record-v1.json\n" % state.encode(),
        b"data %d\n%b\n" % (len(data), data),
    ]


def _quiet(*argv: str) -> None:
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    version()
    status()
