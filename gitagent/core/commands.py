"""What a shell's command would do, as far as its text tells it before it runs.

Only what is certain is denied, and what is not understood is `Kind.NOT_EVALUATED`:
never an approval, never a guess. The sandbox holds the effect whatever is said here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from gitagent.core import network, reach
from gitagent.core.glob import named
from gitagent.core.reach import ALLOWED, Facts, Kind, Verdict
from gitagent.core.script import Simple, Word, parse

_READERS = frozenset(
    {
        *(":", "[", "basename", "cat", "cd", "cmp", "cut", "diff", "dirname", "du"),
        *("echo", "egrep", "expr", "false", "fgrep", "file", "grep", "head", "id"),
        *("ls", "nl", "od", "printf", "ps", "pwd", "readlink", "realpath"),
        *("sha256sum", "sleep", "stat", "tac", "tail", "test", "tr", "true", "uname"),
        *("wc", "which", "whoami"),
    }
)
_FIND_ACTS = re.compile(r"-(?:delete|exec|execdir|ok|okdir|fprint\w*|fls)")

_GIT_LOCAL = frozenset(
    {
        *("add", "blame", "branch", "checkout", "cherry-pick", "clean", "commit"),
        *("describe", "diff", "grep", "init", "log", "ls-files", "merge"),
        *("merge-base", "rebase", "reset", "restore", "rev-list", "rev-parse"),
        *("revert", "shortlog", "show", "stash", "status", "switch", "tag"),
    }
)
_GIT_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})

_ROOT = frozenset({"doas", "pkexec", "su", "sudo"})
_SYSTEM_PACKAGES = frozenset({"apk", "apt", "apt-get", "dnf", "pacman", "yum"})
_SYSTEM_CHANGES = frozenset({"add", "install", "remove", "update", "upgrade"})

_FETCHERS = frozenset({"curl", "rsync", "scp", "sftp", "ssh", "wget"})
_PORTS = {"http": 80, "https": 443, "ssh": 22, "ftp": 21, "git": 9418}
_LOGIN = re.compile(r"[\w.-]+@([\w.-]+)(?::.*)?", re.DOTALL)
_LOOPBACK = re.compile(r"localhost|127\.[\d.]+|::1")

_PASSES_ON = frozenset({"builtin", "command", "env", "exec", "nice", "nohup"})
_SECONDS = re.compile(r"[\d.]+[smhd]?")
_SHELLS = frozenset({"bash", "dash", "sh", "zsh"})
_DEPTH = 3  # shells in shells
_LONG = 64 * 1024  # characters of a command that is still read


@dataclass(frozen=True, slots=True)
class _Writer:
    """How a program that writes says where; other options are not understood."""

    flags: str  # a regular expression of its options without a value
    skip: int = 0  # operands before the paths
    last: bool = False  # only the last one is written
    file: bool = False  # what it writes is a file


_WRITERS = {
    "chmod": _Writer(r"-[cfvR]+", skip=1),
    "cp": _Writer(r"-[afilnprRuvHLPT]+", last=True),
    "ln": _Writer(r"-[sfinrvT]+", last=True),
    "mkdir": _Writer(r"-[pv]+"),
    "mv": _Writer(r"-[finuv]+"),
    "rm": _Writer(r"-[dfiIrRv]+|--(?:recursive|force|verbose)"),
    "rmdir": _Writer(r"-[pv]+"),
    "tee": _Writer(r"-[ai]+|--append", file=True),
    "touch": _Writer(r"-[acm]+", file=True),
    "unlink": _Writer(r"(?!)", file=True),
}

_NOT_UNDERSTOOD = Verdict(Kind.NOT_EVALUATED, "The command was not understood.")
_NOTHING_TO_PUSH = Verdict(
    Kind.DENY,
    "There is nothing to push to: commit, and the branch is checked and landed by "
    "gitagent when you end.",
)
_NO_ROOT = Verdict(
    Kind.DENY,
    "There is no root here, and system packages stay as they are: do without, or ask.",
)


def judge(command: str, facts: Facts) -> Verdict:
    """Return what is to be said of a command, made in ``facts.cwd``."""
    if len(command) > _LONG:
        return _NOT_UNDERSTOOD
    return _worst(_commands(command, facts, _DEPTH))


def _worst(verdicts: Iterator[Verdict]) -> Verdict:
    found = [*verdicts]
    for kind in (Kind.DENY, Kind.NOT_EVALUATED):
        for each in found:
            if each.kind is kind:
                return each
    notes = dict.fromkeys(each.sentence for each in found if each.sentence)
    return Verdict(Kind.ALLOW, " ".join(notes))


def _commands(text: str, facts: Facts, depth: int) -> Iterator[Verdict]:
    parts = parse(text)
    if parts is None:
        yield _NOT_UNDERSTOOD
        return
    cwd: str | None = facts.cwd or facts.tree
    outer: list[str | None] = []
    for part in parts:
        yield from _one(part, facts, cwd, depth)
        cwd = _after(part, cwd)
        if part.after == "(":
            outer.append(cwd)
        elif part.after == ")" and outer:
            cwd = outer.pop()


def _after(part: Simple, cwd: str | None) -> str | None:
    """Return where the next command runs; None: that is not known."""
    first = part.words[0].text if part.words else ""
    if first not in {"cd", "pushd", "popd"} or part.after in {"|", "|&", "&"}:
        return cwd
    words = part.words[1:]
    if first != "cd" or not part.sure or len(words) != 1 or not words[0].plain:
        return None
    there = words[0].text
    if there.startswith("-") or not (cwd or there.startswith("/")):
        return None
    return reach.absolute(Facts(cwd=cwd or "/"), there)


def _one(part: Simple, facts: Facts, cwd: str | None, depth: int) -> Iterator[Verdict]:
    for word in part.writes:
        yield _path(word, facts, cwd, file=True)
    words = _bare(part.words)
    if not words:
        return
    if not words[0].plain:
        yield _NOT_UNDERSTOOD
        return
    name = words[0].text.rpartition("/")[2]
    rest = words[1:]
    if name in _SHELLS:
        yield from _shell(rest, facts, cwd, depth)
    elif name in _WRITERS:
        yield from _written(_WRITERS[name], rest, facts, cwd)
    elif name == "git":
        yield from _git(rest, facts, cwd)
    else:
        yield _program(name, rest, facts)


def _program(name: str, rest: tuple[Word, ...], facts: Facts) -> Verdict:
    if name == "find" and any(_FIND_ACTS.fullmatch(word.text) for word in rest):
        return _NOT_UNDERSTOOD
    if name == "find" or name in _READERS:
        return ALLOWED
    if facts.confined and _wants_root(name, rest):
        return _NO_ROOT
    if name in _FETCHERS:
        return _fetched(facts, tuple(word.text for word in rest if word.plain))
    return Verdict(Kind.NOT_EVALUATED, f"What {named((name,))} does is not known.")


def _bare(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return a command without the programs that only pass it on."""
    while len(words) > 1:
        rest = 1
        if words[0].text == "timeout" and _SECONDS.fullmatch(words[1].text):
            rest = 2
        elif words[0].text not in _PASSES_ON or words[1].text.startswith("-"):
            return words
        words = words[rest:]
        while words and re.match(r"[A-Za-z_]\w*=", words[0].text):
            words = words[1:]
    return words


