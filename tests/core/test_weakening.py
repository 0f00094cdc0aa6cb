"""Signs that the tests judge less than before."""

import time

import pytest

from gitagent.core.candidate import Change, PathChange
from gitagent.core.testmarks import is_configuration, is_test, read
from gitagent.core.weakening import deleted_tests, weakened

FILE = 0o100644

ONE = "def test_one():\n    assert one() == 1\n"
TWO = "def test_two():\n    assert two() == 2\n    assert two() > 1\n"


def signs(*edits: tuple[str, str | None, str | None]) -> dict[str, str]:
    """Return what is said of files, given as (path, text before, text after)."""
    texts: dict[str, str] = {}
    changes = []
    for path, before, after in edits:
        old, new = (f"{hash(t):x}" if t is not None else "" for t in (before, after))
        texts |= {old: before or "", new: after or ""}
        kind = Change.MODIFIED if old and new else Change.DELETED if old else None
        kind = kind or Change.ADDED
        modes = (FILE if old else 0, FILE if new else 0)
        changes.append(PathChange(path, kind, *modes, old, new))
    return dict(weakened(changes, texts.__getitem__))


@pytest.mark.parametrize(
    "path",
    [
        "tests/unit/helpers.py",
        "src/test_parse.py",
        "conftest.py",
        "pkg/parse_test.go",
        "web/app.test.tsx",
        "src/ParserTest.java",
        "spec/models/user_spec.rb",
    ],
)
def test_a_test_is_known_by_its_name_or_folder(path: str):
    assert is_test(path)


@pytest.mark.parametrize("path", ["src/contest.py", "latest.md", "attest/x.py"])
def test_other_files_are_no_tests(path: str):
    assert not is_test(path)


@pytest.mark.parametrize(
    "line",
    [
        "@pytest.mark.skip(reason='later')",
        "    pytest.xfail('x')",
        "@unittest.skipIf(True, '')",
        "    self.skipTest('later')",
        "it.skip('works', () => {})",
        "describe.only('this', () => {})",
        "fdescribe('this')",
        "xit('works')",
        "t.Skip()",
        "#[ignore]",
        "@Disabled",
        "collect_ignore = ['test_x.py']",
        "$this->markTestSkipped();",
    ],
)
def test_marks_of_common_languages_count(line: str):
    assert read(f"x\n{line}\ny\n").skips.total() == 1


@pytest.mark.parametrize(
    "line", ["# pytest.mark.skip would do", "// it.skip", "skip(x)", "exit('only')"]
)
def test_what_only_reads_like_a_mark_does_not_count(line: str):
    assert read(line).skips.total() == 0


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("async def test_a(self):", "test_a"),
        ("func TestA(t *testing.T) {", "TestA"),
        ("#[tokio::test]\nasync fn works() {", "works"),
        ("@Test\npublic void works() {", "works"),
        ("it('works', () => {", "'works'"),
        ('test.each(x)("adds", f)', ""),
        ("public function testA()", "testA"),
    ],
)
def test_tests_of_common_languages_are_known_by_name(text: str, name: str):
    assert list(read(text).tests) == ([name] if name else [])


def test_deleted_tests_and_added_skips_are_named_and_removed_skips_are_not():
    skipped = f"@pytest.mark.skip\n{ONE}"
    found = signs(
        ("tests/a.py", TWO, None),
        ("tests/b.py", ONE, skipped),
        ("tests/c.py", f"@pytest.mark.skip('c')\n{ONE}", ONE),
        ("tests/d.py", None, skipped),
        ("src/e.py", ONE, None),
    )

    assert found == {
        "tests/a.py": "deleted",
        "tests/b.py": "1 more skip",
        "tests/d.py": "1 more skip",
    }


def test_fewer_tests_and_assertions_are_counted_and_comments_are_not():
    found = signs(
        ("tests/a.py", ONE + TWO, ONE),
        ("tests/b.py", TWO, "def test_two():\n    # assert two() == 2\n    pass\n"),
        ("tests/c.py", ONE, ONE.replace("== 1", "== 2")),
    )

    assert found == {
        "tests/a.py": "1 test fewer, 2 assertions fewer",
        "tests/b.py": "2 assertions fewer",
    }


