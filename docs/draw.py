"""Draw docs/states.md, settings.md and failures.md, and tables of other pages.

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

from gitagent.core import conversation, effect, failure, profile, submission, task
from gitagent.core.conversation import CallState, Ended, Kind
from gitagent.core.effect import Effects
from gitagent.files.template import settings_reference
from gitagent.worker.loop.form import Form, Where
from gitagent.worker.loop.table import TABLE

State = TypeVar("State", bound=StrEnum)

DOCS = Path(__file__).resolve().parent

_MEMBER = re.compile(r'^    \w+ = "(?P<value>\w+)"  # (?P<meaning>.+)$', re.MULTILINE)
_ROW = re.compile(r"^    (?P<value>\w+) +(?P<meaning>\w.+)$", re.MULTILINE)

_HEAD = """\
<!-- Drawn by docs/draw.py from gitagent/core/task.py and gitagent/core/submission.py;
     `make format` draws it anew, `make check` fails when it is stale. -->

# States

A task and a submission are each in one state at a time.
Every change of state is one commit on the record's ref:
`git log refs/gitagent/tasks/<id>` tells the story.
"""

_FAILURES = f"""\
<!-- Drawn by docs/draw.py from gitagent/core/failure.py;
     `make format` draws it anew, `make check` fails when it is stale. -->

# Failures of requests to models

What the [gateway](models.md) does when a provider gives no answer.
A request is tried {failure.TRIES} times in all, after {failure.FIRST_S:g} s, then after twice as long each time, at most {failure.LONGEST_S:g} s.
Where the provider's word counts, a `retry-after` is waited for instead; one that is longer than {failure.PATIENCE_S:g} s is not waited for.
Nothing is tried again once a part of the answer has been passed on.
"""  # noqa: E501 - one sentence a line


_TAKES = {
    Effects.READ: "nothing",
    Effects.WRITE: "the grant `write`; then the path has to lie in the worktree, in \
`paths` of the task and of the agent, and outside of `forbidden`",
    Effects.SHELL: "the grant `shell`; then what of the command is understood must be \
able to work",
    Effects.NETWORK: "the host in `sandbox.network` or in `network` of the agent",
    Effects.START_TASK: "the grant `start_task`",
    Effects.REMEMBER: "the grant `remember`",
}

# What sets each limit, and the outcome of an attempt that reaches it.
_ENDS = {
    Ended.DONE: ("", "`ok`, or `nothing` or `blocked` as `finish` says"),
    Ended.QUESTION: ("", "`question`"),
    Ended.TURNS: ("`loop.turns`", "`failed`"),
    Ended.TIME: ("`timeout` of the task, or `worker.timeout`", "`timeout`"),
    Ended.BUDGET: ("`budget`", "`question`: how much more?"),
    Ended.CONTEXT: ("`loop.context`", "`failed`"),
    Ended.REFUSED: ("", "`failed`"),
    Ended.RUNAWAY: ("3 times", "`failed`"),
    Ended.FAILED: ("", "`failed`, or `refused` where a person has to mend something"),
    Ended.STOPPED: ("", "`stopped`, `amended`, or `interrupted`"),
    Ended.CLOSED: ("", "none: of side chats alone"),
}


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
        DOCS / "failures.md": f"{_FAILURES}\n{_failures()}\n",
        DOCS / "gate.md": _inserted(DOCS / "gate.md", _gate()),
        DOCS / "builtin.md": _inserted(
            DOCS / "builtin.md", _tools(), _calls(), _ends()
        ),
        DOCS / "data-model.md": _inserted(DOCS / "data-model.md", _kinds()),
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
    meanings = _meanings(states)
    rows = [
        f"| `{state}`{' (settled)' if state in settled else ''} "
        f"| {meanings[state]} "
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


def _failures() -> str:
    """Return the table of what is done about each failure."""
    meanings = _meanings(failure.Failure)
    rows = [
        f"| `{each}` | {meanings[each]} | {_yes(rule.retry)} | {_yes(rule.told)} "
        f"| {_yes(rule.fallback)} | {_yes(rule.holds)} |"
        for each, rule in failure.RULES.items()
    ]
    head = (
        "| failure | what happened | tried again | the provider's word counts "
        "| a `model.fallback` may stand in | other tasks wait too |"
    )
    return "\n".join((head, "| --- | --- | --- | --- | --- | --- |", *rows))


def _gate() -> str:
    """Return the table of the effects."""
    meanings = _meanings(Effects)
    shut = ", ".join(f"`{name}`" for name, may in profile.PROFILES.items() if not may)
    rows = [
        f"| `{each}` | {meanings[each]} | {_TAKES[each]} "
        f"| {_yes(each in effect.OUTLIVES)} | {_yes(each is Effects.READ)} |"
        for each in Effects
    ]
    head = (
        "| effect | of what | it takes | a decision, if words of others came "
        f"| in {shut} |"
    )
    return "\n".join((head, "| --- | --- | --- | --- | --- |", *rows))


def _tools() -> str:
    """Return the table of the built-in agent's tools."""
    rows = [
        f"| `{each.name}` {{{', '.join(_arguments(each))}}} "
        f"| {f'`{each.kind}`' if each.kind else 'none'} "
        f"| {_of_whom(each)} | {_sentence(each.description)} |"
        for each in TABLE
    ]
    head = "| tool | effect | who has it | what it does |"
    return "\n".join((head, "| --- | --- | --- | --- |", *rows))


