"""Ways in: what a person, a push or a finished task hands over becomes a submission.

Handing the same over again gives the same submission, whichever way it came.
"""

import re
from dataclasses import dataclass, replace

from gitagent.core.ending import submission_of
from gitagent.core.ident import id_problem, is_oid
from gitagent.core.layout import DONE, FOR, HEADS, TASKS
from gitagent.core.submission import Submission
from gitagent.core.task import TaskFile, TaskRecord, TaskState
from gitagent.daemon import remembered, tasks
from gitagent.daemon.moment import moment
from gitagent.daemon.overview import open_submissions
from gitagent.errors import ConfigError, GitagentError, UserError
from gitagent.files import clean, taskfile
from gitagent.files.fields import nearest
from gitagent.git.objects import BLOB, Objects
from gitagent.git.repository import Repository
from gitagent.git.tree import folder
from gitagent.host import place
from gitagent.host.socket import ask
from gitagent.lander import submit

SUBMISSION = re.compile(r"s-[0-9a-f]{12}\Z")  # see core.ident.submission_id

_POKE_S = 2.0
_REQUEST_ID = 200  # characters


@dataclass(frozen=True, slots=True)
class Work:
    """Something to land."""

    tip: str  # commit
    branch: str | None  # full ref that it came from


@dataclass(frozen=True, slots=True)
class Entered:
    """What handing over gave."""

    submission: Submission
    new: bool  # False: it had been handed over before
    instead_of: str | None = None  # open submission of the same topic, before this one


def find_target(repo: Repository, objects: Objects) -> tuple[str, str]:
    """Return the target ref and its commit. Raises UserError without one."""
    return remembered.target(repo, objects, objects.refs(HEADS))


def find_work(repo: Repository, objects: Objects, name: str | None) -> Work:
    """Return what ``name`` means: a branch, a ref, a commit; None: what is checked out.

    Raises:
        UserError: there is no such thing, or it is no commit.
    """
    if name is None:
        return _checked_out(repo)
    for ref in (HEADS + name, name):
        tip = objects.ref(ref) if ref.startswith("refs/") else None
        if tip is not None:
            return Work(commit_of(repo, tip), ref)
    done = repo.git.run(
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        f"{name}^{{commit}}",
        git_dir=repo.git_dir,
        ok=(0, 1, 128),
    )
    if done.code or not is_oid(done.text):
        raise UserError(f'there is nothing called "{name}" here that could land')
    return Work(done.text, None)


def submit_work(
    repo: Repository,
    objects: Objects,
    work: Work,
    *,
    divergence: str | None = None,
    request_id: str | None = None,
    topic: str | None = None,
    closes: str | None = None,
) -> Entered:
    """Hand work over to the lander.

    Of one ``topic`` only what its submitter handed over last is wanted. ``closes`` is
    the open task that a person's work is for.

    Raises:
        ConfigError: an empty divergence or request id.
        UserError: it is the target itself, or the target has it already; the topic is
            somebody else's; there is no such open task.
    """
    for what, text in (("divergence", divergence), ("request id", request_id)):
        if text is not None and not text.strip():
            raise ConfigError(f"the {what} is empty", 'write it, or "None"')
    if request_id is not None and len(request_id) > _REQUEST_ID:
        raise ConfigError(f"a request id has at most {_REQUEST_ID} characters")
    target, commit = find_target(repo, objects)
    short = target.removeprefix(HEADS)
    wanted = submit.new(
        objects,
        work.tip,
        branch=work.branch if topic is None else f"{FOR}{short}/{topic}",
        request_id=request_id,
        divergence=divergence,
        closes=closes,
    )
    known = submit.find(objects, wanted.id)
    if known is not None:
        return Entered(known, new=False)
    if work.branch == target:
        raise UserError(
            f"{short} is the target itself",
            "work on a branch and name that: git switch -c BRANCH",
        )
    if objects.ancestor(work.tip, commit):
        raise UserError(
            f"{short} has {work.tip[:12]} already; there is nothing to land",
            "commit what is changed here" if uncommitted(repo) else "",
        )
    if closes is not None:
        _require_open(objects, commit, closes, short)
    before = None if topic is None else _of_topic(repo, objects, wanted, topic)
    entered = _enter(repo, objects, wanted)
    return replace(entered, instead_of=before if entered.new else None)


def submit_task(repo: Repository, objects: Objects, record: TaskRecord) -> Entered:
    """Hand over the work of a task that waits for a person to say so.

    Raises:
        UserError: the task has no work that could land now.
    """
    known = submit.find(objects, record.submission) if record.submission else None
    if known is not None:
        return Entered(known, new=False)
    attempt = record.newest
    if record.state is not TaskState.SUBMITTED or record.tip is None or not attempt:
        why = f": {record.reason}" if record.reason else ""
        raise UserError(f"task {record.id} is {record.state}{why}")
    _, commit = find_target(repo, objects)
    file = _file(objects, commit, record.id)
    if file is None or file.blob != record.blob:
        raise UserError(f"task {record.id} was amended; a new attempt comes first")
    work = submission_of(record, attempt, file.priority, moment())
    return _enter(repo, objects, work)


