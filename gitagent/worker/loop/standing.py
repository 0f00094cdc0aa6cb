"""The standing agent's own tools: how things stand, what is known, tasks to start.

They run gitagent's own command line, with the rights of who runs the daemon and nothing
of the model's in a shell. So each does what the command does, and no more.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import gitagent
from gitagent.core.chats import PROPOSE, START, Proposal
from gitagent.core.conversation import CallState, Origin
from gitagent.core.ending import worker_identity
from gitagent.core.grants import WIDER
from gitagent.core.ident import id_problem
from gitagent.errors import GitagentError
from gitagent.files import clean, template
from gitagent.git.repository import Repository
from gitagent.host import place, process
from gitagent.host.cancel import Cancel
from gitagent.worker.loop import history
from gitagent.worker.loop.bodies import Output, Way
from gitagent.worker.loop.showing import shown

_KEEP: Final = 4 << 20  # bytes of output
_CARRY_S: Final = 120.0
_LANDINGS: Final = 20
_FOUND: Final = 200_000  # characters of a search's answer


class Standing:
    """Bodies, for one chat; for any thread."""

    def __init__(self, repo: Repository, chat: str, agent: str) -> None:
        """``chat`` is the name of its conversation."""
        self._repo = repo
        self._chat = chat
        self._agent = agent

    def execute(self, tool: str, given: Mapping[str, Any], way: Way) -> Output:
        """Carry out one call."""
        run = _Commands(self._repo, way.seconds, way.cancel)
        match tool:
            case "status":
                return run.show("status", "--json", id_=given.get("id"))
            case "log":
                return run.show("log", "--json", "-n", str(_LANDINGS))
            case "search_history":
                return self._history(str(given["query"]), way)
            case "start_task":
                return self._start(given, run, way.key, usual=True)
            case "propose":
                return _propose(given, run)
            case _:
                return _said(f"There is no tool {tool}.", CallState.FAILED)

    def probe(self, tool: str, given: Mapping[str, Any], way: Way) -> Output | None:
        """Find out whether a task was started; its text has the key of the call."""
        if tool != START:
            return None
        task = str(given.get("id", ""))
        run = _Commands(self._repo, way.seconds, way.cancel)
        done = run("task", "show", "--", task)
        if done.code == 0 and way.key in done.text:
            return _said(f"The task {task} was started.", CallState.DONE)
        if done.code in {0, 1}:  # another's, or none
            return _said(f"The task {task} was not started.", CallState.FAILED)
        return None

    def carry(self, proposal: Proposal, key: str) -> Output:
        """Do what a person has said yes to."""
        run = _Commands(self._repo, _CARRY_S, None)
        try:
            given = json.loads(proposal.call.given)
            if proposal.call.tool == PROPOSE:
                return run.out("answer", *_answers(given))
            return self._start(given, run, key, usual=False)
        except (ValueError, TypeError, KeyError) as error:
            return _said(f"It cannot be read ({error}).", CallState.FAILED)

    def _start(
        self, given: Mapping[str, Any], run: "_Commands", key: str, *, usual: bool
    ) -> Output:
        """Start a task; ``usual``: only by an agent that may no more than the usual."""
        task = str(given["id"])
        if problem := id_problem(task):
            return _said(f"{task!r} cannot be an id: {problem}.", CallState.FAILED)
        text = self._task(given, key)
        less = ("--not-wider",) if usual else ()
        name, _, email = worker_identity(self._agent).partition(" <")
        who = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email.rstrip(">")}
        done = run("task", "add", "--file", "-", *less, "--", task, stdin=text, env=who)
        if done.code == 0:
            agent = given.get("agent") or "the usual agent"
            return _said(f"The task {task} is started, by {agent}.", CallState.DONE)
        if usual and WIDER in done.error:
            said = f"{done.error} The person has to confirm it first; nothing was done."
            return _said(said, CallState.NEEDS_DECISION)
        return run.failed(done)

    def _task(self, given: Mapping[str, Any], key: str) -> bytes:
        """Return the file of a task."""
        values = {
            name: given.get(name) for name in ("title", "agent", "accept", "paths")
        }
        rows = [
            f"{name} = {template.value(value)}\n"
            for name, value in values.items()
            if value
        ]
        begun = f"Started by the agent {self._agent} in a chat ({self._chat}, {key})."
        text = f"+++\n{''.join(rows)}+++\n\n{str(given['text']).strip()}\n\n{begun}\n"
        return text.encode(errors="replace")

    def _history(self, query: str, way: Way) -> Output:
        try:
            search = history.find(self._repo, query, seconds=min(5.0, way.seconds))
        except GitagentError as error:
            return _said(f"It cannot be searched: {error.line()}.", CallState.FAILED)
        lines = [
            f"{each.conversation}, entry {each.number}, {each.at}, {each.kind}"
            f"{' (put aside)' if each.aside else ''}: {each.snippet}"
            for each in search.found
        ]
        if not search.whole:
            lines.append("There may be more: look for more words.")
        return _found("\n".join(lines) or "Nothing was found.")


@dataclass(frozen=True, slots=True)
class _Done:
    code: int | None  # None: it was ended
    text: str
    error: str  # its last line
    cancelled: bool


class _Commands:
    """Runs commands of gitagent within one time limit each."""

    def __init__(self, repo: Repository, seconds: float, cancel: Cancel | None) -> None:
        self._repo = repo
        self._seconds = seconds
        self._cancel = cancel

    def __call__(
        self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> _Done:
        root = Path(gitagent.__file__).resolve().parents[1]
        given = place.environment() | {
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(root),
            "PYTHONSAFEPATH": "1",
        }
        done = process.run(
            [sys.executable, "-m", "gitagent.cli", "-C", *self._where(), *args],
            cwd="/",
            env=given | dict(env or {}),
            stdin=stdin,
            timeout=self._seconds,
            keep=_KEEP,
            cancel=self._cancel,
        )
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        last = said[-1].removeprefix("gitagent: ") if said else ""
        text = done.output.decode("utf-8", "replace")
        return _Done(done.code, text, last, done.cancelled)

    def show(self, *args: str, id_: object = None) -> Output:
        """Run a command that prints JSON; return what of it is for a model."""
        done = self(*args, *(("--", str(id_)) if id_ else ()))
        if done.code != 0:
            return self.failed(done)
        try:
            return _found(shown(json.loads(done.text)))
        except ValueError:
            return _said("gitagent said what cannot be read.", CallState.FAILED)

    def out(self, *args: str) -> Output:
        """Run a command; return what it prints."""
        done = self(*args)
        return _found(done.text) if done.code == 0 else self.failed(done)

    def failed(self, done: _Done) -> Output:
        """Return how a command ended that did not end well."""
        if done.cancelled:
            return _said("It was stopped.", CallState.INTERRUPTED)
        if done.code is None:
            return _said(
                f"It took more than {self._seconds:g} s.", CallState.INTERRUPTED
            )
        return _said(done.error or f"It ended with {done.code}.", CallState.FAILED)

    def _where(self) -> tuple[str]:
        return (str(self._repo.common_dir),)


def _propose(given: Mapping[str, Any], run: _Commands) -> Output:
    """Note answers for a person to confirm, if they can be given."""
    args = _answers(given)
    done = run("answer", "--json", "--", str(given["task"]))
    if done.code != 0:
        return run.failed(done)
    answers = "; ".join(map(str, given["answers"]))
    because = f", because {given['because']}" if given.get("because") else ""
    if not args or not answers:
        return _said("There is no answer in it.", CallState.FAILED)
    if slip := misfit(list(map(str, given["answers"])), json.loads(done.text)["open"]):
        return _said(slip, CallState.FAILED)
    said = f"answer {given['task']} with {answers}{because}"
    return _said(clean.sentence(said, 2000), CallState.DONE)


def misfit(answers: Sequence[str], open_: Sequence[int]) -> str:
    """Return which answer is to no question that is open, as a sentence, or ""."""
    numbers = {str(number) for number in open_}
    for each in answers:
        number, _, text = each.partition("=")
        if number not in numbers or not text.strip():
            asked = ", ".join(sorted(numbers)) or "none"
            return (
                f"{each!r} answers no question that is open (by number: {asked});"
                " write its number, = and the text, such as 1=b."
            )
    return ""


def _answers(given: Mapping[str, Any]) -> Sequence[str]:
    because = str(given.get("because") or "")
    answers: list[str] = list(map(str, given["answers"]))
    why = ("--because", because) if because else ()
    return (*why, "--", str(given["task"]), *answers)


def _said(sentence: str, state: CallState) -> Output:
    return Output(sentence.encode("utf-8", "replace"), state, Origin.GITAGENT)


def _found(text: str) -> Output:
    # Titles, reasons and notes are words of agents, as files are.
    return Output(text[:_FOUND].encode("utf-8", "replace"))
