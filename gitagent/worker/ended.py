"""The end of an attempt as a file: written when all is decided, read after a crash."""

from dataclasses import asdict
from typing import Any

from gitagent.core.snapshot import AttemptEnd
from gitagent.core.task import Attempt, Outcome
from gitagent.worker.folder import Folder

END = "end.json"


def write(folder: Folder, end: AttemptEnd, *, safe: bool) -> None:
    """Write down the end; ``safe``: nothing in the workspace is needed any more."""
    folder.write_state(END, {**asdict(end), "safe": safe})


def load(folder: Folder) -> tuple[AttemptEnd, bool] | None:
    """Return the end and whether the workspace may go; None: it has not ended."""
    values = folder.load_state(END)
    if values is None:
        return None
    attempt: dict[str, Any] = dict(values["attempt"])
    attempt["outcome"] = Outcome(attempt["outcome"])
    attempt["commands"] = tuple(attempt["commands"])
    end = AttemptEnd(
        task=values["task"],
        attempt=Attempt(**attempt),
        start=values["start"],
        changed=values["changed"],
        output=values["output"],
    )
    return end, bool(values["safe"])
