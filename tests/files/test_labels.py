"""The labelled set: what it says, and what is wrong with it."""

import pytest

from gitagent.errors import ConfigError
from gitagent.files.labels import K, Labels, Query, parse

ONE = '[[query]]\ntext = "a"\nwanted = ["b"]\n'


def test_a_set_is_read_with_its_gates():
    front = "k = 5\n[gates]\nhit = 1\nmrr = 0.5\n"
    text = f'{front}{ONE}paths = ["*.py"]\nkinds = ["landing"]\n'
    expected = Labels(
        (Query("a", ("b",), ("*.py",), ("landing",)),), {"hit": 1.0, "mrr": 0.5}, 5
    )
    assert expected == parse(text.encode(), "x.toml")


def test_a_query_is_for_items_and_may_want_nothing():
    found = parse(b'[[query]]\ntext = "a"\nwanted = []\n', "x.toml")

    assert Labels((Query("a", ()),), {}, K) == found
    assert ("item",) == found.queries[0].kinds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("=", "x.toml is no TOML: "),
        ("\xff", "x.toml is no TOML: "),
        ("", "x.toml has no [[query]]"),
        ("query = 1", "x.toml has no [[query]]"),
        ("query = [1]", "x.toml, query 1 is no table"),
        ("k = 0\n" + ONE, "x.toml: k is no number from 1 to 100"),
        ("k = true\n" + ONE, "x.toml: k is no number from 1 to 100"),
        ("gate = 1\n" + ONE, 'x.toml: there is no key "gate"; did you mean gates?'),
        ("gates = 1\n" + ONE, "x.toml, [gates] is no table"),
        ("[gates]\nhits = 1\n" + ONE, '"hits"; did you mean hit?'),
        ("[gates]\nhit = 2\n" + ONE, "hit is no number from 0 to 1"),
        ('[gates]\nhit = "1"\n' + ONE, "hit is no number from 0 to 1"),
        ("[[query]]\nwanted = []", "x.toml, query 1 has no text"),
        ('[[query]]\ntext = " "\nwanted = []', "x.toml, query 1 has no text"),
        (ONE + '[[query]]\ntext = "a"', "query 2 does not say what is wanted"),
        ('[[query]]\ntext = "a"\nwanted = "b"', "wanted is no list of strings"),
        (ONE + "paths = [1]", "paths is no list of strings"),
        (ONE + 'kinds = ["note"]', 'there is no kind "note"; one of item, landing'),
    ],
)
def test_what_is_wrong_is_one_line_with_the_place(text, said):
    with pytest.raises(ConfigError) as caught:
        parse(text.encode("latin-1"), "x.toml")

    line = caught.value.line()
    assert said in line
    assert "\n" not in line
