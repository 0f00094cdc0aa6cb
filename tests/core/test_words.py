"""Which terms texts and queries have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.core.words import STOP, stemmed, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("walk_changes", ["walk", "chang", "walkchang"]),
        ("walkChanges WalkChanges", ["walk", "chang", "walkchang"] * 2),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("core/memory.py", ["cor", "memory", "py", "corememorypy"]),
        ("utf-8 UTF8", ["utf", "8", "utf8", "utf8"]),
        ("sha256", ["sha256"]),
        ("__init__", ["init"]),
        ("std::vector", ["std", "vector", "stdvector"]),
        ("What is the use of it?", []),
        ("façade FAÇADE Straße", ["facad", "facad", "strass"]),
        ("索引の鍵", ["索引", "引の", "の鍵"]),
        ("鍵", ["鍵"]),
        ("x" * 65, []),
        ("\ud800\0\x1b[K", ["k"]),
    ],
)
def test_a_name_is_known_whole_and_by_its_parts(text, expected):
    assert expected == terms(text)


@pytest.mark.parametrize(
    "words",
    [
        "lock locks locked locking",
        "cache caches cached caching",
        "retry retries",
        "run runs running",
        "pass passes passing passed",
        "index indexes indexed",
        "deletion deletions delete deleted",
        "validation validate validating",
        "safely safe",
        "merge merged merging",
    ],
)
def test_forms_of_one_word_are_one_term(words):
    assert 1 == len({stemmed(word) for word in words.split()})


@pytest.mark.parametrize(
    "words", ["general generate", "status state", "king kite", "bus bush", "this thing"]
)
def test_different_words_stay_apart(words):
    one, other = words.split()

    assert stemmed(one) != stemmed(other)


@given(st.text())
def test_terms_are_of_letters_and_digits_alone(text):
    assert all(term.isalnum() and len(term) <= 64 for term in terms(text))


@given(st.sampled_from(["Ärger", "naïve", "LOCK", "日本"]), st.sampled_from("lu"))
def test_capitals_make_no_difference_to_a_word(word, case):
    assert terms(word) == terms(word.lower() if case == "l" else word.upper())


def test_what_is_everywhere_is_no_term():
    assert STOP.isdisjoint(terms(" ".join(STOP)))
