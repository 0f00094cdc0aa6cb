"""The tools ``glob`` and ``grep``: what Git does not ignore, in the order of its paths.

Git itself looks: it is in every sandbox, knows what is ignored, and a pattern that
takes for ever is a process that can be ended.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from gitagent.host.process import Exit, run
from gitagent.worker.inside import paths
from gitagent.worker.inside.doing import (
    DONE,
    FAILED,
    INTERRUPTED,
    Doing,
    Given,
    Said,
    Slip,
    count,
    number,
    text,
    utf8,
)
from gitagent.worker.inside.globs import anywhere, braces, translate
from gitagent.worker.inside.views import COMMAND, environment

FILES = 1000  # that a glob gives
_WALKED = 100_000  # files looked at where there is no Git
_MATCHES = 200  # lines of grep, where the model does not say
_MOST = 2000
_WIDE = 400  # bytes of one of them
_LINE = 1 << 20  # bytes of one that are looked at
_SECONDS = 15.0
_KEEP = 16 << 20  # bytes of a list of files
_NONE = 1  # exit code of git grep and check-ignore: there is none


def glob(given: Given, doing: Doing) -> Said:
    """Give the files whose path matches; a pattern without a slash, at any depth."""
    where = paths.seen(doing.place, text(given, "path", "."))
    if not where.is_dir():
        raise Slip("`path` is no folder.")
    try:
        matches = re.compile(translate(text(given, "pattern"))).fullmatch
    except re.error as error:
        raise Slip(f"`pattern` cannot be read: {error}.") from None
    if _ignored(where, doing):
        names: list[str] = [name for name, _ in zip(_walk(where), range(_WALKED))]  # noqa: B905
    else:
        done = _run(["ls-files", "-co", "--exclude-standard", "-z"], where, doing)
        if done.code != 0:
            return _bad(done)
        names = [os.fsdecode(each) for each in done.output.split(b"\0") if each]
    found = [
        paths.shown(doing.place, where / name)
        for name in sorted(set(names))
        if matches(name) and os.path.lexists(where / name)
    ]
    lines = found[:FILES]
    if len(found) > FILES:
        lines.append(f"[{count(len(found) - FILES, 'more file')}: narrow the pattern]")
    return _lines(lines or ["[no file matches]"]), DONE


def grep(given: Given, doing: Doing) -> Said:
    """Give the lines that a regular expression matches, as path:line:text."""
    where = paths.seen(doing.place, text(given, "path", "."))
    folder, rest = (where, "") if where.is_dir() else (where.parent, where.name)
    search = ["grep", "-I", "-n", "-z", "--no-color"]
    if _ignored(where, doing):
        search += ["--no-index", "--no-exclude-standard"]
    else:
        search += ["--untracked"]
    glob = text(given, "glob", "")
    if rest:
        scope = [f":(literal){rest}"]
    else:
        scope = [f":(glob){anywhere(each)}" for each in braces(glob or "**")]
    pattern = ["-e", text(given, "pattern"), "--", *scope]
    notes: list[str] = []
    found = _Found(number(given, "limit", _MATCHES, _MOST))
    done = found.look([*search, "-P", *pattern], folder, doing)
    if done and b"Perl-compatible" in done.stderr:
        notes.append("[POSIX expressions alone are known here: \\d means nothing]")
        done = found.look([*search, "-E", *pattern], folder, doing)
    if done is None:
        notes.append(f"[the first {len(found.lines)} matches; there are more]")
    elif done.code not in {0, _NONE} and not done.timed_out:
        return _bad(done)
    elif done.timed_out:
        notes.append(f"[ended after {_SECONDS:g} s; there may be more]")
    elif not found.lines:
        notes.append("[no match]")
    lines = [_match(each, folder, doing) for each in found.lines]
    return _lines([*lines, *notes]), DONE


class _Full(Exception):
    """There are as many matches as were asked for."""


class _Found:
    """The lines of a search, which ends when they are enough."""

    def __init__(self, most: int) -> None:
        self.lines: list[bytes] = []
        self._most = most
        self._rest = b""

    def look(self, argv: Sequence[str], folder: Path, doing: Doing) -> Exit | None:
        """Return how the search ended; None: there are more."""
        try:
            done = run(
                [*COMMAND, *argv],
                cwd=folder,
                env=environment(),
                timeout=min(_SECONDS, doing.seconds),
                keep=0,
                on_output=self._hear,
                cancel=doing.cancel,
            )
        except _Full:
            return None
        return done

    def _hear(self, data: bytes) -> None:
        # A line that never ends is cut; what follows of it makes no match of its own.
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()[:_LINE]
        self.lines += lines
        if len(self.lines) > self._most:
            del self.lines[self._most :]
            raise _Full


def _match(line: bytes, folder: Path, doing: Doing) -> str:
    name, _, rest = line.partition(b"\0")
    at, _, body = rest.partition(b"\0")
    body = body.removesuffix(b"\r")
    cut = " [cut]" if len(body) > _WIDE else ""
    shown = body[:_WIDE].decode("utf-8", "replace") + cut
    path = paths.shown(doing.place, folder / os.fsdecode(name))
    return f"{path}:{at.decode(errors='replace')}:{shown}"


def _ignored(where: Path, doing: Doing) -> bool:
    """Whether Git has nothing to say of a path: it ignores it, or there is no Git."""
    folder, name = (where, ".") if where.is_dir() else (where.parent, where.name)
    if where == doing.place.root:
        return _run(["rev-parse", "--git-dir"], where, doing).code != 0
    return _run(["check-ignore", "-q", "--", name], folder, doing).code != _NONE


def _run(argv: Sequence[str], folder: Path, doing: Doing) -> Exit:
    return run(
        [*COMMAND, *argv],
        cwd=folder,
        env=environment(),
        timeout=min(_SECONDS, doing.seconds),
        keep=_KEEP,
        cancel=doing.cancel,
    )


def _walk(where: Path) -> Iterator[str]:
    for folder, inner, names in os.walk(where):
        with suppress(ValueError):
            inner.remove(".git")
        inner.sort()
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), where)  # noqa: PTH118 - many


def _bad(done: Exit) -> Said:
    if done.cancelled:
        return b"[stopped]\n", INTERRUPTED
    if done.timed_out:
        return f"[ended after {_SECONDS:g} s]\n".encode(), INTERRUPTED
    return done.stderr or b"[Git gave no answer]\n", FAILED


def _lines(lines: Sequence[str]) -> bytes:
    return utf8("".join(f"{line}\n" for line in lines))
