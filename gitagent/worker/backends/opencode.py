"""The backend ``opencode``: ``opencode run``, with the prompt on standard input.

Its whole configuration goes by the environment, which it merges last: whatever the
repository's own ``opencode.json`` says, the only provider is the gateway. It reads
AGENTS.md, and agents, skills and MCP servers of the repository, by itself.
"""

import json
from typing import Any

from gitagent.core.agent import Agent
from gitagent.core.models import ANTHROPIC
from gitagent.worker import home
from gitagent.worker.backends import version
from gitagent.worker.backends.launch import Launch, Means, Refused
from gitagent.worker.backends.opencode_stream import SESSION, OpencodeStream
from gitagent.worker.folder import Folder
from gitagent.worker.order import Order

NAME = "opencode"
PACKAGE = "opencode-ai"
LEAST = "1.18"  # the permissions of older ones have other names
INSTALL = f"npm install -g {PACKAGE}"

# Both are part of the program; of any other it would want to download the package.
_SDK_ANTHROPIC = "@ai-sdk/anthropic"
_SDK_OPENAI = "@ai-sdk/openai-compatible"

# It is told how much fits into a model, or it never shortens a conversation. Of models
# behind an OpenAI API nothing is known: there it goes on until one refuses, and asks
# for no longer answers than a small one on the own machine can give.
_LIMIT = {"context": 200_000, "output": 32_000}
_LIMIT_UNKNOWN = {"context": 0, "output": 16_000}

# So it believes that the kit for plugins is installed, which it would download on each
# start, plugins or not. An environment variable would mislead the agent's own npm too.
_LOCK = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
FILES = (
    (".config/opencode/node_modules/.keep", b""),
    (".config/opencode/package-lock.json", json.dumps(_LOCK).encode()),
)

_MCP_MS = 60_000  # a busy machine starts the server slowly, and without it none can ask

# As its permissions name them, and as definitions made for other programs do.
_TOOLS = frozenset(
    {
        *("bash", "edit", "glob", "grep", "list", "lsp", "read", "skill", "task"),
        *("todowrite", "webfetch", "websearch"),
    }
)
_ALSO = {
    "write": "edit",
    "multiedit": "edit",
    "notebookedit": "edit",
    "ls": "list",
    "agent": "task",
    "shell": "bash",
}


def prepare(
    order: Order,
    folder: Folder,
    prompt: str,
    means: Means | None,
) -> Launch | Refused:
    """Return the program with its configuration, or why it cannot be run."""
    if means is None:
        return Refused(f"Agent {order.agent.name} ({NAME}) was given no model.")
    found = version.require(NAME, PACKAGE, LEAST, INSTALL)
    if isinstance(found, Refused):
        return found
    program, number = found
    argv = [program.path, "run", "--format", "json", "--thinking", "--auto"]
    argv += ["--agent", "build", "--model", f"gitagent/{means.route.first.model}"]
    if saved(folder, means.session):
        argv += ["--session", means.session]
    return Launch(
        argv=tuple(argv),
        stdin=prompt.encode(errors="replace"),
        read=program.read,
        env=environment(order, means),
        home=FILES,
        stream=OpencodeStream(),
        program=number,
    )


def saved(folder: Folder, session: str) -> bool:
    """Whether the program will find a conversation: one that it does not ends it.

    It looks in the folder that it was had in, and without a sandbox each attempt has
    another one.
    """
    if not (folder.confined and SESSION.fullmatch(session)):
        return False
    return home.has(folder.home, ".local", "share", "opencode", "opencode.db")


def environment(order: Order, means: Means) -> tuple[tuple[str, str], ...]:
    """Return what configures the program, be it run as itself or as an ACP agent."""
    config = configuration(order.agent, means, network=bool(order.network))
    switches = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE")
    return (
        ("OPENCODE_CONFIG_CONTENT", json.dumps(config)),
        ("OPENCODE_PURE", "1"),  # plugins would have to be downloaded
        *((f"OPENCODE_DISABLE_{each}", "1") for each in switches),
    )


def configuration(agent: Agent, means: Means, *, network: bool) -> dict[str, Any]:
    """Return its configuration: one provider, no questions, what the grants allow."""
    first = means.route.first.model
    if means.route.api == ANTHROPIC:
        package, url, limit = _SDK_ANTHROPIC, f"{means.anthropic_url}/v1", _LIMIT
    else:
        package, url, limit = _SDK_OPENAI, means.openai_url, _LIMIT_UNKNOWN
    permission = _permission(agent, network=network)
    config: dict[str, Any] = {
        "model": f"gitagent/{first}",
        "small_model": f"gitagent/{first}",
        "enabled_providers": ["gitagent"],
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "permission": permission,
        # A title for people costs a request, and nobody ever sees it.
        "agent": {"title": {"disable": True}, "build": {"permission": permission}},
        "provider": {
            "gitagent": {
                "npm": package,
                "name": "gitagent",
                "options": {"baseURL": url, "apiKey": means.token},
                "models": {first: {"name": first, "limit": limit}},
            }
        },
    }
    if means.mcp:
        config["mcp"] = {
            "gitagent": {
                "type": "local",
                "command": list(means.mcp),
                "enabled": True,
                "timeout": _MCP_MS,
            }
        }
    return config


def _permission(agent: Agent, *, network: bool) -> dict[str, str]:
    denied = {"question"}  # of its own, to a terminal
    if "shell" not in agent.may:
        denied.add("bash")
    if "write" not in agent.may:
        denied.add("edit")
    if not network:
        denied |= {"webfetch", "websearch"}
    if agent.tools:
        names = {each.partition("(")[0].strip().lower() for each in agent.tools}
        denied |= _TOOLS - {_ALSO.get(name, name) for name in names}
    return {"*": "allow", **dict.fromkeys(sorted(denied), "deny")}
