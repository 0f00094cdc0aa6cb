"""Signs that the tests judge less than before."""

import pytest

from gitagent.core.candidate import Change, PathChange
from gitagent.core.weakening import is_test, skips, weakened


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
        "it.skip('works', () => {})",
        "xit('works')",
        "t.Skip()",
        "#[ignore]",
        "@Disabled",
    ],
)
def test_marks_of_common_languages_count(line: str):
    assert skips(f"x\n{line}\ny\n") == 1


def test_deleted_tests_and_added_skips_are_named_and_removed_skips_are_not():
    blobs = {"none": "def test(): ...", "one": "@pytest.mark.skip\ndef test(): ..."}
    changes = (
        PathChange("tests/a.py", Change.DELETED, 0o100644, 0, "none", ""),
        PathChange("tests/b.py", Change.MODIFIED, 0o100644, 0o100644, "none", "one"),
        PathChange("tests/c.py", Change.MODIFIED, 0o100644, 0o100644, "one", "none"),
        PathChange("tests/d.py", Change.ADDED, 0, 0o100644, "", "one"),
        PathChange("src/e.py", Change.DELETED, 0o100644, 0, "none", ""),
    )

    found = list(weakened(changes, blobs.__getitem__))

    assert found == [
        ("tests/a.py", "deleted"),
        ("tests/b.py", "1 more skip"),
        ("tests/d.py", "1 more skip"),
    ]
