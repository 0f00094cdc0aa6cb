"""The workspace of an attempt: worktree, private Git directory, what is handed over.

Everything here is made before the first line of anybody else's runs in it. Afterwards
the daemon only deletes it, and reads single files of ``out``.
"""

from collections.abc import Callable

from gitagent.core.task import Outcome
from gitagent.errors import GitagentError
from gitagent.git import private, worktree
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.git.sweep import remove_tree
from gitagent.git.tree import gitlinks
from gitagent.worker import conversation, copying, excludes, home
from gitagent.worker.folder import Folder
from gitagent.worker.order import Ending, Order

LINKED = "linked.json"  # what the worktree's .git said, while it is replaced


def make(
    order: Order,
    objects: Objects,
    folder: Folder,
    take: Callable[[Order, Folder], bool] = conversation.take,
) -> tuple[str, ...] | Ending:
    """Make the workspace; return the submodule paths to cover, or why there is none.

    ``take`` puts the HOME of an earlier attempt there, if there is one to go on with.
    """
    covered = gitlinks(objects, objects.commit(order.attempt.base).tree)
    if not take(order, folder):
        folder.home.mkdir(mode=0o700)
    for each in (folder.given, folder.out):
        each.mkdir(mode=0o700)
    worktree.add(order.repo, folder.tree, order.attempt.base)
    names = order.settings.worker.copy
    try:
        copying.copy_all(order.repo, names, folder.tree)
    except copying.CannotCopy as error:
        return Ending(Outcome.FAILED, f"{error}.")
    _make_git(order, folder)
    folder.gitfile.write_text(f"gitdir: {folder.inside_git}\n")
    home.put(folder.home, [(".gitconfig", _user_config(order).encode())])
    if not folder.confined:
        _link_private(folder)
    return covered


def _make_git(order: Order, folder: Folder) -> None:
    repo = order.repo
    short = order.target_ref.removeprefix("refs/heads/")
    name, email = order.identity
    private.make(
        folder.git,
        objects_dirs=private.alternate_dirs(repo.common_dir),
        head_branch=order.branch,
        refs={
            order.target_ref: order.target,
            f"refs/remotes/origin/{short}": order.target,
            order.branch: order.attempt.base,
        },
        name=name,
        email=email,
        index_from=worktree.admin_dir(repo, folder.tree) / "index",
        exclude=excludes.text_of(repo) + excludes.patterns(order.settings.worker.copy),
        object_format=repo.object_format,
        shallow_from=repo.common_dir / "shallow",
    )


def _user_config(order: Order) -> str:
    """Return what git has to know in repositories that tests make for themselves."""
    name, email = (each.replace("\\", "").replace('"', "") for each in order.identity)
    return (
        f'[user]\n\tname = "{name}"\n\temail = "{email}"\n'
        "[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n"
    )


def give(folder: Folder, name: str, data: bytes) -> None:
    """Put a file where the agent can read it."""
    (folder.given / name).write_bytes(data)


def _link_private(folder: Folder) -> None:
    """Let the worktree's ``.git`` name the private directory: no sandbox covers it."""
    gitfile = folder.tree / ".git"
    folder.write_state(LINKED, {"text": gitfile.read_text()})
    gitfile.write_text(folder.gitfile.read_text())


def unlink_private(folder: Folder) -> None:
    """Undo what an attempt without a sandbox did to the worktree's ``.git``."""
    linked = folder.load_state(LINKED)
    if linked is not None and folder.tree.is_dir():
        gitfile = folder.tree / ".git"
        gitfile.unlink(missing_ok=True)
        gitfile.write_text(str(linked["text"]))
        (folder.path / LINKED).unlink()


def strip(repo: Repository, folder: Folder, *, whole: bool = True) -> str | None:
    """Delete all of the workspace but the daemon's own files, and HOME if ``whole``.

    Return why not all could be deleted; None: it is gone.
    """
    try:
        unlink_private(folder)
        worktree.remove(repo, folder.tree)
        for each in (folder.git, folder.given, folder.out):
            remove_tree(each)
        if whole:
            remove_tree(folder.home)
        folder.gitfile.unlink(missing_ok=True)
    except GitagentError as error:
        return error.line()
    except OSError as error:
        return str(error)
    return None
