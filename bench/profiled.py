"""A daemon whose steps are timed: which, how often, how long, without what is inside.

Run as a program it is ``gitagent up``; the spans go to a file when it ends.
"""

import functools
import importlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

# module, attribute, what it is called; a star stands for what it is called with
STEPS = (
    ("gitagent.daemon.loop", "decide", "decide"),
    ("gitagent.daemon.read", "Reader.read", "read"),
    ("gitagent.daemon.enact", "Enactor.enact", "enact *"),
    ("gitagent.git.command", "Git.run", "git *"),
    ("gitagent.git.checkout", "Checkout.prepare", "checkout: prepare"),
    ("gitagent.git.checkout", "Checkout.changed", "checkout: changed?"),
    ("gitagent.git.checkout", "Checkout.inside", "checkout: private Git directory"),
    ("gitagent.lander.receipts", "store", "receipt: store"),
    ("gitagent.lander.receipts", "find", "receipt: look up"),
    ("gitagent.host.engine", "LocalEngine.run", "sandbox: bubblewrap and the check"),
    ("gitagent.host.clock", "Wake.wait", "idle"),
)
OUT = "GITAGENT_BENCH_SPANS"
SHOWN = 18

Span = tuple[str, str, float, float, float]  # thread, name, begin, whole, own seconds


@dataclass(slots=True)
class Spans:
    """What a daemon spent its time on, once it has ended."""

    path: Path
    since: float = 0.0
    spans: list[Span] = field(default_factory=list)

    def begin(self) -> None:
        """Leave out what was before now."""
        self.since = time.monotonic()

    def show(self, landings: int, most: int = SHOWN) -> None:
        """Print the steps, the longest first, for one landing."""
        own: dict[tuple[str, str], float] = defaultdict(float)
        times: dict[tuple[str, str], int] = defaultdict(int)
        for thread, name, began, _, alone in self.spans:
            if began >= self.since and name != "idle":
                own[thread, name] += alone
                times[thread, name] += 1
        print(
            "  where the daemon's time goes, for one landing, without what is inside:"
        )
        for key in sorted(own, key=lambda key: -own[key])[:most]:
            spent, often = own[key] * 1000 / landings, times[key] / landings
            print(f"    {spent:7.2f} ms  {often:5.1f} times  {key[0]:5} {key[1]}")
        rest = sum(own.values()) * 1000 / landings
        print(f"    {rest:7.2f} ms  in all, threads side by side")


@contextmanager
def daemon(repo: Path) -> Iterator[Spans]:
    """Run a daemon on ``repo`` that times its steps; they are there at the end."""
    out = repo.parent / f"{repo.name}.spans"
    reading, writing = os.pipe()
    with (repo.parent / f"{repo.name}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, "up"],
            cwd=repo,
            env={**os.environ, "GITAGENT_READY_FD": str(writing), OUT: str(out)},
            stdout=log,
            stderr=log,
            pass_fds=(writing,),
        )
    os.close(writing)
    with os.fdopen(reading, "rb") as ready:
        if not ready.readline():
            sys.exit((repo.parent / f"{repo.name}.log").read_text())
    spans = Spans(out)
    try:
        yield spans
    finally:
        process.terminate()
        process.wait(30)
    spans.spans = [tuple(span) for span in json.loads(out.read_text())]


_spans: list[Span] = []
_open = threading.local()


def _timed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever it is
        stack = _open.__dict__.setdefault("stack", [])
        stack.append(0.0)
        began = time.monotonic()
        try:
            return function(*args, **kwargs)
        finally:
            whole = time.monotonic() - began
            inside = stack.pop()
            if stack:
                stack[-1] += whole
            main = threading.current_thread() is threading.main_thread()
            called = name.replace("*", _what(args))
            _spans.append(
                ("main" if main else "other", called, began, whole, whole - inside)
            )

    return wrapper


def _what(args: tuple[Any, ...]) -> str:
    """Return the Git command, or the kind of action, that was called for."""
    given = args[1] if len(args) > 1 else args[0]
    if isinstance(given, list):  # actions
        return " ".join(sorted({type(each).__name__ for each in given}))
    words = [arg for arg in args[1:] if isinstance(arg, str)]
    while words[:1] == ["-c"]:
        del words[:2]
    return words[0] if words else type(given).__name__


def _main() -> int:
    for module, attribute, name in STEPS:
        try:
            place: Any = importlib.import_module(module)
            *path, last = attribute.split(".")
            for part in path:
                place = getattr(place, part)
            setattr(place, last, _timed(getattr(place, last), name))
        except (ImportError, AttributeError):
            print(f"not timed: {module}.{attribute}", file=sys.stderr)
    from gitagent.cli import main  # noqa: PLC0415 - after the steps were wrapped

    try:
        main()
    except SystemExit as end:
        code = end.code
        return code if isinstance(code, int) else int(code is not None)
    finally:
        Path(os.environ[OUT]).write_text(json.dumps(_spans), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
