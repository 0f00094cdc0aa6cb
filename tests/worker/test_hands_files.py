"""The bodies of the tools for files, Git's views and globs, without a sandbox."""

import os
import re
import subprocess
import time

import pytest

from gitagent.worker.inside import finding, globs, reading, running, views, writing
from gitagent.worker.inside.doing import DONE, FAILED, INTERRUPTED, Doing, Place, Slip


class Ear:
    """Takes what a call prints."""

    def __init__(self):
        self.said = []

    def say(self, _, what):
        self.said.append(what)


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture
def do(tree):
    def do(body, *, confined=True, seconds=20, **given):
        ear = Ear()
        doing = Doing({"id": 1, "seconds": seconds}, Place(tree, confined), ear)
        words, how = body(given, doing)
        return (b"".join(ear.said) + words).decode(), how

    return do


@pytest.fixture
def repo(tree):
    def git(*args):
        subprocess.run(["git", *args], cwd=tree, check=True, capture_output=True)

    git("init", "-q")
    (tree / ".gitignore").write_text("ignored/\n*.log\n")
    for name in ("a.py", "src/b.py", "src/deep/c.py", "ignored/d.py", "e.log"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"# this is {name}\n")
    git("add", "a.py", "src/b.py")
    git("commit", "-qm", "two files")
    return tree


# read


def test_read_numbers_lines_and_says_where_to_go_on(tree, do):
    (tree / "f").write_text("".join(f"line {n}\n" for n in range(1, 11)))

    assert (
        "     3\tline 3\n     4\tline 4\n[lines 3 to 4 of 10; go on with offset 5]\n",
        DONE,
    ) == do(reading.read, path="f", offset=3, limit=2)


def test_read_gives_a_page_that_is_not_cut_again(tree, do):
    (tree / "f").write_text(("x" * 3000 + "\n") * 200)
    text, _ = do(reading.read, path="f")

    assert len(text) < 50 * 1024
    assert re.search(r"\[cut: 3,000 bytes\]", text)
    assert re.search(r"\[lines 1 to \d+ of 200; go on with offset \d+\]\n\Z", text)


def test_read_gives_the_bare_text_to_code(tree, do):
    (tree / "f").write_bytes(b"a\r\nb\rc\n\n")

    assert ("a\r\nb\rc\n\n", DONE) == do(reading.read, path="f", numbers=False)
    assert ("b\rc\n", DONE) == do(
        reading.read, path="f", numbers=False, offset=2, limit=1
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "[f: 10 bytes, a PNG image; not shown]\n"),
        (b"a\0b", "[f: 3 bytes, no text; not shown]\n"),
        (b"", "[the file is empty]\n"),
        (b"no end", "     1\tno end\n"),
        (
            b"\xef\xbb\xbfa\r\nb\r\n",
            (
                "     1\ta\n     2\tb\n[line ends are CRLF; edit keeps them]\n"
                "[it begins with a byte order mark; edit keeps it]\n"
            ),
        ),
        (
            b"caf\xe9\n",
            (
                "     1\tcaf\ufffd\n"
                "[not all of it is UTF-8: \ufffd stands for other bytes]\n"
            ),
        ),
    ],
)
def test_read_tells_what_a_file_is(tree, do, data, said):
    (tree / "f").write_bytes(data)

    assert (said, DONE) == do(reading.read, path="f")


def test_read_lists_a_folder(tree, do):
    (tree / "d").mkdir()
    (tree / "b").write_text("")
    (tree / "l").symlink_to("b")

    assert ("b\nd/\nl -> b\n", DONE) == do(reading.read, path=".")
    assert ("[the folder is empty]\n", DONE) == do(reading.read, path="d")


def test_read_refuses_what_is_not_there_with_what_is(tree, do):
    (tree / "settings.py").write_text("x\n")
    os.mkfifo(tree / "pipe")
    (tree / "loose").symlink_to("nowhere")
    cases = {
        "setings.py": r"does not exist\. There is settings\.py\.",
        "no/x": "Neither does the folder no",
        "pipe": "no regular file",
        "loose": "a link to nowhere",
        "": "is empty",
        "a\0b": "NUL",
    }
    for name, said in cases.items():
        with pytest.raises(Slip, match=said):
            do(reading.read, path=name)
    with pytest.raises(Slip, match="missing"):
        do(reading.read)
    with pytest.raises(Slip, match="whole number"):
        do(reading.read, path="settings.py", offset="two")
    with pytest.raises(Slip, match="1 line only"):
        do(reading.read, path="settings.py", offset=2)


