"""The private Git directory of a worker or a check, made as plain files.

It has its own HEAD, refs, configuration and index, and borrows the repository's
objects, so nothing that is done in it moves a ref, changes a setting or runs a hook
of the repository. No git process makes it, and none of the daemon's ever looks into
it again. Source: gitrepository-layout(5), git-config(1).
"""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_DEPTH = 5  # of alternates of alternates that git follows

_UNQUOTE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}


def make(
    path: Path,
    *,
    objects_dirs: Sequence[Path],
    head_branch: str,
    refs: Mapping[str, str],
    name: str,
    email: str,
    index_from: Path | None = None,
    exclude: str = "",
    object_format: str = "sha1",
    shallow_from: Path | None = None,
) -> None:
    """Make a Git directory at ``path``, which must not be there.

    ``head_branch`` is a full ref name, or an object id for a detached HEAD; ``refs``
    are full names with the commits they hold. The index is a copy of ``index_from``:
    its times and sizes hold for the same files seen from inside, its owner and device
    do not. ``shallow_from`` is the repository's ``shallow`` file, which may be absent.
    """
    skeleton(
        path,
        objects_dirs=objects_dirs,
        name=name,
        email=email,
        exclude=exclude,
        object_format=object_format,
    )
    fill(
        path,
        head_branch=head_branch,
        refs=refs,
        index_from=index_from,
        shallow_from=shallow_from,
    )


def skeleton(
    path: Path,
    *,
    objects_dirs: Sequence[Path],
    name: str,
    email: str,
    exclude: str = "",
    object_format: str = "sha1",
) -> None:
    """Make what `make` does, as far as it is the same for every commit."""
    path.mkdir(parents=True)
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (path / folder).mkdir(parents=True)
    _write(path / "config", _config(name, email, object_format))
    (path / "objects/info/alternates").write_bytes(alternates(objects_dirs))
    _write(path / "info/exclude", exclude)


def fill(
    path: Path,
    *,
    head_branch: str,
    refs: Mapping[str, str],
    index_from: Path | None = None,
    shallow_from: Path | None = None,
) -> None:
    """Make the rest of what `make` does."""
    head = f"ref: {head_branch}" if head_branch.startswith("refs/") else head_branch
    _write(path / "HEAD", f"{head}\n")
    _write(path / "packed-refs", _packed(refs))
    if index_from is not None:
        shutil.copyfile(index_from, path / "index")
    if shallow_from is not None:
        with suppress(FileNotFoundError):
            shutil.copyfile(shallow_from, path / "shallow")


def alternates(objects_dirs: Sequence[Path]) -> bytes:
    """Return the content of the ``alternates`` file that lends these folders."""
    return b"".join(_quoted(os.fsencode(each)) + b"\n" for each in objects_dirs)


def alternate_dirs(common_dir: Path) -> tuple[Path, ...]:
    """Return the repository's object folder and all that it borrows from, resolved.

    These are what a confined git has to see, at these very paths.
    """
    found: dict[Path, None] = {}
    pending = [(Path(os.path.realpath(common_dir / "objects")), 0)]
    while pending:
        folder, depth = pending.pop(0)
        if folder in found or not folder.is_dir():
            continue
        found[folder] = None
        if depth < _DEPTH:
            pending += ((each, depth + 1) for each in _borrowed(folder))
    return tuple(found)


def _borrowed(objects: Path) -> list[Path]:
    """Return what the ``alternates`` file names; see alternates in link_alt_odb."""
    try:
        data = (objects / "info/alternates").read_bytes()
    except OSError:
        return []
    lines = (_unquoted(line) for line in data.split(b"\n") if line[:1] not in b"#")
    return [Path(os.path.realpath(objects / os.fsdecode(line))) for line in lines]


def _quoted(path: bytes) -> bytes:
    if b"\n" not in path:
        return path
    for plain, escaped in ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n")):
        path = path.replace(plain, escaped)
    return b'"' + path + b'"'


def _unquoted(line: bytes) -> bytes:
    if len(line) < 2 or line[:1] != b'"' or line[-1:] != b'"':
        return line
    return _UNQUOTE.sub(_unescaped, line[1:-1])


def _unescaped(match: re.Match[bytes]) -> bytes:
    what = match[1]
    return bytes([int(what, 8) & 0xFF]) if len(what) == 3 else _ESCAPES.get(what, what)


def _config(name: str, email: str, object_format: str) -> str:
    sha1 = object_format == "sha1"
    lines = [
        "[core]",
        f"\trepositoryFormatVersion = {0 if sha1 else 1}",
        "\tfileMode = true",
        "\tbare = false",
        "\tlogAllRefUpdates = true",
        # Inside, files belong to another uid; compared, each would be read again.
        "\tcheckStat = minimal",
        "[user]",
        f"\tname = {_value(name)}",
        f"\temail = {_value(email)}",
        # An automatic one goes on in the background and is killed with the sandbox.
        "[gc]",
        "\tauto = 0",
        "[maintenance]",
        "\tauto = false",
    ]
    if not sha1:
        lines += ["[extensions]", f"\tobjectFormat = {object_format}"]
    return "\n".join(lines) + "\n"


def _value(text: str) -> str:
    plain = " ".join(text.replace("\0", " ").split())
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _packed(refs: Mapping[str, str]) -> str:
    names = sorted(refs, key=os.fsencode)
    lines = [f"{refs[name]} {name}" for name in names]
    # Of annotated tags it would have to tell the commits as well. GitPython, which
    # aider uses, reads no file that does not claim to.
    tags = any(name.startswith("refs/tags/") for name in names)
    traits = "sorted" if tags else "peeled sorted"
    return "\n".join([f"# pack-refs with: {traits} ", *lines]) + "\n"


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode(errors="surrogateescape"))
