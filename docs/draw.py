"""Draw docs/states.md and docs/settings.md from the code's own tables.

Without arguments the files are written; with ``--check`` nothing is written, and the
exit code is 1 when one of them is stale.
"""

import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from gitagent.core import submission, task
from gitagent.files.template import settings_reference

State = TypeVar("State", bound=StrEnum)

DOCS = Path(__file__).resolve().parent

_MEMBER = re.compile(r'^    \w+ = "(?P<value>\w+)"  # (?P<meaning>.+)$', re.MULTILINE)

_HEAD = """\
<!-- Drawn by docs/draw.py from gitagent/core/task.py and gitagent/core/submission.py;
     `make format` draws it anew, `make check` fails when it is stale. -->

# States

A task and a submission are each in one state at a time.
Every change of state is one commit on the record's ref:
`git log refs/gitagent/tasks/<id>` tells the story.
"""


def pages() -> dict[Path, str]:
    """Return what each drawn page should hold."""
    tasks = _machine(
        "Tasks",
        "A settled task goes on only when its file is amended or a person retries it.",
        task.TaskState,
        task.TRANSITIONS,
        task.SETTLED,
    )
    submissions = _machine(
        "Submissions",
        "A settled submission never changes again.",
        submission.SubmissionState,
        submission.TRANSITIONS,
        submission.SETTLED,
    )
    return {
        DOCS / "states.md": f"{_HEAD}\n{tasks}\n{submissions}",
        DOCS / "settings.md": settings_reference(),
    }


def stale() -> tuple[Path, ...]:
    """Return the drawn pages that do not hold what they should."""
    return tuple(
        path
        for path, text in pages().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    )


def main(arguments: list[str]) -> int:
    """Write the stale pages, or with ``--check`` name them; return the exit code."""
    behind = stale()
    if "--check" in arguments:
        for path in behind:
            sys.stderr.write(f"docs/{path.name} is stale: run `make format`\n")
        return 1 if behind else 0
    for path in behind:
        path.write_text(pages()[path], encoding="utf-8")
    return 0


def _machine(
    title: str,
    about: str,
    states: type[State],
    transitions: Mapping[State | None, Iterable[State]],
    settled: Iterable[State],
) -> str:
    meanings = {
        found["value"]: found["meaning"]
        for found in _MEMBER.finditer(inspect.getsource(states))
    }
    rows = [
        f"| `{state}`{' (settled)' if state in settled else ''} "
        f"| {meanings[state].replace('|', '/')} "
        f"| {_names(state, transitions[state], states)} |"
        for state in states
    ]
    arrows = [
        f"    {'[*]' if source is None else source} --> {target}"
        for source, targets in transitions.items()
        for target in states
        if target in targets and target != source
    ]
    return "\n".join(
        (
            f"## {title}\n\n{about}\n",
            "| state | what is true in it | leads to |",
            "| --- | --- | --- |",
            *rows,
            "\n```mermaid\nstateDiagram-v2",
            *arrows,
            "```\n",
        )
    )


def _names(source: StrEnum, targets: Iterable[StrEnum], states: type[StrEnum]) -> str:
    others = [f"`{state}`" for state in states if state in targets and state != source]
    return ", ".join(others) or "nothing"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
