"""What other programs of this kind trip over, and this one has to survive."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from gitagent.core.submission import SubmissionState
from gitagent.core.task import TaskState
from tests.support.cli import call
from tests.support.daemon import Daemon, gitagent, status
from tests.support.repos import Repo, task_text
from tests.support.stepping import CONFIG, Stepped, config, holders, keep, lines, pipe
from tests.support.waiting import wait_for_file

Step = Callable[..., Stepped]
Start = Callable[..., Daemon]

LANDED = SubmissionState.LANDED
HELD = SubmissionState.HELD


# --- what other programs do to refs and objects meanwhile


def test_refs_live_in_packed_refs_and_nested_folders_vanish(step: Step):
    made = step("test -e x.txt")
    pushed = made.push("deep/er/a", {"x.txt": "x\n"})
    made.repo.add_task("t", "echo t > t.txt")

    def pack() -> bool:
        made.repo.git("pack-refs", "--all", "--prune")
        return False

    made.until(pack)

    assert LANDED is made.of(pushed).state
    assert TaskState.LANDED is made.task("t").state
    assert {} == made.repo.refs("refs/heads/land/")
    assert not made.loop.turn()


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_unreferenced_candidates_vanish_and_borrowed_objects_too(
    tmp_path: Path, outside: Path, object_format: str
):
    """A person's `gc --prune=now` during an attempt, a check, and before a landing."""
    wait = f"echo up > {outside}/{{0}}; read x < {outside}/go"
    pipe(outside, "go")
    check = f"{wait.format('check')}; git fsck --connectivity-only && test -e w.txt"
    settings = config(check, sandbox={"write": [str(outside)]})
    repo = keep(tmp_path / "r", {"a": "1\n"}, settings, object_format=object_format)
    script = (
        f"git commit -q --allow-empty -m one; {wait.format('attempt')};"
        "echo w > w.txt; git add w.txt; git commit -q -m two; git fsck"
    )
    repo.add_task("t", script)
    made = Stepped(repo)

    for name in ("attempt", "check"):
        made.until((outside / name).exists)
        repo.git("reflog", "expire", "--expire=now", "--all")
        repo.git("gc", "-q", "--prune=now")
        (outside / "go").write_text("\n")
    made.rest()
    made.close()

    assert TaskState.LANDED is made.task("t").state, made.task("t")
    assert "w\n" == repo.read("w.txt")
    repo.fsck()


# --- where people work


@pytest.mark.slow
def test_linked_worktree_is_the_place_of_use(step: Step, tmp_path: Path, daemon: Start):
    """The watched `.git` is a file and refs are elsewhere."""
    made = step("true")
    made.repo.git("switch", "-q", "--detach")
    place = made.repo.worktree(tmp_path / "place", at="main")
    place.git("switch", "-q", "main")
    running = daemon(place)
    place.add_task("t", "echo t > t.txt")
    running.wait_task("t", "landed")
    told = status(place)

    assert "t\n" == (place.path / "t.txt").read_text()
    assert [] == place.status()
    assert [] == made.repo.status()
    assert not (made.repo.path / "t.txt").exists()
    assert running.pid == told["daemon"]["pid"]


def test_a_rebase_of_the_target_under_way_holds_the_landing(step: Step):
    made = step("true")
    repo = made.repo
    base = repo.head()
    repo.git("switch", "-q", "-c", "other")
    repo.commit({"a.txt": "other\n"})
    repo.git("switch", "-q", "main")
    mine = repo.commit({"a.txt": "mine\n"})
    repo.git("rebase", "-q", "other", ok=(1,))
    made.push("a", {"n.txt": "n\n"}, on=[base])
    made.rest()
    held = made.submissions[0]
    rebasing = repo.git("status", "--porcelain")
    repo.git("rebase", "--abort")
    made.hurry().rest()

    assert HELD is held.state
    assert "rebase" in held.reason.lower()
    assert "UU a.txt" in rebasing
    assert LANDED is made.submissions[0].state
    assert [] == repo.status()
    assert 0 == repo.ask("merge-base", "--is-ancestor", mine, "HEAD")


