"""The Git hooks of a hub or a clone: put beside what is there, and taken away again.

Every hook that gitagent ships is installed the same way. One that was there is renamed,
so that its bytes, mode and links come back as they were, and ours runs it first. What
was set in the configuration is noted in the hook itself: no other memory is needed.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from gitagent import data
from gitagent.errors import UserError
from gitagent.git.repository import Repository

KEPT: Final = ".before-gitagent"  # added to the name of a hook that was there
MARK: Final = b"# gitagent hook: "

_NOTE = b"# made: "
_FOLDER = "hooks-folder"
_SETTINGS = (
    ("receive.procReceiveRefs", "refs/for"),
    ("receive.advertisePushOptions", "true"),
)
# Two of these cannot share one conversation with receive-pack.
_ALONE = frozenset({"proc-receive"})
# Who commits in the repository itself; nobody does in a bare one.
_LOCAL = frozenset({"reference-transaction"})
_NAMES = (
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
)


def shipped() -> dict[str, Path]:
    """Return the hooks that come with this installation, by name."""
    folder = data.data_path("hooks")
    return {name: folder / name for name in _NAMES if (folder / name).is_file()}


def wanted(repo: Repository) -> dict[str, Path]:
    """Return those of them that are for such a repository."""
    found = shipped()
    return {n: path for n, path in found.items() if not (repo.bare and n in _LOCAL)}


def guard_problem(repo: Repository) -> str | None:
    """Return why nobody is stopped here who moves the target, or None."""
    other = elsewhere(repo)
    if other is not None:
        return f"core.hooksPath is {other}, so Git does not run the hooks of this one"
    names = ("pre-receive", *(() if repo.bare else sorted(_LOCAL)))
    if not all(_is_ours(folder_of(repo) / name) for name in names):
        return "its hooks are not installed; run: gitagent hooks install"
    return None


def elsewhere(repo: Repository) -> Path | None:
    """Return where Git looks for hooks if it is not the repository's own folder.

    Source: git-config(1), core.hooksPath: relative to where hooks run.
    """
    listed = repo.git.run(
        "config",
        "--show-scope",
        "-z",
        "--get-all",
        "core.hooksPath",
        ok=(0, 1),
        user_config=True,
    ).fields
    # Scope and value take turns; the scope "command" is our own switch.
    named = [
        value
        for scope, value in zip(listed[::2], listed[1::2], strict=False)
        if scope != "command"
    ]
    if not named:
        return None
    base = repo.worktree or repo.common_dir
    path = base / Path(named[-1]).expanduser()
    own = folder_of(repo)
    return None if os.path.realpath(path) == os.path.realpath(own) else path


def folder_of(repo: Repository) -> Path:
    """Return the repository's own hooks folder, which may not exist."""
    return repo.common_dir / "hooks"


def refs_for_problem(repo: Repository) -> str | None:
    """Return why a push to ``refs/for/<target>`` is not answered here, or None."""
    other = elsewhere(repo)
    if other is not None:
        return f"core.hooksPath is {other}, so Git does not run the hooks of this one"
    hook = folder_of(repo) / "proc-receive"
    if not _is_ours(hook):
        return "the hook proc-receive is not installed; run: gitagent hooks install"
    if not _covers(_values(repo, "receive.procReceiveRefs"), "refs/for"):
        return "receive.procReceiveRefs does not name refs/for"
    return None


def install(repo: Repository) -> tuple[str, ...]:
    """Install the hooks for such a repository and set what Git needs.

    What is set already stays. Returns what was done, as clauses. Installing again
    brings the hooks up to date.

    Raises:
        UserError: core.hooksPath names another folder, or a hook is there that cannot
            be kept beside ours. Nothing was changed.
    """
    other = elsewhere(repo)
    if other is not None:
        raise UserError(
            f"core.hooksPath is set to {other}, so refs/for is not available here and"
            " nothing was changed",
            "pushes to refs/heads/land/<name> work all the same",
        )
    folder, hooks = folder_of(repo), wanted(repo)
    for name in hooks:
        _refuse(folder, name)
    unset = tuple((key, value) for key, value in _SETTINGS if not _values(repo, key))
    noted = _noted(folder) | {key for key, _ in unset}
    if not folder.is_dir():
        noted.add(_FOLDER)
        folder.mkdir()
    changes: list[str] = []
    for name, source in hooks.items():
        changes += _put(folder, name, _filled(source.read_bytes(), sorted(noted)))
    for key, value in unset:
        repo.git.run("config", "--local", key, value)
        changes.append(f"set {key} = {value}")
    return tuple(changes)


