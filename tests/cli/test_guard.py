"""The guards of the target: what a push to a hub and a commit in a clone are told."""

import subprocess

import pytest

from gitagent.daemon import guard, hooks
from gitagent.git.packet import PushedRef
from gitagent.git.repository import discover
from gitagent.lander.guard import way_in
from tests.support.cli import call
from tests.support.repos import Repo, settings_text

MAIN = "refs/heads/main"
TASK = {".agent/tasks/fix.md": "# Fix it\n"}


def settings(guarded: str) -> str:
    return settings_text("true", f'[lander]\nguard = "{guarded}"\n')


def hub_at(path, guarded: str, **files: str) -> Repo:
    made = Repo.make(path, {"a": "a"}, bare=True)
    made.commit_at(MAIN, {".agent/config.toml": settings(guarded), **files})
    assert 0 == call(made, "hooks", "install").code
    return made


@pytest.fixture
def hub(tmp_path):
    return hub_at(tmp_path / "hub.git", "refuse")


def run(repo: Repo, *args: str) -> tuple[int, str]:
    done = subprocess.run(
        ["git", *args], cwd=repo.path, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


@pytest.fixture
def clone(hub, tmp_path):
    return hub.clone(tmp_path / "clone")


def local(path, guarded: str) -> Repo:
    made = Repo.make(path, {"a": "a", ".agent/config.toml": settings(guarded)})
    assert 0 == call(made, "hooks", "install").code
    return made


# --- the hub


def test_a_push_to_the_target_is_refused_with_the_mend(hub, clone):
    before = hub.ref(MAIN)
    tip = clone.commit({"b": "b"})
    code, said = run(clone, "push", "origin", "HEAD:main")

    assert 1 == code
    assert "git push <remote> HEAD:refs/for/main" in said
    assert before == hub.ref(MAIN)
    assert 0 != hub.ask("cat-file", "-e", tip)


def test_the_mend_works(clone):
    clone.commit({"b": "b"})
    code, said = run(clone, "push", "origin", "HEAD:refs/for/main")

    assert 0 == code
    assert "submission s-" in said


def test_without_refs_for_the_mend_names_what_there_is(hub, clone):
    hub.git("config", "receive.procReceiveRefs", "refs/pull")
    clone.commit({"b": "b"})
    _, said = run(clone, "push", "origin", "HEAD:main")

    assert "git push <remote> HEAD:refs/heads/land/<name>" in said


def test_commits_that_change_only_tasks_are_a_way_in(hub, clone):
    clone.commit(TASK)
    clone.commit({".agent/tasks/fix.md": None})
    code, said = run(clone, "push", "origin", "HEAD:main")

    assert (0, False) == (code, "gitagent" in said)
    assert clone.head() == hub.ref(MAIN)


@pytest.mark.parametrize("first", [True, False])
def test_one_other_commit_among_them_is_enough(clone, first):
    for files in (TASK, {"b": "b"})[:: -1 if first else 1]:
        clone.commit(files)

    assert 1 == run(clone, "push", "origin", "HEAD:main")[0]


def test_a_change_that_is_taken_back_in_the_same_push_is_still_one(clone):
    clone.commit({"b": "b"})
    clone.commit({"b": None})

    assert 1 == run(clone, "push", "origin", "HEAD:main")[0]


@pytest.mark.parametrize("ref", ["HEAD^:main", ":main"])
def test_rewinding_and_deleting_are_refused(hub, clone, ref):
    hub.git("config", "receive.denyDeleteCurrent", "ignore")
    before = hub.ref(MAIN)

    assert 1 == run(clone, "push", "--force", "origin", ref)[0]
    assert before == hub.ref(MAIN)


def test_history_behind_somebody_elses_is_refused(clone):
    """The target would be second parent: first-parent history is another one then."""
    tree = clone.oid("HEAD^{tree}")
    other = clone.git("commit-tree", tree, "-p", "HEAD^", "-m", "x")
    foxtrot = clone.git("commit-tree", tree, "-p", other, "-p", "HEAD", "-m", "merge")

    assert 1 == run(clone, "push", "origin", f"{foxtrot}:main")[0]


def test_the_settings_of_the_push_do_not_count(clone):
    clone.commit({".agent/config.toml": settings("off")})

    assert 1 == run(clone, "push", "origin", "HEAD:main")[0]


def test_other_branches_are_free(clone):
    clone.commit({"b": "b"})
    code, said = run(clone, "push", "origin", "HEAD:topic", "HEAD:mainly")
    clone.commit({"c": "c"})
    again, _ = run(clone, "push", "origin", "HEAD:topic", ":mainly")

    assert (0, 0) == (code, again)
    assert "gitagent" not in said


def test_a_branch_that_says_it_is_the_target_does_not_become_it(tmp_path):
    hub = Repo.make(tmp_path / "hub.git", {"a": "a"}, bare=True)
    hub.git("update-ref", "refs/heads/agents", MAIN)
    hub.git("symbolic-ref", "HEAD", "refs/heads/agents")
    text = 'target = "agents"\n' + settings("refuse")
    hub.commit_at("refs/heads/agents", {".agent/config.toml": text})
    hub.git("update-ref", "-d", MAIN)
    call(hub, "hooks", "install")
    clone = hub.clone(tmp_path / "clone")
    clone.commit({".agent/config.toml": 'target = "main"\n' + settings("off")})
    code, said = run(clone, "push", "origin", "HEAD:main")

    assert 1 == code
    assert "refs/for/agents" in said
    assert hub.ref(MAIN) is None


def test_with_warn_the_push_goes_through_and_is_told(tmp_path):
    hub = hub_at(tmp_path / "hub.git", "warn")
    clone = hub.clone(tmp_path / "clone")
    tip = clone.commit({"b": "b"})
    code, said = run(clone, "push", "origin", "HEAD:main")

    assert 0 == code
    assert "HEAD:refs/for/main" in said
    assert tip == hub.ref(MAIN)


def test_with_off_nothing_is_said(tmp_path):
    hub = hub_at(tmp_path / "hub.git", "off")
    clone = hub.clone(tmp_path / "clone")
    clone.commit({"b": "b"})
    code, said = run(clone, "push", "origin", "HEAD:main")

    assert (0, False) == (code, "past the lander" in said)


def test_a_hub_without_settings_yet_takes_every_push(tmp_path):
    hub = Repo.make(tmp_path / "hub.git", bare=True)
    call(hub, "hooks", "install")
    first = Repo.make(tmp_path / "first", {"a": "a"})
    code, _ = run(first, "push", str(hub.path), "main")
    first.commit({"b": "b"})
    again, _ = run(first, "push", str(hub.path), "main")

    assert (0, 0) == (code, again)


@pytest.mark.parametrize(("guarded", "code"), [("refuse", 1), ("warn", 0)])
def test_without_gitagent_only_what_is_to_be_refused_is(
    tmp_path, monkeypatch, guarded, code
):
    hub = hub_at(tmp_path / "hub.git", guarded)
    hook = hub.common_dir / "hooks/pre-receive"
    hook.write_text(hook.read_text().replace("\npackage=", "\npackage=/gone #"))
    clone = hub.clone(tmp_path / "clone")
    clone.commit({"b": "b"})
    monkeypatch.setenv("PATH", "/usr/bin:/bin")

    assert code == run(clone, "push", "origin", "HEAD:main")[0]


# --- the clone


def test_a_commit_on_the_target_is_refused_and_nothing_is_lost(tmp_path):
    repo = local(tmp_path / "repo", "refuse")
    before = repo.head()
    repo.write("b", "b")
    repo.git("add", "b")
    code, said = run(repo, "commit", "-m", "Add b")

    assert 0 != code
    assert "gitagent submit" in said
    assert (before, ["A  b"]) == (repo.head(), repo.status())
    assert 0 == run(repo, "switch", "-q", "-c", "work")[0]
    assert 0 == run(repo, "commit", "-q", "-m", "Add b")[0]


@pytest.mark.parametrize(
    "command",
    [
        ("merge", "-q", "--no-ff", "work"),
        ("merge", "-q", "--ff-only", "work"),
        ("reset", "-q", "--hard", "HEAD^"),
        ("commit", "-q", "--amend", "-m", "other"),
        ("update-ref", "refs/heads/main", "work"),
        ("fetch", "-q", "--update-head-ok", ".", "work:main"),
        ("rebase", "-q", "work"),
    ],
)
def test_whatever_else_moves_the_target_is_refused_too(tmp_path, command):
    repo = local(tmp_path / "repo", "warn")
    repo.commit({".agent/config.toml": settings("refuse")})
    repo.commit_at("refs/heads/work", {"b": "b"}, parents=(repo.head(),))
    before = repo.head()
    code, said = run(repo, *command)

    assert 0 != code, said
    assert before == repo.ref(MAIN)
    assert "moved by the lander alone" in said


def test_a_push_into_the_clone_is_told_once(tmp_path):
    repo = local(tmp_path / "repo", "warn")
    repo.git("switch", "-q", "-c", "elsewhere")
    other = repo.clone(tmp_path / "other")
    other.commit({"b": "b"})
    code, said = run(other, "push", "origin", "HEAD:main")

    assert 0 == code
    assert 1 == said.count("past the lander")


def test_with_warn_a_commit_is_made_and_told_and_with_off_it_is_not(tmp_path):
    repo = local(tmp_path / "repo", "warn")
    repo.write("b", "b")
    repo.git("add", "b")
    code, said = run(repo, "commit", "-q", "-m", "Add b")
    repo.commit({".agent/config.toml": settings("off")})
    repo.write("c", "c")
    repo.git("add", "c")
    quiet, nothing = run(repo, "commit", "-q", "-m", "Add c")

    assert (0, 0) == (code, quiet)
    assert "past the lander" in said
    assert "" == nothing


def test_what_moves_no_target_is_not_disturbed(tmp_path):
    repo = local(tmp_path / "repo", "refuse")
    repo.branch("old")
    commands = (
        ("pack-refs", "--all", "--prune"),
        ("gc", "-q"),
        ("worktree", "add", "-q", "-b", "side", str(tmp_path / "side")),
        ("worktree", "add", "-q", "--detach", str(tmp_path / "at"), "main"),
        ("worktree", "remove", str(tmp_path / "side")),
        ("reset", "-q", "--hard"),
        ("branch", "-q", "-D", "old"),
        ("switch", "-q", "-c", "topic"),
        ("commit", "-q", "--allow-empty", "-m", "on a branch"),
        ("switch", "-q", "main"),
        ("stash", "list"),
        ("tag", "v1"),
    )

    assert [(0, "")] * len(commands) == [run(repo, *command) for command in commands]


def test_tasks_are_a_way_in_by_hand_and_by_command(tmp_path):
    repo = local(tmp_path / "repo", "refuse")
    repo.write(".agent/tasks/fix.md", "# Fix it\n")
    repo.git("add", ".agent")
    by_hand = run(repo, "commit", "-q", "-m", "Ask")
    by_command = call(repo, "task", "add", "other", "--title", "Other")

    assert (0, "") == by_hand
    assert 0 == by_command.code
    assert ".agent/tasks/other.md" in repo.paths(MAIN)


def test_a_commit_from_a_linked_worktree_is_judged_too(tmp_path):
    repo = local(tmp_path / "repo", "refuse")
    repo.git("switch", "-q", "-c", "elsewhere")
    linked = repo.worktree(tmp_path / "linked", "main")
    linked.git("switch", "-q", "main")
    where = ("-C", "/", "--git-dir", str(repo.common_dir))
    other = repo.git("commit-tree", "HEAD^{tree}", "-m", "x")

    linked.write("a", "b")

    assert 0 != run(linked, "commit", "-a", "-m", "x")[0]
    assert 0 != run(repo, *where, "update-ref", MAIN, other)[0]


def test_a_hook_that_was_there_runs_first_in_every_state(tmp_path):
    repo = Repo.make(
        tmp_path / "repo", {"a": "a", ".agent/config.toml": settings("warn")}
    )
    seen = tmp_path / "seen"
    repo.hook("reference-transaction", f"#!/bin/sh\necho $1 >> {seen}\ncat >> {seen}\n")
    call(repo, "hooks", "install")
    repo.commit({"b": "b"})
    lines = seen.read_text().splitlines()

    assert {"prepared", "committed"} <= set(lines)
    assert any(line.endswith(MAIN) for line in lines)


def test_a_hook_that_was_there_still_says_no(tmp_path):
    repo = Repo.make(tmp_path / "repo", {"a": "a"})
    repo.hook("reference-transaction", "#!/bin/sh\nexit 1\n")
    call(repo, "hooks", "install")

    assert 0 != run(repo, "branch", "x")[0]


def test_without_gitagent_a_clone_is_not_held_up(tmp_path, monkeypatch):
    repo = local(tmp_path / "repo", "refuse")
    hook = repo.common_dir / "hooks/reference-transaction"
    hook.write_text(hook.read_text().replace("\npackage=", "\npackage=/gone #"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")

    assert 0 == run(repo, "commit", "-q", "--allow-empty", "-m", "x")[0]


def test_a_bare_repository_gets_no_hook_for_commits_made_in_it(hub):
    installed = {path.name for path in (hub.common_dir / "hooks").iterdir()}

    assert "pre-receive" in installed
    assert "reference-transaction" not in installed


# --- the decision


def test_where_there_is_no_target_nothing_is_guarded(repo):
    found = discover(repo.path)
    tip = repo.commit({"b": "b"})

    assert guard.Answer() == guard.moved(found, (PushedRef(tip, tip, MAIN),))


def test_a_move_to_what_is_not_here_is_no_way_in(repo):
    with discover(repo.path).objects() as objects:
        assert not way_in(objects, repo.head(), "1" * 40)


def test_doctor_says_when_the_guard_is_not_held(tmp_path):
    repo = Repo.make(
        tmp_path / "repo", {"a": "a", ".agent/config.toml": settings("refuse")}
    )
    before = call(repo, "doctor").out
    hooks.install(discover(repo.path))
    after = call(repo, "doctor").out

    assert "lander.guard" in before
    assert "lander.guard" not in after