def test_index_lock_contention_is_waited_for_and_the_lock_stays(step: Step):
    made = step("true")
    lock = made.repo.common_dir / "index.lock"
    lock.write_bytes(b"")
    tip = made.push("a", {"n.txt": "n\n"})
    made.rest()
    held, base = made.of(tip), made.repo.head()
    there = lock.exists()
    lock.unlink()
    made.hurry().rest()

    assert HELD is held.state
    assert "index.lock" in held.reason
    assert there
    assert LANDED is made.of(tip).state
    assert base == made.repo.oid("HEAD^1")
    assert [] == made.repo.status()


def test_the_target_checked_out_twice_is_held_with_both_places(
    step: Step, tmp_path: Path
):
    made = step("true")
    second = tmp_path / "second"
    made.repo.git("worktree", "add", "-q", "-f", str(second), "main")
    tip = made.push("a", {"n.txt": "n\n"})
    made.rest()
    held = made.of(tip)
    made.repo.git("-C", str(second), "switch", "-q", "--detach")
    made.hurry().rest()

    assert HELD is held.state
    assert str(second) in held.reason
    assert str(made.repo.path) in held.reason
    assert LANDED is made.of(tip).state
    assert [] == made.repo.status() == Repo(second).status()


def test_relative_hooks_path_of_husky_runs_nothing_and_stays(step: Step):
    made = step("true")
    repo = made.repo
    names = ("pre-commit", "commit-msg", "post-merge", "post-checkout", "pre-push")
    names = (*names, "reference-transaction", "post-commit", "pre-merge-commit")
    files = {f".husky/_/{name}*": "#!/bin/sh\ntouch hit\nexit 1\n" for name in names}
    task = task_text("echo t > t.txt; git add t.txt; git commit -qm t")
    made.direct(files | {".agent/tasks/t.md": task})
    tip = made.push("a", {"n.txt": "n\n"})
    repo.git("config", "core.hooksPath", ".husky/_")
    before = (repo.common_dir / "config").read_bytes()
    made.rest()

    assert LANDED is made.of(tip).state
    assert TaskState.LANDED is made.task("t").state
    assert not (repo.path / "hit").exists()
    assert before == (repo.common_dir / "config").read_bytes()
    assert [] == repo.status()


def test_sparse_checkout_and_a_filter_of_the_persons_stay_as_they_are(step: Step):
    """A sparse checkout shows nothing as deleted that is only not there."""
    files = {"in/a": "a\n", "out/b": "b\n"}
    made = step("test -e out/b", files=files)
    made.repo.git("sparse-checkout", "set", "in")
    made.direct({".agent/tasks/t.md": task_text("echo t > out/t; test -e out/b")})
    tip = made.push("a", {"out/c": "c\n", "in/c": "c\n"})
    made.rest()

    assert LANDED is made.of(tip).state
    assert TaskState.LANDED is made.task("t").state
    assert not (made.repo.path / "out").exists()
    assert (made.repo.path / "in/c").exists()
    assert [] == made.repo.status()
    assert {"out/b", "out/c", "out/t"} <= set(made.repo.paths())


def test_target_is_force_pushed_while_checks_run(step: Step, outside: Path):
    pipe(outside, "never")
    wait = f"test ! -e second.txt || read x < {outside}/never"
    made = step(f"exec 3>> {outside}/held; git log -1 --format=%P >&3; {wait}")
    first = made.repo.head()
    second = made.direct({"second.txt": "2\n"})
    tip = made.push("a", {"n.txt": "n\n"}, on=[first])
    made.until(lambda: lines(outside / "held"))
    made.repo.git("reset", "-q", "--hard", first)
    made.rest()

    assert LANDED is made.of(tip).state
    assert [second, tip, first, tip] == lines(outside / "held")
    assert [] == holders(outside / "held")
    assert [f"{first} {tip}"] == made.repo.log("%P", "-1")
    assert "second.txt" not in made.repo.paths()


