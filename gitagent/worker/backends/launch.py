"""What a backend is given, and what it says about the process to start."""

from collections.abc import Callable
from dataclasses import dataclass

from gitagent.core.exposure import Received
from gitagent.core.models import Route
from gitagent.host.confinement import Confinement
from gitagent.worker.backends.stream import Stream

STEP_FILE = "step"  # in the out folder: the number of the step under way, from 1


@dataclass(frozen=True, slots=True)
class Means:
    """What an agent that talks to a model is given besides its prompt."""

    route: Route  # its first model is asked for
    anthropic_url: str  # as seen inside, without /v1
    openai_url: str  # as seen inside, with /v1
    token: str  # what it sends in place of a key
    socket: str  # path of the gateway's socket on the host
    home: str  # HOME inside
    session: str = ""  # its saved conversation, which is in HOME; "": begin anew
    mcp: tuple[str, ...] = ()  # command line of the MCP server, inside
    hook: tuple[str, ...] = ()  # command line of a hook but its name, inside
    items: tuple[Received, ...] = ()  # of the memory, that its prompt tells


def environment(means: Means) -> tuple[tuple[str, str], ...]:
    """Return the variables by which a program finds the way to its model."""
    return (
        ("ANTHROPIC_BASE_URL", means.anthropic_url),
        ("ANTHROPIC_API_KEY", means.token),
        ("OPENAI_BASE_URL", means.openai_url),
        ("OPENAI_API_BASE", means.openai_url),
        ("OPENAI_API_KEY", means.token),
        ("GITAGENT_MODEL", means.route.first.model),
    )


@dataclass(frozen=True, slots=True)
class Launch:
    """One agent, ready to be started."""

    argv: tuple[str, ...]
    stdin: bytes | None = None  # None: nothing to read
    files: tuple[tuple[str, bytes], ...] = ()  # name and content, for the in folder
    read: tuple[str, ...] = ()  # host paths to show, read-only
    steps: tuple[str, ...] = ()  # names for people, if it says in STEP_FILE where it is
    env: tuple[tuple[str, str], ...] = ()
    home: tuple[tuple[str, bytes], ...] = ()  # path below HOME and content
    stream: Stream | None = None  # reads standard output; None: it is for people
    program: str = ""  # its version
    hooks: bool = False  # whether it runs ours
    # The order of an agent that runs beside its sandbox, made of what that is to show;
    # None: it runs inside.
    beside: Callable[[Confinement], bytes] | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The agent cannot be started on this machine."""

    reason: str  # a sentence that names the mend
