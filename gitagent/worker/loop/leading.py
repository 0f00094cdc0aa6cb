"""What the process of the built-in agent does, from its order to its last line."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gitagent import __version__
from gitagent.core.conversation import CallState, Ended, Entry, Kind, Origin
from gitagent.errors import GitagentError
from gitagent.git.refs import swift
from gitagent.git.repository import discover
from gitagent.host import clock
from gitagent.model import making
from gitagent.model.provider import Heard
from gitagent.worker.loop import spec as specs
from gitagent.worker.loop.halt import Halt
from gitagent.worker.loop.spec import Spec
from gitagent.worker.loop.turns import Over
from gitagent.worker.loop.wiring import wired

_OUT = threading.Lock()
_LAST_S = 10.0  # to write down what is known when the daemon is gone


def lead(api: str) -> int:
    """Wait for an order, lead its conversation, say how it ended; return 0 if well.

    ``api`` is that of the model; its library is loaded while the order is waited for.
    """
    halt = Halt()
    signal.signal(signal.SIGTERM, lambda *_: halt.order(Ended.STOPPED))
    loading = threading.Thread(target=making.load, args=(api,), daemon=True)
    loading.start()
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return 0
    threading.Thread(target=_until_left, args=(halt,), daemon=True).start()
    spec = specs.load(line)
    if spec.chat:
        from gitagent.worker.loop.chatting import serve  # noqa: PLC0415 - chats alone

        return serve(spec, halt, loading.join)
    try:
        over = _attempt(spec, halt, loading.join)
    except (GitagentError, OSError) as error:
        why = error.line() if isinstance(error, GitagentError) else str(error)
        over = Over(Ended.FAILED, f"It could not go on: {why}.")
    _print({"final": {**_final(over), "program": __version__}})
    return 0 if over.ended in {Ended.DONE, Ended.QUESTION} else 1


def _attempt(spec: Spec, halt: Halt, loaded: Callable[[], None]) -> Over:
    """Lead the conversation of a task until its attempt is over."""
    clock_ = threading.Timer(spec.seconds, halt.order, [Ended.TIME])
    clock_.daemon = True
    clock_.start()
    repo = discover(Path(spec.repository))
    with (
        swift(repo.git),
        wired(repo, spec, _tell, said=_say, loaded=loaded, halt=halt) as leader,
    ):
        leader.begin()
        text = "\n\n".join(each.text for each in spec.prompt)
        begun = Entry(
            Kind.INPUT, text=text, origin=Origin.TASK, binding=True, items=spec.items
        )
        leader.record(begun)
        over = leader.turn(halt, Heard())
        leader.record(Entry(Kind.END, ended=over.ended, text=over.sentence))
    return over


def _until_left(halt: Halt) -> None:
    """Wait for the end of the input, with which the daemon is gone; then end soon."""
    # Not by the buffer of Python, whose lock it would hold when the process ends.
    while os.read(0, 4096):
        pass
    halt.order(Ended.STOPPED)
    clock.sleep(_LAST_S)
    os._exit(1)


def _final(over: Over) -> dict[str, Any]:
    return {
        "ended": over.ended,
        "sentence": over.sentence,
        "answer": over.answer,
        "turns": over.requests,
    }


def _tell(entry: Entry) -> None:
    for line in lines(entry):
        _print({"entry": line})


def lines(entry: Entry) -> list[dict[str, str]]:
    """Return what of an entry stands in the transcript of an attempt.

    Each as the values of a `backends.stream.Entry`.
    """
    match entry.kind:
        case Kind.SAY:
            said = [_line("say", entry.text)] if entry.text else []
            calls = [_line("call", c.given, c.tool, c.id) for c in entry.calls]
            return [*said, *calls]
        case Kind.RESULT:
            state = "" if entry.state in {None, CallState.DONE} else f"[{entry.state}] "
            return [_line("result", state + entry.text, entry.tool, entry.call)]
        case Kind.SUMMARY:
            covered = f"Entries {entry.first} to {entry.last} are summed up:"
            return [_line("note", f"{covered}\n{entry.text}")]
        case Kind.INPUT if entry.origin is not Origin.TASK:
            return [_line("note", entry.text or entry.what)]
        case _:
            return []


def _line(kind: str, text: str, name: str = "", call: str = "") -> dict[str, str]:
    return {"kind": kind, "text": text, "name": name, "call": call}


def _say(text: str) -> None:
    _print({"entry": _line("note", text)})


def _print(values: Mapping[str, Any]) -> None:
    # One write a line: several threads tell.
    with _OUT:
        sys.stdout.write(json.dumps(values) + "\n")
        sys.stdout.flush()
