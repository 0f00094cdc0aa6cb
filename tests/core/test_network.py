"""Which hosts a list covers, and at which addresses."""

from ipaddress import ip_address

import pytest

from gitagent.core.network import AllowList, is_public, problem, split

LIST = AllowList(
    (
        "PyPI.org:443",
        "*.Example.com:443",
        "localhost:8080",
        "10.1.2.3:80",
        "10.2.0.0/16:443",
        "[::1]:9000",
        "[fd00:1::/32]:443",
    )
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pypi.org:443", ("pypi.org", 443)),
        ("PyPI.ORG.:443", ("pypi.org", 443)),
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        ("[::1]:80", ("::1", 80)),
        ("[0:0:0::1]:80", ("::1", 80)),
        ("[::ffff:10.0.0.1]:80", ("10.0.0.1", 80)),
        ("a_b.example:1", ("a_b.example", 1)),
        *(
            (text, None)
            for text in (
                "",
                "a.b",
                ":80",
                "a:0",
                "a:65536",
                "a:+80",
                "a: 80",
                "a:８０",  # noqa: RUF001
                "::1:80",
                "[pypi.org]:443",
                "[127.0.0.1]:80",
                "[fe80::1%eth0]:80",
                "2130706433:80",
                "0x7f000001:80",
                "127.1:80",
                "0177.0.0.1:80",
                "127.0.0.0x1:80",
                "user@pypi.org:443",
                "pypi.org/x:443",
                "pypi .org:443",
                "pypi.org\r\n:443",
                "pypi..org:443",
                "-a.org:443",
                "*.example.com:443",
                "pypi.org..:443",
                "é.org:443",
                "a" * 64 + ".org:443",
                "a." * 127 + "org:443",
            )
        ),
    ],
)
def test_a_host_and_port_is_read_strictly(text, found):
    assert found == split(text)


@pytest.mark.parametrize(
    "entry",
    ["a.b:443", "localhost:1", "[::1]:443", "*.a.b:443", "10.0.0.0/8:22", "1.2.3.4:80"],
)
def test_a_good_entry_has_no_problem(entry):
    assert problem(entry) is None


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ("a.b", "host:port"),
        ("443", "host:port"),
        ("https://a.b:443", "range"),
        ("a.b:https", "65535"),
        ("a.b:99999", "65535"),
        ("*:443", "host:port"),
        ("*.com:443", "wildcard"),
        ("a.*.com:443", "host:port"),
        ("10.0.0.1/8:22", "range"),
        ("2130706433:80", "host:port"),
        ("::1:443", "host:port"),
    ],
)
def test_a_bad_entry_is_told_how_to_mend(entry, word):
    assert word in problem(entry)


@pytest.mark.parametrize(
    ("asked", "good"),
    [
        ("pypi.org:443", True),
        ("PYPI.org.:443", True),
        ("pypi.org:80", False),
        ("files.pypi.org:443", False),
        ("xpypi.org:443", False),
        ("a.example.com:443", True),
        ("a.b.EXAMPLE.com:443", True),
        ("example.com:443", False),
        ("aexample.com:443", False),
        ("a.example.com:80", False),
        ("10.1.2.3:80", True),
        ("10.1.2.3:443", False),
        ("10.2.9.9:443", True),
        ("[::ffff:10.2.9.9]:443", True),
        ("10.3.0.1:443", False),
        ("[::1]:9000", True),
        ("[fd00:1:2::3]:443", True),
        ("127.0.0.1:8080", False),
    ],
)
def test_a_list_names_what_is_written_in_it(asked, good):
    assert good is LIST.names(*split(asked))


@pytest.mark.parametrize(
    ("asked", "address", "good"),
    [
        ("pypi.org:443", "151.101.0.223", True),
        ("pypi.org:443", "2a04:4e42::223", True),
        ("pypi.org:443", "127.0.0.1", False),
        ("pypi.org:443", "169.254.169.254", False),
        ("pypi.org:443", "::ffff:169.254.169.254", False),
        ("pypi.org:443", "10.1.2.3", False),
        ("pypi.org:443", "10.2.0.1", True),
        ("localhost:8080", "127.0.0.1", True),
        ("localhost:8080", "::1", True),
        ("localhost:8080", "10.0.0.1", False),
        ("pypi.org:443", "::1", False),
    ],
)
def test_a_private_address_has_to_be_listed_itself(asked, address, good):
    assert good is LIST.reaches(*split(asked), ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        *("0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254"),  # noqa: S104
        *("172.16.0.1", "192.168.1.1", "198.18.0.1", "224.0.0.1", "240.0.0.1"),
        *("255.255.255.255", "168.63.129.16", "::", "::1", "fe80::1", "fc00::1"),
        *("fec0::1", "ff02::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1"),
        *("64:ff9b:1::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:db8::1"),
        "fd00:ec2::254",
    ],
)
def test_what_is_not_of_the_internet_is_not_public(address):
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "2002:101:101::1"])
def test_the_internet_is_public(address):
    assert is_public(ip_address(address))


def test_a_denial_names_host_port_and_setting():
    said = AllowList((), "`network` of check unit").denial("::1", 80)

    assert said == "[::1]:80 is not in `network` of check unit"
    assert "127.0.0.1:80" in LIST.private("a.b", 80, ip_address("::ffff:127.0.0.1"))
