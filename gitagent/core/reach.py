"""Where the agent of a task may write, as far as one path tells it before the write.

For `effect.judge`, and so for the agent's benefit: what lands is judged by `policy` on
the result all the same, and the sandbox holds what leaves the worktree.
"""

import posixpath
from dataclasses import dataclass
from enum import StrEnum

from gitagent.core import distil
from gitagent.core.glob import barred, matching, named
from gitagent.core.layout import ANSWERS, DONE, LANDINGS, MEMORY, TASKS
from gitagent.core.question import Question

READ_ONLY = "This agent lacks the grant write: the worktree is read-only."

_BELOW = "\x01"  # a name in a folder that no glob spells out


class Kind(StrEnum):
    """What was found out about one call of a tool."""

    ALLOW = "allow"  # it was looked at, and nothing speaks against it
    DENY = "deny"  # it cannot work, or its result cannot land
    NOT_EVALUATED = "not_evaluated"  # it was not understood; says nothing about it
    NEEDS_DECISION = "needs_decision"  # a person has to say yes first


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of one call, and to the agent."""

    kind: Kind
    sentence: str = ""  # for the agent; with ALLOW a note
    question: Question | None = None  # NEEDS_DECISION: what a person is asked


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a task inside its sandbox."""

    task: str = ""
    tree: str = "/workspace"  # the worktree
    cwd: str = ""  # where the call is made; "": the worktree
    writable: tuple[str, ...] = ()  # folders outside of the worktree
    paths: tuple[str, ...] = ()  # the task's
    agent_paths: tuple[str, ...] = ()  # the agent's
    forbidden: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    network: tuple[str, ...] = ()  # "host:port"
    may: tuple[str, ...] = ("write", "shell")  # grants
    confined: bool = True


ALLOWED = Verdict(Kind.ALLOW)


def absolute(facts: Facts, path: str) -> str:
    """Return a path as the call means it, without ``.`` and ``..``."""
    whole = posixpath.join(facts.cwd or facts.tree, path)
    return "/" + posixpath.normpath(whole).lstrip("/")


def inner(facts: Facts, path: str) -> str:
    """Return an absolute path as the worktree has it; "": it is not below it."""
    tree = facts.tree.rstrip("/")
    return path[len(tree) :].strip("/") if path.startswith(f"{tree}/") else ""


def file(facts: Facts, path: str) -> Verdict:
    """Judge the write of one file; ``path`` is an absolute one."""
    outside = _outside(facts, path)
    if outside is not None:
        return outside
    inside = inner(facts, path)
    if not inside:
        return _deny(f"{_quoted(path)} is a folder.")
    record = _record(facts, inside)
    if record:
        return _deny(record)
    if barred(facts.forbidden, (inside,)):
        return _deny(_forbids(inside))
    for whose, globs in _writable(facts):
        if globs and not matching(globs, (inside,)):
            return _deny(_beyond(inside, whose, globs))
    if barred(facts.protected, (inside,)):
        return Verdict(Kind.ALLOW, _protects(inside))
    return ALLOWED


def anything(facts: Facts, path: str) -> Verdict:
    """Judge a change at or below an absolute path, which may be a file or a folder.

    What a folder holds is not known, so it is denied only if nothing below the path
    could be written.
    """
    outside = _outside(facts, path)
    if outside is not None:
        return outside
    inside = inner(facts, path)
    own = f"{TASKS}{facts.task}.md"
    globs = (*facts.forbidden, *facts.paths, *facts.agent_paths)
    if not inside or own.startswith(f"{inside}/"):
        whole = bool(globs) or bool(inside)
        return _unknown(path) if whole else ALLOWED
    record = _record(facts, inside)
    if record:
        return _deny(record)
    if _holds(facts.forbidden, inside):
        return _deny(_forbids(inside))
    for whose, writable in _writable(facts):
        if writable and not _holds(writable, inside):
            if any(_may_lie_below(glob, inside) for glob in writable):
                return _unknown(path)
            return _deny(_beyond(inside, whose, writable))
    if any(_may_lie_below(glob, inside) for glob in facts.forbidden):
        return _unknown(path)
    if _holds(facts.protected, inside):
        return Verdict(Kind.ALLOW, _protects(inside))
    return ALLOWED


def _outside(facts: Facts, path: str) -> Verdict | None:
    """Return what is to be said of a path outside of the worktree; None: it is in."""
    tree = facts.tree.rstrip("/")
    if path == tree or path.startswith(f"{tree}/"):
        git = f"{tree}/.git"
        if path == git or path.startswith(f"{git}/"):
            return _deny(".git stays as it is; use git(1) to change what it leads to.")
        if "write" not in facts.may:
            return _deny(READ_ONLY)
        return None
    folders = (each.rstrip("/") for each in facts.writable)
    if any(path == each or path.startswith(f"{each}/") for each in folders):
        return ALLOWED
    return _deny(
        f"{_quoted(path)} lies outside of the worktree {facts.tree}. Write there, or "
        "to /tmp what need not stay."
    )


def _record(facts: Facts, inner: str) -> str:
    if inner == f"{TASKS}{facts.task}.md":
        return (
            f"{_quoted(inner)} is this task; a worker does not edit its own. If the "
            "task is wrong, ask."
        )
    if inner.startswith(ANSWERS):
        return f"{_quoted(inner)} is written by people alone."
    if inner.startswith(TASKS) and "start_task" not in facts.may:
        return f"{_quoted(inner)} is a task, and this agent lacks the grant start_task."
    if inner.startswith((LANDINGS, MEMORY, DONE)) or distil.is_file(inner):
        return f"{_quoted(inner)} is written by gitagent alone."
    return ""


def _writable(facts: Facts) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (
        ("the task's `paths`", facts.paths),
        ("its agent's `paths`", facts.agent_paths),
    )


def _holds(globs: tuple[str, ...], inner: str) -> bool:
    """Whether a glob matches a path, or whatever lies below it."""
    return bool(matching(globs, (inner, f"{inner}/{_BELOW}")))


def _may_lie_below(glob: str, inner: str) -> bool:
    bare = glob.strip("!/")
    anywhere = "/" not in bare or bare.startswith("*")
    return anywhere or bare.lower().startswith(f"{inner.lower()}/")


def _forbids(inner: str) -> str:
    return f"{_quoted(inner)} is in the task's `forbidden`; leave it as it is."


def _beyond(inner: str, whose: str, globs: tuple[str, ...]) -> str:
    return f"{_quoted(inner)} is outside {whose}: {named(globs)}."


def _protects(inner: str) -> str:
    return (
        f"{_quoted(inner)} is protected: a person has to approve the change before it "
        "lands."
    )


def _quoted(path: str) -> str:
    return named((path,))


def _deny(sentence: str) -> Verdict:
    return Verdict(Kind.DENY, sentence)


def _unknown(path: str) -> Verdict:
    return Verdict(
        Kind.NOT_EVALUATED, f"What lies below {_quoted(path)} was not looked at."
    )
