"""The end of an attempt as a file: written when all is decided, read after a crash."""

import json

from gitagent.core.task import AttemptEnd
from gitagent.errors import UserError
from gitagent.files import record
from gitagent.worker.folder import Folder

END = "end.json"


def write(folder: Folder, end: AttemptEnd, *, safe: bool) -> None:
    """Write down the end; ``safe``: nothing in the workspace is needed any more."""
    values = json.loads(record.dump_end(end))
    folder.write_state(END, {"end": values, "safe": safe})


def load(folder: Folder) -> tuple[AttemptEnd, bool] | None:
    """Return the end and whether the workspace may go; None: it has not ended."""
    values = folder.load_state(END)
    if values is None:
        return None
    try:
        end = record.load_end(json.dumps(values.get("end")).encode())
    except UserError:
        return None  # of another release: what is decided anew is the same
    return end, bool(values["safe"])
