"""Waiting for the first of several things."""

import socket

import pytest

from gitagent.host import until
from gitagent.host.cancel import Cancel


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def test_the_first_that_came_true_is_told(pair):
    ours, theirs = pair
    cancel = Cancel()
    watched = [until.set_(cancel), until.readable(ours.fileno())]
    assert -1 == until.first(watched, 0)

    theirs.send(b"x")
    assert 1 == until.first(watched, None)
    cancel.set()
    assert 0 == until.first(watched, None)


def test_one_descriptor_can_be_watched_for_two_things(pair):
    ours, theirs = pair
    watched = [until.gone(ours.fileno()), until.readable(ours.fileno())]
    theirs.send(b"x")
    assert 1 == until.first(watched, None)

    theirs.close()
    assert 0 == until.first(watched, None)


def test_a_peer_that_has_closed_its_side_is_gone(pair):
    ours, theirs = pair
    theirs.shutdown(socket.SHUT_WR)

    assert 0 == until.first([until.gone(ours.fileno())], None)


def test_nothing_to_wait_for_is_a_time_alone():
    assert -1 == until.first([], 0.01)
