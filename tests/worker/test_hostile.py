"""What a worker leaves for the daemon to stumble over when it takes the work."""

import pytest

from gitagent.core.settings import Worker
from gitagent.core.task import Outcome
from gitagent.git.worktree import entries
from tests.support.repos import Repo
from tests.worker.work import Work

# Runs while leftovers are committed, after which nothing of a worker's runs.
FILTER = """
git config filter.x.clean 'sh /workspace/../gitagent/out/trick; cat'
echo 'a filter=x' > .gitattributes; echo 1 > a
"""


def trick(words: str) -> str:
    return f"cat > /gitagent/out/trick <<'END'\n{words}\nEND\n{FILTER}"


def test_alternates_to_elsewhere_are_refused_and_the_work_stays(work, tmp_path):
    secret = Repo.make(tmp_path / "secret", files={"secret": "secret\n"})
    hidden = secret.head()
    end = work.run(
        f"echo 1 > a; git add a; git commit -qm a; d=$(git rev-parse --git-dir);"
        f" echo {secret.path}/.git/objects >> $d/objects/info/alternates;"
        f" echo {hidden} > $d/refs/heads/stolen"
    )

    assert Outcome.FAILED is end.attempt.outcome
    assert "" == end.attempt.tip
    assert None is work.branch
    assert 0 != work.repo.ask("cat-file", "-e", hidden)
    assert (work.folder / "tree/a").exists()
    assert 2 == len(entries(work.opened()))


def test_objects_that_are_linked_to_elsewhere_are_not_read(work, tmp_path):
    secret = Repo.make(tmp_path / "secret", files={"secret": "secret\n"})
    end = work.run(
        "echo 1 > a; d=$(git rev-parse --git-dir); mv $d/objects $d/o;"
        f" ln -s {secret.path}/.git/objects $d/objects"
    )

    assert Outcome.FAILED is end.attempt.outcome
    assert None is work.branch


@pytest.mark.parametrize(
    "words",
    [
        "ln -sf {secret} /gitagent/out/head; chmod a-w /gitagent/out",
        "rm -f /gitagent/out/head; mkfifo /gitagent/out/head",
        "rm -f /gitagent/out/head; mkdir /gitagent/out/head",
        "rm -f /gitagent/out/head /gitagent/out/status; ln -s / /gitagent/out/status",
        "chmod 0 /gitagent/out",
    ],
)
def test_what_the_leftovers_tell_is_read_with_care(work, tmp_path, words):
    secret = tmp_path / "secret"
    secret.write_text(work.repo.head() + "\n")
    end = work.run(trick(words.replace("{secret}", str(secret))))

    assert end.attempt.outcome in {Outcome.OK, Outcome.FAILED}
    assert secret.read_text() == work.repo.head() + "\n"


def test_a_head_that_is_no_commit_is_not_harvested(work):
    end = work.run(
        "b=$(echo x | git hash-object -w --stdin); rm -rf .gitx;"
        ' echo $b > "$(git rev-parse --git-dir)/refs/heads/agent/fix" ||'
        ' { mkdir -p "$(git rev-parse --git-dir)/refs/heads/agent";'
        ' echo $b > "$(git rev-parse --git-dir)/refs/heads/agent/fix"; }'
    )

    assert Outcome.FAILED is end.attempt.outcome
    assert "" == end.attempt.tip
    assert None is work.branch


@pytest.mark.parametrize(
    "place", ["HEAD", "packed-refs", "objects/pack/pack-1.idx", "info/exclude"]
)
def test_a_pipe_in_the_git_directory_keeps_nobody_waiting(work, place):
    pipe = f"/gitagent/git/{place}"
    script = f"echo x > x; git add x; git commit -qm x; rm -f {pipe}; mkfifo {pipe}"
    end = work.run(script)

    outcome = Outcome.FAILED if place == "HEAD" else Outcome.OK
    assert outcome is end.attempt.outcome


def test_a_broken_object_is_not_taken_over(work):
    end = work.run(
        "t=$(git write-tree); printf 'tree %s\\nauthor x <x> 1 +0000\\ncommitter x"
        " <x\\n\\nbad\\n' $t > c; c=$(git hash-object -t commit -w --literally c);"
        " rm c; git update-ref refs/heads/agent/fix $c"
    )

    assert Outcome.FAILED is end.attempt.outcome
    assert "harvested" in end.attempt.reason
    assert None is work.branch
    work.repo.fsck()


