"""The one runner of git(1).

Every call has an environment made from scratch, a time limit, bounded output and no
terminal; the repository is always named, never discovered, except in ``repository``.
Source: git(1), git-config(1).
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gitagent.errors import GitError, UserError
from gitagent.host import process

TIMEOUT_S = 60.0
TIMED_OUT = 124  # the exit code that timeout(1) gives
OUTPUT_BYTES = 256 * 1024 * 1024

FLAGS = (
    "--no-optional-locks",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "commit.gpgsign=false",
    # gpg's agent would ask for a passphrase on the person's own screen.
    "-c",
    "tag.gpgSign=false",
    "-c",
    "push.gpgSign=false",
    "-c",
    "credential.interactive=false",
    "-c",
    "safe.bareRepository=explicit",
)

# What reaches a remote needs: configuration, credentials, agents, proxies, TLS roots.
# A user's own core.sshCommand has to win, so GIT_SSH_COMMAND is passed on and not set;
# ssh asks nothing all the same, for it has no terminal and _QUIET forbids its window.
# So DISPLAY and WAYLAND_DISPLAY, GPG_TTY, EDITOR and VISUAL are not passed on.
_USER = (
    "HOME",
    "USER",
    "LOGNAME",
    "SUDO_UID",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "GNUPGHOME",
    "SSH_AUTH_SOCK",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSL_CAINFO",
    "GIT_ALLOW_PROTOCOL",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
)

_GIVEN = re.compile(r"GIT_CONFIG_(?:COUNT|KEY_\d+|VALUE_\d+)")  # git-config(1)

_QUIET = {
    "LC_ALL": "C",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_MERGE_AUTOEDIT": "no",
}

_ALONE = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
}


@dataclass(frozen=True, slots=True)
class Done:
    """How a git process ended, when it ended as its caller expected."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """The output as text, without the newline at its end."""
        return self.out.decode(errors="surrogateescape").rstrip("\n")

    @property
    def fields(self) -> tuple[str, ...]:
        """The NUL-terminated fields of an output made with ``-z``."""
        parts = self.out.decode(errors="surrogateescape").split("\0")
        return tuple(parts[:-1] if parts[-1] == "" else parts)


def clean_environment(user_config: bool) -> dict[str, str]:  # noqa: FBT001
    """Return the whole environment of a git process.

    With ``user_config`` the user's and the machine's configuration are read and what
    reaches a remote is passed on; without, only the repository's own configuration
    counts.
    """
    environment = {"PATH": os.environ.get("PATH", os.defpath), **_QUIET}
    if "TMPDIR" in os.environ:
        environment["TMPDIR"] = os.environ["TMPDIR"]
    if not user_config:
        return environment | _ALONE
    passed = {
        name: value
        for name, value in os.environ.items()
        if name in _USER or _GIVEN.fullmatch(name)
    }
    return environment | passed


def run_git(
    *args: str,
    cwd: Path,
    config: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    ok: tuple[int, ...] = (0,),
    timeout: float = TIMEOUT_S,
    keep: int = OUTPUT_BYTES,
    user_config: bool = False,
    cancel: process.Cancel | None = None,
    pass_fds: tuple[int, ...] = (),
) -> Done:
    """Run git(1) in ``cwd``, without naming a repository; see ``Git.run``."""
    argv = git_argv(config, args)
    environment = clean_environment(user_config) | dict(env or {})
    ended = process.run(
        argv,
        cwd=cwd,
        env=environment,
        stdin=stdin,
        timeout=timeout,
        keep=keep,
        cancel=cancel,
        pass_fds=pass_fds,
    )
    if not ended.started:
        raise not_started(cwd, ended.stderr.decode(errors="replace"))
    short = ("git", *args)
    if ended.timed_out:
        raise GitError(short, TIMED_OUT, f"no answer within {timeout:g} s; stopped")
    err = ended.stderr.decode(errors="replace")
    if ended.code is None or ended.code not in ok:
        reason = "stopped" if ended.cancelled else err
        raise GitError(short, -1 if ended.code is None else ended.code, reason)
    if ended.dropped:
        raise GitError(short, ended.code, f"more than {keep} bytes of output")
    return Done(ended.code, ended.output, err)


def git_argv(config: tuple[str, ...], args: tuple[str, ...]) -> list[str]:
    """Return the argument list of a git process; later settings win."""
    extra = [word for setting in config for word in ("-c", setting)]
    return ["git", *FLAGS, *extra, *args]


def not_started(cwd: Path, reason: str) -> UserError:
    """Return why no git process could be started in ``cwd``."""
    if not cwd.is_dir():
        return UserError(f"{cwd} is not a folder, or is not there any more")
    return UserError(
        f"git could not be started ({reason})",
        "install git 2.39 or newer, or mend PATH",
    )


@dataclass(frozen=True, slots=True)
class Git:
    """git(1), bound to one repository."""

    common_dir: Path  # absolute
    config: tuple[str, ...] = ()  # "key=value", given to every call
    more: tuple[tuple[str, str], ...] = ()  # variables given to every call

    def run(
        self,
        *args: str,
        stdin: bytes | None = None,
        ok: tuple[int, ...] = (0,),
        timeout: float = TIMEOUT_S,
        work_tree: Path | None = None,
        git_dir: Path | None = None,
        index: Path | None = None,
        env: Mapping[str, str] | None = None,
        user_config: bool = False,
        cwd: Path | None = None,
        keep: int = OUTPUT_BYTES,
        cancel: process.Cancel | None = None,
        pass_fds: tuple[int, ...] = (),
    ) -> Done:
        """Run git(1) on the repository and return how it ended.

        ``args`` may begin with further ``-c key=value``, which win over the defaults.
        ``cwd`` is the work tree if there is one, else the common directory.

        Raises:
            GitError: an exit code not in ``ok``, no end within ``timeout`` seconds,
                or more than ``keep`` bytes of output.
            UserError: git is not installed.
        """
        return run_git(
            *args,
            cwd=cwd or work_tree or self.common_dir,
            config=self.config,
            env=self.place(work_tree, git_dir, index) | dict(env or {}),
            stdin=stdin,
            ok=ok,
            timeout=timeout,
            keep=keep,
            user_config=user_config,
            cancel=cancel,
            pass_fds=pass_fds,
        )

    def place(
        self,
        work_tree: Path | None = None,
        git_dir: Path | None = None,
        index: Path | None = None,
    ) -> dict[str, str]:
        """Return the variables that name the repository."""
        names = {"GIT_DIR": str(git_dir or self.common_dir), **dict(self.more)}
        if work_tree is not None:
            names["GIT_WORK_TREE"] = str(work_tree)
        if index is not None:
            names["GIT_INDEX_FILE"] = str(index)
        return names
