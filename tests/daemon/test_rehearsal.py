"""What a rehearsal loads."""

import subprocess
import sys

SEEN = (
    "import sys, json, gitagent.daemon.rehearsal as r; r.load_all();"
    "print(sorted({'anthropic', 'openai', 'acp', 'mcp'} & set(sys.modules)),"
    " 'gitagent.daemon.service' in sys.modules)"
)


def test_all_of_the_daemon_is_loaded_and_no_client_of_a_model():
    done = subprocess.run(
        [sys.executable, "-c", SEEN], capture_output=True, text=True, check=True
    )

    assert "[] True\n" == done.stdout


def test_a_module_of_another_process_that_python_cannot_read_is_noticed(tmp_path):
    seen = (
        "import gitagent, gitagent.worker.loop as loop, gitagent.daemon.rehearsal as r;"
        f"loop.__path__.append({str(tmp_path)!r}); r._read('gitagent.worker.loop.odd')"
    )
    (tmp_path / "odd.py").write_text("def (:\n")

    done = subprocess.run(
        [sys.executable, "-c", seen], capture_output=True, text=True, check=False
    )

    assert 1 == done.returncode
    assert "SyntaxError" in done.stderr
