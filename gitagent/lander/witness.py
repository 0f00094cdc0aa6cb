"""An outside witness: what the records and the target were, kept on the remote.

``refs/gitagent/witness/<clone>`` is a chain. Each step names the records that came or
went on since the step before, with their commits, and the target's; all steps together
name them all. It is pushed there and never forced, so who rewrites the records here
cannot rewrite what was said of them. `witnessed` compares the two.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gitagent import __version__
from gitagent.core.layout import (
    APPROVALS,
    ARCHIVE,
    CONVERSATIONS,
    EXCHANGES,
    INBOX,
    OPERATIONS,
    PROPOSALS,
    QUEUE,
    RECEIPTS,
    SUBMISSIONS,
    TASK_RECORDS,
    WITNESS,
    WITNESSED,
)
from gitagent.errors import GitagentError, UserError
from gitagent.files.record import VERSION
from gitagent.git import push, records
from gitagent.git.objects import Objects
from gitagent.git.refs import ANY, RefUpdate, update
from gitagent.git.repository import Repository
from gitagent.host import clock, place
from gitagent.host.log import log

EVERY_S: Final = 60.0
TIMEOUT_S: Final = 30.0  # of a push that has to wait for nobody's checks

_CHAINS: Final = (
    TASK_RECORDS,
    EXCHANGES,
    CONVERSATIONS,
    SUBMISSIONS,
    APPROVALS,
    PROPOSALS,
    RECEIPTS,
    ARCHIVE,
)
_PASSING: Final = CONVERSATIONS + "-"  # of a replay, gone with it


@dataclass(frozen=True, slots=True)
class Step:
    """What was witnessed at one time."""

    oid: str  # commit of the chain
    when: int  # unix time
    refs: Mapping[str, str]  # records by ref that were new or had gone on
    target: str  # full ref
    commit: str  # that the target was at


def ref_of(repo: Repository) -> str:
    """Return the ref of this clone's witness, here and on the remote."""
    return WITNESS + place.clone_id(repo.common_dir)


def is_record(ref: str) -> bool:
    """Tell whether a ref is a chain of records, which only ever grows."""
    lasts = ref.startswith(_CHAINS) and not ref.startswith(_PASSING)
    return ref in {QUEUE, INBOX, OPERATIONS} or lasts


def steps(objects: Objects, tip: str) -> Iterator[Step]:
    """Yield the steps of a witness, the newest first.

    Raises:
        UserError: one cannot be read.
        GitError: an object is missing.
    """
    for commit in records.history(objects, tip):
        try:
            values = json.loads(records.read(objects, commit.oid))
            refs = {str(ref): str(oid) for ref, oid in values["refs"].items()}
            target = values["target"]
            there = (str(target["ref"]), str(target["commit"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UserError(f"{commit.oid} is no step of a witness") from None
        yield Step(commit.oid, commit.time, refs, *there)


@dataclass(slots=True)
class _Teller:
    """What one daemon knows of its witness."""

    due: float = 0.0  # monotonic
    tip: str | None = None  # step after which ``known`` is what was told
    known: dict[str, str] = field(default_factory=dict)
    there: str = ""  # step that the remote has
    failing: bool = False


_tellers: dict[Path, _Teller] = {}  # by common directory; pushes come one at a time


def tell(repo: Repository, remote: str, target: str, *, begin: bool = True) -> None:
    """Push what the records and the target are by now; not more often than each minute.

    It harms nothing: that it failed is logged, once. ``begin``: a witness that is not
    there yet is begun.
    """
    teller = _tellers.setdefault(repo.common_dir, _Teller())
    if clock.monotonic() < teller.due:
        return
    try:
        problem = _tell(repo, teller, remote, target, begin=begin)
        if problem is None:  # what was not told stands in nobody's way
            return
    except GitagentError as error:
        problem = error.line()
    teller.due = clock.monotonic() + EVERY_S
    if problem and not teller.failing:
        log("witness", f"not told: {problem}")
    teller.failing = bool(problem)


def _tell(
    repo: Repository, teller: _Teller, remote: str, target: str, *, begin: bool
) -> str | None:
    """Return why it failed, or ""; None: there was nothing to tell."""
    ref = ref_of(repo)
    with repo.objects() as objects:
        if objects.ref(ref) is None:
            if not begin:
                return None
            # Else a clone that lost its refs would begin another one, and be refused.
            found = push.fetch(repo, remote, ref, ref, timeout=TIMEOUT_S)
            if isinstance(found, push.NotPushed):
                return found.reason
        tip = _append(repo, objects, teller, ref, target)
    if tip == teller.there:
        return None
    said = push.push(repo, remote, ref, tip, timeout=TIMEOUT_S)
    if isinstance(said, push.NotPushed):
        return said.reason
    teller.there = tip
    return ""


def _append(
    repo: Repository, objects: Objects, teller: _Teller, ref: str, target: str
) -> str:
    """Add what is new since the newest step, if there is any; return the newest."""
    refs = objects.refs()
    tip = refs.get(ref)
    if tip is None or tip != teller.tip:
        teller.known = {}
        for step in reversed([] if tip is None else [*steps(objects, tip)]):
            teller.known |= step.refs
            teller.known[step.target] = step.commit
    now = {name: oid for name, oid in refs.items() if is_record(name)}
    new = {name: oid for name, oid in now.items() if teller.known.get(name) != oid}
    commit = refs[target]
    if tip is not None and not new and teller.known.get(target) == commit:
        teller.tip = tip
        return tip
    values = {
        "version": VERSION,
        "release": __version__,
        "target": {"ref": target, "commit": commit},
        "refs": new,
    }
    payload = json.dumps(values, indent=1, sort_keys=True).encode() + b"\n"
    what = f"{len(new)} records, and {target} at {commit[:12]}"
    made = records.Records(repo).append(
        ref, tip, payload, what=what, kind="witness", objects=objects
    )
    teller.known |= {**new, target: commit}
    teller.tip = made
    return made


def fetch(repo: Repository, remote: str) -> str | None:
    """Return the newest step that the remote has, kept until `forget`; None: none.

    Raises:
        UserError: the remote cannot be reached, or what it has is not sound.
    """
    found = push.fetch(repo, remote, ref_of(repo), WITNESSED + remote)
    if isinstance(found, push.NotPushed):
        raise UserError(found.reason.rstrip("."))
    return found


def forget(repo: Repository, remote: str) -> None:
    """Let go of what was fetched."""
    gone = RefUpdate(WITNESSED + remote, None, ANY)
    update(repo.git, [gone], "gitagent: looked at")
