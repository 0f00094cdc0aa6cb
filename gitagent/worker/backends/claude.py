"""The backend ``claude``: Claude Code in print mode, the prompt on standard input.

Its settings, hooks and MCP server stand in files of the attempt's own, which go before
those of the repository: whatever a committed ``.claude/settings.json`` says, the only
model is the gateway's. It reads CLAUDE.md by itself, and AGENTS.md it does not.
"""

import json
import re
import shlex
from typing import Any

from gitagent.core.agent import Agent
from gitagent.worker import home
from gitagent.worker.backends import version
from gitagent.worker.backends.claude_stream import SESSION, ClaudeStream
from gitagent.worker.backends.launch import Launch, Means, Refused
from gitagent.worker.folder import Folder
from gitagent.worker.order import Order

NAME = "claude"
PACKAGE = "@anthropic-ai/claude-code"
LEAST = "2.1"
INSTALL = f"npm install -g {PACKAGE}"

SETTINGS_FILE = "claude-settings.json"
MCP_FILE = "claude-mcp.json"

# What is named here is all there is, so that a newer version brings nothing new. Not
# among them is WebSearch: the provider does that, past every list of hosts; and what
# waits, asks a terminal, or makes worktrees.
_ALWAYS = (
    *("Read", "Glob", "Grep", "Skill", "Agent", "Task", "TodoWrite"),
    *("TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TaskOutput", "TaskStop"),
)
_SHELL = ("Bash", "BashOutput", "KillShell")
_WRITE = ("Edit", "MultiEdit", "NotebookEdit", "Write")
_NETWORK = ("WebFetch",)
_ALSO = {"agent": "task", "task": "agent"}  # the same in different versions

_MODELS = (
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "CLAUDE_CODE_SUBAGENT_MODEL",
)
_SWITCHES = (
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY",  # it would be in a HOME that goes
    "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_TELEMETRY",
    "FORCE_PROMPT_CACHING_5M",  # the gateway refuses longer ones, which cost more
    "IS_SANDBOX",  # as root it keeps its prompts otherwise
)
_ENV = (
    # The gateway has tried three times already, and knows before it what hangs.
    ("CLAUDE_CODE_MAX_RETRIES", "2"),
    ("API_TIMEOUT_MS", "1800000"),
    # A busy machine starts the server slowly; by default it would go on without it.
    ("MCP_CONNECTION_NONBLOCKING", "0"),
    ("MCP_CONNECT_TIMEOUT_MS", "60000"),
    ("MCP_TIMEOUT", "60000"),
    # How often the hook sends it back is counted by the hook.
    ("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "1000"),
)

_HOOK_S = 60  # for a look at what a tool is about to do


def prepare(
    order: Order,
    folder: Folder,
    prompt: str,
    means: Means | None,
) -> Launch | Refused:
    """Return the program with its settings, or why it cannot be run."""
    if means is None:
        return Refused(f"Agent {order.agent.name} ({NAME}) was given no model.")
    found = version.require(NAME, PACKAGE, LEAST, INSTALL)
    if isinstance(found, Refused):
        return found
    program, number = found
    env = _environment(means)
    settings = configuration(means, env, order.timeout_s)
    servers = {"gitagent": _server(means.mcp)} if means.mcp else {}
    argv = [program.path, "-p", "--output-format", "stream-json", "--verbose"]
    argv += ["--model", means.route.first.model]
    argv += ["--permission-mode", "bypassPermissions"]
    argv += ["--tools", ",".join(tools(order.agent, network=bool(order.network)))]
    argv += ["--settings", f"{folder.inside_given}/{SETTINGS_FILE}"]
    argv += ["--mcp-config", f"{folder.inside_given}/{MCP_FILE}", "--strict-mcp-config"]
    if means.session:
        argv += ["--resume", means.session]
    return Launch(
        argv=tuple(argv),
        stdin=prompt.encode(errors="replace"),
        files=(
            (SETTINGS_FILE, json.dumps(settings).encode()),
            (MCP_FILE, json.dumps({"mcpServers": servers}).encode()),
        ),
        read=program.read,
        env=env,
        stream=ClaudeStream(),
        program=number,
        hooks=bool(means.hook),
    )


def tools(agent: Agent, *, network: bool) -> tuple[str, ...]:
    """Return the tools of the program that an agent may use."""
    allowed = [*_ALWAYS]
    if "shell" in agent.may:
        allowed += _SHELL
    if "write" in agent.may:
        allowed += _WRITE
    if network:
        allowed += _NETWORK
    named = {each.partition("(")[0].strip().lower() for each in agent.tools}
    if not named or "*" in named:
        return tuple(allowed)
    named |= {_ALSO[each] for each in named & _ALSO.keys()}
    return tuple(each for each in allowed if each.lower() in named)


def configuration(
    means: Means, env: tuple[tuple[str, str], ...], stop_s: int
) -> dict[str, Any]:
    """Return its settings; ``stop_s`` is the limit of what runs when it stops."""
    # Its own check of a host asks a service that cannot be reached.
    settings: dict[str, Any] = {"env": dict(env), "skipWebFetchPreflight": True}
    if means.hook:
        settings["hooks"] = {
            "PreToolUse": [{"matcher": "*", **_hook(means.hook, "pre-tool", _HOOK_S)}],
            "Stop": [_hook(means.hook, "stop", stop_s)],
        }
    return settings


def _environment(means: Means) -> tuple[tuple[str, str], ...]:
    return (
        ("ANTHROPIC_BASE_URL", means.anthropic_url),
        ("ANTHROPIC_API_KEY", means.token),
        *((name, means.route.first.model) for name in _MODELS),
        *((name, "1") for name in _SWITCHES),
        *_ENV,
    )


def _hook(argv: tuple[str, ...], name: str, timeout: int) -> dict[str, Any]:
    command = shlex.join((*argv, name))
    return {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}


def _server(argv: tuple[str, ...]) -> dict[str, Any]:
    return {"type": "stdio", "command": argv[0], "args": list(argv[1:])}


def saved(folder: Folder, session: str) -> bool:
    """Whether the program will find a conversation: one that it does not ends it.

    It writes some tenths of a second late, and looks by the folder it runs in: without
    a sandbox each attempt has another one.
    """
    if not (folder.confined and SESSION.fullmatch(session)):
        return False
    place = re.sub(r"[^A-Za-z0-9]", "-", folder.inside_tree)
    return home.has(folder.home, ".claude", "projects", place, f"{session}.jsonl")