def test_without_a_sandbox_only_the_worktree_is_read(tree, do, tmp_path):
    (tmp_path / "secret").write_text("x")
    (tree / "way").symlink_to(tmp_path)
    for name in ("../secret", str(tmp_path / "secret"), "way/secret"):
        assert do(reading.read, path=name)[1] == DONE
        for body, given in (
            (reading.read, {"path": name}),
            (finding.grep, {"path": name, "pattern": "x"}),
        ):
            with pytest.raises(Slip, match="outside of the worktree"):
                do(body, confined=False, **given)


# write


def test_write_makes_folders_and_keeps_the_mode(tree, do):
    assert ("a/b/run was made: 2 lines, 9 bytes.\n", DONE) == do(
        writing.write, path="a/b/run", content="one\ntwo\r\n"
    )
    path = tree / "a/b/run"
    path.chmod(0o755)
    assert do(writing.write, path=str(path), content="") == (
        f"{path} was replaced: 0 lines, 0 bytes.\n",
        DONE,
    )

    assert (b"", 0o755) == (path.read_bytes(), path.stat().st_mode & 0o777)
    assert [path] == [*path.parent.iterdir()]


def test_write_goes_through_a_link_that_stays_inside(tree, do):
    (tree / "real").write_text("old")
    (tree / "link").symlink_to("real")
    do(writing.write, path="link", content="new")

    assert ("new", True) == ((tree / "real").read_text(), (tree / "link").is_symlink())


@pytest.mark.parametrize(
    "name",
    ["../out", "/etc/x", "way/x", "loose", ".git/config", "sub/.GIT/x", "d", "d/", ""],
)
def test_write_and_edit_refuse_what_is_not_a_file_of_the_worktree(
    tree, do, tmp_path, name
):
    (tree / "d").mkdir()
    (tree / "way").symlink_to(tmp_path)
    (tree / "loose").symlink_to(tmp_path / "new")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(Slip):
        do(writing.write, path=name, content="x")
    with pytest.raises(Slip):
        do(writing.edit, path=name, old="a", new="b")

    assert before == sorted(tmp_path.iterdir())


def test_write_refuses_half_a_character(tree, do):
    with pytest.raises(Slip, match="half a character"):
        do(writing.write, path="f", content="\ud800")

    assert not (tree / "f").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_write_leaves_a_file_that_is_write_protected(tree, do):
    (tree / "f").write_text("old")
    (tree / "f").chmod(0o444)
    with pytest.raises(PermissionError):
        do(writing.write, path="f", content="new")


# edit


@pytest.mark.parametrize(
    ("before", "old", "new", "every", "after"),
    [
        (b"a b c\n", "b", "x", False, b"a x c\n"),
        (b"b b\n", "b", "bb", True, b"bb bb\n"),
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny", False, b"x\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\n", "x\r\n", False, b"x\r\nb\r\n"),
        (b"\xef\xbb\xbfa\n", "a", "x", False, b"\xef\xbb\xbfx\n"),
        (b"\xe9 a \xff\n", "a", "\u00e9", False, b"\xe9 \xc3\xa9 \xff\n"),
        (b"a\nb", "b", "", False, b"a\n"),
    ],
)
def test_edit_changes_what_it_names_and_no_other_byte(
    tree, do, before, old, new, every, after
):
    (tree / "f").write_bytes(before)
    _, how = do(writing.edit, path="f", old=old, new=new, all=every)

    assert (DONE, after) == (how, (tree / "f").read_bytes())


def test_edit_shows_the_lines_around_the_change(tree, do):
    (tree / "f").write_text("".join(f"{n}\n" for n in range(1, 12)))
    text, _ = do(writing.edit, path="f", old="6\n", new="six\nand more\n")

    assert [
        "f was edited:",
        *("     3\t3", "     4\t4", "     5\t5", "     6\tsix", "     7\tand more"),
        *("     8\t7", "     9\t8", "    10\t9"),
    ] == text.splitlines()


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("b", "2 times, in lines 2, 4"),
        ("if x:\n    y", r"same but for white space:\n     5\tif x:\n     6\t\ty"),
        ("return valve", r"most like it:\n     7\treturn value"),
        ("nothing of the kind at all", "Nothing in it is like it"),
        ("", "is empty"),
        ("a", "are the same"),
        ("caf\ufffd", "no UTF-8"),
    ],
)
def test_edit_that_does_not_fit_says_why_and_changes_nothing(tree, do, old, said):
    data = b"a\nb\na2\nb\nif x:\n\ty\nreturn value\ncaf\xe9\n"
    (tree / "f").write_bytes(data)
    with pytest.raises(Slip, match=said):
        do(writing.edit, path="f", old=old, new="a")

    assert data == (tree / "f").read_bytes()


# glob and grep