def test_a_target_rewound_past_a_landing_stays_rewound_and_goes_on(step: Step):
    """An outcome is final, whatever is recorded afterwards."""
    made = step("true")
    base = made.repo.head()
    gone = made.push("a", {"a2.txt": "a\n"})
    made.repo.add_task("t", "echo t > t.txt")
    made.rest()
    made.repo.git("reset", "-q", "--hard", base)
    made.restart().rest()
    rewound = made.repo.head()
    told = call(made.repo, "status").out
    tip = made.push("b", {"b2.txt": "b\n"})
    made.rest()

    assert base == rewound
    assert "landed" in told
    assert [LANDED, LANDED] == [made.of(gone).state, made.of(tip).state]
    assert [f"{base} {tip}"] == made.repo.log("%P", "-1")
    assert "a2.txt" not in made.repo.paths()
    assert 0 != call(made.repo, "verify").code


CLONES = {
    "partial": ("--filter=blob:none",),
    "shallow": ("--depth=1",),
    "borrowing": ("--shared",),
    "treeless": ("--filter=tree:0", "--no-checkout"),
}


@pytest.mark.parametrize("kind", CLONES)
def test_a_clone_that_has_not_all_objects_is_worked_in(kind: str, tmp_path: Path):
    """Partial clone that does open: blobs are simply absent."""
    files = {f"d{n}/f{n}.txt": f"{n}\n" for n in range(20)}
    origin = keep(tmp_path / "origin", files, config("test -e t.txt -a -e d3/f3.txt"))
    origin.commit({"d3/f3.txt": "3\n3\n"})
    origin.git("config", "uploadpack.allowFilter", "true")
    where = str(origin.path) if kind == "borrowing" else f"file://{origin.path}"
    origin.git("clone", "-q", *CLONES[kind], where, str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone")
    clone.git("checkout", "-q", "main")
    clone.add_task(
        "t", "cat d5/f5.txt > t.txt; git log --oneline | wc -l; rm d7/f7.txt"
    )
    made = Stepped(clone).rest()
    made.close()

    assert TaskState.LANDED is made.task("t").state, made.task("t")
    assert "5\n" == clone.read("t.txt")
    assert "d7/f7.txt" not in clone.paths()
    assert [] == clone.status()


# --- branches of tasks


def test_a_branch_named_agent_in_the_way_is_named_and_the_work_lands(step: Step):
    made = step("true")
    made.repo.git("branch", "agent")
    made.repo.add_task("t", "echo t > t.txt")
    made.rest()
    (attempt,) = made.task("t").attempts

    assert "refs/heads/agent exists" in attempt.reason
    assert attempt.tip == made.repo.ref("refs/gitagent/kept/t/1/result")
    assert TaskState.LANDED is made.task("t").state
    assert "t\n" == made.repo.read("t.txt")


@pytest.mark.slow
@pytest.mark.parametrize("dirty", [False, True])
def test_branch_already_checked_out_elsewhere(
    step: Step,
    tmp_path: Path,
    outside: Path,
    dirty: bool,  # noqa: FBT001
):
    pipe(outside, "go")
    made = step("true")
    again = "[ -e one.txt ] && echo 2 > two.txt || { echo 1 > one.txt; exit 1; }"
    script = f"echo up >> {outside}/up; read x < {outside}/go; {again}"
    made.repo.add_task("t", script, front="retries = 1")
    made.until((outside / "up").exists)
    (outside / "go").write_text("\n")
    made.until(lambda: len(lines(outside / "up")) == 2)
    person = tmp_path / "person"
    made.repo.git("worktree", "add", "-q", str(person), "agent/t")
    if dirty:
        (person / "two.txt").write_text("my own\n")
    (outside / "go").write_text("\n")
    made.rest()

    assert TaskState.LANDED is made.task("t").state
    assert "2\n" == made.repo.read("two.txt")
    assert ("my own\n" if dirty else "2\n") == (person / "two.txt").read_text()
    if not dirty:
        assert [] == Repo(person).status()
        assert made.task("t").tip == made.repo.oid("refs/heads/agent/t")


# --- files and names


def test_names_and_titles_beyond_ascii_go_all_the_way(step: Step):
    made = step("test -e 'gr\u00fc\u00dfe/\u65e5\u672c \u8a9e.txt'")
    name = "gr\u00fc\u00dfe/\u65e5\u672c \u8a9e.txt"
    script = f"mkdir -p gr\u00fc\u00dfe; echo \u00e4 > '{name}'"
    odd = "printf 1 > 'tab\there'; printf 1 > \"quo'te\"; printf 1 > -dash"
    made.repo.add_task(
        "t", script, odd, title="Gr\u00fc\u00dfe \U0001f980 \u65e5\u672c\u8a9e"
    )
    made.rest()
    shown = call(made.repo, "status").out

    assert TaskState.LANDED is made.task("t").state, made.task("t")
    assert "\u00e4\n" == made.repo.read("gr\u00fc\u00dfe/\u65e5\u672c \u8a9e.txt")
    assert {"tab\there", "quo'te", "-dash"} <= set(made.repo.paths())
    (note,) = made.notes().values()
    assert "Gr\u00fc\u00dfe \U0001f980 \u65e5\u672c\u8a9e" in note
    assert "gr\u00fc\u00dfe/\u65e5\u672c \u8a9e.txt" in note
    assert "Gr\u00fc\u00dfe" in shown
    assert [] == made.repo.status()


def test_bom_and_crlf_before_the_fence(step: Step):
    made = step("true")
    text = '+++\ntitle = "Two"\npriority = 3\n+++\n# x\n\n```sh\necho a > crlf.txt\n'
    text += "if true; then\n  echo b >> crlf.txt\nfi\n```\n"
    windows = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    made.repo.commit({".agent/tasks/win.md": windows})
    made.rest()

    assert TaskState.LANDED is made.task("win").state, made.task("win")
    assert "Two" == made.task("win").title
    assert "a\nb\n" == made.repo.read("crlf.txt")
    assert windows == made.repo.raw("cat-file", "blob", "HEAD:.agent/tasks/done/win.md")


def test_symlink_escapes_and_other_things_in_the_task_folder_are_refused(
    step: Step, tmp_path: Path
):
    made = step("true")
    (tmp_path / "secret.md").write_text(task_text("echo x > stolen.txt"))
    made.direct(
        {
            ".agent/tasks/link.md@": str(tmp_path / "secret.md"),
            ".agent/tasks/run.md*": task_text("echo x > run.txt"),
            ".agent/tasks/x.md/y.md": task_text("echo x > y.txt"),
            ".agent/tasks/note.txt": "hello\n",
            ".agent/tasks/good.md": task_text("echo g > g.txt"),
        }
    )
    made.rest()
    refused = {each["path"]: each["reason"] for each in status(made.repo)["refused"]}

    assert TaskState.LANDED is made.task("good").state
    names = ("link.md", "run.md", "x.md", "note.txt")
    assert {f".agent/tasks/{name}" for name in names} == set(refused)
    assert {"good"} == set(made.loop.snapshot.records)
    paths = made.repo.paths()
    assert not {"stolen.txt", "run.txt", "y.txt"} & set(paths)


RESERVED = ("done", "head", "refs", "s-000000000000")


def test_reserved_names_are_ids_like_any_other_or_refused_in_one_line(step: Step):
    made = step("true", worker={"parallel": 4})
    bad = ("x.lock", "a..b", "HEAD", "-x", "dot.", ".hidden", "a b", "a" * 65)
    files = {
        f".agent/tasks/{name}.md": task_text(f"echo x > {name}.txt")
        for name in (*RESERVED, *bad)
    }
    made.direct(files)
    made.rest()
    refused = {each["path"]: each["reason"] for each in status(made.repo)["refused"]}

    landed = {TaskState.LANDED}
    assert landed == {made.task(name).state for name in RESERVED}
    assert {f"{name}.txt" for name in RESERVED} <= set(made.repo.paths())
    assert {f".agent/tasks/{name}.md" for name in bad} == set(refused)
    assert [] == [reason for reason in refused.values() if "\n" in reason]


def test_hostile_trailers_in_a_workers_commit_prove_nothing(step: Step):
    made = step("true")
    message = (
        "Add\n\nGitagent-Submission: s-000000000000\nGitagent-Record: init\n"
        "Gitagent-Task: other\nGitagent-Check: tests passed 1s\n"
    )
    quoted = message.replace("\n", "\\n")
    script = f"echo x > x.txt; git add x.txt; printf '{quoted}' | git commit -qF -"
    made.repo.add_task("t", script, title="T\u202eitle\u001b[31m")
    made.rest()
    (submission,) = made.submissions

    assert TaskState.LANDED is made.task("t").state
    assert [submission.id] == made.landings()
    trailers = made.repo.trailers()
    assert ("Gitagent-Task", "t") in trailers
    keys = [key for key, _ in trailers if key.startswith("Gitagent-")]
    assert sorted(set(keys)) == sorted(keys)
    assert 0 == call(made.repo, "verify").code
    assert [] == status(made.repo)["target"]["direct"]
    assert not {"\u202e", "\u001b"} & set(made.repo.log("%B", "-1")[0])


def test_submodules_are_covered_and_stay_as_they_are(step: Step, tmp_path: Path):
    """Folders of submodules, which are empty in a new worktree."""
    made = step('test -d sub && test -z "$(ls -A sub)"')
    other = Repo.make(tmp_path / "other", {"f": "f\n"})
    made.repo.git("submodule", "--quiet", "add", str(other.path), "sub")
    made.repo.git("commit", "-qm", "sub")
    link = made.repo.oid("HEAD:sub")
    made.repo.add_task("t", "echo x > x.txt; (echo hit > sub/.git) 2>/dev/null || true")
    made.rest()

    assert TaskState.LANDED is made.task("t").state, made.task("t")
    assert link == made.repo.oid("HEAD:sub")
    assert [] == made.repo.status()
    assert "f\n" == (made.repo.path / "sub/f").read_text()


@pytest.mark.slow
def test_ten_thousand_files(step: Step):
    files = {f"d{n % 100}/e{n % 7}/f{n}": f"{n}\n" for n in range(10_000)}
    made = step("test $(git ls-files | wc -l) -ge 10000", files=files)
    made.repo.add_task("t", "echo x > d1/e1/new; rm d2/e2/f2; git status --porcelain")
    made.rest()

    assert TaskState.LANDED is made.task("t").state, made.task("t")
    paths = set(made.repo.paths())
    assert "d1/e1/new" in paths
    assert "d2/e2/f2" not in paths
    assert [] == made.repo.status()


def test_executable_bits_and_links_of_a_worker_land_as_they_are(step: Step):
    made = step("test -x run.sh && test -L link")
    script = "printf '#!/bin/sh\\n' > run.sh; chmod +x run.sh; ln -s run.sh link"
    made.repo.add_task("t", script)
    made.rest()

    assert TaskState.LANDED is made.task("t").state, made.task("t")
    listed = made.repo.git("ls-tree", "HEAD", "run.sh", "link")
    assert {"100755", "120000"} == {line.split()[0] for line in listed.splitlines()}
    assert (made.repo.path / "run.sh").stat().st_mode & stat.S_IXUSR


@pytest.mark.slow
def test_a_hub_and_a_clone_the_two_ways_of_use(
    tmp_path: Path, daemon: Start, outside: Path
):
    settings = config("test ! -e bad", sandbox={"write": [str(outside)]})
    hub = keep(tmp_path / "hub.git", {"a": "1\n"}, settings, bare=True)
    gitagent(hub, "hooks", "install")
    clone = hub.clone(tmp_path / "clone")
    running = daemon(hub)
    clone.add_task("t", "echo t > t.txt")
    clone.git("push", "-q", "origin", "main")
    running.wait_task("t", "landed")
    clone.git("pull", "-q", "--rebase")
    clone.commit({"mine.txt": "mine\n"})
    said = clone.git("push", "origin", "HEAD:refs/heads/land/mine")
    running.until(
        lambda: "mine.txt" in hub.paths("refs/heads/main"), timeout=30, what="mine"
    )

    assert "t\n" == clone.read("t.txt")
    assert said is not None
    assert hub.ref("refs/heads/land/mine") is None
    hub.fsck()


def test_a_branch_with_an_embedded_bare_repository_is_refused(step: Step):
    made = step("true")
    files = {"x/HEAD": "ref: refs/heads/main\n", "x/objects/a": "", "x/refs/a": ""}
    files |= {"x/config": "[core]\n\tfsmonitor = touch /tmp/hit\n\tbare = true\n"}
    tip = made.push("a", files)
    made.rest()

    assert SubmissionState.REJECTED is made.of(tip).state
    assert "x/" in made.of(tip).reason


@pytest.mark.parametrize("where", ["config", "hook"])
def test_git_run_by_the_daemon_executes_nothing_of_the_repositorys(
    step: Step, tmp_path: Path, where: str
):
    """Merge drivers, filters, fsmonitor and textconv of the configuration."""
    hit = tmp_path / "hit"
    made = step("true", files={".gitattributes": "* merge=m filter=f diff=d\n"})
    if where == "config":
        for key, value in {
            "merge.m.driver": f"touch {hit}; false",
            "core.fsmonitor": f"touch {hit}",
            "diff.d.textconv": f"touch {hit}; cat",
            "diff.external": f"touch {hit}",
            "core.sshCommand": f"touch {hit}",
            "gpg.program": f"touch {hit}",
            "commit.gpgsign": "true",
        }.items():
            made.repo.git("config", key, value)
    else:
        for name in ("reference-transaction", "post-merge", "post-checkout"):
            made.repo.hook(name, f"#!/bin/sh\ntouch {hit}\n")
    base = made.repo.oid("refs/heads/main")
    task = {
        ".agent/tasks/t.md": task_text("echo t > t.txt"),
        "a.txt": "1\ntwo\nthree\n",
    }
    made.repo.commit_at("refs/heads/main", task)
    made.repo.git("-c", "core.hooksPath=/dev/null", "reset", "-q", "--hard")
    hit.unlink(missing_ok=True)
    tip = made.push("a", {"a.txt": "one\ntwo\n3\n"}, on=[base])
    hit.unlink(missing_ok=True)
    made.rest()

    assert LANDED is made.of(tip).state
    assert TaskState.LANDED is made.task("t").state
    assert "1\ntwo\n3\n" == made.repo.read("a.txt")
    assert not hit.exists()


def test_a_direct_commit_that_breaks_the_checks_is_told_and_blames_nobody_else(
    step: Step,
):
    """What is wrong is on the target already."""
    made = step("! test -e bad")
    direct = made.direct({"bad": ""})
    tip = made.push("a", {"n.txt": "n\n"})
    made.rest()

    assert SubmissionState.QUEUED is made.of(tip).state
    assert "target is red" in made.of(tip).reason
    assert [direct] == status(made.repo)["target"]["direct"]


def test_settings_amended_during_an_attempt_hold_for_its_landing(
    step: Step, outside: Path
):
    pipe(outside, "go")
    made = step("true")
    script = f"echo up > {outside}/up; read x < {outside}/go; echo x > x.txt"
    made.repo.add_task("t", script)
    made.until((outside / "up").exists)
    settings = config("! test -e x.txt", sandbox={"write": [str(outside)]})
    made.direct({CONFIG: settings})
    (outside / "go").write_text("\n")
    made.rest()

    assert TaskState.FAILED is made.task("t").state
    assert "failed twice" in made.task("t").reason
    wait_for_file(outside / "up")
