"""The text that an agent is given: what to do, where, within which bounds."""

from gitagent.files import clean
from gitagent.files.duration import duration
from gitagent.worker import returns
from gitagent.worker.folder import Folder
from gitagent.worker.order import Order

FILE = "prompt.md"
FEEDBACK_FILE = "previous-output"


def text(order: Order, folder: Folder) -> str:
    """Return the whole prompt as Markdown, ending in a newline."""
    parts = [
        order.agent.instructions.strip(),
        f"# Task {order.task.id}: {clean.sentence(order.task.title)}",
        order.task.text.strip(),
        _place(order, folder),
        _bounds(order),
        _return(folder),
        _before(order),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _place(order: Order, folder: Folder) -> str:
    target = order.target_ref.removeprefix("refs/heads/")
    lines = [
        f"You are in a Git worktree of your own, {folder.inside_tree}, on the branch",
        f"{order.local_branch}. It is to become part of {target}.",
        "Commit as you like. Whatever you leave in the worktree when you end, and that",
        "Git does not ignore, is committed for you; then the branch is merged with",
        f"{target}, checked and landed by others. There is nothing to push.",
        f"You have {duration(order.timeout_s)}, and nobody answers questions.",
    ]
    if order.confined:
        lines += [
            _network(order.network),
            "Outside of the worktree you can write only to your home directory and",
            "to /tmp, and neither is kept.",
        ]
    if order.attempt.base != order.target:
        lines += [
            f"This is attempt {order.attempt.number}; earlier work is on the branch",
            f"already: `git log origin/{target}..HEAD`. Go on from it.",
        ]
    return "## Where you are\n" + "\n".join(lines)


def _network(hosts: tuple[str, ...]) -> str:
    if not hosts:
        return "There is no network."
    return (
        f"Of the network you reach {_codes(hosts)}, through the proxy that the\n"
        "environment names (`https_proxy` and its like), and nothing else."
    )


def _bounds(order: Order) -> str:
    task, agent = order.task, order.agent
    rules = [
        ("Change only paths that match", task.paths),
        ("Change only paths that match", agent.paths),
        ("Do not change paths that match", task.forbidden),
        (
            "Do not change these, or a person has to approve it:",
            order.settings.lander.protected,
        ),
    ]
    lines = [f"{rule} {_codes(globs)}." for rule, globs in rules if globs]
    lines.append(f"Do not change {clean.code(f'.agent/tasks/{task.id}.md')}.")
    commands = [*task.accept, *(check.run for check in order.settings.check)]
    lines += [f"{clean.code(run)} has to pass." for run in commands]
    return "## What counts\n" + "\n".join(f"- {line}" for line in lines)


def _codes(texts: tuple[str, ...]) -> str:
    return ", ".join(clean.code(each) for each in texts)


def _return(folder: Folder) -> str:
    return (
        "## How to end\n"
        "End with exit code 0 when the work is done, with another one when it is not.\n"
        f"You may say more in {folder.inside_out}/{returns.NAME}; every key but status"
        f" can be left out:\n\n```json\n{returns.FORM}\n```"
    )


def _before(order: Order) -> str:
    if not order.feedback:
        return ""
    return (
        "## What went wrong before\n"
        "The attempt before this one failed. This is the end of what it said; find the"
        " cause and mend it, rather than making the failure invisible.\n\n"
        + clean.fenced(order.feedback)
    )
