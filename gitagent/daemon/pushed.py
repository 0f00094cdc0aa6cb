"""What a push to this repository asks for, and the answer that its pusher reads.

Two hooks, two ways in: ``post-receive`` makes submissions of the refs under
``lander.submit``, ``proc-receive`` answers for ``refs/for/<target>``, which exists as a
name only.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gitagent.core.glob import matching
from gitagent.core.layout import HEADS
from gitagent.daemon import entry
from gitagent.daemon.entry import Entered, Work
from gitagent.daemon.target import SettingsInForce
from gitagent.errors import GitagentError, UserError
from gitagent.git.objects import Objects
from gitagent.git.packet import Push, PushedRef
from gitagent.git.repository import Repository
from gitagent.lander import submit

FOR = "refs/for/"

_OPTIONS = ("divergence", "request-id", "wait")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the options of a push say."""

    divergence: str | None = None
    request_id: str | None = None
    wait: bool = False
    unknown: tuple[str, ...] = ()


def after_push(repo: Repository, pushed: tuple[PushedRef, ...], say: Say) -> bool:
    """Make a submission of every pushed ref that is one; whether there was any.

    The push is done already. ``say`` gets a line for the pusher about each.
    """
    any_entered = False
    with repo.objects(fast=True) as objects:
        target, commit = entry.find_target(repo, objects)
        settings, _, _ = SettingsInForce().at(objects, commit)
        offered = matching(
            settings.lander.submit if settings else (),
            (each.ref for each in pushed if not each.deleted),
        )
        tips = {each.ref: each.new for each in pushed}
        for ref in offered:
            if ref == target:
                continue
            name = ref.removeprefix(HEADS)
            try:
                work = Work(entry.commit_of(repo, tips[ref]), ref)
                entered = entry.submit_work(repo, objects, work)
                any_entered = True
                say(f"{name} is {_told(repo, objects, entered)}")
            except GitagentError as error:
                say(f"{name} was not submitted: {error.line()}")
    return any_entered


def answers(repo: Repository, push: Push, say: Say) -> Iterator[str]:
    """Yield the lines of the answer to a push to ``refs/for``, all refs answered."""
    wishes = read_options(push.options)
    if wishes.unknown:
        names = ", ".join(wishes.unknown)
        say(f"push options that are not known here: {names}; {', '.join(_OPTIONS)} are")
    if wishes.wait:
        say("this release answers at once; see the outcome with: gitagent status")
    for pushed in push.refs:
        try:
            entered = _for_target(repo, pushed, wishes, say)
        except GitagentError as error:
            yield f"ng {pushed.ref} {_one_line(error.line())}"
            continue
        submission = entered.submission
        yield f"ok {pushed.ref}"
        yield f"option refname {submit.ref_of(submission.id)}"
        yield f"option new-oid {submission.tip}"


def read_options(options: tuple[str, ...]) -> Wishes:
    """Return what push options ask for; of one given twice the last counts."""
    found: dict[str, str] = {}
    unknown = []
    for option in options:
        key, _, value = option.partition("=")
        if key in _OPTIONS:
            found[key] = value
        else:
            unknown.append(key)
    return Wishes(
        divergence=found.get("divergence"),
        request_id=found.get("request-id"),
        wait="wait" in found,
        unknown=tuple(dict.fromkeys(unknown)),
    )


def _for_target(
    repo: Repository, pushed: PushedRef, wishes: Wishes, say: Say
) -> Entered:
    with repo.objects(fast=True) as objects:
        target, _ = entry.find_target(repo, objects)
        name = target.removeprefix(HEADS)
        if pushed.ref != FOR + name:
            raise UserError(f"{name} is the target here; push to {FOR}{name}")
        if pushed.deleted:
            raise UserError("there is nothing to submit; push a commit")
        entered = entry.submit_work(
            repo,
            objects,
            Work(entry.commit_of(repo, pushed.new), None),
            divergence=wishes.divergence,
            request_id=wishes.request_id,
        )
        say(_told(repo, objects, entered))
    return entered


def _told(repo: Repository, objects: Objects, entered: Entered) -> str:
    """Return which submission something is, for the one who pushed it."""
    found = entered.submission
    if found.settled:
        why = f": {found.reason}" if found.reason else ""
        return f"submission {found.id}, which is {found.state} already{why}"
    position = entry.position(repo, objects, found.id)
    where = f" (position {position})" if position else ""
    return f"submission {found.id}{where}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
