"""A request to the proxy is read in one way or not at all, however it arrives."""

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.host.request import LINE, BadRequestError, Body, answer, parse


def test_what_the_server_gets_is_made_anew():
    request = parse(
        b"POST http://A.org:8080/x?y HTTP/1.1\r\nhost: b.org\r\nCookie: c\r\n"
        b"Proxy-Authorization: secret\r\nConnection: x-hop, keep-alive\r\nX-Hop: 1\r\n"
        b"Content-Length: 3\r\n\r\n"
    )

    assert ("a.org", 8080, 3) == (request.host, request.port, request.length)
    assert request.head == (
        b"POST /x?y HTTP/1.1\r\nHost: a.org:8080\r\nCookie: c\r\nContent-Length: 3\r\n"
        b"Connection: close\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("address", "host", "port", "path"),
    [
        ("http://a.org", "a.org", 80, "/"),
        ("http://a.org:", "a.org", 80, "/"),
        ("HTTP://a.org?q", "a.org", 80, "/?q"),
        ("http://[::1]/", "::1", 80, "/"),
        ("http://[::1]:8080/", "::1", 8080, "/"),
    ],
)
def test_an_address_without_a_port_means_port_80(address, host, port, path):
    request = parse(f"GET {address} HTTP/1.1\r\n\r\n".encode())

    assert (host, port) == (request.host, request.port)
    assert request.head.startswith(f"GET {path} HTTP/1.1\r\n".encode())


@given(st.binary(max_size=400))
def test_any_bytes_are_a_request_or_a_refusal(data):
    with suppress(BadRequestError):
        assert parse(data + b"\r\n\r\n").host


@given(
    st.lists(
        st.sampled_from(
            (
                *("Host: a", "Content-Length: 3", "Content-Length: 03", "A: b"),
                *("Transfer-Encoding: chunked", "Transfer-Encoding: x", " c: d"),
                *("Content-Length : 3", "Content-Length:\t3\t", "Connection: a"),
                "Connection: host",
            )
        ),
        max_size=4,
    )
)
def test_whatever_is_passed_on_has_one_length_and_one_host(fields):
    head = "\r\n".join(["POST http://a.org/ HTTP/1.1", *fields]).encode()
    try:
        sent = parse(head + b"\r\n\r\n").head.lower()
    except BadRequestError:
        return

    assert 1 == sent.count(b"\r\nhost:")
    assert sent.count(b"content-length") + sent.count(b"transfer-encoding") <= 1


def cut(data, places):
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=5),
    st.lists(st.integers(0, 1000), max_size=8),
    st.binary(max_size=60),
)
def test_a_body_in_chunks_ends_where_it_ends_however_it_is_cut(chunks, places, after):
    sent = b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in chunks)
    sent += b"0;x=y\r\nTrailer: z\r\n\r\n"
    body = Body(None)

    assert sent == b"".join(map(body.take, cut(sent + after, places)))
    assert body.over


@given(st.integers(0, 60), st.lists(st.integers(0, 1000), max_size=8))
def test_a_counted_body_ends_where_it_ends(length, places):
    body = Body(length)

    assert b"x" * length == b"".join(map(body.take, cut(b"x" * 60, places)))
    assert body.over


@pytest.mark.parametrize(
    "data",
    [b"\r\n", b"-1\r\n", b"0x1\r\n", b"1\n", b" 1\r\n", b"1" * 16, b"a" * LINE * 2],
)
def test_what_is_no_chunk_is_refused(data):
    with pytest.raises(BadRequestError):
        Body(None).take(data + b"\r\n\r\n")


def test_an_answer_is_one_line():
    assert answer(403, "No", "a:1 is not in x").endswith(
        b"\r\n\r\ngitagent: a:1 is not in x\n"
    )
