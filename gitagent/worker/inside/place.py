"""Where the programs beside an agent read and write, and what they know of its task."""

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitagent.core.reach import Facts
from gitagent.worker import hooklog, questions, returns

TASK = "task.json"  # what `taskinfo` makes

_GIVEN = "/gitagent/in"
_OUT = "/gitagent/out"


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of one attempt, as they are seen inside."""

    given: Path  # what the daemon handed over
    out: Path  # what it takes back
    home: Path
    tree: str  # the worktree, as far as the environment tells; "": it does not

    @property
    def returned(self) -> Path:
        """The file in which the agent says how it ended."""
        return self.out / returns.NAME

    @property
    def question(self) -> Path:
        """The file in which it asks."""
        return self.out / questions.NAME

    def task(self) -> dict[str, Any]:
        """Return what is known of the task.

        Raises:
            OSError: the file cannot be read.
            ValueError: it holds no object.
        """
        values = json.loads((self.given / TASK).read_bytes())
        if not isinstance(values, dict):
            raise ValueError("it holds no object")  # noqa: TRY004 - as json says it
        return values

    def note(self, line: bytes, *, late: bool = False) -> bool:
        """Add a line to the hooks' log; False: it is full, or cannot be written."""
        limit = hooklog.LIMIT - (0 if late else hooklog.LATE)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            fd = os.open(self.out / hooklog.NAME, flags, 0o644)
        except OSError:
            return False
        try:
            if os.fstat(fd).st_size + len(line) > limit:
                return False
            os.write(fd, line)
        except OSError:
            return False
        finally:
            os.close(fd)
        return True


def place(environ: Mapping[str, str]) -> Place:
    """Return where things are, from the environment that an attempt is given."""
    prompt = environ.get("GITAGENT_PROMPT_FILE", "")
    returned = environ.get("GITAGENT_RETURN_FILE", "")
    out = environ.get("GITAGENT_OUT", "") or os.path.dirname(returned)  # noqa: PTH120
    return Place(
        given=Path(os.path.dirname(prompt) or _GIVEN),  # noqa: PTH120
        out=Path(out or _OUT),
        home=Path(environ.get("HOME", "") or "/nonexistent"),
        tree=environ.get("CLAUDE_PROJECT_DIR", ""),
    )


def write(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all. Raises OSError.

    Also from outside of the sandbox, into a folder that can be written in it: a link
    that somebody has put there is not followed.
    """
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(new, flags, 0o644)
    try:
        with open(fd, "wb") as file:  # noqa: PTH123 - it is open
            file.write(data)
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def there(path: Path) -> bool:
    """Whether there is something; of a link, not whether it leads somewhere."""
    return os.path.lexists(path)


def facts(task: Mapping[str, Any], tree: str, cwd: str) -> Facts:
    """Return what the pre-tool hook judges by; ``tree`` where the task names none."""
    return Facts(
        task=str(task.get("id", "")),
        tree=str(task.get("tree") or tree or cwd or "/"),
        cwd=cwd,
        writable=texts(task, "writable"),
        paths=texts(task, "paths"),
        agent_paths=texts(task, "agent_paths"),
        forbidden=texts(task, "forbidden"),
        protected=texts(task, "protected"),
        network=texts(task, "network"),
        may=texts(task, "may") if "may" in task else Facts().may,
        confined=task.get("confined") is not False,
    )


def texts(values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a list of texts, without what is none."""
    found = values.get(key)
    if not isinstance(found, list):
        return ()
    return tuple(each for each in found if isinstance(each, str))
