"""A person approves what a submission would put into the target.

What has to be approved is found anew, on the target as it is, and shown before it is
written: it names what was shown and nothing else.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitagent.core.agent import Agent
from gitagent.core.approval import Approval, Needed, missing
from gitagent.core.candidate import PathChange
from gitagent.core.settings import Settings
from gitagent.core.submission import Submission
from gitagent.core.task import TaskRecord
from gitagent.daemon import tasks
from gitagent.daemon.asking import require_agent
from gitagent.daemon.entry import SUBMISSION, find_target
from gitagent.daemon.target import SettingsInForce
from gitagent.errors import UserError
from gitagent.git.codec import Sign
from gitagent.git.identity import author
from gitagent.git.objects import GITLINK, Objects
from gitagent.git.repository import Repository
from gitagent.git.signing import configured_key, signer
from gitagent.host import clock
from gitagent.lander import approval, submit
from gitagent.lander.needs import needs


@dataclass(frozen=True, slots=True)
class Row:
    """One path that is approved."""

    need: Needed
    old: str  # blob that the target has; empty if none
    added: int | None  # lines; None: not a text
    removed: int | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to approve in a submission."""

    submission: Submission
    target: str  # commit of the target that it was merged onto
    settings: Settings
    rows: tuple[Row, ...]
    given: Approval | None  # approves just this already
    problem: str  # why an approval that is there does not count; empty if none

    @property
    def needed(self) -> tuple[Needed, ...]:
        """What an approval has to name."""
        return tuple(row.need for row in self.rows)


@dataclass(frozen=True, slots=True)
class Standing:
    """The approval that is there for a submission."""

    approval: Approval | None  # None: it does not count
    problem: str = ""  # why not, a clause


def standing(
    repo: Repository, objects: Objects, submission: Submission
) -> Standing | None:
    """Return what there is of an approval; None if nobody gave one."""
    ref = approval.ref_of(submission.id)
    oid = objects.ref(ref)
    if oid is None:
        return None
    _, target = find_target(repo, objects)
    settings, _, problem = SettingsInForce().at(objects, target)
    if settings is None:
        return Standing(None, problem or "the target has no settings")
    asked = (repo, objects, {ref: oid}, settings, target)
    found = approval.read_all(*asked).get(submission.id)
    if found is None:
        return Standing(None, approval.problems(*asked)[submission.id])
    if found.tip != submission.tip:
        return Standing(None, f"it was given for the tip {found.tip[:12]}")
    return Standing(found)


def plan(repo: Repository, objects: Objects, name: str) -> Plan:
    """Return what there is to approve in a submission, or in a task's newest one.

    Raises:
        UserError: there is no such submission, nothing in it needs an approval, or
            what it would change cannot be known.
    """
    submission = _find(objects, name)
    if submission.settled:
        raise UserError(f"{submission.id} is {submission.state} for good")
    _, target = find_target(repo, objects)
    settings = SettingsInForce().require(objects, target)
    if objects.ancestor(submission.tip, target):
        raise UserError(f"the target has what {submission.id} brings already")
    record = tasks.read(objects, submission.task) if submission.task else None
    agent = _agent(repo, objects, target, record)
    found = needs(repo, objects, submission, target, settings, agent, record)
    if not found.needed:
        raise UserError(f"nothing in {submission.id} needs an approval")
    ref = approval.ref_of(submission.id)
    oid = objects.ref(ref)
    refs = {} if oid is None else {ref: oid}
    known = approval.read_all(repo, objects, refs, settings, target)
    bad = approval.problems(repo, objects, refs, settings, target)
    given = known.get(submission.id)
    enough = not missing(given, submission.id, submission.tip, found.needed)
    return Plan(
        submission,
        target,
        settings,
        _rows(repo, objects, found.needed, found.changes),
        given if enough else None,
        bad.get(submission.id, ""),
    )


def approve(
    repo: Repository,
    objects: Objects,
    planned: Plan,
    *,
    why: str = "",
    until: str = "",
    key: Path | None = None,
) -> Approval:
    """Approve what was planned, in the name of who calls.

    ``until`` is when the approval runs out (UTC); empty: never. It is signed with
    ``key``, or where approvals have to be signed, with Git's own signing key.

    Raises:
        UserError: it cannot be signed, or would not be believed.
        LostRace: somebody approved it meanwhile.
    """
    submission = planned.submission
    made = Approval(
        submission=submission.id,
        tip=submission.tip,
        paths=tuple(need.content for need in planned.needed),
        by="",
        when=clock.stamp(),
        why=why.strip(),
        until=until,
    )
    sign = sign_with(repo, planned.settings, key, "approvals")
    return approval.write(
        repo, objects, made, author(repo), planned.settings, planned.target, sign
    )


def sign_with(
    repo: Repository, settings: Settings, key: Path | None, what: str
) -> Sign | None:
    """Return what signs with ``key``, or where that has to be with Git's own key.

    Raises:
        UserError: ``what`` has to be signed, and there is no key.
    """
    if key is not None:
        return signer(key.absolute())
    if not settings.trust.allowed_signers:
        return None
    configured = configured_key(repo)
    if not configured:
        raise UserError(
            f"{what} have to be signed here, and git has no SSH key to sign with",
            "name one: --key FILE, or git config gpg.format ssh and user.signingkey",
        )
    return signer(configured)


def _find(objects: Objects, name: str) -> Submission:
    found = None
    if SUBMISSION.match(name):
        found = submit.find(objects, name) or submit.find_archived(objects, name)
    elif record := tasks.read(objects, name):
        if record.submission is None:
            raise UserError(f"task {name} has submitted nothing yet")
        found = submit.find(objects, record.submission)
    if found is None:
        raise UserError(f'there is no submission "{name}" here', "see: gitagent status")
    return found


def _agent(
    repo: Repository, objects: Objects, target: str, record: TaskRecord | None
) -> Agent | None:
    if record is None:
        return None
    with suppress(UserError):
        return require_agent(repo, objects, target, record.agent)
    return None


def _rows(
    repo: Repository,
    objects: Objects,
    needed: tuple[Needed, ...],
    changes: tuple[PathChange, ...],
) -> tuple[Row, ...]:
    return tuple(
        Row(need, change.old_blob, *_lines(repo, objects, change))
        for need, change in zip(needed, changes, strict=True)
    )


def _lines(
    repo: Repository, objects: Objects, change: PathChange
) -> tuple[int | None, int | None]:
    """Return the lines that a change adds and removes; None if it is no text."""
    modes = (change.old_mode, change.new_mode)
    if GITLINK in modes:
        return None, None
    empty = objects.write_blob(b"")
    pair = (change.old_blob or empty, change.new_blob or empty)
    done = repo.git.run(
        "diff", "--numstat", "-z", "--no-textconv", "--no-ext-diff", *pair
    )
    added, _, rest = done.text.partition("\t")
    removed = rest.partition("\t")[0]
    if pair[0] == pair[1]:
        return 0, 0
    return _count(added), _count(removed)


def _count(text: str) -> int | None:
    return int(text) if text.isdigit() else None
