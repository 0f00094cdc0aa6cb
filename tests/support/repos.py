"""Real repositories for tests, made with few processes."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from bench import project

Content = str | bytes | None  # None deletes the path

_BIRTH = 1_767_603_600  # 2026-01-05 09:00 UTC; commits made by `commit_at` tick from it
_WHO = "Test Person <person@example.org>"


class GitFailed(AssertionError):
    """A git process of a test ended with a code that the test did not expect."""


@dataclass(slots=True)
class Repo:
    """One real repository. Everything goes through git(1), as a person would."""

    path: Path  # the working tree, or the repository itself when bare
    bare: bool = False
    ticks: int = 0  # commits made by `commit_at`; each is a minute later

    @classmethod
    def make(
        cls,
        path: Path,
        files: Mapping[str, Content] | None = None,
        *,
        bare: bool = False,
        object_format: str = "sha1",
    ) -> Self:
        """Make a repository on ``main``; without ``files`` it has no commit."""
        path.mkdir(parents=True, exist_ok=True)
        made = cls(path, bare)
        kind = ["--bare"] if bare else []
        made.git("init", "-q", f"--object-format={object_format}", "-b", "main", *kind)
        if files is not None:
            made.commit_at("refs/heads/main", files, "Begin")
            if not bare:
                made.git("reset", "-q", "--hard")
        return made

    @property
    def common_dir(self) -> Path:
        """The repository's common Git directory; ``self`` may be a linked worktree."""
        if self.bare:
            return self.path
        found = self.path / ".git"
        if found.is_dir():
            return found
        return Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir"))

    def raw(self, *args: str, stdin: bytes = b"", ok: tuple[int, ...] = (0,)) -> bytes:
        """Run git here; return its output.

        Raises:
            GitFailed: it ended with a code that is not in ``ok``.
        """
        done = subprocess.run(
            ["git", *args], cwd=self.path, input=stdin, capture_output=True, check=False
        )
        if done.returncode not in ok:
            said = done.stderr.decode(errors="replace")
            raise GitFailed(
                f"git {' '.join(args)} ended with {done.returncode}: {said}"
            )
        return done.stdout

    def git(self, *args: str, stdin: bytes = b"", ok: tuple[int, ...] = (0,)) -> str:
        """Run git here; return its output as text without the last newline."""
        out = self.raw(*args, stdin=stdin, ok=ok)
        return out.decode(errors="surrogateescape").removesuffix("\n")

    def ask(self, *args: str) -> int:
        """Run git here and return only its exit code."""
        return subprocess.run(
            ["git", *args], cwd=self.path, capture_output=True, check=False
        ).returncode

    # --- making commits

    def commit(
        self, files: Mapping[str, Content], message: str = "Change", branch: str = ""
    ) -> str:
        """Commit ``files`` on top of HEAD as a person does; return the commit.

        With ``branch``, or in a bare repository, the commit goes to that branch (a new
        one starts at HEAD) and no working tree is touched. Other edits in the checkout
        stay as they are.
        """
        if branch or self.bare:
            ref = f"refs/heads/{branch or 'main'}"
            tip = self.ref(ref) or self.ref("HEAD")
            parents = (tip,) if tip else ()
            return self.commit_at(ref, files, message, parents=parents)
        for name, content in files.items():
            self.write(name, content)
        self.git("add", "-A", "-f", "--", *files)
        self.git("commit", "-q", "-m", message, "--", *files)
        return self.head()

    def commit_at(
        self,
        ref: str,
        files: Mapping[str, Content],
        message: str = "Change",
        *,
        parents: tuple[str, ...] | None = None,
        author: str = _WHO,
    ) -> str:
        """Put a commit on ``ref`` without any checkout; return the commit.

        ``parents`` defaults to what the ref holds. A path that ends in ``*`` is
        executable, one that ends in ``@`` a symbolic link; the mark is cut off.
        """
        self.ticks += 1
        when = f"{_BIRTH + 60 * self.ticks} +0000"
        out = [f"commit {ref}\nmark :1\nauthor {author} {when}\n".encode()]
        out += [f"committer {_WHO} {when}\n".encode(), _data(message)]
        if parents is None:
            tip = self.ref(ref)
            parents = (tip,) if tip else ()
        out += [
            f"{'merge' if n else 'from'} {parent}\n".encode()
            for n, parent in enumerate(parents)
        ]
        for marked, content in files.items():
            name = marked.rstrip("*@")
            mode = {"*": "100755", "@": "120000"}.get(marked[len(name) :], "100644")
            if content is None:
                out.append(f"D {_quoted(name)}\n".encode())
            else:
                out.append(f"M {mode} inline {_quoted(name)}\n".encode())
                out.append(_data(content))
        out.append(b"\nget-mark :1\n")
        stream = b"".join(out)
        return self.git(
            "fast-import", "--quiet", "--force", "--cat-blob-fd=1", stdin=stream
        )

    def branch(self, name: str, at: str = "HEAD") -> str:
        """Make or move the branch ``name``; return the commit it is at."""
        self.git("branch", "-q", "-f", name, at)
        return self.oid(f"refs/heads/{name}")

    def worktree(self, path: Path, at: str = "HEAD", branch: str = "") -> "Repo":
        """Add a linked worktree, on a new ``branch`` or detached."""
        kind = ["-b", branch] if branch else ["--detach"]
        self.git("worktree", "add", "-q", *kind, str(path), at)
        return Repo(path)

    def clone(self, path: Path, *, bare: bool = False) -> "Repo":
        """Clone this repository to ``path``; the clone's remote is ``origin``."""
        self.git(
            "clone", "-q", *(["--bare"] if bare else []), str(self.path), str(path)
        )
        return Repo(path, bare)

    # --- reading

    def head(self) -> str:
        """Return the commit that is checked out."""
        return self.oid("HEAD")

    def oid(self, name: str) -> str:
        """Return the object id of anything that git rev-parse understands."""
        return self.git("rev-parse", "--verify", "--end-of-options", name)

    def ref(self, name: str) -> str | None:
        """Return what the full ref ``name`` holds, or None when it does not exist."""
        return self.git("rev-parse", "--verify", "-q", name, ok=(0, 1)) or None

    def refs(self, prefix: str = "refs/") -> dict[str, str]:
        """Return the refs under ``prefix`` with the object ids they hold."""
        out = self.git("for-each-ref", "--format=%(refname) %(objectname)", prefix)
        return dict(line.split(" ") for line in out.splitlines())

    def read(self, path: str, at: str = "HEAD") -> str:
        """Return the text of ``path`` in the commit ``at``."""
        return self.raw("cat-file", "blob", f"{at}:{path}").decode()

    def paths(self, at: str = "HEAD", under: str = "") -> list[str]:
        """List the files of the commit ``at``; with ``under``, those in that folder."""
        out = self.git(
            "ls-tree", "-r", "-z", "--name-only", at, "--", *filter(None, [under])
        )
        return out.rstrip("\0").split("\0") if out else []

    def log(self, form: str = "%s", *args: str) -> list[str]:
        """Return one formatted entry for each commit, newest first."""
        out = self.git("log", "-z", f"--format={form}", *args)
        return [entry.rstrip("\n") for entry in out.rstrip("\0").split("\0")]

    def trailers(self, commit: str = "HEAD") -> list[tuple[str, str]]:
        """Return the trailers of a commit in the order they stand there."""
        form = "--format=%(trailers:only,unfold)"
        out = self.git("log", "-1", form, commit)
        return [
            (key, value)
            for key, _, value in (line.partition(": ") for line in out.splitlines())
            if key
        ]

    def status(self) -> list[str]:
        """Return the lines of git status --porcelain; an empty list is clean."""
        return self.git("status", "--porcelain", "--untracked-files=all").splitlines()

    def fsck(self) -> None:
        """Raise GitFailed if an object is missing or broken."""
        self.git("fsck", "--full", "--strict", "--no-dangling", "--no-progress")

    # --- the working tree

    def write(self, path: str, content: Content) -> Path:
        """Write or delete ``path`` in the working tree, uncommitted."""
        file = self.path / path
        if content is None:
            file.unlink(missing_ok=True)
            return file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    # --- what gitagent reads

    def add_task(
        self, task: str, *scripts: str, title: str = "", front: str = ""
    ) -> str:
        """Commit the task file ``task`` with ``scripts`` as sh blocks."""
        return self.commit(
            {f".agent/tasks/{task}.md": task_text(*scripts, title=title, front=front)},
            f"Ask for {task}",
        )

    def hook(self, name: str, script: str) -> Path:
        """Install ``script`` as the executable hook ``name``."""
        file = self.common_dir / "hooks" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(script)
        file.chmod(0o755)
        return file


def task_text(*scripts: str, title: str = "", front: str = "") -> str:
    """Return a task file: TOML ``front`` matter, a heading, sh blocks."""
    head = f"+++\n{front.strip()}\n+++\n" if front else ""
    heading = f"# {title}\n" if title else ""
    blocks = "".join(f"\n```sh\n{script.rstrip()}\n```\n" for script in scripts)
    return f"{head}{heading}{blocks}"


def settings_text(check: str | None = "true", extra: str = "", head: str = "") -> str:
    """Return an ``.agent/config.toml`` with one check that runs ``check``.

    ``extra`` is TOML that goes after it, ``head`` before it (top-level keys).
    """
    table = f'[[check]]\nname = "tests"\nrun = {_toml(check)}\n' if check else ""
    return f"{head}\n{table}\n{extra}\n"


def python_project(path: Path, modules: int = 12) -> Repo:
    """Make the demo's Python project; it has ``2 * modules + 7`` files."""
    project.make(path, modules)
    return Repo(path)


def _data(content: str | bytes) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return b"data %d\n%b\n" % (len(raw), raw)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _toml(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
