"""Which landing is meant to be taken back, and the submission that asks for it."""

from gitagent.core.glob import named
from gitagent.core.ident import submission_id
from gitagent.core.layout import HEADS
from gitagent.core.submission import Submission
from gitagent.daemon import entry, tasks
from gitagent.daemon.entry import SUBMISSION, Entered, Work
from gitagent.daemon.overview import open_submissions
from gitagent.errors import GitError, UserError
from gitagent.files.message import trailers
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.lander import submit
from gitagent.lander.revert import marker, revert


def roll_back(repo: Repository, objects: Objects, name: str, because: str) -> Entered:
    """Submit the commit that takes a landing back; one that is on its way stands.

    Raises:
        UserError: ``name`` is no landing, or none that is still on the target; later
            work has changed the same; nothing of it is left.
    """
    landed = find(repo, objects, name)
    target, commit = entry.find_target(repo, objects)
    short = target.removeprefix(HEADS)
    if not _on(objects, commit, landed):
        raise UserError(f"{landed.id} is not on {short}, so there is nothing to undo")
    begun = _begin(landed)
    for each in open_submissions(repo, objects):
        if (each.divergence or "").startswith(begun):
            return Entered(each, new=False)
    undone = revert(repo, objects, landed, commit, because)
    if undone.conflicts:
        paths = named(undone.conflicts)
        raise UserError(
            f"later work has changed what {landed.id} did, in {paths}",
            "take it back on a branch, resolve, and submit that: "
            f"git revert {_mainline(objects, landed)}{(landed.commit or '')[:12]}",
        )
    if undone.commit is None:
        by = _undone_by(repo, landed, commit)
        raise UserError(f"nothing of {landed.id} is left on {short}{by}")
    statement = f"{begun}{f' {because.strip()}' if because.strip() else ''}"
    work = Work(undone.commit, None)
    return entry.submit_work(repo, objects, work, divergence=statement)


def find(repo: Repository, objects: Objects, name: str) -> Submission:
    """Return the submission behind a landing: by its id, its task, or a commit.

    Raises:
        UserError: there is none, or it has not landed.
    """
    found = _find(repo, objects, name)
    if found is None:
        raise UserError(f'"{name}" is no landing', "see: gitagent log")
    if found.commit is None or found.commit == found.tip:
        why = f": {found.reason}" if found.reason else ""
        raise UserError(f"{found.id} is {found.state}{why}")
    return found


def _find(repo: Repository, objects: Objects, name: str) -> Submission | None:
    if SUBMISSION.match(name):
        return _submission(objects, name)
    record = tasks.read(objects, name)
    if record is not None:
        known = record.submission and _submission(objects, record.submission)
        if not known:
            raise UserError(f"task {name} is {record.state}, and nothing of it landed")
        return known
    try:
        oid = entry.find_work(repo, objects, name).tip
    except UserError:
        return None
    said = dict(trailers(objects.commit(oid).message)).get("Gitagent-Submission")
    if said is not None and SUBMISSION.match(said):
        return _submission(objects, said)
    return _submission(objects, submission_id(oid))


def _submission(objects: Objects, name: str) -> Submission | None:
    return submit.find(objects, name) or submit.find_archived(objects, name)


def _on(objects: Objects, target: str, landed: Submission) -> bool:
    try:
        return objects.ancestor(landed.commit or "", target)
    except GitError:
        return False


def _begin(landed: Submission) -> str:
    """Return how the statement of a submission that takes ``landed`` back begins."""
    return f"It takes back {landed.id}, which landed as {landed.commit}."


def _mainline(objects: Objects, landed: Submission) -> str:
    parents = objects.commit(landed.commit or "").parents
    return "-m 1 " if len(parents) > 1 else ""


def _undone_by(repo: Repository, landed: Submission, target: str) -> str:
    """Return which commit says that it took the landing back, as a clause, or ""."""
    done = repo.git.run(
        *("log", "-1", "--format=%h", "--fixed-strings", f"--grep={marker(landed)}"),
        f"{landed.commit}..{target}",
    )
    return f": {done.text} took it back" if done.text else ""
