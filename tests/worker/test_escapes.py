"""What a worker tries to get out, as the daemon of root and of an ordinary user.

Each script ends by waiting, and while it waits the test looks at the worktree as a
person does: with a plain ``git status``. Whatever a worker makes somebody else run
would write the marker, which lies where the sandbox cannot reach: so it shows a
command that ran outside, be it ours or the person's.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitagent.core.settings import Sandbox
from tests.support.repos import Repo
from tests.support.waiting import wait_for
from tests.worker.work import Work, as_user

pytestmark = pytest.mark.slow

ORDINARY = 61234  # a user id that no account has

# Everything that succeeds and should not is told in the log as GOT. Nothing is tried
# where there is no sandbox at all, and nothing that would harm the machine without one.
_TRY = """\
[ "$HOME" = /home/worker ] && [ "$PWD" = /workspace ] && [ ! -e "$OUTSIDE" ] || {
    echo "GOT no sandbox"
    exit 99
}
got() { echo "GOT $1"; }
evil="$MARKER_COMMAND"
"""
_WAIT = """
cd /workspace && touch ready && until [ -e go ]; do sleep 0.02; done; rm -f go ready
"""


@dataclass(slots=True)
class Ground:
    """A repository with something outside of it, and whose it all is."""

    root: Path
    work: Work
    user: int | None  # None: the one that runs the test

    @property
    def outside(self) -> Path:
        return self.root / "outside"

    @property
    def marker(self) -> Path:
        return self.outside / "marker"

    @property
    def common(self) -> Path:
        return self.work.repo.path / ".git"

    def attempt(self, script: str, **values: object) -> dict[str, object]:
        """Let a worker try ``script``; return how the attempt ended."""
        places = {
            "OUTSIDE": self.outside,
            "MARKER": self.marker,
            "REPO": self.work.repo.path,
            "COMMON": self.common,
            "HOME_OUTSIDE": os.environ["HOME"],
            **values,
        }
        lines = [f"{name}='{value}'" for name, value in places.items()]
        lines.append(f"MARKER_COMMAND='touch {self.marker}'")
        before = self.state()
        text = "\n".join((*lines, _TRY, script, _WAIT))
        child = self.work.start(text, user=self.user)
        tree = self.work.folder / "tree"
        wait_for(
            lambda: (tree / "ready").exists() or child.process.poll() is not None,
            what="the script came to its end",
        )
        self.look(tree)
        if child.process.poll() is None:
            (tree / "go").touch()
        end = child.end()
        self.look(tree)

        assert not self.marker.exists()
        assert before == self.state()
        assert [] == [line for line in self.log(end).split("\n") if "GOT" in line]
        return end

    def look(self, tree: Path) -> None:
        """Look at the worktree as a person does, and at all repositories inside."""
        if tree.is_dir():
            self.git(tree, "status")
            self.git(tree, "diff")

    def log(self, end: dict[str, object]) -> str:
        attempt = end["attempt"]
        assert isinstance(attempt, dict)
        return self.git(self.work.repo.path, "cat-file", "blob", attempt["log"])

    def git(self, cwd: Path, *args: str) -> str:
        done = subprocess.run(
            ["git", *args],
            cwd=cwd,
            capture_output=True,
            check=True,
            **as_user(self.user),
        )
        return done.stdout.decode(errors="replace")

    def state(self) -> dict[str, object]:
        """Return all that no worker may change: every file, but what is harvested."""
        harvested = ("objects", "refs", "logs", "worktrees", "gitagent")
        besides = [self.root / "cache", *(self.common / name for name in harvested)]
        files = {
            str(path): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not any(map(path.is_relative_to, besides))
        }
        refs = ("refs/heads/main", "refs/heads/other")
        return {**files, "refs": self.git(self.work.repo.path, "rev-parse", *refs)}


@pytest.fixture(params=["own", "ordinary"])
def ground(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ground]:
    user = ORDINARY if request.param == "ordinary" else None
    if user and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    # pytest's own folders are closed to other users.
    root = Path(tempfile.mkdtemp(prefix="gitagent-escape-"))
    try:
        home = root / "home"
        (home / ".ssh").mkdir(parents=True)
        (home / ".ssh/id").write_text("private key\n")
        shutil.copy(os.environ["GIT_CONFIG_GLOBAL"], home / ".gitconfig")
        (root / "outside").mkdir()
        (root / "outside/secret").write_text("outside secret\n")
        for name, value in {
            "HOME": home,
            "XDG_CACHE_HOME": root / "cache",
            "XDG_CONFIG_HOME": home / ".config",
            "GIT_CONFIG_GLOBAL": home / ".gitconfig",
            "GIT_TEMPLATE_DIR": root / "outside",
            "TOKEN_OF_THE_DAEMON": "environment secret",
        }.items():
            monkeypatch.setenv(name, str(value))
        repo = Repo.make(root / "repo", files={"README.md": "a\n", "d/e/f": "f\n"})
        (repo.path / ".git/hooks").mkdir(exist_ok=True)
        repo.worktree(root / "other", branch="other")
        if user:
            for path in (root, *root.rglob("*")):
                os.chown(path, user, user, follow_symlinks=False)
        work = Work(repo)
        yield Ground(root, work, user)
        work.close()
    finally:
        shutil.rmtree(root, ignore_errors=True)


def test_writing_outside(ground):
    end = ground.attempt(
        """
        for place in "$OUTSIDE" "$COMMON/objects" "$COMMON/hooks" / /dev /etc /usr \\
                /usr/bin /gitagent /gitagent/in /proc/sys/kernel; do
            echo x 2>/dev/null >"$place/evil" && got "$place"
        done
        # In a private /tmp these can be written, and are not those outside.
        mkdir -p "$OUTSIDE" "$COMMON/hooks"; echo x >"$OUTSIDE/evil"
        for place in "$REPO" "$COMMON" "$COMMON/hooks"; do echo x >"$place/evil"; done
        echo x >"$COMMON/HEAD"
        [ -w /proc/sys/kernel/core_pattern ] && got core_pattern
        [ -w /proc/sysrq-trigger ] && got sysrq
        ln "$COMMON/objects"/*/* hard 2>/dev/null && got hardlink
        mknod dev b 8 0 2>/dev/null && got device
        true
        """
    )

    assert "ok" == end["attempt"]["outcome"]


def test_remounting(ground):
    ground.attempt(
        """
        for place in / /usr /etc /gitagent/in "$COMMON/objects" /workspace/.git; do
            mount -o remount,rw,bind "$place" 2>/dev/null && got "remount $place"
        done
        mount -t tmpfs none /mnt 2>/dev/null && got tmpfs
        umount /workspace/.git 2>/dev/null && got umount
        unshare -Ur true 2>/dev/null && got userns
        unshare -m true 2>/dev/null && got mountns
        unshare -Urm mount -o remount,rw,bind / 2>/dev/null && got "remount in userns"
        mount --bind /workspace /usr 2>/dev/null && got bind
        chroot / true 2>/dev/null && got chroot
        true
        """
    )


def test_moving_a_ref(ground):
    end = ground.attempt(
        """
        echo x >x; git add x; git commit -qm x
        git update-ref refs/heads/main HEAD
        git update-ref refs/gitagent/tasks/fix HEAD
        git --git-dir="$COMMON" update-ref refs/heads/main HEAD 2>/dev/null && got ref
        git rev-parse HEAD 2>/dev/null >"$COMMON/refs/heads/main" && got file
        git push -q "$REPO" HEAD:refs/heads/main 2>/dev/null && got push
        git push -q --receive-pack=git-receive-pack "$COMMON" +HEAD:refs/heads/x \\
            2>/dev/null && got push
        true
        """
    )
    refs = ground.git(ground.work.repo.path, "for-each-ref", "--format=%(refname)")

    assert "ok" == end["attempt"]["outcome"]
    assert ["refs/heads/agent/fix", "refs/heads/main", "refs/heads/other"] == (
        refs.split()
    )


def test_hooks(ground):
    end = ground.attempt(
        """
        d=$(git rev-parse --git-dir); mkdir -p "$d/hooks"
        for hook in applypatch-msg commit-msg fsmonitor-watchman post-checkout \\
                post-commit post-index-change post-merge post-update pre-commit \\
                pre-push pre-rebase prepare-commit-msg reference-transaction update; do
            printf '#!/bin/sh\\n%s\\n' "$evil" >"$d/hooks/$hook"
            chmod +x "$d/hooks/$hook"
        done
        echo x >x
        """
    )

    assert "ok" == end["attempt"]["outcome"]


def test_configuration(ground):
    end = ground.attempt(
        """
        for key in core.fsmonitor core.pager core.editor core.sshCommand core.askPass \\
                core.gitProxy core.alternateRefsCommand diff.external \\
                credential.helper filter.x.clean filter.x.smudge filter.x.process \\
                diff.x.textconv merge.x.driver uploadpack.packObjectsHook gpg.program \\
                alias.status sequence.editor remote.origin.uploadpack; do
            git config "$key" "$evil"; git config --global "$key" "$evil"
        done
        git config commit.gpgSign true; git config core.hooksPath /workspace
        git config include.path /workspace/include; git config core.worktree /usr
        git config --file include core.fsmonitor "$evil"
        printf '#!/bin/sh\\n%s\\n' "$evil" >pre-commit; chmod +x pre-commit
        echo '* filter=x diff=x merge=x' >.gitattributes
        mkdir -p info; echo '* filter=x' >info/attributes
        """
    )

    assert end["attempt"]["outcome"] in {"ok", "failed"}


def test_configuration_of_the_worktree(ground):
    ground.attempt(
        """
        d=$(git rev-parse --git-dir)
        git config extensions.worktreeConfig true
        git config --worktree core.fsmonitor "$evil"
        mkdir -p "$d/worktrees/tree"; cp "$d/config.worktree" "$d/worktrees/tree/"
        for place in "$COMMON/worktrees/tree" "$COMMON"; do
            cp "$d/config.worktree" "$place/" 2>/dev/null
        done
        echo x >x
        """
    )


def test_a_rewritten_git_file(ground):
    ground.attempt(
        """
        git init -q ~/own; git -C ~/own config core.fsmonitor "$evil"
        cp -r ~/own/.git own
        rm -rf .git 2>/dev/null && got rm
        mv .git other 2>/dev/null && got mv
        mv own/ .git 2>/dev/null && got "mv over"
        ln -sfn own .git 2>/dev/null && got ln
        echo "gitdir: /workspace/own" 2>/dev/null >.git && got write
        mv /workspace /elsewhere 2>/dev/null && got "mv all"
        mkdir new; mv -T new .git 2>/dev/null && got "mv -T"
        mv -T README.md .git 2>/dev/null && got replace
        true
        """
    )


def test_a_nested_repository_with_a_command(ground):
    end = ground.attempt(
        """
        for place in nested d/e/nested; do
            git init -q $place; echo x >$place/x; git -C $place add x
            git -C $place commit -qm x
            git -C $place config core.fsmonitor "$evil"
            git -C $place config core.worktree ../..
            mkdir -p $place/.git/hooks
            printf '#!/bin/sh\\n%s\\n' "$evil" >$place/.git/hooks/post-index-change
            chmod +x $place/.git/hooks/post-index-change
        done
        git init -q --bare bare; git -C bare config core.fsmonitor "$evil"
        git add . 2>/dev/null; git commit -qm nested
        """
    )

    assert "failed" == end["attempt"]["outcome"]
    assert "d/e/nested, nested" in end["attempt"]["reason"]
    assert "" == end["attempt"]["tip"]


def test_a_filled_submodule_path(ground):
    link = "1" * 40
    tree = make_links(ground, f"160000 commit {link}\tsub\n")
    commit = ground.git(
        ground.work.repo.path, "commit-tree", "-p", "main", "-m", "links", tree
    ).strip()
    ground.git(ground.work.repo.path, "branch", "-f", "agent/fix", commit)
    ground.work.tip = commit
    end = ground.attempt(
        """
        fill() {
            mkdir -p "$1" && git init -q "$1" && cd "$1" && echo x >x && git add x &&
                git commit -qm x && git config core.fsmonitor "$evil"
        }
        for place in sub d/e/sub; do
            (fill $place) >/dev/null 2>&1 && got "fill $place"
            rm -rf $place 2>/dev/null && got "rm $place"
            mv $place away 2>/dev/null && got "mv $place"
            touch $place/x 2>/dev/null && got "touch $place"
        done
        mv d away 2>/dev/null && (fill d/e/sub) && got "fill below another d"
        mv d/e away2 2>/dev/null && (fill d/e/sub) && got "fill below another e"
        rm -rf d 2>/dev/null || true; (fill d/e/sub) 2>/dev/null && got "fill after rm"
        true
        """
    )

    assert "ok" == end["attempt"]["outcome"], end["attempt"]["reason"]


def make_links(ground, listed):
    """Return a tree with submodules at ``sub`` and ``d/e/sub``."""
    repo = ground.work.repo

    def mktree(text):
        done = subprocess.run(
            ["git", "mktree", "--missing"],
            cwd=repo.path,
            input=text,
            capture_output=True,
            text=True,
            check=True,
            **as_user(ground.user),
        )
        return done.stdout.strip()

    inner = mktree(ground.git(repo.path, "ls-tree", "main:d/e") + listed)
    middle = mktree(f"040000 tree {inner}\te\n")
    blob = ground.git(repo.path, "rev-parse", "main:README.md").strip()
    return mktree(f"100644 blob {blob}\tREADME.md\n040000 tree {middle}\td\n{listed}")


def test_a_symbolic_link_out_of_the_tree(ground):
    end = ground.attempt(
        """
        ln -s "$OUTSIDE" link; ln -s "$OUTSIDE/secret" secret; ln -s / root
        echo x 2>/dev/null >link/evil && got "write through"
        cat secret 2>/dev/null && got "read through"
        cat root"$OUTSIDE"/secret 2>/dev/null && got "read through /"
        rm -rf d; ln -s "$OUTSIDE" d
        rm -f /gitagent/out/*; ln -s "$OUTSIDE/secret" /gitagent/out/return.json
        ln -s "$OUTSIDE/new" /gitagent/out/head
        ln -s "$OUTSIDE/new" /gitagent/out/status
        ln -s "$OUTSIDE" /gitagent/out/step
        g=$(git rev-parse --git-dir)
        ln -s "$OUTSIDE" "$g/refs/link"
        rm -rf "$g/info"; ln -s "$OUTSIDE" "$g/info"
        """
    )

    assert "outside secret" not in str(end)


def test_reading_keys_and_environment(ground):
    end = ground.attempt(
        """
        cat "$HOME_OUTSIDE/.ssh/id" 2>/dev/null && got key
        cat ~/.ssh/* /root/.ssh/* 2>/dev/null && got key
        ls -A "$HOME_OUTSIDE" 2>/dev/null && got home
        cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' |
            grep -a 'environment[ ]secret' && got environment
        cat "$OUTSIDE/secret" "$COMMON/config" 2>/dev/null && got file
        cat /etc/shadow /proc/kcore 2>/dev/null | head -c 1 | grep -q . && got shadow
        env | grep 'environment[ ]secret' && got env
        true
        """
    )

    assert "environment secret" not in str(end)


def test_network_and_sockets(ground):
    state = ground.common / "gitagent"
    state.mkdir(exist_ok=True)
    path = state / "socket"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        unix.bind(str(path))
        unix.listen()
        path.chmod(0o777)
        name = f"\0gitagent-test-{os.getpid()}"
        abstract.bind(name)
        abstract.listen()
        for each in (tcp, unix, abstract):
            each.setblocking(False)
        if ground.user:
            os.chown(state, ground.user, ground.user)
        places = (
            (int(socket.AF_INET), ("127.0.0.1", tcp.getsockname()[1])),
            (int(socket.AF_UNIX), str(path)),
            (int(socket.AF_UNIX), name),
        )
        ground.attempt(f'{sys.executable} -c "{_CONNECT}" "{places!a}" && echo tried')
        for each in (tcp, unix, abstract):
            with pytest.raises(BlockingIOError):
                each.accept()


_CONNECT = """\
import ast, socket, sys
for kind, where in ast.literal_eval(sys.argv[1]):
    try:
        with socket.socket(kind) as s:
            s.settimeout(2)
            s.connect(where)
        print('GOT', where)
    except OSError:
        pass
"""


def test_killing_a_process_outside(ground):
    with subprocess.Popen(["sleep", "1000"], **as_user(ground.user)) as victim:
        try:
            ground.attempt(
                """
                kill -9 "$VICTIM" 2>/dev/null && got kill
                [ -e "/proc/$VICTIM/fd" ] && got proc
                true
                """,
                VICTIM=victim.pid,
            )

            assert None is victim.poll()
        finally:
            victim.kill()


def test_another_worktree(ground):
    other = ground.work.root / "other-1"
    (other / "tree").mkdir(parents=True)
    (other / "tree/file").write_text("another attempt\n")
    if ground.user:
        for path in (ground.root / "cache", *(ground.root / "cache").rglob("*")):
            os.chown(path, ground.user, ground.user)
    ground.attempt(
        """
        echo x 2>/dev/null >"$PERSON/evil" && got person
        cat "$PERSON/README.md" 2>/dev/null && got "read person"
        cat "$OTHER/tree/file" 2>/dev/null && got "read attempt"
        echo x 2>/dev/null >"$OTHER/tree/file" && got attempt
        [ "$(git worktree list | grep -c .)" = 1 ] || got list
        git worktree add -q "$PERSON/x" 2>/dev/null
        true
        """,
        PERSON=ground.root / "other",
        OTHER=other,
    )

    assert "another attempt\n" == (other / "tree/file").read_text()


def test_a_huge_file_against_the_limit(ground):
    ground.work.sandbox = Sandbox(file_limit=1)
    end = ground.attempt(
        """
        (head -c 5000000 /dev/zero >big) 2>/dev/null && got big
        [ "$(stat -c %s big)" -le 1048576 ] || got size
        ulimit -f unlimited 2>/dev/null && got ulimit
        rm big
        (head -c 5000000 /dev/zero >/home/worker/big) 2>/dev/null && got "big home"
        (head -c 5000000 /dev/zero >/gitagent/out/big) 2>/dev/null && got "big out"
        true
        """
    )

    assert "ok" == end["attempt"]["outcome"]


def test_a_file_past_the_limit_ends_the_block_and_says_so(work):
    work.sandbox = Sandbox(file_limit=1)
    end = work.run("exec head -c 5000000 /dev/zero > big")

    assert "sandbox.file_limit" in end.attempt.reason
