"""The system calls that are not there for a confined process: those of keyrings.

No namespace holds them off: a process inherits the session keyring of the daemon, with
the tickets and tokens of its user, and may use every other key whose owner it is
outside. Source: keyrings(7), session-keyring(7), seccomp(2).
"""

import errno
import struct
from typing import Final

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K

# Offsets in struct seccomp_data.
_NUMBER = 0
_ARCHITECTURE = 4

_ALLOW = 0x7FFF0000  # SECCOMP_RET_ALLOW
_DENY = 0x00050000 | errno.ENOSYS  # SECCOMP_RET_ERRNO

_X32: Final = 0x40000000  # a bit of the number, for the third kind of calls on x86-64

# add_key, request_key and keyctl by AUDIT_ARCH_*, of linux/audit.h. A machine takes the
# calls of its 32-bit forebear as well.
CALLS: Final = {
    0xC000003E: (248, 249, 250),  # x86-64
    0x40000003: (286, 287, 288),  # i386
    0xC00000B7: (217, 218, 219),  # aarch64
    0x40000028: (309, 310, 311),  # arm
    0xC00000F3: (217, 218, 219),  # riscv64
    0xC0000015: (269, 270, 271),  # ppc64le
    0x80000015: (269, 270, 271),  # ppc64
    0x80000016: (278, 279, 280),  # s390x
}


def program() -> bytes:
    """Return the filter, as bubblewrap's ``--seccomp`` takes it."""
    steps = [_step(_LOAD, _ARCHITECTURE)]
    for architecture, numbers in CALLS.items():
        body = [
            _step(_LOAD, _NUMBER),
            _step(_AND, 0xFFFFFFFF & ~_X32),
            *(_step(_EQUAL, each, 0, 1) + _step(_RETURN, _DENY) for each in numbers),
            _step(_RETURN, _ALLOW),
        ]
        data = b"".join(body)
        steps += [_step(_EQUAL, architecture, 0, len(data) // _SIZE), data]
    steps.append(_step(_RETURN, _ALLOW))
    return b"".join(steps)


_SIZE = struct.calcsize("=HBBI")


def _step(code: int, value: int, true: int = 0, false: int = 0) -> bytes:
    """Return one struct sock_filter: what to do, and how many steps to leave out."""
    return struct.pack("=HBBI", code, true, false, value)
