"""The strict reader of shell texts."""

import pytest

from gitagent.core.script import Simple, Word, parse


def commands(text: str) -> list[list[str]]:
    found = parse(text)

    assert found is not None
    return [[word.text for word in each.words] for each in found if each.words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("git status", [["git", "status"]]),
        ("a && b || c; d | e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a\nb", [["a"], ["b"]]),
        ("a \\\n b", [["a", "b"]]),
        ("echo 'git push; x' \"a b\"", [["echo", "git push; x", "a b"]]),
        ("echo a # git push\nls", [["echo", "a"], ["ls"]]),
        ("echo a#b", [["echo", "a#b"]]),
        ("A=1 B='x y' make", [["make"]]),
        ("if a; then b; else c; fi", [["a"], ["b"], ["c"]]),
        ("for x in 1 2; do b; done", [["b"]]),
        ("(cd x && y)", [["cd", "x"], ["y"]]),
        ("{ a; }", [["a"]]),
        ("! a", [["a"]]),
        ("echo a\\;b", [["echo", "a;b"]]),
    ],
)
def test_simple_commands_are_told_apart(text, expected):
    assert expected == commands(text)


@pytest.mark.parametrize(
    "text",
    [
        "echo $(git push)",
        "echo `git push`",
        'echo "$(git push)"',
        "cat <<END\ngit push\nEND",
        "cat <<< x",
        "diff <(a) <(b)",
        "f() { git push; }",
        ":(){ :|:& };:",
        "case x in a) git push;; esac",
        "[[ -d x ]] && git push",
        "eval git push",
        "echo 'unfinished",
        'echo "unfinished',
        "echo \\",
        "a > > b",
        "a >",
        "echo $'a'",
        "((1))",
    ],
)
def test_what_only_a_shell_can_tell_is_not_understood(text):
    assert None is parse(text)


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("a > b", ["b"]),
        ("a >> b 2> c", ["b", "c"]),
        ("a 2>&1", []),
        ("a >&-", []),
        ("a &> b", ["b"]),
        ("a >& b", ["b"]),
        ("a < b", []),
        ("> b", ["b"]),
        ("a2>b", ["b"]),
    ],
)
def test_the_files_that_output_goes_to_are_told(text, writes):
    (found,) = parse(text) or ()

    assert writes == [word.text for word in found.writes]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a", True),
        ("'$a*'", True),
        (r"\$a", True),
        ('"a*"', True),
        ("$a", False),
        ('"$a"', False),
        ("a*", False),
        ("~/a", False),
        ("{a,b}", False),
    ],
)
def test_a_word_that_the_shell_expands_is_not_plain(text, plain):
    (found,) = parse(f"x {text}") or ()

    assert plain is found.words[1].plain


def test_what_may_not_run_is_not_sure():
    found = parse("a || b; c; if d; then e; fi") or ()

    assert [True, False, True, False, False] == [each.sure for each in found]


def test_a_parenthesis_stands_for_itself():
    assert (
        Simple(after="("),
        Simple((Word("a", True),), after=")"),
    ) == parse("(a)")
