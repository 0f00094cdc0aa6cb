"""Which hosts a list of ``host:port`` lets a confined process reach.

A name is compared with what is asked for, before anything is looked up; the address
that the name turns out to have is compared afterwards. An address of this machine or
of a private network is reached only if the list names it: else whoever owns a listed
name could point it at the services of this machine, or at a cloud's metadata.

Source: RFC 3986 (authority), RFC 6890 (special addresses), RFC 6052 (NAT64).
"""

import re
from dataclasses import dataclass
from functools import cached_property
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

Address = IPv4Address | IPv6Address
Range = IPv4Network | IPv6Network

MEND = 'write "host:port", such as "api.example.org:443"'
PORTS = "the port is a number from 1 to 65535"

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\Z")
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)\Z")  # so it is meant as an address
_NAME_LENGTH = 253
_LOCALHOST = "localhost"
_NAT64 = ip_network("64:ff9b::/96")
_LOCAL = (ip_network("64:ff9b:1::/48"), ip_network("fec0::/10"))
_FORMER = ip_network("::/96")  # an IPv4 address, as it was once written in IPv6
# Public by its number, and in every virtual machine of Azure the host's own service.
_SERVICES = frozenset({IPv4Address("168.63.129.16")})


def split(text: str) -> tuple[str, int] | None:
    """Return host and port of ``host:port``, or None if it is none.

    A name is in lower case and without the dot at its end; an address is as Python
    writes it, and without brackets.
    """
    name, colon, port = text.rpartition(":")
    number = _port(port)
    host = _host(name)
    return (host, number) if colon and host and number else None


def problem(entry: str) -> str | None:
    """Return how to mend an entry of a list, or None if it is good."""
    name, colon, port = entry.rpartition(":")
    if not colon or not name:
        return MEND
    bare = _bare(name)
    if "/" in bare:
        if _range(bare) is None:
            return "write a range of addresses as 10.1.0.0/16 or [fd00:1::/32]"
    elif name.startswith("*."):
        if not _is_name(name[2:].lower()) or "." not in name[2:]:
            return 'write a wildcard as "*.example.org:443"'
    elif _host(name) is None:
        return MEND
    return None if _port(port) else PORTS


@dataclass(frozen=True)
class AllowList:
    """The hosts of a list, and the setting that holds it."""

    entries: tuple[str, ...]
    setting: str = "sandbox.network"

    def names(self, host: str, port: int) -> bool:
        """Whether the list has what `split` returned, by name or by address."""
        if (host, port) in self._exact:
            return True
        address = _address(host)
        if address is not None:
            return self._has_address(address, port)
        return any(port == each and host.endswith(end) for end, each in self._ends)

    def reaches(self, host: str, port: int, address: Address) -> bool:
        """Whether a listed host may be reached where it turned out to be.

        A public address may, and any other that the list names.
        """
        return is_public(address) or self.lists(host, port, address)

    def lists(self, host: str, port: int, address: Address) -> bool:
        """Whether the list names the address: itself, or as ``localhost``."""
        plain = _plain(address)
        if self._has_address(plain, port):
            return True
        return host == _LOCALHOST and plain.is_loopback

    @staticmethod
    def show(host: str, port: int) -> str:
        """Return ``host:port`` as it is written."""
        return f"{_show(host)}:{port}"

    def denial(self, host: str, port: int) -> str:
        """Return the sentence for a host that is not in the list."""
        return f"{self.show(host, port)} is not in {self.setting}"

    def private(self, host: str, port: int, address: Address) -> str:
        """Return the sentence for a listed host whose address may not be reached."""
        where = _show(str(_plain(address)))
        return (
            f"{self.show(host, port)} is at {where}, an address of this machine or of "
            f"a private network, and {where}:{port} is not in {self.setting}"
        )

    def _has_address(self, address: Address, port: int) -> bool:
        return any(port == each and address in there for there, each in self._ranges)

    @cached_property
    def _exact(self) -> frozenset[tuple[str, int]]:
        return frozenset(found for each in self.entries if (found := split(each)))

    @cached_property
    def _ends(self) -> tuple[tuple[str, int], ...]:
        return tuple(
            (name[1:].lower(), _port(port))
            for name, _, port in (each.rpartition(":") for each in self.entries)
            if name.startswith("*.")
        )

    @cached_property
    def _ranges(self) -> tuple[tuple[Range, int], ...]:
        parts = (each.rpartition(":") for each in self.entries)
        found = ((_range(_bare(name)), _port(port)) for name, _, port in parts)
        return tuple((there, port) for there, port in found if there is not None)


def is_public(address: Address) -> bool:
    """Whether an address is one of the Internet's, wherever it is seen from."""
    plain = _plain(address)
    if not plain.is_global or plain.is_multicast or plain in _SERVICES:
        return False
    if isinstance(plain, IPv6Address):
        if any(plain in each for each in _LOCAL):
            return False
        inner = plain.sixtofour or (plain.teredo or (None, None))[1]
        return inner is None or is_public(inner)
    return True


def _plain(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 one stands for."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        low = int(address) & 0xFFFFFFFF
        if address in _NAT64 or (address in _FORMER and low > 1):
            return IPv4Address(low)
    return address


def _host(name: str) -> str | None:
    bracketed = name.startswith("[") and name.endswith("]")
    bare = _bare(name)
    address = _address(bare)
    if address is not None and bracketed == (":" in bare):
        return str(_plain(address))
    low = bare.lower().removesuffix(".")
    return low if not bracketed and _is_name(low) else None


def _bare(name: str) -> str:
    if name.startswith("[") and name.endswith("]"):
        return name[1:-1]
    return name


def _is_name(low: str) -> bool:
    labels = low.split(".")
    return (
        len(low) <= _NAME_LENGTH
        and all(_LABEL.match(label) for label in labels)
        and not _NUMBER.match(labels[-1])
    )


def _address(text: str) -> Address | None:
    if "%" in text or not text.isascii():
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None


def _range(text: str) -> Range | None:
    if "%" in text:
        return None
    try:
        return ip_network(str(_plain(ip_address(text))) if "/" not in text else text)
    except ValueError:
        return None


def _port(text: str) -> int:
    """Return the number of a port, or 0 if it is none."""
    good = text.isascii() and text.isdigit() and len(text) < 6
    number = int(text) if good else 0
    return number if number < 65536 else 0


def _show(host: str) -> str:
    return f"[{host}]" if ":" in host else host
