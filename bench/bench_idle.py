"""What a daemon costs while nothing happens: processor time and memory."""

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import measure, project


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used. Source: proc(5)."""
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024


def main() -> None:
    """Let a daemon that has landed one task sit still."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=60)
    length = parser.parse_args().seconds
    with measure.private_home() as scratch:
        repo = scratch / "almanac"
        project.make(repo)
        measure.run([*measure.GITAGENT, "init", "--no-check"], repo)
        with measure.daemon(repo) as process:
            task = repo / ".agent/tasks/warm.md"
            task.parent.mkdir(exist_ok=True)
            task.write_text("# Warm up\n\n```sh\necho warm > warm.txt\n```\n")
            measure.git(repo, "add", ".agent/tasks/warm.md")
            measure.git(repo, "commit", "-q", "-m", "Ask for a first task")
            measure.wait_task(repo, "warm", "landed")
            time.sleep(3)
            before = cpu_seconds(process.pid)
            time.sleep(length)
            used = cpu_seconds(process.pid) - before
            memory = resident_mb(process.pid)
    print(f"an idle daemon over {length} s:")
    measure.verdict("processor", 100 * used / length, 0.2, "% of a core")
    measure.verdict("resident", memory, 80, "MB")


if __name__ == "__main__":
    main()