def test_a_test_that_moves_is_no_sign():
    assert {} == signs(("tests/a.py", ONE, None), ("tests/b/test_a.py", None, ONE))
    assert {} == signs(("tests/a.py", ONE, None), ("tests/b.py", TWO, TWO + ONE))
    assert {} == signs(
        ("tests/a.py", ONE + TWO, ONE), ("tests/b.py", None, f"import x\n{TWO}")
    )
    assert {} == signs(
        ("tests/a.py", f"@pytest.mark.skip('slow')\n{ONE}", None),
        ("tests/b.py", None, f"import x\n@pytest.mark.skip('slow')\n{ONE}"),
    )


def test_a_test_that_moves_and_loses_something_is_a_sign():
    gutted = "def test_two():\n    pass\n"

    assert signs(("tests/a.py", TWO, None), ("tests/b.py", None, gutted)) == {
        "tests/a.py": "2 assertions fewer"
    }
    assert signs(("tests/a.py", ONE + TWO, None), ("tests/b.py", None, ONE)) == {
        "tests/a.py": "deleted"
    }


@pytest.mark.parametrize("to", ["docs/a_test_once.py", "tests/disabled_a.py"])
def test_a_test_that_moves_where_it_is_none_is_deleted(to: str):
    assert signs(("tests/test_a.py", ONE, None), (to, None, ONE)) == {
        "tests/test_a.py": "deleted"
    }


def test_assertions_that_went_to_a_helper_are_still_there():
    helped = "def test_two():\n    check(two())\n"
    helper = "def check(n):\n    assert two() == 2\n    assert two() > 1\n"

    assert {} == signs(("tests/a.py", TWO, helped), ("tests/helper.py", "", helper))


@pytest.mark.parametrize("folder", ["tests/.old", "tests/build", ".tests/tests"])
def test_a_test_that_moves_where_nobody_looks_is_deleted(folder: str):
    moved = signs(("tests/test_a.py", ONE, None), (f"{folder}/test_a.py", "", ONE))

    assert {"tests/test_a.py": "deleted"} == moved


def test_pages_among_the_tests_judge_nothing():
    assert {} == signs(("tests/README.md", "words", None))
    assert signs(("tests/data/case.txt", "1 2 3", None)) == {
        "tests/data/case.txt": "deleted"
    }


@pytest.mark.parametrize(
    ("path", "before", "after", "said"),
    [
        ("pytest.ini", "timeout = 10", "timeout = 600", "raised from 10 to 600"),
        ("pyproject.toml", "timeout = 10", "x = 1", "timeout of 10 taken away"),
        ("jest.config.js", "testTimeout: 5_000,", "testTimeout: 5 * 60_000", "raised"),
        ("nextest.toml", 'slow-timeout = "90s"', 'slow-timeout = "2m"', "to 120"),
        ("tests/a.py", "@pytest.mark.timeout(5)", "@pytest.mark.timeout(50)", "raised"),
        ("web/a.test.js", "jest.setTimeout(5)", "jest.setTimeout(50)", "raised"),
        ("tox.ini", "pytest", "pytest --deselect tests/a.py::b", "1 more exclusion"),
        ("package.json", '"t": "jest"', '"t": "jest --passWithNoTests"', "exclusion"),
        (
            ".coveragerc",
            "fail_under = 90",
            "fail_under = 50",
            "coverage asked for is 5",
        ),
        ("pyproject.toml", "fail_under = 90", "", "no coverage"),
        (
            "pyproject.toml",
            'testpaths = ["t", "u"]',
            'testpaths = ["t"]',
            "other tests",
        ),
        ("pytest.ini", "[pytest]", "[pytest]\npython_files = none_*.py", "other tests"),
        ("tests/conftest.py", "", "def pytest_sessionfinish(s): ...", "1 more skip"),
        ("conftest.py", "import os", "import os\nos._exit(0)", "1 more skip"),
        ("conftest.py", "", "atexit.register(os._exit, 0)", "1 more skip"),
        ("conftest.py", "", "def pytest_cmdline_main(c): ...", "1 more skip"),
        ("conftest.py", "", 'pytest_plugins = ["mine"]', "1 more skip"),
        ("tests/a.py", "x", "raise SystemExit", "1 more skip"),
        ("pytest.ini", "[pytest]", "[pytest]\naddopts = -k one", "other tests"),
        ("pyproject.toml", "addopts = [\n]", 'addopts = [\n"-kx",\n]', "other tests"),
        ("setup.cfg", "addopts =\n  -q", "addopts =\n  -q\n  -k one", "other tests"),
        (".gitattributes", "", "*.sh working-tree-encoding=UTF-7", "another way"),
        (".gitattributes", "*.sh eol=lf", "*.sh eol=crlf", "another way"),
        ("package.json", ' "test": "a",', ' "test": "a",\n "test": "b"', "another"),
        ("Makefile", "test:\n\tpytest\n", "test:\n\ttrue\n", "another"),
        ("Makefile", "test:\n\tpytest\n", "test:\n\t-pytest\n", "another"),
        ("Makefile", "a check: b\n\tpytest\n", "a: b\n\tpytest\n", "another"),
        ("package.json", ' "test": "jest",', ' "test": "true",', "another"),
    ],
)
def test_looser_configuration_is_named(path: str, before: str, after: str, said: str):
    assert said in signs((path, before, after))[path]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pytest.ini", "timeout = 60", "timeout = 10"),
        ("pyproject.toml", "version = 1", "version = 2"),
        ("pyproject.toml", "", "timeout = 60"),
        ("Makefile", "test:\n\tpytest\n", "test:\n\tpytest\n\truff\n"),
        ("Makefile", "run:\n\ta\n\ntest:\n\tb\n", "run:\n\tc\n\ntest:\n\tb\n"),
        ("Makefile", "latest:\n\ta\n", "latest:\n\tb\n"),
        ("package.json", ' "test": "jest",', ' "test": "jest"\n "x": "y"'),
        ("package.json", ' "react": "1",', ' "react": "2",'),
        ("src/client.py", "timeout = 10", "timeout = 60"),
        (".gitattributes", "*.sh eol=crlf", "*.sh eol=lf"),
        (".gitattributes", "", "* text=auto"),
        ("conftest.py", "", "def pytest_addoption(parser): ..."),
        ("conftest.py", "", "import pytest_asyncio"),
        ("tests/a.py", "", "with pytest.raises(SystemExit): main()"),
        ("tests/a.py", "run(x, timeout=10)", "run(x, timeout=60)"),
        ("tests/a.py", ONE, ONE + TWO),
        ("tests/a.py", ONE, f"{ONE}\n@pytest.mark.timeout(60)\n{TWO}"),
    ],
)
def test_ordinary_work_is_no_sign(path: str, before: str, after: str):
    assert {} == signs((path, before, after))


