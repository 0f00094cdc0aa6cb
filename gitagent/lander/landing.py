"""The landing commit: what a landing leaves in the history, made but not yet landed."""

from datetime import UTC, datetime
from pathlib import Path

import gitagent
from gitagent.core.action import LandStep
from gitagent.core.candidate import PathChange
from gitagent.core.receipt import Receipt, Result
from gitagent.core.settings import Settings
from gitagent.core.submission import CheckLine
from gitagent.files.message import landing_message
from gitagent.files.note import Landing, note, note_path
from gitagent.git.objects import BLOB, Objects
from gitagent.git.repository import Repository
from gitagent.git.text import Person, person
from gitagent.git.tree import edit, product_tree
from gitagent.host import clock
from gitagent.lander import receipts
from gitagent.lander.compose import compose, moved
from gitagent.lander.contribution import strategy_of
from gitagent.lander.forms import form, signer

FALLBACK_EMAIL = "gitagent@localhost.invalid"
NAME = "gitagent"


def build(
    repo: Repository,
    objects: Objects,
    step: LandStep,
    parent: str,
    settings: Settings,
    who: Person,
    stored: tuple[receipts.Stored, ...],
) -> str:
    """Write the commits that land one submission on ``parent``; return the last one.

    That is the target's commit, or the landing before it. ``who`` is the committer, at
    the time of the landing, ``stored`` is what there is about the product tree that was
    checked. Equal arguments give the same commits.

    Raises:
        LostRace: what it changes was changed on the target meanwhile.
        UserError: ``lander.signing_key`` cannot sign.
    """
    submission, candidate = step.submission, step.candidate
    tip = objects.commit(candidate.tip)
    sign = signer(settings)

    def write(tree: str, parents: tuple[str, ...], message: str, by: Person) -> str:
        return objects.write_commit(tree, parents, message, by, who, sign)

    facts = (repo, objects, submission, candidate, parent, settings)
    made = form(*facts, write, step.record.title if step.record else "")
    blobs, failing = evidence(stored, submission.checks)
    landing = Landing(
        title=made.title,
        message=tip.message,
        base=parent,
        landed=clock.stamp(datetime.fromtimestamp(who.when, UTC)),
        strategy=str(strategy_of(settings, submission)),
        checked=step.checked,
        config=submission.config or "",
        sandbox=str(settings.sandbox.mode),
        changes=candidate.changes,
        failing=failing,
        receipts=blobs,
        weakened=candidate.weakened,
        hint=restart_hint(repo, candidate.changes),
        worker=step.record if submission.task else None,
    )
    message = landing_message(
        submission,
        made.subject,
        made.body,
        config=submission.config or "",
        checked=step.checked,
        checks=submission.checks,
        others=made.others,
        approval=step.approval,
    )
    tree = _tree(objects, step, parent, landing)
    return write(tree, made.parents, message, made.author)


def committer(repo: Repository, settings: Settings, when: datetime) -> Person:
    """Return the lander's identity: the settings', else the repository's address."""
    lander = settings.lander
    email = lander.email or _user_email(repo) or FALLBACK_EMAIL
    return person(f"{lander.name or NAME} <{email}>", when)


def evidence(
    stored: tuple[receipts.Stored, ...], checks: tuple[CheckLine, ...]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Return what a note says about the receipts of the checks.

    That is (check, blob of the receipt that decided), and (check, end of the output)
    for each failed run of a check that is flaky.
    """
    names = {line.receipt: line.name for line in checks}
    flaky = {line.name for line in checks if line.state == "flaky"}
    blobs = tuple(
        (names[each.place], each.blob) for each in stored if each.place in names
    )
    keys = {r.key: names[r.place] for r in _sound(stored) if r.place in names}
    failing = tuple(
        (keys[r.key], r.tail)
        for r in _sound(stored)
        if keys.get(r.key) in flaky and r.result is not Result.PASSED
    )
    return blobs, failing


def restart_hint(repo: Repository, changes: tuple[PathChange, ...]) -> str:
    """Return what to do when a landing changes the very gitagent that runs, or ""."""
    package = Path(gitagent.__file__).resolve().parent
    if repo.worktree is None or not package.is_relative_to(repo.worktree):
        return ""
    folder = f"{package.relative_to(repo.worktree).as_posix()}/"
    if not any(change.path.startswith(folder) for change in changes):
        return ""
    return (
        "This landing changes the gitagent that made it. A daemon changes over to it "
        "once the new code has read the repository; `gitagent status` says whose code "
        "runs, and why if it is not the newest."
    )


def _sound(stored: tuple[receipts.Stored, ...]) -> list[Receipt]:
    return [each.receipt for each in stored if each.receipt is not None]


def _tree(objects: Objects, step: LandStep, parent: str, landing: Landing) -> str:
    """Return the candidate's product with the records of ``parent`` and its own.

    That is the note, and the task's file where it ends up. Items have no note: the
    memory's own log says why each is there, and what was refused.
    """
    submission, candidate = step.submission, step.candidate
    below = objects.commit(parent).tree
    tree = compose(objects, candidate.product, below, candidate.changes)
    changes: dict[str, tuple[int, str] | None] = {}
    if not submission.remembers:
        path = _free(objects, tree, note_path(submission.id, landing.landed))
        text = note(submission, landing).encode()
        changes[path] = (BLOB, objects.write_blob(text))
    if task := submission.ends:
        changes |= moved(objects, tree, task)
    tree = edit(objects, tree, changes)
    product = product_tree(objects, tree)
    if product != candidate.product:
        raise AssertionError(
            f"BUG: {submission.id} would land the product tree {product}, and "
            f"{candidate.product} was checked"
        )
    return tree


def _free(objects: Objects, tree: str, path: str) -> str:
    """Return ``path``, or the next one like it under which nothing lies yet."""
    stem, number, free = path.removesuffix(".md"), 1, path
    while objects.path(tree, free) is not None:
        number += 1
        free = f"{stem}-{number}.md"
    return free


def _user_email(repo: Repository) -> str:
    done = repo.git.run("config", "--get", "user.email", ok=(0, 1), user_config=True)
    return done.text.strip()
