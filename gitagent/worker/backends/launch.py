"""What a backend says about the process to start."""

from dataclasses import dataclass

STEP_FILE = "step"  # in the out folder: the number of the step under way, from 1


@dataclass(frozen=True, slots=True)
class Launch:
    """One agent, ready to be started."""

    argv: tuple[str, ...]
    stdin: bytes | None = None  # None: nothing to read
    files: tuple[tuple[str, bytes], ...] = ()  # name and content, for the in folder
    read: tuple[str, ...] = ()  # host paths to show, read-only
    steps: tuple[str, ...] = ()  # names for people, if it says in STEP_FILE where it is


@dataclass(frozen=True, slots=True)
class Refused:
    """The agent cannot be started on this machine."""

    reason: str  # a sentence that names the mend
