"""How soon the built-in agent asks its model: from `git commit` to the first request.

What cannot be left out is the import of the client library, in a process of its own
and in the same run. Most of the rest is made beside it.
"""

import argparse
import json
import os
import statistics
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import measure, project

SETTLE_S = 0.5  # for the daemon to clear up behind the attempt before
ALLOWED_S = 0.3  # beyond the import

ANSWER = (
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    },
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "There is nothing to do."},
    },
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 5},
    },
    {"type": "message_stop"},
)


class _Model(ThreadingHTTPServer):
    """Says one sentence, and notes when it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.asked: list[float] = []


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Model

    def do_POST(self) -> None:
        """Answer as a stream."""
        self.server.asked.append(time.perf_counter())
        self.rfile.read(int(self.headers["content-length"]))
        data = "".join(
            f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in ANSWER
        ).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def imported() -> float:
    """Return the seconds that a process takes to import the client library."""
    argv = [sys.executable, "-I", "-c", "import anthropic"]
    return measure.seconds(lambda: measure.run(argv, Path("/")))


def latency(repo: Path, model: _Model, n: int) -> float:
    """Commit a task; return the seconds until its agent has asked the model."""
    task = f"bench-{n}"
    path = repo / f".agent/tasks/{task}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'+++\nagent = "model"\n+++\n# Look whether {n} is a number\n')
    measure.git(repo, "add", str(path))
    measure.git(repo, "commit", "-q", "-m", f"Ask for {task}")
    committed = time.perf_counter()
    model.asked.clear()
    measure.wait_task(repo, task, "done")
    return model.asked[0] - committed


def main() -> None:
    """Print both, and their difference."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    model = _Model()
    threading.Thread(target=model.serve_forever, daemon=True).start()
    with measure.private_home() as scratch:
        repo = scratch / "almanac"
        project.make(repo)
        measure.run([*measure.GITAGENT, "init", "--no-check"], repo)
        config = repo / ".agent/config.toml"
        here = f"http://127.0.0.1:{model.server_address[1]}"
        text = config.read_text().replace("https://api.anthropic.com", here)
        config.write_text(text)
        measure.git(repo, "commit", "-qam", "Ask a model of this machine")
        imports, latencies = [], []
        os.environ["ANTHROPIC_API_KEY"] = "none"
        with measure.daemon(repo):
            latency(repo, model, 0)
            for n in range(1, runs + 1):
                time.sleep(SETTLE_S)
                imports.append(imported())
                time.sleep(SETTLE_S)
                latencies.append(latency(repo, model, n))
    model.shutdown()
    more = statistics.median(latencies) - statistics.median(imports)
    ratio = statistics.median(latencies) / statistics.median(imports)
    print("from the end of git commit to the first request of the built-in agent:")
    print(f"  gitagent         {measure.milliseconds(latencies)}")
    print(f"  import anthropic {measure.milliseconds(imports)}")
    print(f"  times the import: {ratio:.2f}")
    measure.verdict("beyond the import", more * 1000, ALLOWED_S * 1000, "ms")


if __name__ == "__main__":
    main()
