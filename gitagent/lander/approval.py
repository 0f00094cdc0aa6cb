"""Approvals as Git: written by a person, believed only when nothing speaks against it.

``refs/gitagent/approvals/<submission>`` is a record chain whose commits are of the
approver. Where ``trust.allowed_signers`` is set, the commit has to be signed by a key
that the target's own copy of that file lets sign for the author's address, now.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gitagent.core.approval import Approval
from gitagent.core.layout import APPROVALS
from gitagent.core.settings import Settings
from gitagent.errors import GitError, UserError
from gitagent.files import record
from gitagent.files.message import record_message
from gitagent.git import records, trust
from gitagent.git.codec import Sign
from gitagent.git.objects import Objects
from gitagent.git.refs import RefUpdate, update
from gitagent.git.repository import Repository
from gitagent.git.text import Person, mended
from gitagent.host import clock

_MANY = 10_000  # verdicts that are remembered


def ref_of(submission: str) -> str:
    """Return the ref of the approvals of a submission."""
    return APPROVALS + submission


def write(
    repo: Repository,
    objects: Objects,
    approval: Approval,
    author: Person,
    settings: Settings,
    target: str,
    sign: Sign | None = None,
) -> Approval:
    """Store an approval that the lander will believe; return it as recorded.

    ``author`` is who approves, and is named in it. ``target`` is the target's commit.

    Raises:
        LostRace: another one was stored meanwhile.
        UserError: the lander would not believe it; nothing was stored.
    """
    approval = replace(approval, by=mended(author).ident)
    ref = ref_of(approval.submission)
    old = objects.ref(ref)
    count = len(approval.paths)
    what = f"{author.name} approved {count} {'path' if count == 1 else 'paths'}"
    message = record_message(f"{what}\n\n{approval.why}", "approval")
    payload = record.dump_approval(approval)
    oid = trust.write(objects, old, payload, message, author, sign)
    found = _Judge(repo, objects, settings, target).verdict(approval.submission, oid)
    if isinstance(found, str):
        raise UserError(f"nobody would believe this approval: {found}")
    update(repo.git, [RefUpdate(ref, oid, old)], f"gitagent: {what}")
    return replace(approval, oid=oid)


def read_all(
    repo: Repository,
    objects: Objects,
    refs: Mapping[str, str],
    settings: Settings | None,
    target: str | None,
) -> dict[str, Approval]:
    """Return the approvals that are beyond doubt, by submission.

    ``refs`` are all refs, or those of approvals; ``target`` is the target's commit,
    whose settings these are. Without such a ref it costs a look at their names.
    """
    found = _verdicts(repo, objects, refs, settings, target)
    return {name: each for name, each in found if isinstance(each, Approval)}


def problems(
    repo: Repository,
    objects: Objects,
    refs: Mapping[str, str],
    settings: Settings | None,
    target: str | None,
) -> dict[str, str]:
    """Return why the other approvals are not believed, a clause each."""
    found = _verdicts(repo, objects, refs, settings, target)
    return {name: each for name, each in found if isinstance(each, str)}


def _verdicts(
    repo: Repository,
    objects: Objects,
    refs: Mapping[str, str],
    settings: Settings | None,
    target: str | None,
) -> Iterator[tuple[str, Approval | str]]:
    tips = [(ref, oid) for ref, oid in refs.items() if ref.startswith(APPROVALS)]
    if not tips or settings is None or target is None:
        return
    judge = _Judge(repo, objects, settings, target)
    for ref, oid in tips:
        name = ref.removeprefix(APPROVALS)
        yield name, judge.verdict(name, oid)


@dataclass(frozen=True, slots=True)
class _Known:
    """A verdict, and until when it is the last word (monotonic)."""

    verdict: Approval | str
    until: float | None


# By submission, record commit, and blob of the signers: what decides a verdict.
_known: dict[tuple[str, str, str], _Known] = {}


class _Judge:
    """Tells which approvals count under the settings of one commit."""

    def __init__(
        self, repo: Repository, objects: Objects, settings: Settings, target: str
    ) -> None:
        self._repo = repo
        self._objects = objects
        self._who = trust.signers(objects, settings.trust.allowed_signers, target)

    def verdict(self, submission: str, oid: str) -> Approval | str:
        """Return the approval at a record commit, or why it does not count."""
        if self._who.problem:
            return self._who.problem
        key = (submission, oid, self._who.blob)
        now = clock.monotonic()
        known = _known.get(key)
        if known is None or (known.until is not None and known.until < now):
            if len(_known) >= _MANY:
                _known.clear()
            try:
                known = self._judged(submission, oid, now)
            except (GitError, UserError) as error:
                known = _Known(error.line(), now + trust.AGAIN_S)
            _known[key] = known
        found = known.verdict
        if isinstance(found, Approval) and found.until:
            return found if clock.stamp() < found.until else "its time is over"
        return found

    def _judged(self, submission: str, oid: str, now: float) -> _Known:
        data = records.read(self._objects, oid)
        approval = record.load_approval(data, oid)
        if approval.submission != submission:
            return _Known(f"it was made for {approval.submission}", None)
        asked = (self._repo, self._objects, oid, "approval", approval.by, self._who)
        why, lasts = trust.doubt(*asked)
        return _Known(why or approval, None if lasts else now + trust.AGAIN_S)