@pytest.mark.usefixtures("repo")
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**/*.py", ["src/b.py", "src/deep/c.py"]),
        ("**/{b,c}.py", ["src/b.py", "src/deep/c.py"]),
        ("./[ab].py", ["a.py", "src/b.py"]),
        ("/src/?.py", ["src/b.py"]),
        ("**/[!a].py", ["src/b.py", "src/deep/c.py"]),
        ("*r*/*e*/**/*", ["src/deep/c.py"]),
        ("src[!x]b.py", ["[no file matches]"]),
        ("*.log", ["[no file matches]"]),
    ],
)
def test_glob_gives_paths_in_order_without_what_is_ignored(do, pattern, found):
    text, how = do(finding.glob, pattern=pattern)

    assert (found, DONE) == (text.splitlines(), how)


@pytest.mark.parametrize(
    "pattern", ["*" + "a*" * 30 + "b", "**/" * 30 + "*a*a*ab", "**a" * 30 + "b"]
)
def test_a_glob_of_many_stars_takes_no_longer_for_them(pattern):
    matches = re.compile(globs.translate(pattern)).fullmatch
    begun = time.process_time()

    assert not any(map(matches, ("a" * 250, "aa/" * 1000 + "a", "/".join("a" * 900))))
    assert time.process_time() - begun < 5


@pytest.mark.usefixtures("repo")
def test_glob_looks_in_a_folder_also_one_that_is_ignored(do):
    assert ("src/deep/c.py\n", DONE) == do(finding.glob, pattern="*", path="src/deep")
    assert ("ignored/d.py\n", DONE) == do(finding.glob, pattern="*", path="ignored")


def test_glob_works_without_git_and_leaves_deleted_files_out(do, repo):
    (repo / "a.py").unlink()
    assert ("src/b.py\nsrc/deep/c.py\n", DONE) == do(finding.glob, pattern="*.py")
    (repo / ".git").rename(repo.parent / "gone")

    assert "ignored/d.py" in do(finding.glob, pattern="*.py")[0]


def test_glob_gives_a_thousand_at_most(tree, do):
    for n in range(finding.FILES + 5):
        (tree / f"{n:04}").touch()
    lines = do(finding.glob, pattern="*")[0].splitlines()

    assert ("0000", "[5 more files: narrow the pattern]") == (lines[0], lines[-1])


def test_grep_gives_path_line_and_text(repo, do):
    (repo / "x y.txt").write_text("1\nthis 22\r\n" + "this" * 500)
    lines = do(finding.grep, pattern=r"this( is|\s\d+|t)")[0].splitlines()

    assert [
        *("a.py:1:# this is a.py", "src/b.py:1:# this is src/b.py"),
        *("src/deep/c.py:1:# this is src/deep/c.py", "x y.txt:2:this 22"),
        "x y.txt:3:" + "this" * 100 + " [cut]",
    ] == lines


@pytest.mark.usefixtures("repo")
@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"glob": "*.py", "path": "src"}, ["src/b.py", "src/deep/c.py"]),
        ({"glob": "src/*.{py,txt}"}, ["src/b.py"]),
        ({"path": "a.py"}, ["a.py"]),
        ({"path": "ignored"}, ["ignored/d.py"]),
        ({"path": "e.log"}, ["e.log"]),
        ({"limit": 1}, ["a.py", "[the first 1 matches; there are more]"]),
        ({"pattern": "nowhere"}, ["[no match]"]),
    ],
)
def test_grep_looks_where_it_is_told(do, given, found):
    text, how = do(finding.grep, **({"pattern": "this is"} | given))

    assert (found, DONE) == (
        [re.sub(":.*", "", each) for each in text.splitlines()],
        how,
    )


@pytest.mark.usefixtures("repo")
def test_grep_says_what_is_wrong_with_a_pattern(do):
    text, how = do(finding.grep, pattern="(")

    assert FAILED == how
    assert "parenthes" in text


def test_grep_ends_a_pattern_that_takes_for_ever(repo, do):
    (repo / "long").write_text("a" * 5000 + "b\n")
    text, how = do(
        finding.grep, pattern="(*NO_AUTO_POSSESS)(a+)+$", path="long", seconds=1
    )

    assert how in {DONE, FAILED}
    assert "[ended" in text or "backtrack" in text or "limit" in text


def test_braces_are_spelt_out_within_a_bound():
    assert ["a.py", "a.c"] == globs.braces("a.{py,c}")
    with pytest.raises(Slip):
        globs.braces("{a,b}" * 10)
    with pytest.raises(Slip, match="4096"):
        globs.translate("a" * 5000)


# git


