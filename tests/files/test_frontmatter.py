import datetime as dt

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitagent.files.frontmatter import Front, split
from gitagent.files.tables import row_of
from gitagent.files.text import Malformed


def front(text):
    data = text if isinstance(text, bytes) else text.encode()
    return split(data, "x.md")


def test_toml_between_plus_signs():
    got = front('+++\ntitle = "Fix"\nafter = ["a"]\n\n[budget]\nusd = 2\n+++\n\n# B\n')

    assert got.kind == "toml"
    assert {"title": "Fix", "after": ["a"], "budget": {"usd": 2}} == got.values
    assert got.body == "\n# B\n"
    assert got.first == 8
    assert got.line_of("after") == 3
    assert got.line_of("budget", "usd") == 6


def test_yaml_between_dashes():
    got = front(
        "---\nname: helper\ntools: Read, Grep\npaths: [a, b]\nx:\n  - 1\n---\nB"
    )

    assert got.kind == "yaml"
    assert {
        "name": "helper",
        "tools": "Read, Grep",
        "paths": ["a", "b"],
        "x": [1],
    } == got.values
    assert got.body == "B"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Title\n\ntext\n",
        "text\n---\nmore\n---\n",
        "Title\n---\n\nkey: value\n",
        "\n\n---\n\na rule is no front matter\n",
        "# Patch\n```diff\n+++\nkey = 1\n+++\n```\n",
        "++ two\n",
        "----\ntext\n",
        "+++ b/file\n"[1:],
    ],
)
def test_a_file_without_front_matter_is_all_body(text):
    assert Front(None, body=text) == front(text)


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf+++\r\npriority = 1\r\n+++\r\nbody\r\n",
        b"+++ \t\r\npriority = 1\n+++\t\nbody\n",
        b"---\r\npriority: 1\r\n---\r\nbody\r\n",
    ],
)
def test_byte_order_mark_crlf_and_spaces_behind_a_fence_do_no_harm(data):
    got = split(data, "x.md")

    assert {"priority": 1} == got.values
    assert got.body == "body\n"


@pytest.mark.parametrize(
    "text", ["+++\n+++\nb", "---\n---\nb", "---\n# nothing\n---\nb"]
)
def test_front_matter_may_be_empty(text):
    got = front(text)

    assert got.kind
    assert {} == got.values
    assert got.body == "b"


