"""What the agent left uncommitted becomes a commit, inside the sandbox.

The worktree and its Git directory are the worker's: git run there can run what its
configuration says. So this is one more confined run, and its answers are as hostile as
all else that comes out of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gitagent.core.ident import is_oid
from gitagent.files import clean
from gitagent.git.harvest import read_head
from gitagent.host.process import Exit
from gitagent.worker import sandbox
from gitagent.worker.folder import Folder, exists
from gitagent.worker.log import Log
from gitagent.worker.order import Order

TIMEOUT_S = 600.0  # git add of a very large tree; beyond that something waits

_HEAD = "head"
_STATUS = "status"
_REBASE = "rebase"
_STATUS_BYTES = 16 * 1024 * 1024
_SHOWN = 10
_KEEP = 16 * 1024  # bytes of git's words that are looked through for the reason

# Git would wait at a pipe for a writer, and a killed git leaves locks. `add` refuses to
# leave out a path that is ignored as well, so the `copy` files are taken back after
# it. What is unmerged is told before `add` takes it for resolved. The branch is told
# only if HEAD is not on it.
_SCRIPT = """\
git_dir=$1 tree=$2 out=$3 branch=$4 title=$5
shift 5
export GIT_DIR="$git_dir" GIT_WORK_TREE="$tree"
git() {
    command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.editor=: \\
        -c commit.gpgsign=false -c gc.auto=0 -c advice.addEmbeddedRepo=false "$@"
}
rm -rf "$out/head" "$out/status" "$out/rebase"
find "$git_dir" ! -type f ! -type d ! -type l -exec rm -f {} +
find "$git_dir" -path "$git_dir/objects" -prune -o -name '*.lock' -exec rm -f {} +
git status --porcelain=v2 -z --untracked-files=normal >"$out/status" || {
    rm -f "$git_dir/index"
    git read-tree HEAD
    echo '?' >"$out/status"
}
[ ! -d "$git_dir/rebase-merge" ] && [ ! -d "$git_dir/rebase-apply" ] || : >"$out/rebase"
code=0
if [ -s "$out/status" ] || [ -e "$git_dir/MERGE_HEAD" ]; then
    git add -A --ignore-errors || code=3
    [ $# -eq 0 ] || git reset -q -- "$@"
    git commit -q --no-verify --cleanup=whitespace -m "$title" >"$out/said" 2>&1 ||
        git diff-index --cached --quiet HEAD -- || {
        cat "$out/said"
        code=4
    }
fi
rm -rf "$out/head"
git rev-parse -q --verify 'HEAD^{commit}' >"$out/head"
read -r on <"$git_dir/HEAD"
[ "$on" = "ref: $branch" ] || git rev-parse -q --verify "$branch^{commit}" >>"$out/head"
exit "$code"
"""


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What the worktree is said to have come to."""

    head: str  # full object id of HEAD; empty: it is not known
    branch: str = ""  # that of the task's branch, if HEAD is not on it
    problem: str = ""  # a sentence; not all is committed, or not as it should be
    complete: bool = True  # whether the commits hold all that was left


def commit(order: Order, folder: Folder, covered: Sequence[str], log: Log) -> Leftovers:
    """Commit what is left under the agent's identity, and tell where HEAD is then."""
    name, email = order.identity
    who = [
        (f"GIT_{role}_{key}", value)
        for role in ("AUTHOR", "COMMITTER")
        for key, value in (("NAME", name), ("EMAIL", email))
    ]
    title = clean.sentence(order.task.title) or order.task.id
    copied = (f":(top,literal){each}" for each in order.settings.worker.copy)
    places = (folder.inside_git, folder.inside_tree, folder.inside_out)
    words = (*places, order.branch, title, *copied)
    done = order.engine.run(
        ["sh", "-c", _SCRIPT, "sh", *words],
        sandbox.workspace(order, folder, covered, env=(*who, ("LC_ALL", "C.UTF-8"))),
        timeout=TIMEOUT_S,
        keep=_KEEP,
        merge_stderr=True,
        on_output=log.write,
    )
    head, branch = _tips(folder)
    if not head:
        problem = f"The worktree's HEAD could not be read ({_why(done)})."
        return Leftovers(head, branch, problem, complete=False)
    if done.code != 0:
        problem = f"Not all that was left could be committed ({_why(done)})."
        return Leftovers(head, branch, problem, complete=False)
    return Leftovers(head, branch, _unfinished(folder))


def _unfinished(folder: Folder) -> str:
    unmerged = _unmerged(folder)
    if unmerged:
        shown = ", ".join(unmerged[:_SHOWN])
        return (
            f"Conflicts were left unresolved, and are committed as they are: {shown}."
        )
    if exists(folder.out / _REBASE):
        return "A rebase was left unfinished; what it had come to is kept."
    return ""


def _why(done: Exit) -> str:
    if done.timed_out:
        return f"no end within {TIMEOUT_S:g} s"
    said = clean.plain(done.output if done.started else done.stderr).split("\n")
    errors = [line for line in said if line.startswith(("error:", "fatal:"))]
    words = errors or [line for line in said if line]
    return clean.sentence(words[0] if words else f"exit code {done.code}")


def _tips(folder: Folder) -> tuple[str, str]:
    """Return what HEAD and the branch are said to be; empty if it is no object id.

    Where nothing was said, HEAD is read as text: commits count also when `add` hangs.
    """
    try:
        lines = (folder.load_out(_HEAD, 200) or b"").decode("ascii").split("\n")
    except ValueError:
        lines = []
    head, branch, *_ = (*(line if is_oid(line) else "" for line in lines), "", "")
    return head or read_head(folder.git) or "", branch


def _unmerged(folder: Folder) -> list[str]:
    """Return the unmerged paths; see git-status(1), Porcelain Format Version 2."""
    try:
        data = folder.load_out(_STATUS, _STATUS_BYTES) or b""
    except ValueError:
        return []
    records = data.decode(errors="replace").split("\0")
    paths = [each.split(" ", 10)[-1] for each in records if each.startswith("u ")]
    return [clean.line(path) for path in paths]
