"""What a confined process sees of the machine, as arguments for bubblewrap.

The root is an empty read-only file system, and all that is visible was put there by
name. Under a daemon of root the process is root outside as well, although it has no
capability and another id inside: what root owns it may use by its permission bits.
So of /etc nothing is shown that root alone may read, nor of /proc what it may write.

Source: bwrap(1), proc(5).
"""

import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HOME = "/home/worker"
WORKSPACE = "/workspace"  # the files
GIT_DIR = "/gitagent/git"  # the private Git directory
UID = 1000  # inside; outside it is the daemon's own

FLAGS = (
    *("--unshare-all", "--unshare-user", "--uid", str(UID), "--gid", str(UID)),
    *("--cap-drop", "ALL", "--disable-userns", "--new-session", "--die-with-parent"),
)

# git and ssh want an entry for the user; the host's own accounts are nobody's business.
_ACCOUNTS: Mapping[str, bytes] = {
    "/etc/passwd": (
        b"root:x:0:0:root:/:/bin/sh\n"
        b"worker:x:1000:1000:worker:/home/worker:/bin/sh\n"
        b"nobody:x:65534:65534:nobody:/:/bin/sh\n"
    ),
    "/etc/group": b"root:x:0:\nworker:x:1000:\nnogroup:x:65534:\n",
}

SYSTEM = ("/usr", "/opt", "/nix/store", "/gnu/store")

# Never all of /etc/ssl or /etc/pki: they have private keys that root may read.
# A copy costs nothing; every bind costs 0.2 ms, since bubblewrap reads all mounts anew.
_ETC_COPIED = (
    *("hosts", "nsswitch.conf", "localtime", "ld.so.cache", "ld.so.conf"),
    *("ca-certificates.conf", "ssl/openssl.cnf", "pki/tls/openssl.cnf"),
)
_ETC_BOUND = (
    *("alternatives", "crypto-policies", "ssl/certs", "ssl/cert.pem"),
    *("pki/ca-trust/extracted", "pki/tls/certs", "pki/tls/cert.pem"),
)
_COPY_LIMIT = 1 << 20

# Readable by all, and still about the daemon's user.
_PROC_PRIVATE = frozenset({"keys", "key-users"})

# They are memory of the machine; what is bigger belongs into a worker's own folders.
_TMPFS = (
    ("/tmp", "1777", 1 << 30),  # noqa: S108
    ("/var/tmp", "1777", 1 << 28),  # noqa: S108
    ("/run", "0755", 1 << 26),
    ("/dev/shm", "1777", 1 << 29),  # noqa: S108
)
_HOME_SIZE = 1 << 28

_STANDARD_PATH = (
    *("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"),
)


@dataclass(frozen=True, slots=True)
class Bind:
    """One path of the host, shown inside."""

    source: str  # on the host; "": nothing, an empty thing that cannot be written
    dest: str  # inside; a later bind covers an earlier one
    writable: bool = False
    file: bool = False  # with an empty source: an empty file instead of a folder


