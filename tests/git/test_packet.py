"""Packet lines, and what proc-receive hears and says in them."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.errors import UserError
from gitagent.git import packet
from gitagent.git.packet import FLUSH, LIMIT, Push, PushedRef

ZEROS, ONES = "0" * 40, "1" * 40


def pushed(*lines: str, features: str = "", options: tuple[str, ...] = ()) -> BytesIO:
    hello = packet.packet("version=1\0" + features)
    parts = [hello, FLUSH, *map(packet.packet, lines), FLUSH]
    if "push-options" in features:
        parts += [*map(packet.packet, options), FLUSH]
    return BytesIO(b"".join(parts))


def test_a_push_is_heard_with_its_options():
    answer = BytesIO()
    stream = pushed(
        f"{ZEROS} {ONES} refs/for/main",
        features="push-options atomic",
        options=("divergence=a b", "wait"),
    )

    assert Push(
        (PushedRef(ZEROS, ONES, "refs/for/main"),), ("divergence=a b", "wait"), True
    ) == packet.read_push(stream, answer)
    assert b"001aversion=1\0push-options0000" == answer.getvalue()


def test_without_the_feature_no_options_are_waited_for():
    answer = BytesIO()
    stream = pushed(f"{ZEROS} {ONES} refs/for/main", features="")

    assert Push((PushedRef(ZEROS, ONES, "refs/for/main"),)) == packet.read_push(
        stream, answer
    )
    assert b"000dversion=10000" == answer.getvalue()


def test_an_answer_ends_with_a_flush():
    answer = BytesIO()
    packet.write_answer(answer, ["ok refs/for/main", "option refname refs/x"])

    assert b"0015ok refs/for/main\n001aoption refname refs/x\n0000" == answer.getvalue()


def test_a_deletion_is_told():
    assert PushedRef(ONES, ZEROS, "refs/for/main").deleted
    assert not PushedRef(ZEROS, ONES, "refs/for/main").deleted


@pytest.mark.parametrize(
    "data", [b"", b"00", b"zzzz", b"0003", b"0010ab", b"000dversion=2\n0000"]
)
def test_what_is_no_push_is_refused(data):
    with pytest.raises(UserError):
        packet.read_push(BytesIO(data), BytesIO())


@pytest.mark.parametrize("line", ["", "a", "a b"])
def test_a_line_that_names_no_ref_is_refused(line):
    with pytest.raises(UserError):
        packet.pushed_ref(line)


# What Git hands over is bytes, so these are all the texts there can be.
TEXTS = st.binary().map(lambda data: data.decode(errors="surrogateescape"))


@given(st.lists(TEXTS.filter(lambda text: "\n" not in text)))
def test_packets_come_back_as_they_were(lines):
    stream = BytesIO(b"".join(map(packet.packet, lines)) + FLUSH + b"rest")

    assert [line.encode(errors="surrogateescape") for line in lines] == list(
        packet.packets(stream)
    )
    assert b"rest" == stream.read()


def test_a_packet_is_never_longer_than_allowed():
    assert LIMIT == len(packet.packet("x" * 2 * LIMIT))
