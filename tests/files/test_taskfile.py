import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitagent.core.task import Land, Refusal, TaskFile
from gitagent.files.taskfile import KEYS, parse

BLOB = "b" * 40


def task(text, id="fix-login"):  # noqa: A002
    got = parse(id, BLOB, text.encode(), f".agent/tasks/{id}.md")
    assert isinstance(got, TaskFile), got
    return got


def test_a_file_without_front_matter_is_a_title_and_a_text():
    got = task("# Fix the login\n\nIt is broken.\n\n## How\n")

    assert got == TaskFile(
        id="fix-login",
        blob=BLOB,
        title="Fix the login",
        text="It is broken.\n\n## How\n",
    )


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("Do it.\n", "fix-login", "Do it.\n"),
        ("Do it.\n\n# Why\n\nSo.\n", "Why", "Do it.\n\n# Why\n\nSo.\n"),
        ("Fix it\n======\n\nPlease.", "Fix it", "Please."),
        ("\n\n#  Fix   it #\nPlease.", "Fix it", "Please."),
        ("# Only a title", "Only a title", ""),
        ('+++\ntitle = "A\\n b"\n+++\n# B\ntext', "A b", "# B\ntext"),
        ("+++\n+++\n# B\ntext", "B", "# B\ntext"),
        ('+++\ntitle = "A"\n+++\n', "A", ""),
        ("---\ntitle: A\n---\ntext", "A", "text"),
    ],
)
def test_the_title_is_set_or_the_first_heading_or_the_id(text, title, body):
    got = task(text)

    assert (title, body) == (got.title, got.text)


def test_every_key_is_read():
    got = task(
        """\
+++
title = "Fix the login"
agent = "claude"
kind = "repair"
priority = -3
after = ["schema", "api", "schema"]
paths = ["src/**", "docs/"]
forbidden = ["src/secret/**"]
accept = ["make test", "grep -q x README.md"]
timeout = "90s"
retries = 2
land = "manual"
budget = { usd = 5, tokens = 1000 }
+++
text
"""
    )

    assert got == TaskFile(
        id="fix-login",
        blob=BLOB,
        title="Fix the login",
        text="text\n",
        agent="claude",
        kind="repair",
        priority=-3,
        after=("schema", "api"),
        paths=("src/**", "docs/"),
        forbidden=("src/secret/**",),
        accept=("make test", "grep -q x README.md"),
        timeout=90,
        retries=2,
        land=Land.MANUAL,
        budget=(("tokens", 1000.0), ("usd", 5.0)),
    )


def test_yaml_says_the_same():
    toml = task(
        '+++\nafter = ["a"]\ntimeout = "2h"\nland = "auto"\nretries = 0\n+++\nx'
    )
    yaml = task("---\nafter: [a]\ntimeout: 2h\nland: auto\nretries: 0\n---\nx")

    assert toml == yaml


@pytest.mark.parametrize(
    ("written", "seconds"),
    [('"90s"', 90), ('"20m"', 1200), ('"2h"', 7200), ('"1d"', 86400), ("45", 45)],
)
def test_durations(written, seconds):
    assert seconds == task(f"+++\ntimeout = {written}\n+++\nx").timeout


def test_the_scripts_are_the_shell_blocks_in_order():
    got = task(
        "# Do\r\n\r\n```sh\r\nmake\r\n```\r\n\r\n~~~bash\r\nmake test\r\n~~~\r\n"
    )

    assert ("make\n", "make test\n") == got.scripts


@pytest.mark.parametrize(
    "id", ["Bad", "a..b", "a.lock", "-a", "a" * 65, "ä", "a b", ""]
)
def test_a_file_whose_name_is_no_id_is_refused(id):  # noqa: A002
    got = parse(id, BLOB, b"# x\n", f".agent/tasks/{id}.md")

    assert isinstance(got, Refusal)
    assert "rename" in got.reason


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["..", "/x", "!x", "20m", "auto", "fix-login", "\\", "a/**", "["]
    ),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(KEYS), values, max_size=4))
def test_any_values_make_a_task_or_one_line(front):
    text = f"---\n{json.dumps(front)}\n---\ntext\n"
    got = parse("fix-login", BLOB, text.encode(errors="replace"), "x.md")

    assert isinstance(got, TaskFile) or len(got.reason.splitlines()) == 1
    if isinstance(got, TaskFile):
        assert "fix-login" not in got.after
        assert hash(got)
