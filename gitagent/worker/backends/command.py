"""The backend ``command``: any program, with the prompt on standard input.

``{prompt_file}``, ``{worktree}`` and ``{task}`` in its arguments are filled in.
"""

from gitagent.worker.backends import program
from gitagent.worker.backends.launch import Launch, Means, Refused, environment
from gitagent.worker.folder import Folder
from gitagent.worker.order import Order
from gitagent.worker.prompt import FILE


def prepare(
    order: Order, folder: Folder, prompt: str, means: Means | None
) -> Launch | Refused:
    """Return the program with its arguments, and what of it has to be shown."""
    agent = order.agent
    if not agent.argv:
        return Refused(f"Agent {agent.name} has the backend command, but no argv.")
    values = {
        "{prompt_file}": f"{folder.inside_given}/{FILE}",
        "{worktree}": folder.inside_tree,
        "{task}": order.task.id,
    }
    argv = [_filled(each, values) for each in agent.argv]
    found = program.find(argv[0])
    if found is None:
        return Refused(
            f"There is no program `{argv[0]}` for agent {agent.name} on the PATH of the"
            " daemon; install it, or write its whole path into `argv`."
        )
    return Launch(
        argv=(found.path, *argv[1:]),
        stdin=prompt.encode(errors="replace"),
        read=found.read,
        env=environment(means) if means else (),
    )


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text
