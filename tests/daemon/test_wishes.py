"""The options of a push: what they ask for, and which are refused."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.daemon.wishes import OPTIONS, Wishes, read_options
from gitagent.errors import ConfigError


def test_each_option_is_read():
    options = ("divergence=a=b", "topic=x/y", "task=fix", "request-id=r", "wait=2m")

    assert Wishes("a=b", "x/y", "fix", "r", True, 120) == read_options(options)


@pytest.mark.parametrize(
    ("option", "seconds"),
    [("wait", None), ("wait=90", 90), ("wait=90s", 90), ("wait=2h", 7200)],
)
def test_a_wait_has_an_end_if_one_is_given(option, seconds):
    found = read_options((option,))

    assert (True, seconds) == (found.wait, found.patience)


def test_without_options_nothing_is_asked_for():
    assert Wishes() == read_options(())


def test_the_same_twice_is_the_same():
    assert "x" == read_options(("topic=x", "topic=x")).topic


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ("waite", "did you mean wait?"),
        ("ci.skip", "Known are"),
        ("", "Known are"),
        ("divergence", "-o divergence=TEXT"),
        ("divergence= ", "empty"),
        ("task=", "-o task=ID"),
        ("topic", "-o topic=NAME"),
        ("request-id=", "-o request-id=ID"),
        ("wait=", "or wait=SECONDS"),
        ("wait=0", "duration"),
        ("wait=soon", "duration"),
        ("wait=²", "duration"),
        ("wait=-1", "duration"),
        ("wait=99999999999999999999", "duration"),
        ("topic=a b", "topic"),
        ("topic=a..b", "topic"),
        ("topic=.lock", "topic"),
        ("topic=a\nb", "topic"),
        ("topic=a/", "topic"),
        ("topic=\udcff", "topic"),
        (f"topic={'x' * 101}", "at most"),
        ("Divergence=None", "did you mean divergence?"),
    ],
)
def test_what_cannot_be_is_refused_with_the_mend(option, word):
    with pytest.raises(ConfigError) as refused:
        read_options((option,))

    assert word in refused.value.line()
    assert 1 == len(refused.value.line().splitlines())


def test_one_option_with_two_values_is_refused():
    with pytest.raises(ConfigError, match="twice"):
        read_options(("topic=x", "topic=y"))


@given(st.lists(st.text() | st.sampled_from(tuple(OPTIONS)), max_size=3))
def test_whatever_comes_is_read_or_refused(options):
    with suppress(ConfigError):
        read_options(tuple(options))


def test_an_odd_text_is_kept_harmless():
    found = read_options(("divergence=\x1b[31mä\udcff\u202e",)).divergence or ""

    assert "ä" in found
    assert found.isprintable()
    assert found.encode()
