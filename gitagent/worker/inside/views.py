"""The tool ``git``: what it shows of the worktree and its history, and nothing else.

It may neither write nor start a program: an agent without ``shell`` has it too. What
could is refused by the names of the options, also where they are cut short, and
whatever a configuration names is turned off.
"""

import os
import re
import shlex
from collections.abc import Sequence

from gitagent.host.process import run
from gitagent.worker.inside.doing import (
    DONE,
    Doing,
    Given,
    Said,
    Slip,
)
from gitagent.worker.inside.running import how_it_ended

COMMAND = (
    *("git", "--no-pager", "--no-optional-locks"),
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "diff.external=", "-c", "log.showSignature=false"),
    *("-c", "gpg.program=false", "-c", "gpg.ssh.program=false"),
    *("-c", "gpg.x509.program=false", "-c", "protocol.allow=never"),
    *("-c", "submodule.recurse=false", "-c", "color.ui=false"),
    *("-c", "log.diffMerges=separate"),
    # What was written as files is no repository, with a configuration of its own.
    *("-c", "safe.bareRepository=explicit"),
)
_SECONDS = 60.0
_NO_DRIVERS = ("--no-ext-diff", "--no-textconv")

# Each view, with what is always added to it.
VIEWS: dict[str, tuple[str, ...]] = {
    "blame": ("--no-textconv",),
    "branch": ("--list",),
    "cat-file": (),
    "describe": (),
    "diff": _NO_DRIVERS,
    "diff-tree": _NO_DRIVERS,
    "for-each-ref": (),
    "grep": ("--no-textconv",),
    "log": _NO_DRIVERS,
    "ls-files": (),
    "ls-tree": (),
    "merge-base": (),
    "name-rev": (),
    "reflog": ("show", *_NO_DRIVERS),
    "rev-list": (),
    "rev-parse": (),
    "shortlog": (),
    "show": _NO_DRIVERS,
    "stash": (),
    "status": (),
    "tag": ("--list",),
}
_QUIET = frozenset({"diff", "diff-tree", "grep", "merge-base"})  # 1 is no failure

# They write a file or a ref, or start a program.
_REFUSED = (
    *("--output", "--ext-diff", "--textconv", "--filters", "--open-files-in-pager"),
    *("--exec-path", "--upload-pack", "--show-signature", "--remerge-diff"),
    *("--delete", "--move", "--copy", "--force", "--edit-description"),
    *("--set-upstream-to", "--unset-upstream", "--no-list"),
)
_HARMLESS = frozenset({"--text"})  # it begins like one that is not
_OUTSIDE = ("--no-index", "--contents")  # they read any file
_PAGER = re.compile(r"-[^-efmABC]*O")  # of grep: -O among other letters


def git(given: Given, doing: Doing) -> Said:
    """Give a view: words as a text or a list, without ``git``."""
    words = _words(given)
    name, more = words[0], words[1:]
    done = run(
        [*COMMAND, *checked(name, more, confined=doing.place.confined)],
        cwd=doing.place.root,
        env=environment(),
        timeout=min(_SECONDS, doing.seconds),
        keep=1,
        merge_stderr=True,
        on_output=doing.say,
        cancel=doing.cancel,
    )
    if done.code == 1 and name in _QUIET:
        return (b"" if done.output else b"[exit code 1, no output]\n"), DONE
    return how_it_ended(done, min(_SECONDS, doing.seconds))


def environment() -> dict[str, str]:
    """Return the environment in which Git only looks."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") and name not in {"PAGER", "EDITOR"}
    }
    return kept | {
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }


def checked(name: str, more: Sequence[str], *, confined: bool = True) -> list[str]:
    """Return a view's whole command line. Raises Slip."""
    if name not in VIEWS:
        views = ", ".join(VIEWS)
        raise Slip(f"git {name} is no view that only shows; there are {views}.")
    words = [*more]
    end = words.index("--") if "--" in words else len(words)
    for each in words[:end]:
        if _does_more(name, each) or (not confined and _is_cut(each, _OUTSIDE)):
            raise Slip(f"git {name} with {each} may do more than show the worktree.")
    if name == "stash":
        words = words or ["list"]
        if words[0] not in {"list", "show"}:
            raise Slip("git stash has list and show here.")
        return [name, words[0], *_NO_DRIVERS, *words[1:]]
    if words[:1] == ["show"] and name == "reflog":
        words.pop(0)
    if words == ["--show-current"]:
        return [name, *words]
    return [name, *VIEWS[name], *words]


def _does_more(name: str, word: str) -> bool:
    if word == "--diff-merges" or word.startswith("--diff-merges=r"):
        return True  # as --remerge-diff
    if name == "grep" and _PAGER.match(word):
        return True
    return _is_cut(word, _REFUSED)


def _is_cut(word: str, names: Sequence[str]) -> bool:
    """Whether it is an option of these, or the beginning of one, as Git takes it."""
    option = word.partition("=")[0]
    if len(option) < 3 or not option.startswith("--") or option in _HARMLESS:
        return False
    return any(each.startswith(option) for each in names)


def _words(given: Given) -> list[str]:
    view = given.get("view")
    if isinstance(view, str):
        try:
            words = shlex.split(view)
        except ValueError as error:
            raise Slip(f"`view` cannot be read: {error}.") from None
    elif isinstance(view, list) and all(isinstance(each, str) for each in view):
        words = [*view]
    else:
        raise Slip("`view` has to be the words of a git command.")
    words = words[1:] if words[:1] == ["git"] else words
    if not words or any("\0" in each for each in words):
        raise Slip("`view` names no git command.")
    return words
