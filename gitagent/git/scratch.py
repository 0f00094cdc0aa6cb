"""A Git directory of ours over the repository's objects.

It has no refs, no hooks, and no configuration but its own, so nothing that a person or
a worker set decides what git does there. It is never shown to a sandbox.
"""

import hashlib
import zlib
from contextlib import suppress
from pathlib import Path

from gitagent.git.command import clean_environment
from gitagent.git.repository import Repository

# What git-config(1) names for fetching the objects that a partial clone lacks.
_PROMISED = r"^(remote\..*\.(url|promisor|partialclonefilter)|core\.sshcommand)$"


def make(repo: Repository, git_dir: Path) -> dict[str, str]:
    """Make the directory, or make its files anew.

    Returns the variables that a git process needs with it.
    """
    (git_dir / "refs").mkdir(parents=True, exist_ok=True)
    ensure(git_dir / "HEAD", "ref: refs/heads/none\n")
    version = 0 if repo.object_format == "sha1" else 1
    config = f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n"
    if version:
        config += f"[extensions]\n\tobjectFormat = {repo.object_format}\n"
    ensure(git_dir / "config", config)
    env = {"GIT_OBJECT_DIRECTORY": str(repo.common_dir / "objects")}
    shallow = repo.common_dir / "shallow"
    if shallow.exists():
        env["GIT_SHALLOW_FILE"] = str(shallow)
    if repo.partial:
        env |= _promise(repo, git_dir / "config")
    return env


def ensure(path: Path, text: str) -> None:
    """Write a file unless it has that content: writing it anew waits for the disk."""
    data = text.encode()
    with suppress(FileNotFoundError):
        if path.read_bytes() == data:
            return
    path.write_bytes(data)


def lend(git_dir: Path) -> dict[str, str]:
    """Let git see, beside the repository's, the objects that ``write`` puts here.

    Returns the variables that a git process needs.
    """
    path = str(git_dir / "objects").replace("\\", "\\\\").replace('"', '\\"')
    return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{path}"'}


def write(git_dir: Path, kind: str, data: bytes, object_format: str) -> str:
    """Store a loose object in the directory itself; return its id.

    It goes away with the directory, so nothing is done for it to outlast a crash.
    """
    content = b"%s %d\0%s" % (kind.encode(), len(data), data)
    oid = hashlib.new(object_format, content, usedforsecurity=False).hexdigest()
    file = git_dir / "objects" / oid[:2] / oid[2:]
    packed = zlib.compress(content, 1)
    try:
        file.write_bytes(packed)
    except FileNotFoundError:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(packed)
    return oid


def _promise(repo: Repository, config: Path) -> dict[str, str]:
    """Let git fetch what a partial clone lacks, still without the user's settings."""
    listed = repo.git.run("config", "-z", "--get-regexp", _PROMISED, ok=(0, 1))
    for field in listed.fields:
        key, _, value = field.partition("\n")
        repo.git.run("config", "--file", str(config), "--add", key, value)
    known = clean_environment(user_config=True)
    return known | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
