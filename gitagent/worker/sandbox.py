"""What is shown to each process of an attempt: the agent, and our own steps around it.

A cover is not enough where a folder of the worktree must stay as it is: a worker could
rename the folder above it and fill a new one. So everything on the way to a cover is
bound onto itself, and what is a mount point cannot be renamed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from gitagent.git.private import alternate_dirs
from gitagent.host.confinement import HOME, Door
from gitagent.host.engine import MARK
from gitagent.host.sandbox import Bind, Confinement
from gitagent.worker.folder import Folder
from gitagent.worker.order import Order


def workspace(
    order: Order,
    folder: Folder,
    covered: Sequence[str],
    *,
    env: tuple[tuple[str, str], ...] = (),
    read: tuple[str, ...] = (),
    extra: tuple[Bind, ...] = (),
    network: tuple[str, ...] = (),
    doors: tuple[Door, ...] = (),
    writable: bool = True,
) -> Confinement:
    """Return the confinement in which the worktree and its Git directory are written.

    ``covered`` are the submodule paths of the base, ``read`` host paths to show,
    ``extra`` comes on top, ``network`` are the hosts that may be reached, and
    ``doors`` lead to the daemon. What is not ``writable`` can only be read.
    """
    sandbox = order.settings.sandbox
    binds = (
        Bind(str(folder.home), HOME, writable=True),
        Bind(str(folder.given), folder.inside_given),
        Bind(str(folder.out), folder.inside_out, writable=True),
        Bind(str(folder.git), folder.inside_git, writable=writable),
        *_lent(order),
        Bind(str(folder.tree), folder.inside_tree, writable=writable),
        *_covers(folder, covered, writable=writable),
        Bind(str(folder.gitfile), f"{folder.inside_tree}/.git", file=True),
        *extra,
    )
    inside = _confinement(
        order, folder, folder.inside_tree, binds, env, read, sandbox.write
    )
    setting = f"sandbox.network or `network` of agent {order.agent.name}"
    return replace(inside, network=network, network_setting=setting, doors=doors)


def reading(order: Order, folder: Folder) -> Confinement:
    """Return the confinement in which the private Git directory is only read."""
    binds = (Bind(str(folder.git), folder.inside_git), *_lent(order))
    cwd = "/" if folder.confined else str(folder.path)
    return _confinement(order, folder, cwd, binds, (), (), ())


def _confinement(
    order: Order,
    folder: Folder,
    cwd: str,
    binds: tuple[Bind, ...],
    env: tuple[tuple[str, str], ...],
    read: tuple[str, ...],
    write: tuple[str, ...],
) -> Confinement:
    sandbox = order.settings.sandbox
    return Confinement(
        cwd=cwd,
        binds=binds if folder.confined else (),
        # Without a sandbox this is how what is left of it is found after a crash.
        env=env if folder.confined else (*env, (MARK, folder.mark)),
        read=(*sandbox.read, *read),
        write=write,
        file_limit=sandbox.file_limit,
        memory=sandbox.memory,
        processes=sandbox.processes,
        mode=str(sandbox.mode),
    )


def _lent(order: Order) -> Iterator[Bind]:
    for path in alternate_dirs(order.repo.common_dir):
        yield Bind(str(path), str(path))


def _covers(
    folder: Folder, covered: Sequence[str], *, writable: bool
) -> Iterator[Bind]:
    ancestors = {
        str(parent)
        for path in covered
        for parent in PurePosixPath(path).parents
        if parent.name
    }
    for path in sorted(ancestors, key=lambda each: each.count("/")):
        yield Bind(
            str(folder.tree / path), f"{folder.inside_tree}/{path}", writable=writable
        )
    for path in covered:
        yield Bind("", f"{folder.inside_tree}/{path}")
