"""The backend ``codex``: ``codex exec``, with the prompt on standard input.

Its configuration is a file in a folder of its own below HOME, where it also keeps its
conversations. It reads AGENTS.md by itself, and nothing of the repository's ``.codex``,
which it does not trust.
"""

import json
from typing import Any

from gitagent.worker import home
from gitagent.worker.backends import version
from gitagent.worker.backends.codex_stream import SESSION, CodexStream
from gitagent.worker.backends.launch import Launch, Means, Refused
from gitagent.worker.folder import Folder
from gitagent.worker.inside import lines
from gitagent.worker.order import Order

NAME = "codex"
PACKAGE = "@openai/codex"
LEAST = "0.171"  # what the names of its settings were verified with
INSTALL = f"npm install -g {PACKAGE}"

FOLDER = ".gitagent/codex"  # below HOME: without a sandbox ~/.codex would be a person's
_TOKEN = "GITAGENT_TOKEN"  # noqa: S105  # a variable's name

# It waits this long between two events of a stream. The gateway gives up sooner.
_IDLE_MS = 600_000
_MCP_S = 60  # a busy machine starts the server slowly, and without it none can ask

# What needs a service of OpenAI, or starts agents that nobody has limited. A gateway
# that is gone does not come back, and the program would wait for it for ever.
_OFF = (
    *("apps", "enable_request_compression", "goals", "image_generation", "memories"),
    *("plugins", "remote_plugin", "shell_snapshot", "unbounded_connection_retries"),
)


def prepare(
    order: Order,
    folder: Folder,  # noqa: ARG001
    prompt: str,
    means: Means | None,
) -> Launch | Refused:
    """Return the program with its configuration, or why it cannot be run."""
    agent = order.agent
    if means is None:
        return Refused(f"Agent {agent.name} ({NAME}) was given no model.")
    if "shell" not in agent.may:
        return Refused(
            f"Agent {agent.name} may not use a shell, and {NAME} can neither read nor"
            " write a file without one; add `shell` to `may` of its definition, or"
            ' give it another backend, as `backend = "claude"`.'
        )
    found = version.require(NAME, PACKAGE, LEAST, INSTALL)
    if isinstance(found, Refused):
        return found
    program, number = found
    argv = [program.path, "exec", "--json"]
    argv += ["--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"]
    if means.session:
        argv += ["resume", means.session]
    config = _toml(configuration(means)).encode(errors="replace")
    return Launch(
        argv=(*argv, "-"),
        stdin=prompt.encode(errors="replace"),
        read=program.read,
        env=(("CODEX_HOME", f"{means.home}/{FOLDER}"), (_TOKEN, means.token)),
        home=((f"{FOLDER}/config.toml", config),),
        stream=CodexStream(),
        program=number,
    )


def saved(folder: Folder, session: str) -> bool:
    """Whether the program will find a conversation in HOME; without it, it ends."""
    if not SESSION.fullmatch(session):
        return False
    day = ("sessions", "*", "*", "*")
    return home.has(folder.home, *FOLDER.split("/"), *day, f"*-{session}.jsonl*")


def configuration(means: Means) -> dict[str, Any]:
    """Return its configuration: one provider, no questions, nothing but the work."""
    config: dict[str, Any] = {
        "model": means.route.first.model,
        "model_provider": "gitagent",
        "approval_policy": "never",
        "sandbox_mode": "danger-full-access",
        "web_search": "disabled",
        "check_for_update_on_startup": False,
        "model_providers.gitagent": {
            "name": "gitagent",
            "base_url": means.openai_url,
            "env_key": _TOKEN,
            "wire_api": "responses",
            "supports_websockets": False,
            # The gateway tries again what can be; a stream that was cut off it cannot.
            "request_max_retries": 0,
            "stream_max_retries": 1,
            "stream_idle_timeout_ms": _IDLE_MS,
        },
        "history": {"persistence": "none"},  # of prompts; conversations are kept
        "analytics": {"enabled": False},
        "feedback": {"enabled": False},
        "agents": {"enabled": False},
        "skills.bundled": {"enabled": False},
        "tools.experimental_request_user_input": {"enabled": False},
        "features": dict.fromkeys(_OFF, False),
    }
    if means.mcp:
        config["mcp_servers.gitagent"] = {
            "command": means.mcp[0],
            "args": list(means.mcp[1:]),
            "required": True,
            "env_vars": list(lines.PASSED),
            "startup_timeout_sec": _MCP_S,
            "default_tools_approval_mode": "approve",
        }
    return config


def _toml(config: dict[str, Any]) -> str:
    """Return settings and tables of them, whose names need no quotes, as TOML."""
    text = [
        f"{name} = {_value(value)}\n"
        for name, value in config.items()
        if not isinstance(value, dict)
    ]
    for name, table in config.items():
        if isinstance(table, dict):
            text.append(f"\n[{name}]\n")
            text += [f"{key} = {_value(value)}\n" for key, value in table.items()]
    return "".join(text)


def _value(value: object) -> str:
    """Return a text, number, boolean or list: in TOML it is what it is in JSON.

    But for one character, which JSON lets be.
    """
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