@pytest.mark.usefixtures("repo")
@pytest.mark.parametrize(
    "view",
    [
        *("log --output=x", "log --outp=x", "diff --ext-diff", "show --textconv"),
        *("grep -O x", "grep -nO x", "grep --open-files-in-pager x", "grep --op=x y"),
        *("cat-file --filters HEAD:a", "branch -D main --delete", "branch --force x"),
        *("branch --edit-description", "push", "-c a=b log", "--exec-path=x log"),
        *("stash drop", "stash pop", "config a b", "log --remerge-diff", "commit"),
        *("log --diff-merges=remerge", "log --diff-merges=r", "", "git", 'log "'),
        *("log --diff-merges remerge", "branch --no-list new", "branch -D x --no-li"),
    ],
)
def test_git_refuses_what_may_do_more_than_show(do, view):
    with pytest.raises(Slip):
        do(views.git, view=view)


@pytest.mark.parametrize(
    "view",
    [
        *("branch new", "branch -D main", "branch -m other", "branch -f new HEAD"),
        *("tag t", "tag -a t -m x", "tag -d t", "reflog expire --all --expire=now"),
        *("stash list", "status", "log -p -SO", "diff HEAD --text", "show HEAD:a.py"),
        *("rev-parse --verify HEAD", "blame a.py", "grep -n -e O", "ls-files -o"),
    ],
)
def test_git_changes_nothing(repo, do, view):
    subprocess.run(["git", "tag", "kept"], cwd=repo, check=True)
    (repo / "a.py").write_text("changed\n")

    def state():
        return {
            path: path.read_bytes()
            for path in (repo / ".git").rglob("*")
            if path.is_file()
        }

    before = state()
    do(views.git, view=view)

    assert before == state()


def test_git_starts_no_program_that_a_configuration_names(repo, do, tmp_path):
    (repo / ".gitattributes").write_text("*.py diff=mine\n")
    (repo / "a.py").write_text("changed\n")
    trap = f"touch {tmp_path}/trapped; false"
    for name in (
        *("diff.external", "diff.mine.command", "diff.mine.textconv", "core.pager"),
        *("core.fsmonitor", "gpg.program", "alias.status", "pager.log"),
    ):
        subprocess.run(["git", "config", name, trap], cwd=repo, check=True)
    for view in (
        *("status", "diff", "log -p", "show", "blame a.py", "grep this"),
        *("log --format=%G?", "diff --stat HEAD", "stash list", "reflog"),
    ):
        do(views.git, view=view)

    assert not (tmp_path / "trapped").exists()


def test_what_was_written_to_look_like_a_repository_is_none(repo, do):
    subprocess.run(["git", "init", "-q", "--bare", repo / "x"], check=True)
    found = subprocess.run(
        [*views.COMMAND, "rev-parse", "--git-dir"],
        cwd=repo / "x",
        env=views.environment(),
        capture_output=True,
        check=False,
    )

    assert b"" == found.stdout
    assert "x/HEAD\n" == do(finding.glob, path="x", pattern="HEAD")[0]


def test_git_shows_views_of_words_and_of_a_list(repo, do):
    (repo / "a.py").write_text("changed\n")

    assert (" M a.py\n?? .gitignore\n?? src/deep/\n", DONE) == do(
        views.git, view="git status --short"
    )
    assert ("two files\n", DONE) == do(views.git, view=["log", "--format=%s"])
    assert ("[exit code 1, no output]\n", DONE) == do(views.git, view="grep nowhere")
    assert FAILED == do(views.git, view="show nothing")[1]
    with pytest.raises(Slip):
        do(views.git, confined=False, view="diff --no-index /etc/passwd a.py")


# shell and hooks


def test_shell_tells_output_and_exit_code(do):
    assert ("a\nb\n[exit code 3]\n", FAILED) == do(
        running.shell, command="echo a; echo b >&2; exit 3"
    )
    assert ("[no output]\n", DONE) == do(running.shell, command="true")
    assert ("x\n[exit code 1]\n", FAILED) == do(
        running.shell, command="printf x; exit 1"
    )
    assert (
        "[exit code 143: ended by signal 15]\n"
        == do(running.shell, command="kill -TERM $$")[0]
    )
    with pytest.raises(Slip):
        do(running.shell, command="  ")


def test_shell_ends_at_its_limit_which_a_call_can_only_shorten(do):
    text, how = do(running.shell, command="echo a; exec sleep 60", seconds=1)

    assert ("a\n[ended: it ran past its time limit of 1 s]\n", INTERRUPTED) == (
        text,
        how,
    )


def test_a_hook_gets_the_call_and_answers_with_its_exit_code(do):
    call = {"tool": "shell", "given": {"command": "x"}}

    assert ('{"tool": "shell", "given": {"command": "x"}}', DONE) == do(
        running.hook, run="cat", call=call
    )
    assert ("no\n[exit code 2]\n", FAILED) == do(
        running.hook, run="echo no; exit 2", call=call
    )
