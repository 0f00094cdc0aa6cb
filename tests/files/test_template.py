import re
import subprocess
import sys
from dataclasses import is_dataclass, replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gitagent.core.settings import Check, Provider, Sandbox, Settings
from gitagent.files import schema
from gitagent.files.settings import parse
from gitagent.files.template import (
    ProposedCheck,
    config_toml,
    settings_reference,
    value,
)

ROOT = Path(__file__).resolve().parents[2]
TESTS = Check("tests", "make test", timeout=90, cache=("node_modules",))


def test_the_file_as_it_is_written_sets_the_defaults():
    assert Settings() == parse(config_toml().encode())


def test_what_was_proposed_is_what_is_set():
    text = config_toml(
        target="trunk",
        checks=[
            ProposedCheck(TESTS, ("The Makefile has a target `test`.",)),
            ProposedCheck(Check("lint", "ruff check"), live=False),
        ],
        agents=["claude", "codex"],
        read=["~/.cargo"],
    )

    assert parse(text.encode()) == replace(
        Settings(),
        target="trunk",
        check=(TESTS,),
        sandbox=replace(Sandbox(), read=("~/.cargo",)),
    )
    assert "claude, codex" in text
    assert "# The Makefile has a target `test`.\n[[check]]\n" in text
    assert '# name = "lint"' in text


def test_a_check_that_was_only_proposed_can_be_taken_as_it_is():
    text = config_toml(checks=[ProposedCheck(TESTS, live=False)])
    taken = re.sub(
        r"^# (\[\[check\]\]|\w+ = )",
        r"\1",
        text.split("[model]")[0],
        flags=re.MULTILINE,
    )

    assert parse(text.encode()).check == ()
    assert parse(taken.encode()).check == (TESTS,)


def test_every_setting_has_its_line_and_its_comment():
    text = config_toml(checks=[ProposedCheck(TESTS)])
    plain = [
        key
        for table in tables(Settings)
        for key in schema.keys(table).values()
        if key.doc and key.name != "providers" and not is_dataclass(key.type)
    ]

    assert len(plain) > 40
    assert [] == [key.name for key in plain if f"{key.name} = " not in text]
    assert [] == [key.name for key in plain if f"# {key.doc}" not in text]


def test_every_setting_is_on_the_page():
    page = settings_reference()

    assert [] == [
        key.name
        for table in tables(Settings)
        for key in schema.keys(table).values()
        if f"| `{key.name}` |" not in page
        and not is_dataclass(key.type)
        and key.name not in {"check", "providers"}
    ]


def tables(top):
    """Give the classes of all tables of the settings."""
    inner = [key.type for key in schema.keys(top).values() if is_dataclass(key.type)]
    return [top, *inner, Check, Provider]


def test_words_of_others_stay_comments():
    text = config_toml(
        checks=[ProposedCheck(TESTS, ("a\n[lander]\nallow_unchecked = true",))],
        agents=["x\ntarget = 'evil'"],
    )

    assert parse(text.encode()) == Settings(check=(TESTS,))


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0")))
def test_any_text_can_be_a_value(text):
    run = text if text.strip() and not text.lstrip().startswith("#") else "true"
    check = Check("tests", run)

    assert parse(config_toml(checks=[ProposedCheck(check)]).encode()).check == (check,)


def test_values_are_written_as_people_write_them():
    assert [
        value(each)
        for each in (True, 5.0, 0.25, 'a"b\x7f', (), ("a", "b"), {}, {"a b": {"c": 1}})
    ] == [
        "true",
        "5",
        "0.25",
        '"a\\"b\\u007F"',
        "[]",
        '["a", "b"]',
        "{}",
        '{ "a b" = { c = 1 } }',
    ]


def test_lines_can_be_read_on_a_narrow_page():
    assert max(map(len, config_toml().splitlines())) <= 104


def test_the_page_in_docs_is_the_one_that_the_definitions_make():
    page = (ROOT / "docs" / "settings.md").read_text()

    # To make it anew: python -m gitagent.files.template > docs/settings.md
    assert page == settings_reference()


def test_the_module_prints_the_page():
    done = subprocess.run(
        [sys.executable, "-m", "gitagent.files.template"],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )

    assert done.stdout == settings_reference()
    assert not done.stderr