def _shell(
    rest: tuple[Word, ...], facts: Facts, cwd: str | None, depth: int
) -> Iterator[Verdict]:
    told = len(rest) == 2 and re.fullmatch(r"-[a-z]*c", rest[0].text)
    if not told or not rest[1].plain or not cwd or not depth:
        yield _NOT_UNDERSTOOD
        return
    yield from _commands(rest[1].text, replace(facts, cwd=cwd), depth - 1)


def _written(
    how: _Writer, rest: tuple[Word, ...], facts: Facts, cwd: str | None
) -> Iterator[Verdict]:
    operands: list[Word] = []
    options = True
    for word in rest:
        if options and word.text == "--":
            options = False
        elif options and word.text.startswith("-") and word.text != "-":
            if not re.fullmatch(how.flags, word.text):
                yield _NOT_UNDERSTOOD
                return
        else:
            operands.append(word)
    if not operands:
        yield ALLOWED
    for word in operands[-1:] if how.last else operands[how.skip :]:
        yield _path(word, facts, cwd, file=how.file)


def _path(word: Word, facts: Facts, cwd: str | None, *, file: bool) -> Verdict:
    known = word.plain and word.text and "\0" not in word.text
    if not known or not (cwd or word.text.startswith("/")):
        return Verdict(
            Kind.NOT_EVALUATED, f"Where {named((word.text,))} lies is not known."
        )
    where = reach.absolute(replace(facts, cwd=cwd or "/"), word.text)
    return (reach.file if file else reach.anything)(facts, where)


def _wants_root(name: str, rest: tuple[Word, ...]) -> bool:
    changes = any(word.text in _SYSTEM_CHANGES for word in rest)
    return name in _ROOT or (name in _SYSTEM_PACKAGES and changes)


def _git(rest: tuple[Word, ...], facts: Facts, cwd: str | None) -> Iterator[Verdict]:
    while rest and rest[0].text.startswith("-"):
        rest = rest[2 if rest[0].text in _GIT_VALUED else 1 :]
    name = rest[0].text if rest and rest[0].plain else ""
    if name == "push":
        yield _NOTHING_TO_PUSH
    elif name in {"mv", "rm"}:
        yield from _written(_WRITERS[name], rest[1:], facts, cwd)
    elif name in _GIT_LOCAL:
        yield ALLOWED
    else:
        yield _fetched(facts, tuple(word.text for word in rest if word.plain))


def _fetched(facts: Facts, words: tuple[str, ...]) -> Verdict:
    """Judge what a program that reaches hosts is given.

    A word of which it is not plain whether it is reached, such as a proxy's address,
    may be one: so it is denied only if none of them can be.
    """
    hosts = [host for word in words if (host := _host(word))]
    allowed = network.AllowList(facts.network)
    reached = [
        host
        for host in hosts
        if is_loopback(host[0]) or allowed.names(host[0].lower(), host[1])
    ]
    if not hosts or reached or not facts.confined:
        return Verdict(Kind.NOT_EVALUATED, "What it fetches was not looked at.")
    return unreachable(facts, *hosts[0])


def unreachable(facts: Facts, host: str, port: int) -> Verdict:
    """Return the denial of a host that is not in the list."""
    where = named((network.AllowList.show(host, port),))
    if facts.network:
        listed = named(facts.network)
        return Verdict(Kind.DENY, f"{where} cannot be reached here, only {listed}.")
    return Verdict(Kind.DENY, f"There is no network here: {where} cannot be reached.")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, which in a sandbox is the sandbox."""
    return _LOOPBACK.fullmatch(host) is not None


def _host(word: str) -> tuple[str, int] | None:
    login = _LOGIN.fullmatch(word)
    return (login[1], 22) if login else address(word)


def address(url: str) -> tuple[str, int] | None:
    """Return the host and port that a URL names; None: it names none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    default = _PORTS.get(parts.scheme)
    if not default or not parts.hostname:
        return None
    return parts.hostname, port or default
