"""Asking for work: a task's file, made from options and committed on the target."""

from collections.abc import Mapping
from typing import Literal

from gitagent.core.agent import SHELL, Agent
from gitagent.core.grants import WIDER, widening
from gitagent.core.ident import id_problem
from gitagent.core.layout import AGENTS, DONE, TASKS
from gitagent.core.settings import Settings
from gitagent.core.task import Refusal, TaskRecord
from gitagent.daemon import entry, tasks
from gitagent.daemon.definitions import Definitions
from gitagent.daemon.story import tell, unknown
from gitagent.daemon.target import SettingsInForce
from gitagent.errors import ConfigError, UserError
from gitagent.files import frontmatter, taskfile, template
from gitagent.files.fields import nearest
from gitagent.files.text import Malformed
from gitagent.git.identity import author
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.lander.tasks import add_task


def ask_for(
    repo: Repository,
    task: str,
    text: bytes,
    options: Mapping[str, object],
    *,
    not_wider: bool = False,
) -> str:
    """Commit the file of a new task on the target; return the commit.

    ``options`` become front matter, those that are None or empty left out; text with
    front matter of its own is committed as it is. ``not_wider`` refuses an agent that
    may more than the usual one of the settings.

    Raises:
        ConfigError: there is nothing to ask for, or options and front matter clash.
        UserError: the file could not be used as a task, its agent is not there, or the
            id is taken.
    """
    path = f"{TASKS}{task}.md"
    if problem := id_problem(task):
        raise UserError(f'"{task}" cannot be a task\'s id: {problem}')
    content = file_of(path, text, options)
    with repo.objects(fast=True) as objects:
        blob = objects.write_blob(content)
        parsed = taskfile.parse(task, blob, content, path)
        if isinstance(parsed, Refusal):
            raise UserError(_placed(parsed))
        target, commit = entry.find_target(repo, objects)
        if parsed.agent is not None:
            agent = require_agent(repo, objects, commit, parsed.agent)
            if not_wider:
                _refuse_wider(repo, objects, commit, agent)
        return add_task(repo, objects, target, task, content, author(repo).ident)


def file_of(path: str, text: bytes, options: Mapping[str, object]) -> bytes:
    """Return the content of a task's file. Raises as `ask_for` does."""
    given = {key: value for key, value in options.items() if value not in (None, ())}
    if not text.strip() and "title" not in given:
        raise ConfigError("there is nothing to ask for", "give a --file or a --title")
    if not given:
        return text
    try:
        front = frontmatter.split(text, path)
    except Malformed as error:
        raise UserError(str(error)) from None
    if front.kind is not None:
        names = ", ".join(f"--{key}" for key in given)
        raise ConfigError(
            f"the text has front matter of its own, beside {names}",
            "write it there",
        )
    rows = "".join(f"{key} = {template.value(given[key])}\n" for key in given)
    return f"+++\n{rows}+++\n".encode() + (b"\n" + text if text.strip() else b"")


def request(repo: Repository, task: str, wish: Literal["stop", "retry"]) -> TaskRecord:
    """Ask that a task be stopped or tried again; see `tasks.request`.

    Raises:
        UserError: there is no such task, or nothing to stop or to try again.
    """
    with repo.objects(fast=True) as objects:
        if tasks.read(objects, task) is None:
            _refuse_unknown(repo, objects, task)
        return tasks.request(repo, objects, task, wish)


def text_of(repo: Repository, task: str) -> str | None:
    """Return the text of a task's file on the target, open or done; None without."""
    with repo.objects(fast=True) as objects:
        _, commit = entry.find_target(repo, objects)
        for path in (f"{TASKS}{task}.md", f"{DONE}{task}.md"):
            text = _read(objects, commit, path)
            if text is not None:
                return text
    return None


def _refuse_unknown(repo: Repository, objects: Objects, task: str) -> None:
    """Raise UserError for a task without a record, unless one is still to come."""
    story = tell(objects, task)
    if story is not None and isinstance(story.record, TaskRecord):
        raise UserError(
            f"task {task} was {story.record.state} long ago", "commit its file again"
        )
    _, commit = entry.find_target(repo, objects)
    if id_problem(task) or _read(objects, commit, f"{TASKS}{task}.md") is None:
        raise unknown(task)


def require_agent(repo: Repository, objects: Objects, commit: str, name: str) -> Agent:
    """Return the target's agent of this name. Raises UserError if there is none."""
    agents, refused = Definitions(repo).at(objects, commit)
    if found := agents.get(name, SHELL if name == SHELL.name else None):
        return found
    for refusal in refused:
        if refusal.path.endswith(f"agents/{name}.md"):
            raise UserError(f"the agent {name} cannot be used: {_placed(refusal)}")
    known = sorted({*agents, SHELL.name})
    near = nearest(name, known)
    mend = (
        f"did you mean {near}? There are {', '.join(known)}"
        if near
        else f"add {AGENTS}{name}.md, or name one that is there: {', '.join(known)}"
    )
    raise UserError(f'there is no agent "{name}"', mend)


def _refuse_wider(repo: Repository, objects: Objects, commit: str, one: Agent) -> None:
    """Raise UserError if an agent has what the usual one lacks."""
    settings, _, _ = SettingsInForce().at(objects, commit)
    usual = (settings or Settings()).worker.agent
    found = widening(one, require_agent(repo, objects, commit, usual))
    if one.name != usual and found:
        raise UserError(f"{one.name} {WIDER}. {' '.join(found)}".rstrip("."))


def _placed(refusal: Refusal) -> str:
    """Return the reason of a refusal with the path in front, once."""
    if refusal.reason.startswith(refusal.path):
        return refusal.reason
    return f"{refusal.path}: {refusal.reason}"


def _read(objects: Objects, commit: str, path: str) -> str | None:
    (content,) = objects.blobs_at([(commit, path)])
    return None if content is None else content.decode("utf-8", "replace")