@pytest.mark.parametrize(
    "piece",
    [
        *("#[test] ", "@Test a ", "timeout ", " ", "\n", "it(", "it('", "a test "),
        *("fail_under ", "1 * 1", "jest.setTimeout( ", '"test ', "x" * 99 + " "),
    ],
)
def test_hostile_text_takes_no_time(piece: str):
    # Were it quadratic, it would take minutes.
    text = f"timeout = 1{piece * (100_000 // len(piece))}"
    begun = time.process_time()
    read(text, configuration=True)

    assert time.process_time() - begun < 3


def test_a_name_far_from_its_value_takes_no_time():
    begun = time.process_time()
    read(f"timeout{' ' * 200_000}x", configuration=True)

    assert time.process_time() - begun < 3


def test_one_copy_stands_for_one_test_that_went():
    gone = [(f"tests/{name}.py", ONE, None) for name in "abc"]
    found = signs(*gone, ("tests/d.py", "", ONE))

    copies = [PathChange(f"tests/{n}", Change.DELETED, FILE, 0, "x", "") for n in "abc"]
    copies.append(PathChange("tests/d", Change.ADDED, 0, FILE, "", "x"))

    assert 2 == len(found)
    assert {"deleted"} == set(found.values())
    assert ("tests/b", "tests/c") == deleted_tests(copies)


def test_thousands_of_tests_that_change_take_no_time():
    changes = [(f"tests/test_{n}.py", ONE, "") for n in range(3000)]
    begun = time.process_time()

    assert 2998 == len(
        signs(*changes, *((f"tests/test_n{n}.py", "", ONE) for n in (1, 2)))
    )
    assert time.process_time() - begun < 10


def test_configuration_is_known_by_name():
    assert is_configuration("sub/pytest.ini")
    assert not is_configuration("docs/pytest.ini.md")


def test_a_test_replaced_by_what_cannot_be_read_has_lost_its_tests():
    assert "1 test fewer" in signs(("tests/a.py", ONE, ""))["tests/a.py"]


def test_deleted_tests_are_told_without_reading_any():
    changes = (
        PathChange("tests/a.py", Change.DELETED, FILE, 0, "a", ""),
        PathChange("tests/b.py", Change.DELETED, FILE, 0, "b", ""),
        PathChange("tests/new/b.py", Change.ADDED, 0, FILE, "", "b"),
        PathChange("src/c.py", Change.DELETED, FILE, 0, "c", ""),
    )

    assert deleted_tests(changes) == ("tests/a.py",)