def _arguments(form: Form) -> list[str]:
    needed = form.schema.get("required", ())
    names = form.schema["properties"]
    return [name if name in needed else f"{name}?" for name in names]


def _of_whom(form: Form) -> str:
    match form.where:
        case Where.TASK:
            return "a task"
        case Where.CHAT:
            return "a chat"
        case Where.BOTH:
            return "both"
        case Where.CODE:
            return "code alone"


def _sentence(text: str) -> str:
    """Return the first sentence of what a model is told."""
    return re.split(r"(?<=[.:]) (?=[A-Z])", text)[0].replace("|", "/")


def _calls() -> str:
    """Return the table of how calls end."""
    rows = [f"| `{name}` | {what} |" for name, what in _meanings(CallState).items()]
    return "\n".join(("| state | what is true of the call |", "| --- | --- |", *rows))


def _ends() -> str:
    """Return the table of how an attempt of the built-in agent ends."""
    meanings = _meanings(Ended)
    rows = [
        f"| `{each}` | {meanings[each]} | {_ENDS[each][0]} | {_ENDS[each][1]} |"
        for each in Ended
    ]
    head = "| state | what happened | the limit | the attempt's outcome |"
    return "\n".join((head, "| --- | --- | --- | --- |", *rows))


def _kinds() -> str:
    """Return the table of the kinds of entries."""
    found = _ROW.finditer(conversation.__doc__ or "")
    meanings = {each["value"]: each["meaning"] for each in found}
    rows = [f"| `{each}` | {meanings[each]} |" for each in Kind]
    return "\n".join(("| kind | what it is |", "| --- | --- |", *rows))


def _meanings(states: type[StrEnum]) -> dict[str, str]:
    found = _MEMBER.finditer(inspect.getsource(states))
    return {each["value"]: each["meaning"].replace("|", "/") for each in found}


def _inserted(path: Path, *tables: str) -> str:
    """Return a page with what stands between each two of its marks replaced."""
    done, rest = "", path.read_text(encoding="utf-8")
    for table in tables:
        before, begin, rest = rest.partition("drawn by docs/draw.py -->\n")
        _, end, rest = rest.partition("<!-- end -->")
        done += f"{before}{begin}\n{table}\n\n{end}"
    return done + rest


def _yes(what: bool) -> str:  # noqa: FBT001 - a cell of a table
    return "yes" if what else "no"


def _names(source: StrEnum, targets: Iterable[StrEnum], states: type[StrEnum]) -> str:
    others = [f"`{state}`" for state in states if state in targets and state != source]
    return ", ".join(others) or "nothing"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