def test_a_tree_with_git_inside_is_not_taken_over(work):
    end = work.run(
        "b=$(echo x | git hash-object -w --stdin);"
        " t=$(printf '100644 blob %s\\tconfig\\n' $b | git mktree);"
        " t=$(printf '040000 tree %s\\t.git\\n' $t | git mktree);"
        " git update-ref refs/heads/agent/fix $(git commit-tree -m x -p HEAD $t);"
        " git reset -q --hard 2>/dev/null || git read-tree HEAD || true"
    )

    assert Outcome.FAILED is end.attempt.outcome
    assert None is work.branch


def test_an_embedded_repository_is_refused_with_its_path(work):
    end = work.run(
        "echo 1 > a; git init -q sub; cd sub; echo 2 > b; git add b; git commit -qm b"
    )
    kept = work.repo.ref("refs/gitagent/kept/fix/1/result")

    assert Outcome.FAILED is end.attempt.outcome
    assert "sub" in end.attempt.reason
    assert "" == end.attempt.tip
    assert None is work.branch
    assert "1\n" == work.repo.read("a", kept)
    assert (work.folder / "tree/sub/b").exists()


def test_an_empty_embedded_repository_is_named_and_the_rest_is_kept(work):
    end = work.run("echo 1 > a; git init -q sub; echo 2 > sub/b")

    assert Outcome.FAILED is end.attempt.outcome
    assert "sub" in end.attempt.reason
    assert str(work.folder) in end.attempt.reason
    assert ["README.md", "a"] == work.repo.paths(end.attempt.tip)
    assert (work.folder / "tree/sub/b").exists()


def test_a_submodule_that_the_base_has_is_no_offence(tmp_path):
    repo = Repo.make(tmp_path / "r", files={"a": "a\n"})
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},mod")
    repo.git("commit", "-qm", "submodule")
    work = Work(repo)
    end = work.run("ls -A mod; git status --short; echo 1 > b")

    assert Outcome.OK is end.attempt.outcome, end.attempt.reason
    assert "" == work.log(end)
    assert ["a", "b", "mod"] == repo.paths(end.attempt.tip)


def test_a_history_without_the_base_is_a_result(work):
    end = work.run(
        "git checkout -q --orphan fresh; git commit -qm fresh; git branch -M agent/fix"
    )

    assert Outcome.OK is end.attempt.outcome, end.attempt.reason
    assert ["fresh"] == work.repo.log("%s", "agent/fix")


def test_trailers_and_names_of_others_are_no_offence(work):
    end = work.run(
        "echo 1 > a; git add a; git commit -q --author='Ada <ada@example.org>'"
        " -m 'Say so' -m 'Gitagent-Check: tests passed 1s'"
    )

    assert Outcome.OK is end.attempt.outcome
    assert ["Ada"] == work.repo.log("%an", "main..agent/fix")


def test_folders_inside_each_other_a_thousand_deep_are_cleared_up(work):
    end = work.run("mkdir -p $(printf 'd/%.0s' $(seq 1500)); echo 1 > a")

    assert end.attempt.outcome in {Outcome.OK, Outcome.FAILED}
    assert end.attempt.outcome is Outcome.FAILED or not (work.folder / "tree").exists()


def test_copied_files_do_not_survive_in_earlier_commits(work):
    work.repo.write(".env", "KEY=1\n")
    work.worker = Worker(copy=(".env",))
    end = work.run(
        "git add -f .env; git commit -qm with; git rm -q --cached .env;"
        " git commit -qm without"
    )

    assert Outcome.FAILED is end.attempt.outcome
    assert None is work.branch


def test_a_submodule_setting_that_runs_a_command_is_not_taken_over(work):
    end = work.run(
        "printf '[submodule \"n\"]\\n path = n\\n url = ./n\\n update = !true\\n'"
        " > .gitmodules"
    )

    assert Outcome.FAILED is end.attempt.outcome
    assert None is work.branch
    assert (work.folder / "tree/.gitmodules").exists()
