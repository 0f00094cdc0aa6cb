"""What `gitagent init` decides and does: a target, an ``.agent/``, one commit.

Only paths below ``.agent`` are ever written, and none that is there already.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gitagent import data
from gitagent.core.layout import AGENT, CONFIG, HEADS, TASKS
from gitagent.core.settings import Check, Settings
from gitagent.daemon import target as in_force
from gitagent.daemon.detect import (
    CommitFiles,
    FolderFiles,
    Found,
    commands,
    folders_to_show,
)
from gitagent.daemon.tools import Tools
from gitagent.errors import UserError
from gitagent.files import settings as settings_file
from gitagent.files.message import record_message
from gitagent.files.template import ProposedCheck, config_toml
from gitagent.git.advance import Blocked, advance
from gitagent.git.identity import author
from gitagent.git.objects import BLOB, TREE, Objects
from gitagent.git.repository import Repository
from gitagent.git.tree import edit, folder
from gitagent.git.worktree import entries


@dataclass(frozen=True, slots=True)
class Ready:
    """There is nothing to do: the target has settings."""

    target: str  # full ref


@dataclass(frozen=True, slots=True)
class Plan:
    """What `commit` will do."""

    target: str  # full ref
    base: str | None  # its commit; None: it has none yet
    checkout: Path | None  # worktree that has the target checked out
    files: tuple[tuple[str, bytes], ...]  # path and content of what is new
    settings: Settings
    found: tuple[Found, ...]  # what the proposed checks were told from
    kept: tuple[str, ...]  # paths below .agent that were there
    agents: tuple[str, ...]  # coding agents on this machine
    missing: tuple[str, ...]  # programs of the checks that are not on PATH


def plan(repo: Repository, objects: Objects, wanted: str | None = None) -> Plan | Ready:
    """Decide what to set up. ``wanted`` is the target's name; None: find it.

    Raises:
        UserError: the target cannot be told, or is none.
        ConfigError: settings are there that cannot be used.
    """
    refs = objects.refs(HEADS)
    target = find_target(repo, objects, refs, wanted)
    base = refs.get(target)
    entry = objects.path(base, CONFIG) if base is not None else None
    if entry is not None:
        settings = settings_file.parse(objects.blob(entry.oid))
        if settings.target_ref != target:
            raise UserError(
                f"{CONFIG} on {target.removeprefix(HEADS)} names the target "
                f"{settings.target}",
                "correct `target` in it, or make that branch",
            )
        return Ready(target)
    checkout = _checkout(repo, target)
    tools = Tools(checkout or repo.worktree)
    files = FolderFiles(checkout) if base is None else CommitFiles(objects, base)
    own = _own_config(checkout)
    found = () if own else commands(files, tools)
    config = own or _proposal(target, found, tools)
    there = set(_there(objects, base, checkout))
    new = {CONFIG: config, **dict(_templates())}
    return Plan(
        target=target,
        base=base,
        checkout=checkout,
        files=tuple(
            (path, content)
            for path, content in new.items()
            if path == CONFIG or path not in there
        ),
        settings=settings_file.parse(config),
        found=found,
        kept=tuple(sorted(there)),
        agents=tools.agents(),
        missing=tools.missing(tuple(each.programs[0] for each in found)),
    )


def commit(repo: Repository, objects: Objects, plan: Plan) -> str:
    """Make the one commit on the target and return it.

    A checkout of the target has the new files afterwards, and every other edit in it
    as before.

    Raises:
        UserError: something in the checkout is in the way, or Git knows no author.
        LostRace: the target moved meanwhile.
    """
    who = author(repo)
    base = objects.commit(plan.base).tree if plan.base else None
    changes = {
        path: (BLOB, objects.write_blob(content)) for path, content in plan.files
    }
    tree = edit(objects, base, changes)
    parents = (plan.base,) if plan.base else ()
    message = record_message("Set up gitagent", "init")
    new = objects.write_commit(tree, parents, message, who, who)
    result = advance(repo, plan.target, plan.base, new, "gitagent: init")
    if isinstance(result, Blocked):
        raise UserError(result.reason)
    return new


def find_target(
    repo: Repository, objects: Objects, refs: dict[str, str], wanted: str | None
) -> str:
    """Return the full name of the target: the one in force, else the likely one.

    Raises:
        UserError: it cannot be told, or ``wanted`` is no branch here.
    """
    known = in_force.find_target(objects, refs)
    head = repo.git.run("symbolic-ref", "--quiet", "HEAD", ok=(0, 1)).text
    if wanted is not None:
        return _wanted(repo, refs, wanted, known, head)
    if known is not None:
        return known
    if head in refs:
        return head
    default = (
        HEADS
        + repo.git.run(
            "config", "--get", "init.defaultBranch", ok=(0, 1), user_config=True
        ).text
    )
    if default in refs:
        return default
    if len(refs) == 1:
        return next(iter(refs))
    if not refs and head.startswith(HEADS):
        return head
    raise UserError(
        "cannot tell which branch is the target: HEAD is on none of them",
        "run: gitagent init --target BRANCH",
    )


def branch_in_the_way(objects: Objects, settings: Settings) -> str | None:
    """Return the branch because of which no branch of a task can be made, or None."""
    first = settings.worker.branch.partition("{task}")[0].partition("/")[0]
    ref = HEADS + first
    return first if first and objects.ref(ref) is not None else None


def _wanted(
    repo: Repository, refs: dict[str, str], wanted: str, known: str | None, head: str
) -> str:
    name = wanted.removeprefix(HEADS)
    ref = HEADS + name
    if repo.git.run("check-ref-format", ref, ok=(0, 1)).code:
        raise UserError(f'"{wanted}" cannot be the name of a branch')
    if known not in {None, ref}:
        raise UserError(
            f"gitagent is set up here with the target {(known or '')[len(HEADS) :]}",
            f"change `target` in {CONFIG}",
        )
    if ref not in refs and ref != head:
        raise UserError(
            f"there is no branch {name}", f"make it first: git branch {name}"
        )
    return ref


def _checkout(repo: Repository, target: str) -> Path | None:
    """Return the worktree that has the target checked out, or will once it exists."""
    for worktree in entries(repo):
        if worktree.branch == target and worktree.prunable is None:
            return worktree.path
    return None


def _proposal(target: str, found: tuple[Found, ...], tools: Tools) -> bytes:
    several = len(found) > 1
    checks = [
        ProposedCheck(
            Check(name=each.name if several else "tests", run=each.run),
            comments=(f"Proposed by `gitagent init`, because {each.because}.",),
        )
        for each in found
    ]
    text = config_toml(
        target.removeprefix(HEADS),
        checks,
        agents=tools.agents(),
        read=folders_to_show(found, tools),
    )
    return text.encode()


def _own_config(checkout: Path | None) -> bytes | None:
    """Return settings that a person wrote but has not committed."""
    if checkout is None:
        return None
    try:
        return (checkout / CONFIG).read_bytes()
    except OSError:
        return None


def _templates() -> Iterator[tuple[str, bytes]]:
    top = data.data_path("templates/agent")
    for path in sorted(top.rglob("*.md")):
        yield f"{AGENT}{path.relative_to(top).as_posix()}", path.read_bytes()


def _there(objects: Objects, base: str | None, checkout: Path | None) -> Iterator[str]:
    """Yield what is below .agent already, committed or not."""
    if base is not None:
        yield from _below(objects, base, AGENT)
    if checkout is not None and (checkout / AGENT).is_dir():
        for path in (checkout / AGENT).rglob("*"):
            if not path.is_dir() or path.is_symlink():
                yield path.relative_to(checkout).as_posix()


def _below(objects: Objects, base: str, path: str) -> Iterator[str]:
    for entry in folder(objects, base, path):
        inner = path + entry.name
        if entry.mode == TREE:
            yield from _below(objects, base, f"{inner}/")
        else:
            yield inner


def ignored(repo: Repository, plan: Plan) -> bool:
    """Whether Git ignores new files of .agent in the checkout of the target."""
    if plan.checkout is None:
        return False
    done = repo.git.run(
        "check-ignore",
        "--quiet",
        "--no-index",
        f"{TASKS}a-task.md",
        work_tree=plan.checkout,
        git_dir=plan.checkout / ".git",
        user_config=True,
        ok=(0, 1, 128),
    )
    return done.code == 0