@dataclass(frozen=True, slots=True)
class Door:
    """A port of loopback inside that leads to a Unix socket of the daemon's."""

    port: int
    folder: str  # on the host: it is shown, so that a socket made anew is there too
    socket: str  # name in the folder


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a process sees and may write; nothing else of the host is there."""

    cwd: str  # inside; on the host when mode is "off"
    binds: tuple[Bind, ...] = ()  # in this order, over all the rest
    env: tuple[tuple[str, str], ...] = ()  # over what `environment` gives
    read: tuple[str, ...] = ()  # host paths shown at their place; missing ones are not
    write: tuple[str, ...] = ()  # the same, writable
    file_limit: int = 10_240  # largest file that may be written, in MiB
    memory: int = 0  # that all of it may use at once, in MiB; 0: as much as there is
    processes: int = 0  # and threads, at once; 0: as many as the machine lets be
    network: tuple[str, ...] = ()  # "host:port" that may be reached, by a proxy
    network_setting: str = "sandbox.network"  # names the setting to who is denied
    doors: tuple[Door, ...] = ()  # of a run that is confined
    mode: str = "required"  # or "off": no confinement at all


def bwrap_args(inside: Confinement, files: Mapping[str, int]) -> list[str]:
    """Return bubblewrap's arguments; ``files`` has a descriptor for each of `etc`.

    They hold the environment, so they are passed by ``--args`` and never on a command
    line, which the process inside could read.
    """
    args = [*FLAGS, "--clearenv"]
    for name, value in environment(inside).items():
        args += ["--setenv", name, value]
    args += _system()
    for path, fd in files.items():
        args += ["--perms", "0444", "--file", str(fd), path]
    args += _proc()
    args += ["--dev", "/dev"]
    for path, mode, size in _TMPFS:
        args += ["--perms", mode, "--size", str(size), "--tmpfs", path]
    args += ["--remount-ro", "/dev"]
    if all(bind.dest != HOME for bind in inside.binds):
        args += ["--perms", "0700", "--size", str(_HOME_SIZE), "--tmpfs", HOME]
    for path in visible_prefixes():
        args += ["--ro-bind", path, path]
    for path in inside.read:
        args += ["--ro-bind-try", _expand(path), _expand(path)]
    for path in inside.write:
        args += ["--bind-try", _expand(path), _expand(path)]
    for bind in inside.binds:
        args += _bind(bind)
    return [*args, "--remount-ro", "/", "--chdir", inside.cwd]


def environment(inside: Confinement) -> dict[str, str]:
    """Return the whole environment of the process; nothing is inherited but PATH.

    Of PATH those entries stay that can be seen inside, before the standard ones.
    """
    off = inside.mode == "off"
    values = {
        "HOME": str(Path.home()) if off else HOME,
        "LANG": "C.UTF-8",
        "LOGNAME": "worker",
        "PATH": _path(inside),
        "SHELL": "/bin/sh",
        "TERM": "dumb",
        "USER": "worker",
    }
    return values | dict(inside.env)


def etc() -> dict[str, bytes]:
    """Return the files made for the confined process, by their path inside."""
    found = dict(_ACCOUNTS)
    for name in _ETC_COPIED:
        with suppress(OSError), Path("/etc", name).open("rb") as file:
            found[f"/etc/{name}"] = file.read(_COPY_LIMIT)
    return found


@cache
def visible_prefixes() -> tuple[str, ...]:
    """Return the folders gitagent itself runs from, beyond the system's own."""
    package = str(Path(__file__).resolve().parents[1])
    found: list[str] = []
    for path in (sys.base_prefix, sys.prefix, package):
        if not _below(path, (*SYSTEM, *found)) and not _below(_home(), (path,)):
            found.append(path)
    return tuple(found)


@cache
def _system() -> tuple[str, ...]:
    args: list[str] = []
    for path in SYSTEM:
        args += ["--ro-bind-try", path, path]
    for entry in sorted(Path("/").iterdir()):
        if entry.name in {"bin", "sbin"} or entry.name.startswith("lib"):
            args += _link_or_folder(entry)
    for name in _ETC_BOUND:
        args += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return tuple(args)


def _link_or_folder(path: Path) -> list[str]:
    if path.is_symlink() and _below(str(path.resolve()), SYSTEM):
        return ["--symlink", str(path.readlink()), str(path)]
    return ["--ro-bind", str(path), str(path)]


@cache
def _proc() -> tuple[str, ...]:
    """Return the mount of /proc, with nothing in it that root may write.

    bubblewrap covers a folder only if the folder itself may be written. /proc/sys may
    not, but root may write its files, and one names a program that the kernel runs.
    """
    args = ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    if os.geteuid() != 0:
        return tuple(args)
    for path in sorted(Path("/proc").iterdir()):
        if path.name.isdigit() or path.name == "sys" or path.is_symlink():
            continue
        if path.is_dir():
            if any(_root_writes(each) for each in path.rglob("*")):
                args += ["--ro-bind", str(path), str(path)]
        elif _root_writes(path) or path.name in _PROC_PRIVATE:
            args += _bind(Bind("", str(path), file=True))
    return tuple(args)


def _root_writes(path: Path) -> bool:
    """Whether a file's owner may write it and others may not."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and mode & 0o202 == 0o200


def _bind(bind: Bind) -> list[str]:
    if bind.source:
        how = "--bind" if bind.writable else "--ro-bind"
        return [how, bind.source, bind.dest]
    if bind.file:
        return ["--ro-bind", "/dev/null", bind.dest]
    return ["--perms", "0555", "--tmpfs", bind.dest, "--remount-ro", bind.dest]


def _path(inside: Confinement) -> str:
    entries = [
        each for each in os.environ.get("PATH", "").split(":") if each[:1] == "/"
    ]
    if inside.mode != "off":
        shown = {
            *(*SYSTEM, "/bin", "/sbin", *visible_prefixes()),
            *map(_expand, (*inside.read, *inside.write)),
            *(bind.dest for bind in inside.binds if bind.source == bind.dest),
        }
        entries = [each for each in entries if _below(each, tuple(shown))]
    return ":".join(dict.fromkeys((*entries, *_STANDARD_PATH)))


def _below(path: str, folders: tuple[str, ...]) -> bool:
    return any(
        path == each or path.startswith(each.rstrip("/") + "/") for each in folders
    )


def _expand(path: str) -> str:
    return os.path.normpath(os.path.expanduser(path))  # noqa: PTH111


def _home() -> str:
    return str(Path.home())
