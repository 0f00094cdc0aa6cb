"""The tools that an agent has of gitagent: of its task's end, and of the memory.

Each call is answered by a text and whether it was carried out; a slip of the agent
gets the sentence that mends it. An answer begins with what does not hold any more of
what the agent was told of the memory.

A question stands over a return. Who asks has not finished, so an ``ask`` takes back a
return that was made before; and a ``finish`` while a question waits is refused, since
work that may change with the answer would be landed beside it. A question that has
become needless is taken back by an ``ask`` without any.
"""

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from gitagent.core.effect import Effects
from gitagent.files import clean
from gitagent.files.duration import duration
from gitagent.host import clock
from gitagent.worker import door, questions, returns
from gitagent.worker.inside.place import Place, there, write
from gitagent.worker.strictjson import BadForm

# By slug, the blob of each change that was told, until the daemon has heard of it.
_heard: Final[dict[str, str]] = {}

Said = tuple[str, bool]  # what the agent is told, and whether it was carried out

_STATUS_S = 5.0  # for the gateway, which answers from memory
_STATUS_BYTES = 64 * 1024
_CHANGED_S = 2.0  # for what changed in the memory
_MEMORY_S = {"search_memory": 10.0, "show_memory": 10.0, "remember": 30.0}
_OPS = {"search_memory": "search", "show_memory": "show", "remember": "propose"}
_HIDDEN = ("accept_timeout", "confined", "own", "retries", "tree", "writable")

_ASKED = (
    "Stop here now, and change nothing more; what you have done is kept. The answer "
    "comes as the next message when you are continued."
)
_WAITS = (
    "Nothing was recorded: a question of yours waits for an answer, so this is not "
    "finished. Stop here; or, if you need no answer any more, take the question back "
    'with ask {"questions": []} and call finish again.'
)
_FINISHED = (
    "What you say is a claim: the checks, accept and your commands are run again on "
    "the merged result. Stop here; a later finish replaces this one."
)


def call(
    name: str, given: Mapping[str, Any], where: Place, environ: Mapping[str, str]
) -> Said:
    """Carry out one call; whatever goes wrong is a sentence."""
    if name in _MEMORY_S:
        text, done, changed = _memory(name, given, where, environ)
    else:
        text, done = _called(name, given, where, environ)
        _, changed = _door("corrections", {}, environ, _CHANGED_S)
    return "\n\n".join([*changed, text]), done


def withheld(where: Place) -> frozenset[str]:
    """Return the tools that are withheld from an agent by its grants."""
    try:
        may = where.task().get("may")
    except (OSError, ValueError, RecursionError):
        may = None
    has = isinstance(may, list) and Effects.REMEMBER in may
    return frozenset() if has else frozenset({"remember"})


def _called(
    name: str, given: Mapping[str, Any], where: Place, environ: Mapping[str, str]
) -> Said:
    try:
        if name == "ask":
            return _ask(given, where)
        if name == "finish":
            return _finish(given, where)
        if name == "task_status":
            return _status(where, environ)
    except BadForm as error:
        return f"Nothing was recorded: {error}. Mend it and call {name} again.", False
    except OSError as error:
        why = error.strerror or error
        return f"Nothing was recorded: {why}. Call {name} once more.", False
    except Exception as error:  # noqa: BLE001 - the model can mend what it is told
        why = clean.sentence(f"{type(error).__name__}: {error}")
        return f"{name} could not be carried out ({why}).", False
    return "There is no such tool; there are ask, finish and task_status.", False


def _memory(
    name: str, given: Mapping[str, Any], where: Place, environ: Mapping[str, str]
) -> tuple[str, bool, list[str]]:
    """Ask the memory; return also what changed of what was told of it."""
    try:
        asked = dict(given) if name != "remember" else {"operation": dict(given)}
        found, changed = _door(_OPS[name], asked, environ, _MEMORY_S[name])
        if "question" in found:
            values = {"questions": [found["question"]]}
            questions.parse(_encoded(values))
            write(where.question, _encoded(values))
    except (BadForm, OSError) as error:
        return f"Nothing was done: {error}.", False, []
    text = found.get("text")
    if isinstance(text, str):
        return text, found.get("done") is not False, changed
    why = found.get("error") or found.get(door.AWAY) or "The memory said nothing."
    return str(why), False, changed


def _door(
    op: str, given: Mapping[str, Any], environ: Mapping[str, str], seconds: float
) -> tuple[dict[str, Any], list[str]]:
    """Ask through the gateway; return also what changed of what was told before."""
    heard = dict(_heard)
    asked = {**given, "heard": [[*each] for each in heard.items()]} if heard else given
    found = _answer(op, asked, environ, seconds)
    changes = found if op == "corrections" else found.get("corrections", {})
    changed = [*_new(changes)]
    if door.AWAY not in found and "error" not in found:
        for slug, blob in heard.items():
            if _heard.get(slug) == blob:
                del _heard[slug]
    return found, changed