def test_a_fence_inside_a_toml_text_that_is_yaml_is_text():
    got = front('+++\ntitle = """\na\n---\nb"""\n+++\n')

    assert {"title": "a\n---\nb"} == got.values


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("+++\npriority = 1\n", 1, 1),
        ("---\npriority: 1\n", 1, 1),
        ("+++\npriority = 1\n---\nbody\n", 3, 1),
        ("---\npriority: 1\n+++\nbody\n", 3, 1),
        ("+++\ntitle = 'a'\ntitle = 'b'\n+++\n", 3, 12),
        ("---\ntitle: a\ntitle: b\n---\n", 3, 1),
        ("+++\n---\na = 1\n+++\n", 2, 4),
        ("+++\ntitle: a\n+++\n", 2, 6),
        ("---\ntitle = 'a'\n---\n", 2, 0),
        ("---\n- a\n---\n", 2, 0),
        ("+++\ntitle = Fix it\n+++\n", 2, 9),
        ("+++\ntitle = 'a\n+++\n", 2, 0),
        ("---\ntitle: a: b\n---\n", 2, 9),
        ("---\na: &x [1]\nb: *x\n---\n", 2, 0),
        ("---\ntools: *\n---\n", 2, 9),
        ("---\na: !!python/object/apply:os.system [x]\n---\n", 2, 4),
        ("---\n1: a\n---\n", 2, 0),
        ("---\na:\n\t- b\n---\n", 3, 1),
        ("---\na: 2026-99-99\n---\n", 0, 0),
        ("+++\nx = " + "[" * 8000 + "\n+++\n", 0, 0),
        ("---\nx: " + "[" * 16000 + "\n---\n", 0, 0),
        ("+++\nx" + ".x" * 8000 + " = 1\n+++\n", 2, 0),
        ("+++\nx = {x" + ".x" * 7000 + " = 1}\n+++\n", 2, 0),
        ("+++\nx = " + "1" * 5000 + "\n+++\n", 0, 0),
        ("---\nx: " + "1" * 5000 + "\n---\n", 0, 0),
        ("---\n" + "- " * 8000 + "\n---\n", 0, 0),
        ("+++\nx = '" + "a" * 17000 + "'\n+++\n", 1, 0),
        ("---\nx: '" + "a" * 17000 + "'\n---\n", 1, 0),
        ("\n+++\npriority = 1\n+++\n", 2, 1),
        ("# Title\n\n+++\npriority = 1\n+++\n", 3, 1),
        ("\n\n---\npriority: 1\n---\n", 3, 1),
        (" +++\npriority = 1\n+++\n", 1, 1),
        ("++++\npriority = 1\n++++\n", 1, 1),
        ("+++ toml\npriority = 1\n+++\n", 1, 1),
        ("--- title: a\n---\n", 1, 1),
        (b"# T\n\nab\xffc", 3, 3),
        (b"# T\n\nab\x00c", 3, 3),
        (b"\xff\xfe#\x00", 1, 1),
        (b"a" * (256 * 1024 + 1), 0, 0),
    ],
)
def test_what_cannot_be_read_is_one_line_with_its_place_and_mend(text, line, column):
    with pytest.raises(Malformed) as caught:
        front(text)
    error = caught.value

    assert (line, column) == (error.line, error.column), str(error)
    assert len(str(error).splitlines()) == 1
    assert str(error).startswith(f"x.md:{line}" if line else "x.md: ")
    assert str(error).endswith(f"; {error.mend}")
    assert len(str(error)) < 300


@given(st.binary(max_size=300))
@example(b"---\n? [a]\n: b\n---\n")
@example(b"---\na: !!bool x\n---\n")
@example(b"---\na: !!int x\n---\n")
@example(b"---\n%YAML 9.9\n---\n")
def test_any_bytes_are_split_or_malformed(data):
    try:
        said = str(split(data, "x.md").kind)
    except Malformed as error:
        said = str(error)

    assert len(said.splitlines()) == 1


_fence = st.sampled_from(["+++", "---", "```", "", "a = 1", "a: 1", "[a]", "- a", "\t"])


@given(st.lists(_fence | st.text(max_size=12), max_size=8))
def test_any_lines_are_split_or_malformed(rows):
    try:
        got = front("\n".join(rows).encode(errors="replace"))
    except Malformed:
        return
    assert got.kind or {} == got.values


def test_dates_of_yaml_and_toml_are_values():
    toml = front("+++\nx = 2026-11-30\n+++\n")
    yaml = front("---\nx: 2026-11-30\n---\n")

    assert {"x": dt.date(2026, 11, 30)} == toml.values == yaml.values


@pytest.mark.parametrize(
    ("path", "row"),
    [
        (("target",), 1),
        (("lander", "mode"), 3),
        (("lander", "none"), 2),
        (("check", 0, "name"), 5),
        (("check", 1, "name"), 8),
        (("check", 1), 7),
        (("check", 2, "name"), 0),
        (("budget", "task", "usd"), 10),
        (("model", "providers", "x", "kind"), 12),
    ],
)
def test_the_line_of_a_key(path, row):
    text = (
        'target = "main"\n[lander]  # how\nmode = "x"\n[[check]]\nname = "a"\n\n'
        '[[check]]\nname = "b"\n[budget]\ntask = { usd = 5 }\n'
        '[model.providers."x"]\nkind="y"\n'
    )

    assert row == row_of(text, path)