def enter(
    repo: Repository, objects: Objects, name: str | None, divergence: str | None = None
) -> Entered:
    """Return the submission that ``name`` is or becomes: an id, a task, a branch.

    Raises:
        UserError: it is none of these, or cannot be handed over.
    """
    if name is not None:
        known = submit.find(objects, name) if SUBMISSION.match(name) else None
        if known is not None:
            return Entered(known, new=False)
        record = tasks.read(objects, name)
        if record is not None and objects.ref(HEADS + name) is None:
            return submit_task(repo, objects, record)
    return submit_work(
        repo, objects, find_work(repo, objects, name), divergence=divergence
    )


def position(repo: Repository, objects: Objects, submission: str) -> int | None:
    """Return the place in the queue, from 1; None if it is not in it."""
    ids = [each.id for each in open_submissions(repo, objects)]
    return ids.index(submission) + 1 if submission in ids else None


def uncommitted(repo: Repository) -> bool:
    """Whether the work tree has changes that no commit has."""
    if repo.worktree is None:
        return False
    done = repo.git.run(
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--ignore-submodules=dirty",
        git_dir=repo.git_dir,
        work_tree=repo.worktree,
        user_config=True,
    )
    return bool(done.out)


def poke(repo: Repository) -> bool:
    """Wake the daemon; whether one runs."""
    path = place.socket_path(repo.common_dir)
    try:
        return ask(path, {"op": "poke"}, _POKE_S) is not None
    except GitagentError:
        return True  # it is busy, and looks by itself


def _enter(repo: Repository, objects: Objects, wanted: Submission) -> Entered:
    made = submit.create(repo, objects, wanted)
    return Entered(made, new=made.created == wanted.created)


def _require_open(objects: Objects, commit: str, task: str, target: str) -> None:
    """Raise UserError unless the target's ``commit`` has the file of an open task."""
    told = f'there is no open task "{clean.sentence(task, 70)}" on {target}'
    if problem := id_problem(task):
        raise UserError(told, problem)
    files = [e.name for e in folder(objects, commit, TASKS) if e.mode == BLOB]
    ids = [name.removesuffix(".md") for name in files if name.endswith(".md")]
    if task in ids:
        return
    if objects.path(commit, f"{DONE}{task}.md") is not None:
        raise UserError(f"task {task} has ended already", "leave the task out")
    near = nearest(task, ids)
    mend = f"did you mean {near}?" if near else f"it has {', '.join(ids[:5]) or 'none'}"
    raise UserError(told, mend)


def _of_topic(
    repo: Repository, objects: Objects, wanted: Submission, topic: str
) -> str | None:
    """Return the open submission that one of the same topic takes the place of.

    Raises:
        UserError: it is another person's. Who that is, its commits say.
    """
    before = None
    for each in open_submissions(repo, objects):
        if each.branch != wanted.branch or each.task is not None:
            continue
        if _address(each.submitter) != _address(wanted.submitter):
            whose = clean.sentence(each.submitter, 80)
            raise UserError(
                f'the topic "{topic}" is in use: {each.id} of {whose}',
                "choose another topic",
            )
        before = each.id
    return before


def _address(who: str) -> str:
    return who.rpartition("<")[2].removesuffix(">").casefold()


def _checked_out(repo: Repository) -> Work:
    if repo.worktree is None:
        raise UserError("a bare repository has nothing checked out", "name a branch")
    branch = repo.git.run(
        "symbolic-ref", "--quiet", "HEAD", git_dir=repo.git_dir, ok=(0, 1)
    ).text
    tip = repo.git.run(
        "rev-parse",
        "--verify",
        "--quiet",
        "HEAD^{commit}",
        git_dir=repo.git_dir,
        ok=(0, 1, 128),
    ).text
    if not is_oid(tip):
        raise UserError("there is no commit yet", "make one first")
    return Work(tip, branch or None)


def commit_of(repo: Repository, oid: str) -> str:
    """Return the commit that an object is, or that a tag names."""
    done = repo.git.run(
        "rev-parse", "--verify", "--quiet", f"{oid}^{{commit}}", ok=(0, 1, 128)
    )
    if done.code:
        raise UserError(f"{oid} is no commit, and only a commit can land")
    return done.text


def _file(objects: Objects, commit: str, task: str) -> TaskFile | None:
    path = f"{TASKS}{task}.md"
    entry = objects.path(commit, path)
    if entry is None:
        return None
    found = taskfile.parse(task, entry.oid, objects.blob(entry.oid), path)
    return found if isinstance(found, TaskFile) else None
