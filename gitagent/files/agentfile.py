"""Agent definitions, ``.agent/agents/<name>.md``.

One in YAML may have been made for another tool: keys that mean nothing here are passed
over, and ``tools`` may be one text with commas. One in TOML is ours, and strict.
"""

from dataclasses import replace

from gitagent.core.agent import BACKENDS, GRANTS, Agent
from gitagent.core.ident import id_problem
from gitagent.core.network import problem as host_problem
from gitagent.core.task import Refusal
from gitagent.files import clean
from gitagent.files.fields import Fields, nearest
from gitagent.files.frontmatter import Front, split
from gitagent.files.globs import glob_problem
from gitagent.files.text import Malformed

KEYS = ("backend", "argv", "model", "tools", "paths", "network", "may")

_DEFAULT = "model"  # what instructions without a program of their own are for


def parse(name: str, data: bytes, path: str) -> Agent | Refusal:
    """Return the agent that the file at ``path`` defines, or why it cannot be used.

    Without ``backend`` it is the one that the file is named after, else ``model``.
    """
    if why := id_problem(name):
        return Refusal(path, f"{clean.line(path)}: {why}; rename the file")
    try:
        return _parse(name, split(data, path), path)
    except Malformed as error:
        return Refusal(path, str(error))


def _parse(name: str, front: Front, path: str) -> Agent:
    fields = Fields(front, path)
    if front.kind != "yaml":
        fields.known(KEYS)
    own = name if name in BACKENDS else None
    backend = fields.text("backend", _backend_problem) or own or _DEFAULT
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
        instructions=front.body.strip("\n"),
    )
    if "may" not in front.values:
        return agent
    return replace(agent, may=fields.texts("may", _grant_problem))


def _argv(fields: Fields, backend: str) -> tuple[str, ...]:
    argv = fields.words("argv")
    if argv and backend != "command":
        problem = f"argv says what to run, but the backend is {backend}"
        fields.refuse("argv", problem, "write backend command, or delete argv")
    if backend == "command" and not (argv and argv[0].strip()):
        problem = "the backend command needs an argv that names a program"
        fields.refuse("backend", problem, 'write argv = ["program", "argument"]')
    if any("\0" in word for word in argv):
        fields.refuse("argv", "argv contains a NUL character", "delete it")
    return argv


def _tools(fields: Fields) -> tuple[str, ...]:
    value = fields.front.values.get("tools")
    if fields.front.kind == "yaml" and isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    return fields.texts("tools")


def _backend_problem(backend: str) -> str | None:
    if backend in BACKENDS:
        return None
    near = nearest(backend, BACKENDS)
    return f"did you mean {near}?" if near else f"write one of {', '.join(BACKENDS)}"


def _grant_problem(grant: str) -> str | None:
    if grant in GRANTS:
        return None
    near = nearest(grant, GRANTS)
    return f"did you mean {near}?" if near else f"write some of {', '.join(GRANTS)}"