def _new(changes: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an answer tells of changes that no other answer has told."""
    pairs = zip(changes.get("told", ()), changes.get("items", ()), strict=False)
    for told, (slug, blob, *_) in pairs:
        if _heard.get(slug) != blob:
            _heard[slug] = blob
            yield told["text"]


def _answer(
    op: str, given: Mapping[str, Any], environ: Mapping[str, str], seconds: float
) -> dict[str, Any]:
    """Ask through the gateway; nothing where there is none."""
    url = environ.get("GITAGENT_STATUS_URL", "")
    if not url:
        return {door.AWAY: "There is no memory here."}
    try:
        line = door.beside(url, seconds)
    except ValueError:
        return {door.AWAY: "There is no memory here."}
    return door.ask(line, environ.get("GITAGENT_TOKEN", ""), op, given)


def _ask(given: Mapping[str, Any], where: Place) -> Said:
    if dict(given) == {"questions": []} and there(where.question):
        where.question.unlink(missing_ok=True)
        return "The question is taken back. Go on, and call finish when done.", True
    asked = questions.parse(_encoded(given))
    values = [{"text": each.text, "options": [*each.options]} for each in asked]
    write(where.question, _encoded({"questions": values}))
    with suppress(FileNotFoundError):
        where.returned.unlink()
    return f"Recorded: {_number(len(asked))} for a person. {_ASKED}", True


def _finish(given: Mapping[str, Any], where: Place) -> Said:
    if there(where.question):
        return _WAITS, False
    said = returns.parse(_encoded(given))
    if not said.divergence:
        raise BadForm(
            "divergence is empty; say what differs from what was asked, each path by "
            'name, or "None"'
        )
    values = {
        "status": said.status,
        "summary": said.summary,
        "divergence": said.divergence,
        "evidence": said.evidence,
        "commands": said.commands,
        "risks": said.risks,
    }
    data = _encoded(values)
    returns.parse(data)
    write(where.returned, data)
    return f"Recorded: {said.status}. {_FINISHED}", True


def _status(where: Place, environ: Mapping[str, str]) -> Said:
    try:
        task = where.task()
    except (OSError, ValueError, RecursionError):
        return "What is known of the task cannot be read.", False
    known = {key: value for key, value in task.items() if key not in _HIDDEN}
    known["left"] = _left(task.get("deadline"))
    known["asked"] = there(where.question)
    known["finished"] = there(where.returned)
    url = environ.get("GITAGENT_STATUS_URL", "")
    if url:
        known["gateway"] = _gateway(url, environ.get("GITAGENT_TOKEN", ""))
    return json.dumps(known, ensure_ascii=False, indent=1), True


def _left(deadline: object) -> str:
    """Return how long there is, in words; "" if that is not known."""
    try:
        until = datetime.fromisoformat(str(deadline))
        seconds = int((until.astimezone(UTC) - clock.now()).total_seconds())
    except (ValueError, OverflowError):
        return ""
    if seconds > 2 * 60:
        seconds -= seconds % 60
    return duration(seconds) if seconds > 0 else "none"


def _gateway(url: str, token: str) -> object:
    """Return what the gateway says of the budget, or a sentence that it does not."""
    try:
        parts = urlsplit(url)
        line = http.client.HTTPConnection(
            parts.hostname or "", parts.port, timeout=_STATUS_S
        )
        try:
            line.request("GET", parts.path, headers={"x-api-key": token})
            answer = line.getresponse()
            data = answer.read(_STATUS_BYTES)
        finally:
            line.close()
        if answer.status != http.client.OK:
            return f"The gateway does not say (it answered {answer.status})."
        said: object = json.loads(data)
    except OSError as error:
        return f"The gateway is away ({error.strerror or error})."
    except (http.client.HTTPException, ValueError, RecursionError):
        return "The gateway answered something else."
    return said


def _encoded(values: Mapping[str, Any]) -> bytes:
    """Return JSON in UTF-8; what no UTF-8 can hold becomes its escape, as JSON has it.

    Raises:
        BadForm: it is nested too deeply.
    """
    try:
        text = json.dumps(values, ensure_ascii=False)
    except RecursionError:
        raise BadForm("it is nested too deeply; write one flat object") from None
    return text.encode("utf-8", "backslashreplace")


def _number(count: int) -> str:
    return "one question" if count == 1 else f"{count} questions"
