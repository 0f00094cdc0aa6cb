"""What a conversation is told of the memory: by its tools, and between requests.

What it was given stands beside its entries. Before each request the daemon is asked
what of that does not count any more, which is told once; and when a person has said
something, what comes to mind of it. Neither is waited for long, and nothing ends by it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any, Final

from gitagent.core.conversation import CallState, Entry, Kind, Origin, in_force
from gitagent.core.exposure import Received, Way, received
from gitagent.host import clock
from gitagent.worker import door
from gitagent.worker.loop.bodies import Output
from gitagent.worker.loop.bodies import Way as How

RECALL: Final = "recall"  # what an entry that tells or skips one is called

_SOON_S: Final = 2.0  # for what changed
_RECALL_S: Final = 4.0
_REST_S: Final = 30.0  # after a door that did not answer
_TEXT: Final = 4000  # characters of what people said; the newest
_OPS: Final = {"search_memory": "search", "show_memory": "show"}

Asked = Callable[[str, Mapping[str, Any], float], dict[str, Any]]


def through(socket: str, token: str) -> Asked:
    """Return what asks through a gateway's socket."""

    def ask(op: str, given: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        return door.ask(door.Unix(socket, seconds), token, op, given)

    return ask


class Lookup:
    """Bodies of the tools that ask the memory, or propose something to it."""

    def __init__(self, ask: Asked) -> None:
        self._ask = ask

    def execute(self, tool: str, given: Mapping[str, Any], way: How) -> Output:
        """Carry out one call."""
        if tool == "remember":
            found = self._ask("propose", {"operation": dict(given)}, way.seconds)
        else:
            found = self._ask(_OPS[tool], given, way.seconds)
        text = found.get("text")
        if not isinstance(text, str):
            why = found.get("error") or found.get(door.AWAY) or "It said nothing."
            return _output(str(why), CallState.FAILED, Origin.GITAGENT)
        failed = found.get("done") is False
        state = CallState.FAILED if failed else CallState.DONE
        # What items say is material, as files are.
        origin = Origin.GITAGENT if tool == "remember" else Origin.WORKTREE
        return _output(text, state, origin, received(found))


class Reminding:
    """Tells a conversation between two requests; for the thread that leads it."""

    def __init__(self, ask: Asked) -> None:
        self._ask = ask
        self._rests = 0.0  # until when nothing is asked
        self._away = ""  # why
        self._heard = 0  # number of the newest words that were recalled by

    def __call__(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return what is to be recorded before the model is asked again."""
        force = in_force(entries)
        found = [*self._corrections(force)]
        return [*found, *self._recalled([*force, *found])]

    def _corrections(self, force: Sequence[Entry]) -> Iterable[Entry]:
        known = given(force)
        if not known:
            return
        pairs = [[slug, blob] for slug, blob in known.items()]
        found = self._told("corrections", {"given": pairs}, _SOON_S)
        if found and (text := _text(found)):
            # It binds: what it corrects may stand in an input that binds, or in a
            # summary, and neither goes away.
            yield Entry(Kind.INPUT, text=text, binding=True, items=received(found))

    def _recalled(self, force: Sequence[Entry]) -> Iterable[Entry]:
        last = max((e.number for e in force if _recalls(e)), default=0)
        words = [
            each
            for each in force
            if each.kind is Kind.INPUT
            and each.origin is Origin.PERSON
            and each.number > max(last, self._heard)
        ]
        if not words:
            return
        text = "\n".join(each.text for each in words)[-_TEXT:]
        pairs = [[slug, blob] for slug, blob in given(force).items()]
        found = self._told("recall", {"text": text, "given": pairs}, _RECALL_S)
        self._heard = words[-1].number
        if found is None or found.get("empty"):
            return
        told = _text(found)
        skipped = found.get("skipped") or found.get(door.AWAY) or found.get("error")
        why = "" if told else f": {skipped}"
        yield Entry(Kind.INPUT, text=told, what=RECALL + why, items=received(found))

    def _told(
        self, op: str, asked: Mapping[str, Any], seconds: float
    ) -> dict[str, Any] | None:
        """Ask; None: there is nobody to ask just now."""
        if clock.monotonic() < self._rests:
            return {door.AWAY: self._away} if self._away else None
        found = self._ask(op, asked, seconds)
        if found.get(door.NONE):
            self._rests, self._away = inf, ""
            return None
        if door.AWAY in found or "error" in found:
            self._rests = clock.monotonic() + _REST_S
            self._away = str(found.get(door.AWAY) or found["error"])
        return found


def given(force: Iterable[Entry]) -> dict[str, str]:
    """Return what entries in force have told of items: the blob that was told last."""
    return {item.slug: item.blob for each in force for item in each.items}


def lacking(side: Iterable[Entry], main: Iterable[Entry]) -> tuple[Received, ...]:
    """Return what a side conversation was told of that the main one was not.

    What both were told is corrected as the main one was told of it.
    """
    known, own = given(in_force(side)), given(in_force(main))
    return tuple(
        Received(slug, blob, Way.RECALL)
        for slug, blob in known.items()
        if slug not in own
    )


def _recalls(entry: Entry) -> bool:
    return entry.kind is Kind.INPUT and entry.what.startswith(RECALL)


def _text(found: Mapping[str, Any]) -> str:
    return "\n\n".join(each["text"] for each in found.get("told", ()))


def _output(
    text: str, state: CallState, origin: Origin, items: tuple[Received, ...] = ()
) -> Output:
    return Output(text.encode("utf-8", "replace"), state, origin, items=items)
