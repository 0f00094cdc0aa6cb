"""What has to hold on this machine and in this repository, looked at one by one.

Each fact is good, worth knowing, or bad; only what is bad keeps gitagent from working.
"""

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from gitagent.core.layout import HEADS
from gitagent.core.settings import Guard, SandboxMode, Settings
from gitagent.core.stores import OWN_REFS, STORES, dead, orphans
from gitagent.daemon import entry, hooks, memory
from gitagent.daemon.setup import branch_in_the_way
from gitagent.daemon.target import SettingsInForce
from gitagent.errors import GitagentError, UserError
from gitagent.git.command import run_git
from gitagent.git.repository import Repository
from gitagent.git.worktree import entries
from gitagent.host import cgroup, clock, limits, place, sandbox
from gitagent.host.lock import held, holder
from gitagent.host.watch import Watch, filesystem, is_remote

OLDEST_GIT = (2, 39)  # that it is tested with
FEW_BYTES = 1 << 30
OLD_LOCK_S = 600.0
STORES_LOOK = "stores"  # what is said of them is about this
_ORPHANS = 20  # that are named

_VERSION = re.compile(r"(\d+)\.(\d+)")


class Verdict(StrEnum):
    """How a fact is to be taken."""

    GOOD = "good"
    NOTE = "note"  # it works, but less well, or not all of it
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that was looked at."""

    about: str
    verdict: Verdict
    text: str  # what was found, and the mend if it is not good


def examine(repo: Repository, only: Collection[str] | None = None) -> Iterator[Fact]:
    """Yield the facts; none is left out because another one is bad.

    ``only``: what is looked at; None: all there is.
    """
    looks: tuple[tuple[str, Callable[[Repository], Iterator[Fact]]], ...] = (
        ("git", _git),
        ("python", _python),
        ("sandbox", _sandbox),
        ("repository", _repository),
        ("settings", _settings),
        ("branches", _branches),
        ("hooks", _hooks),
        ("locks", _locks),
        (STORES_LOOK, _stores),
        ("memory", _memory),
        ("watching", _watching),
        ("disk", _disk),
        ("daemon", _daemon),
    )
    for about, look in looks:
        if only is not None and about not in only:
            continue
        try:
            yield from look(repo)
        except (GitagentError, OSError) as error:
            line = error.line() if isinstance(error, GitagentError) else str(error)
            yield Fact(about, Verdict.BAD, line)


def _git(repo: Repository) -> Iterator[Fact]:
    text = run_git("--version", cwd=repo.common_dir).text
    found = _VERSION.search(text)
    new = found is not None and (int(found[1]), int(found[2])) >= OLDEST_GIT
    mend = "" if new else "; gitagent needs git 2.39 or newer"
    yield Fact("git", Verdict.GOOD if new else Verdict.BAD, f"{text}{mend}")


def _python(repo: Repository) -> Iterator[Fact]:
    del repo
    version = ".".join(str(part) for part in sys.version_info[:3])
    yield Fact("python", Verdict.GOOD, f"{version} at {sys.executable}")


def _sandbox(repo: Repository) -> Iterator[Fact]:
    settings = _in_force(repo)
    if settings is not None and settings.sandbox.mode is SandboxMode.OFF:
        text = "switched off by sandbox.mode: workers and checks are not confined"
        yield Fact("sandbox", Verdict.NOTE, text)
        return
    problem = sandbox.probe()
    if problem is None:
        yield Fact("sandbox", Verdict.GOOD, f"usable, with {sandbox.find_bwrap()}")
        verdict = Verdict.GOOD if cgroup.base() else Verdict.NOTE
        yield Fact("limits", verdict, limits.describe())
    else:
        yield Fact("sandbox", Verdict.BAD, problem)


def _repository(repo: Repository) -> Iterator[Fact]:
    kind = "bare repository" if repo.bare else "repository"
    yield Fact("repository", Verdict.GOOD, f"{kind} {repo.common_dir}")
    if repo.partial:
        text = (
            "a partial clone: objects that are missing are fetched when they are"
            " needed, and a worker has none to fetch from"
        )
        yield Fact("repository", Verdict.NOTE, text)
    if repo.object_format != "sha1":
        yield Fact("repository", Verdict.NOTE, f"{repo.object_format} object ids")
    extensions = repo.git.run(
        "config", "--get-regexp", r"^extensions\.", ok=(0, 1)
    ).text.splitlines()
    for line in extensions:
        yield Fact("repository", Verdict.NOTE, f"extension {line}")
    if (repo.common_dir / "shallow").exists():
        text = "a shallow clone: merges need history; run: git fetch --unshallow"
        yield Fact("repository", Verdict.NOTE, text)
    mine = os.geteuid()
    owner = repo.common_dir.stat().st_uid
    if owner != mine:
        text = (
            f"{repo.common_dir} belongs to uid {owner}, and this runs as uid {mine}:"
            " what one writes the other may not read"
        )
        yield Fact("repository", Verdict.NOTE, text)
    if not os.access(repo.common_dir, os.W_OK):
        yield Fact("repository", Verdict.BAD, f"{repo.common_dir} cannot be written")


def _settings(repo: Repository) -> Iterator[Fact]:
    with repo.objects(fast=True) as objects:
        target, commit = entry.find_target(repo, objects)
        settings, _, problem = SettingsInForce().at(objects, commit)
    name = target.removeprefix(HEADS)
    if problem is not None:
        yield Fact("settings", Verdict.BAD, problem)
    elif settings is not None:
        count = len(settings.check)
        checks = f"{count} check{'s' * (count != 1)}"
        yield Fact("settings", Verdict.GOOD, f"target {name}, {checks}")
        if not count and not settings.lander.allow_unchecked:
            text = "no [[check]], so nothing lands; add one to .agent/config.toml"
            yield Fact("settings", Verdict.BAD, text)


def _branches(repo: Repository) -> Iterator[Fact]:
    settings = _in_force(repo)
    if settings is None:
        return
    with repo.objects(fast=True) as objects:
        there = branch_in_the_way(objects, settings)
    if there is not None:
        text = (
            f"the branch {there} is in the way of {settings.worker.branch}; rename it,"
            " or set worker.branch"
        )
        yield Fact("branches", Verdict.BAD, text)


def _hooks(repo: Repository) -> Iterator[Fact]:
    problem = hooks.refs_for_problem(repo)
    if problem is None:
        text = "a push to refs/for/<target> is answered"
        yield Fact("hooks", Verdict.GOOD, text)
    else:
        yield Fact("hooks", Verdict.NOTE, f"refs/for is not available: {problem}")
    settings, problem = _in_force(repo), hooks.guard_problem(repo)
    # "warn" is the default, and not to be warned is what one sees without the hooks.
    if settings and settings.lander.guard is Guard.REFUSE and problem is not None:
        yield Fact("hooks", Verdict.NOTE, f"lander.guard is not held: {problem}")


def _locks(repo: Repository) -> Iterator[Fact]:
    """Look for locks that no git holds any more; old ones are likely to be such."""
    now = clock.now().timestamp()
    for path in sorted(_lock_files(repo)):
        try:
            age = now - path.stat().st_mtime
        except OSError:
            continue
        if age > OLD_LOCK_S:
            text = (
                f"{path} was left behind {round(age / 60)} minutes ago; if no git runs"
                " here, remove it"
            )
            yield Fact("locks", Verdict.BAD, text)
    for name in ("gc.log", "gc.pid"):
        path = repo.common_dir / name
        if path.exists() and now - path.stat().st_mtime > OLD_LOCK_S:
            text = f"{path} is there: git gc failed or was killed; run: git gc"
            yield Fact("locks", Verdict.NOTE, text)


def _lock_files(repo: Repository) -> Iterator[Path]:
    common = repo.common_dir
    yield from common.glob("*.lock")
    yield from (common / "refs").rglob("*.lock")
    yield from (common / "worktrees").glob("*/*.lock")
    yield from (common / "objects").glob("*.lock")


def _stores(repo: Repository) -> Iterator[Fact]:
    with repo.objects(fast=True) as objects:
        strays = orphans(objects.refs(OWN_REFS))
    for ref in strays[:_ORPHANS]:
        text = (
            f"{ref} belongs to nothing that gitagent keeps; look at it with git show,"
            f" and drop it with: git update-ref -d {ref}"
        )
        yield Fact(STORES_LOOK, Verdict.NOTE, text)
    if more := len(strays[_ORPHANS:]):
        yield Fact(STORES_LOOK, Verdict.NOTE, f"and {more} such refs more")
    unused = dead()
    for clause in unused:
        yield Fact(STORES_LOOK, Verdict.NOTE, f"{clause}: a dead link in gitagent")
    if not strays and not unused:
        text = f"each of {len(STORES)} is written and read, and each ref is of one"
        yield Fact(STORES_LOOK, Verdict.GOOD, text)


def _memory(repo: Repository) -> Iterator[Fact]:
    with repo.objects() as objects:
        try:
            shelf = memory.shelf(repo, objects)
        except UserError:  # there is no target, and the settings say so
            return
    if shelf.refused:
        many = len(shelf.refused)
        files = "1 file counts" if many == 1 else f"{many} files count"
        text = f"{files} for nothing; see: gitagent memory list"
        yield Fact("memory", Verdict.NOTE, text)
    elif shelf.count:
        yield Fact("memory", Verdict.GOOD, f"{shelf.count} items count")


def _watching(repo: Repository) -> Iterator[Fact]:
    watch = Watch(repo.common_dir, clock.Wake())
    watch.start()
    watch.stop()
    if watch.problem is None:
        yield Fact("watching", Verdict.GOOD, "changes of refs are noticed at once")
    else:
        yield Fact("watching", Verdict.NOTE, watch.problem)


def _disk(repo: Repository) -> Iterator[Fact]:
    if problem := place.cache_problem(repo.common_dir):
        yield Fact("cache", Verdict.BAD, problem)
    for path in (repo.common_dir, place.cache_root(repo.common_dir)):
        there = path
        while not there.exists():
            there = there.parent
        free, kind = place.free_bytes(path), filesystem(there)
        text = f"{free // (1 << 20)} MiB are free at {path} ({kind or 'unknown'})"
        if free < FEW_BYTES:
            yield Fact("disk", Verdict.BAD, f"{text}; make room")
        elif is_remote(kind):
            yield Fact("disk", Verdict.NOTE, f"{text}; locks and events are less sure")
        else:
            yield Fact("disk", Verdict.GOOD, text)


def _daemon(repo: Repository) -> Iterator[Fact]:
    there = holder(repo.common_dir)
    if there is not None:
        text = f"runs as process {there.pid} since {there.since}"
        yield Fact("daemon", Verdict.GOOD, text)
    elif held(repo.common_dir):
        yield Fact("daemon", Verdict.NOTE, "none runs, but a command is at work")
    else:
        text = "none runs; start one with: gitagent up --detach"
        yield Fact("daemon", Verdict.NOTE, text)
    gone = [each for each in entries(repo) if each.prunable is not None]
    if gone:
        what = "1 worktree is" if len(gone) == 1 else f"{len(gone)} worktrees are"
        text = f"{what} gone; run: git worktree prune"
        yield Fact("daemon", Verdict.NOTE, text)


def _in_force(repo: Repository) -> Settings | None:
    try:
        with repo.objects(fast=True) as objects:
            _, commit = entry.find_target(repo, objects)
            return SettingsInForce().at(objects, commit)[0]
    except GitagentError:
        return None
