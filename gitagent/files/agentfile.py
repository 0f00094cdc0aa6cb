"""Agent definitions: ``.agent/agents/<name>.md``, and those made for Claude Code.

One in YAML may have been made for another tool: keys that mean nothing here are passed
over, and ``tools`` may be one text with commas. One in TOML is ours, and strict.
"""

import re
from dataclasses import replace

from gitagent.core.agent import BACKENDS, GRANTS, Agent
from gitagent.core.effect import Effects
from gitagent.core.grants import GATED
from gitagent.core.ident import id_problem
from gitagent.core.layout import CLAUDE_AGENTS
from gitagent.core.network import problem as host_problem
from gitagent.core.task import Refusal
from gitagent.files import clean
from gitagent.files.fields import Fields, Problem, nearest
from gitagent.files.frontmatter import Front, split
from gitagent.files.globs import glob_problem
from gitagent.files.text import Malformed

KEYS = (
    "description",
    "backend",
    "argv",
    "model",
    "tools",
    "paths",
    "network",
    "may",
    "decide",
    "mcp",
)

_CLAUDE = "claude"  # what YAML is for, if it does not say
_DEFAULT = "model"  # what instructions without a program of their own are for
_EFFECTS = tuple(Effects)
_STARTED = frozenset({"command", "acp"})  # by an argv of their own
_DESCRIPTION = 1000  # characters
_COMMA = re.compile(r",(?![^(]*\))")  # not in Bash(git diff:*, git log:*)


def parse(name: str, data: bytes, path: str, blob: str = "") -> Agent | Refusal:
    """Return the agent that the file at ``path`` defines, or why it cannot be used.

    Without ``backend`` it is the one that the file is named after; else ``claude`` for
    YAML and ``model`` for the rest. An agent named after a backend has that backend: no
    definition can put another program behind a built-in name.
    """
    if why := id_problem(name):
        return Refusal(path, f"{clean.line(path)}: {why}; rename the file")
    try:
        return _parse(name, split(data, path, lenient=True), path, blob)
    except Malformed as error:
        return Refusal(path, str(error))


def foreign(data: bytes, path: str) -> bool:
    """Whether a file among the agents of Claude Code is none of them."""
    if not path.startswith(CLAUDE_AGENTS):
        return False
    return not data.removeprefix(b"\xef\xbb\xbf").startswith(b"---")


def _parse(name: str, front: Front, path: str, blob: str) -> Agent:
    fields = Fields(front, path)
    yaml = front.kind == "yaml"
    if not yaml:
        fields.known(KEYS)
    own = name if name in BACKENDS else None
    other = _CLAUDE if yaml else _DEFAULT
    assumed = other if path.startswith(CLAUDE_AGENTS) else own or other
    backend = fields.text("backend", _backend_problem) or assumed
    if own and backend != own:
        problem = f"the agent {name} has the backend {backend}"
        fields.refuse("backend", problem, f"rename the file, or write {own}")
    agent = Agent(
        name=name,
        backend=backend,
        argv=_argv(fields, backend),
        model=fields.text("model") or "",
        tools=_tools(fields),
        paths=fields.texts("paths", glob_problem),
        network=fields.texts("network", host_problem),
        decide=_gated(fields, "decide", backend, _effect_problem),
        mcp=_gated(fields, "mcp", backend, _server_problem),
        instructions=front.body.strip("\n"),
        description=_description(fields),
        path=path,
        blob=blob,
    )
    if "may" not in front.values:
        return agent
    return replace(agent, may=fields.texts("may", _grant_problem))


def _argv(fields: Fields, backend: str) -> tuple[str, ...]:
    argv = fields.words("argv")
    if argv and backend not in _STARTED:
        problem = f"argv says what to run, but the backend is {backend}"
        fields.refuse("argv", problem, "write backend command, or delete argv")
    if backend in _STARTED and not (argv and argv[0].strip()):
        problem = f"the backend {backend} needs an argv that names a program"
        fields.refuse("backend", problem, 'write argv = ["program", "argument"]')
    if any("\0" in word for word in argv):
        fields.refuse("argv", "argv contains a NUL character", "delete it")
    return argv


def _gated(fields: Fields, key: str, backend: str, problem: Problem) -> tuple[str, ...]:
    """Return a list that only the built-in agent keeps to."""
    if fields.front.values.get(key) is None:
        return ()
    if fields.front.kind == "yaml" and backend != GATED and key != "decide":
        return ()
    if backend != GATED:
        why = f"the backend {backend} does not keep to {key}"
        fields.refuse(key, why, f"write backend {GATED}, or delete {key}")
    return fields.texts(key, problem)


def _tools(fields: Fields) -> tuple[str, ...]:
    value = fields.front.values.get("tools")
    if fields.front.kind != "yaml":
        return fields.texts("tools")
    if isinstance(value, str):
        words = tuple(word.strip() for word in _COMMA.split(value) if word.strip())
    else:
        words = fields.texts("tools")
    return () if words == ("*",) else tuple(dict.fromkeys(words))


def _description(fields: Fields) -> str:
    value = fields.front.values.get("description")
    if fields.front.kind != "yaml":
        value = fields.text("description")
    return clean.sentence(value, _DESCRIPTION) if isinstance(value, str) else ""


def _backend_problem(backend: str) -> str | None:
    return _one_of(backend, BACKENDS, "one")


def _grant_problem(grant: str) -> str | None:
    return _one_of(grant, GRANTS)


def _effect_problem(effect: str) -> str | None:
    return _one_of(effect, _EFFECTS)


def _server_problem(name: str) -> str | None:
    return (
        f"name an [mcp.NAME] of the settings: {why}"
        if (why := id_problem(name))
        else None
    )


def _one_of(word: str, known: tuple[str, ...], many: str = "some") -> str | None:
    if word in known:
        return None
    near = nearest(word, known)
    return f"did you mean {near}?" if near else f"write {many} of {', '.join(known)}"
