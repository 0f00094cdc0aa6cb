"""host.seccomp: the daemon's keyrings are not there for what is confined."""

import ctypes
import os
import sys
import threading

import pytest

from gitagent.host import seccomp
from gitagent.host.confinement import Confinement
from gitagent.host.engine import LocalEngine

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
SESSION = -3  # KEY_SPEC_SESSION_KEYRING
JOIN = 1  # KEYCTL_JOIN_SESSION_KEYRING

LOOK = """
import ctypes, sys
libc = ctypes.CDLL(None)
key = libc.syscall({keyctl}, 10, ctypes.c_long(-3), b"user", b"gitagent-test", 0)
print("found" if key > 0 else "nothing")
"""


@pytest.mark.skipif(os.uname().machine not in ARCHITECTURES, reason="other numbers")
def test_a_key_of_the_daemons_session_is_not_found():
    add, _, keyctl = seccomp.CALLS[ARCHITECTURES[os.uname().machine]]
    said: list[bytes] = []

    def run() -> None:
        # A session keyring is a thread's own, so this one goes with the thread.
        libc = ctypes.CDLL(None)
        keyring = ctypes.c_long(SESSION)
        libc.syscall(keyctl, JOIN, None)
        key = libc.syscall(add, b"user", b"gitagent-test", b"secret", 6, keyring)
        done = LocalEngine().run(
            [sys.executable, "-c", LOOK.format(keyctl=keyctl)],
            Confinement(cwd="/"),
            timeout=60,
        )
        said.extend((b"added" if key > 0 else b"not to be had", done.output))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()

    if said[0] != b"added":
        pytest.skip("this machine gives no keyring")
    assert b"nothing\n" == said[1]


def test_the_filter_is_whole_steps():
    assert 0 == len(seccomp.program()) % 8
