"""What the process of the built-in agent prints, a JSON object a line."""

from collections.abc import Iterable

from gitagent.core.conversation import Ended
from gitagent.worker.backends.stream import (
    ANSWER,
    Entry,
    Final,
    as_object,
    as_text,
    parsed,
    shortened,
)

_KINDS = frozenset({"say", "think", "call", "result", "note", "error"})
_CUT_OFF = "The built-in agent ended before it had said how."


class ModelStream:
    """Reads one run."""

    def __init__(self) -> None:
        self._final = Final(error=_CUT_OFF)

    def feed(self, line: bytes) -> Iterable[Entry]:
        """Take a line; return what it tells."""
        values = parsed(line) or {}
        if "final" in values:
            self._end(as_object(values["final"]))
            return []
        entry = as_object(values.get("entry"))
        if entry.get("kind") in _KINDS:
            name, call = as_text(entry.get("name")), as_text(entry.get("call"))
            return [Entry(entry["kind"], as_text(entry.get("text")), name, call)]
        text = line.decode(errors="replace").strip()
        return [Entry("note", text)] if text else []

    def final(self) -> Final:
        """Return how it ended, as far as it has said."""
        return self._final

    def _end(self, values: dict[str, object]) -> None:
        ended = as_text(values.get("ended"))
        well = ended in {Ended.DONE, Ended.QUESTION}
        sentence = as_text(values.get("sentence"))
        turns = values.get("turns")
        self._final = Final(
            answer=shortened(as_text(values.get("answer")), ANSWER),
            error="" if well else f"{ended}: {sentence}",
            turns=turns if isinstance(turns, int) else 0,
            program=as_text(values.get("program")),
            timed_out=ended == Ended.TIME,
        )
