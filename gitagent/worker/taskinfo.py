"""What the programs beside an agent are told of its task, in ``task.json``."""

import json
from datetime import datetime, timedelta

from gitagent.core.layout import TASKS
from gitagent.core.settings import Check, Settings
from gitagent.files import clean
from gitagent.host.confinement import HOME, WORKSPACE
from gitagent.worker.inside.place import TASK as NAME
from gitagent.worker.order import Order

__all__ = ["NAME", "taskinfo"]

# What a confined agent can write beside its worktree, and what anybody can.
_INSIDE = (HOME, "/gitagent/out", "/gitagent/git", "/run", "/var/tmp")  # noqa: S108
_ANYWHERE = ("/dev", "/tmp")  # noqa: S108


def taskinfo(order: Order, begun: str = "") -> bytes:
    """Return the content of the file.

    ``begun`` is when the agent's time began to run, in UTC; by default the attempt's.
    """
    task, agent, settings = order.task, order.agent, order.settings
    retries = settings.worker.retries if task.retries is None else task.retries
    values = {
        "id": task.id,
        "title": clean.sentence(task.title),
        "attempt": order.attempt.number,
        "deadline": _deadline(begun or order.attempt.started, order.timeout_s),
        "paths": task.paths,
        "agent_paths": agent.paths,
        "forbidden": task.forbidden,
        "protected": protected(settings),
        "own": f"{TASKS}{task.id}.md",
        "accept": task.accept,
        "accept_timeout": Check(name="", run="").timeout,
        "retries": retries,
        "checks": [
            {"name": each.name, "run": each.run, "timeout": each.timeout}
            for each in settings.check
        ],
        "after": task.after,
        "answers": [
            {"question": each.question, "answer": each.text} for each in order.answers
        ],
        "agent": agent.name,
        "model": order.attempt.model,
        "may": agent.may,
        "network": order.network,
        "target": order.target_ref.removeprefix("refs/heads/"),
        "branch": order.local_branch,
        "confined": order.confined,
        "tree": WORKSPACE if order.confined else "",
        "writable": writable(settings, confined=order.confined),
    }
    return json.dumps(values, indent=1).encode() + b"\n"


def protected(settings: Settings) -> tuple[str, ...]:
    """Return the globs whose changes a person has to approve."""
    signers = settings.trust.allowed_signers.strip("/")
    return (*settings.lander.protected, *([f"/{signers}"] if signers else []))


def writable(settings: Settings, *, confined: bool) -> tuple[str, ...]:
    """Return the folders beside the worktree that an agent can write to."""
    return (*_ANYWHERE, *_INSIDE, *settings.sandbox.write) if confined else _ANYWHERE


def _deadline(begun: str, seconds: int) -> str:
    start = datetime.fromisoformat(begun)
    return (start + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
