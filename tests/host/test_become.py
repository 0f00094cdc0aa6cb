"""A process that becomes another program keeps its id, or goes on if it cannot."""

import subprocess
import sys

CALL = "from gitagent.host import process; import os, sys; "


def become(*argv: str) -> subprocess.CompletedProcess[str]:
    code = (
        f"{CALL}print(os.getpid(), end=' ')\n"
        f"try:\n    process.become({list(argv)!r})\n"
        "except OSError as error:\n    print(type(error).__name__)"
    )
    argv_ = [sys.executable, "-c", code]
    return subprocess.run(argv_, capture_output=True, text=True, check=True)


def test_the_process_stays_the_same():
    said = become(sys.executable, "-c", "import os; print(os.getpid())")
    before, after = said.stdout.split()

    assert before == after


def test_a_program_that_is_not_there_changes_nothing():
    assert "FileNotFoundError" in become("/no/such/program").stdout