def uninstall(repo: Repository) -> tuple[str, ...]:
    """Take our hooks and settings away and put back what was here before.

    A hook that somebody wrote over ours stays, and one kept for it comes back never:
    both are named by the UserError that is then raised, after all the rest is done.
    """
    folder = folder_of(repo)
    noted = _noted(folder)
    changes: list[str] = []
    for key, value in _SETTINGS:
        if key in noted:
            mine = f"^{re.escape(value)}$"
            repo.git.run("config", "--local", "--unset", key, mine, ok=(0, 5))
            changes.append(f"unset {key}")
    left = []
    for name in _installed(folder):
        hook, kept = folder / name, folder / f"{name}{KEPT}"
        if not _is_ours(hook) and os.path.lexists(hook):
            left.append(str(kept))
        elif os.path.lexists(kept):
            kept.replace(hook)
            changes.append(f"put back {name}")
        else:
            hook.unlink()
            changes.append(f"removed {name}")
    if _FOLDER in noted:
        with suppress(OSError):  # somebody put more into it
            folder.rmdir()
    if left:
        raise UserError(
            f"somebody replaced our hook; what was here before it is {', '.join(left)}",
            "move it where you want it",
        )
    return tuple(changes)


def _refuse(folder: Path, name: str) -> None:
    hook, kept = folder / name, folder / f"{name}{KEPT}"
    if _is_ours(hook) or not os.path.lexists(hook):
        return
    if name in _ALONE:
        raise UserError(
            f"{hook} is there already, and two {name} hooks cannot share a push;"
            " nothing was changed",
            "call `gitagent hook proc-receive` from it, or move it away",
        )
    if os.path.lexists(kept):
        raise UserError(
            f"{hook} and {kept} are both there already; nothing was changed",
            "keep one of them",
        )


def _put(folder: Path, name: str, script: bytes) -> Iterator[str]:
    """Install one hook; at no moment is none there that was there before."""
    hook, kept = folder / name, folder / f"{name}{KEPT}"
    if _is_ours(hook) and hook.read_bytes() == script:
        return
    new = folder / f"{name}.new-{os.getpid()}"
    new.write_bytes(script)
    new.chmod(0o755)
    verb = "updated" if _is_ours(hook) else "installed"
    if not _is_ours(hook) and os.path.lexists(hook):
        os.link(hook, kept, follow_symlinks=False)
        verb = f"kept the {name} that was here, and installed"
    new.replace(hook)
    yield f"{verb} {name}"


def _filled(script: bytes, keys: list[str]) -> bytes:
    """Return a shipped hook with this installation's paths and our notes in it."""
    package = Path(data.__file__).resolve().parent
    note = _NOTE + " ".join(keys).encode() + b"\n" if keys else b""
    filled = script.replace(
        b"\npython=''\n",
        b"\n" + note + b"python=" + _quoted(sys.executable) + b"\n",
        1,
    )
    return filled.replace(
        b"\npackage=''\n", b"\npackage=" + _quoted(str(package)) + b"\n", 1
    )


def _quoted(path: str) -> bytes:
    return os.fsencode(shlex.quote(path))


def _is_ours(hook: Path) -> bool:
    try:
        with hook.open("rb") as file:
            return MARK in file.read(200)
    except OSError:
        return False


def _installed(folder: Path) -> list[str]:
    """Return the names under which a hook of ours, or one kept by us, is there."""
    if not folder.is_dir():
        return []
    names = {path.name for path in folder.iterdir() if _is_ours(path)}
    kept = {
        path.name.removesuffix(KEPT)
        for path in folder.iterdir()
        if path.name.endswith(KEPT)
    }
    return sorted(names | kept)


def _noted(folder: Path) -> set[str]:
    """Return what an installed hook says that we made beside it."""
    for name in _installed(folder):
        hook = folder / name
        if not _is_ours(hook):
            continue
        for line in hook.read_bytes().splitlines():
            if line.startswith(_NOTE):
                return set(line.removeprefix(_NOTE).decode(errors="replace").split())
    return set()


def _values(repo: Repository, key: str) -> tuple[str, ...]:
    """Return what a key is set to, whoever set it."""
    done = repo.git.run("config", "-z", "--get-all", key, ok=(0, 1), user_config=True)
    return done.fields


def _covers(patterns: tuple[str, ...], ref: str) -> bool:
    """Whether a value of receive.procReceiveRefs takes pushes to ``ref``."""
    prefixes = (value.rpartition(":")[2].rstrip("/") for value in patterns)
    return any(f"{ref}/".startswith(f"{prefix}/") for prefix in prefixes)
