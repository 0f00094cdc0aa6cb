"""The backend ``acp``: any agent that speaks the Agent Client Protocol over stdio.

``argv`` of its definition starts it. It is started inside, by a client of ours that is
the attempt's process: `gitagent.worker.inside.acp`. Where its models are it is told by
the environment; opencode, which takes no address from there, by its configuration.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

from gitagent.worker.backends import opencode, program, version
from gitagent.worker.backends.acp_stream import AcpStream
from gitagent.worker.backends.launch import Launch, Means, Refused, environment
from gitagent.worker.backends.program import Program
from gitagent.worker.folder import Folder
from gitagent.worker.order import Order

ORDER = "acp.json"  # in the folder of what is handed over

_CLIENT = Path(__file__).resolve().parents[1] / "inside" / "acp.py"


def prepare(
    order: Order,
    folder: Folder,
    prompt: str,
    means: Means | None,
) -> Launch | Refused:
    """Return the client with what it is to start, or why that cannot be."""
    agent = order.agent
    if not agent.argv:
        return Refused(
            f"Agent {agent.name} has the backend acp, but no argv; name its program:"
            ' argv = ["opencode", "acp"].'
        )
    if means is None:
        return Refused(f"Agent {agent.name} (acp) was given no model.")
    found = _program(agent.argv[0], agent.name)
    if isinstance(found, Refused):
        return found
    env = environment(means)
    home: tuple[tuple[str, bytes], ...] = ()
    if _opencode(agent.argv[0]):
        # The session names the server; named twice, it would be started twice.
        env += opencode.environment(order, replace(means, mcp=()))
        home = opencode.FILES
    spec = {
        "argv": [found.path, *agent.argv[1:]],
        "cwd": folder.inside_tree,
        # Without a sandbox each attempt has another path, and agents keep their
        # conversations by that.
        "session": means.session if folder.confined else "",
        "model": means.route.first.model,
        "mcp": means.mcp,
        "shell": "shell" in agent.may,
        "write": "write" in agent.may,
    }
    return Launch(
        argv=(sys.executable, "-I", str(_CLIENT), f"{folder.inside_given}/{ORDER}"),
        stdin=prompt.encode(errors="replace"),
        files=((ORDER, json.dumps(spec).encode()),),
        read=found.read,
        env=env,
        home=home,
        stream=AcpStream(),
    )


def _program(name: str, agent: str) -> Program | Refused:
    if _opencode(name):
        found = version.require(
            name, opencode.PACKAGE, opencode.LEAST, opencode.INSTALL
        )
        return found if isinstance(found, Refused) else found[0]
    return program.find(name) or Refused(
        f"There is no program `{name}` for agent {agent} on the PATH of the daemon;"
        " install it, or write its whole path into `argv`."
    )


def _opencode(name: str) -> bool:
    return Path(name).name == opencode.NAME
