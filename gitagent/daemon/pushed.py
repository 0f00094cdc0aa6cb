"""What a push to this repository asks for, and the answer that its pusher reads.

Two hooks, two ways in: ``post-receive`` makes submissions of the refs under
``lander.submit``, ``proc-receive`` answers for ``refs/for/<target>``, which exists as a
name only. Each ref of a push has an answer of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gitagent.core.glob import matching
from gitagent.core.layout import FOR, HEADS
from gitagent.core.submission import Submission, SubmissionState
from gitagent.daemon import entry, follow, inbox
from gitagent.daemon.entry import Entered, Work
from gitagent.daemon.follow import Over
from gitagent.daemon.news import Tell
from gitagent.daemon.overview import open_submissions
from gitagent.daemon.target import SettingsInForce
from gitagent.daemon.wishes import Wishes, read_options
from gitagent.errors import GitagentError, UserError
from gitagent.files import clean
from gitagent.git.objects import Objects
from gitagent.git.packet import Push, PushedRef
from gitagent.git.repository import Repository
from gitagent.lander import submit

AGAIN = "to see the outcome push again with -o wait"

_REASON = 200  # characters of a refusal on one line

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Pusher:
    """The one at the other end of a push."""

    say: Say  # a line for their terminal
    tell: Tell  # what is new about a submission
    gone: Callable[[], bool]  # whether nobody reads it any more


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


def answers(repo: Repository, push: Push, pusher: Pusher) -> list[str]:
    """Return the lines of the answer to a push to ``refs/for``, every ref answered."""
    try:
        wishes = read_options(push.options or ())
        _refuse_halves(push)
    except GitagentError as error:
        return [_refusal(each.ref, error, pusher.say) for each in push.refs]
    entered: dict[str, Entered] = {}
    refused: dict[str, str] = {}
    for pushed in push.refs:
        try:
            entered[pushed.ref] = _enter(repo, pushed, wishes, pusher.say)
        except GitagentError as error:
            refused[pushed.ref] = _refusal(pushed.ref, error, pusher.say)
    _about_options(repo, push, pusher.say)
    working = entry.poke(repo)
    lines: list[str] = []
    for pushed in push.refs:
        if pushed.ref in refused:
            lines.append(refused[pushed.ref])
            continue
        found = entered[pushed.ref].submission
        if found.settled:
            _about_again(found, pusher.say)
        else:
            found = _until(repo, found, wishes, pusher, working=working)
        inbox.seen(repo, found)
        lines += _verdict(pushed.ref, found)
    return lines


def _refuse_halves(push: Push) -> None:
    """Refuse an atomic push of several such refs: there is one target, so one fails."""
    if push.atomic and len(push.refs) > 1:
        raise UserError(
            "one of these refs cannot be submitted, and the push is atomic",
            f"push one ref to {FOR}<target> at a time",
        )


def _enter(repo: Repository, pushed: PushedRef, wishes: Wishes, say: Say) -> Entered:
    with repo.objects(fast=True) as objects:
        target, _ = entry.find_target(repo, objects)
        name = target.removeprefix(HEADS)
        if pushed.ref != FOR + name:
            raise _elsewhere(pushed.ref, name)
        if pushed.deleted:
            raise UserError("there is nothing to submit", "push a commit")
        entered = entry.submit_work(
            repo,
            objects,
            Work(entry.commit_of(repo, pushed.new), None),
            divergence=wishes.divergence,
            request_id=wishes.request_id,
            topic=wishes.topic,
            closes=wishes.task,
        )
        found = entered.submission
        say(_told(repo, objects, entered))
        if entered.instead_of:
            say(f"it takes the place of {entered.instead_of}, of the same topic")
        if found.closes:
            say(f"it is for task {found.closes}")
        if not entered.new and _differs(found, wishes):
            say("it keeps what it was submitted with; to change that push a new commit")
    return entered


def _elsewhere(ref: str, target: str) -> UserError:
    below = ref.removeprefix(f"{FOR}{target}/")
    mend = f"push to {FOR}{target}"
    if below != ref:
        mend += f", with -o topic={clean.sentence(below, 60)}"
    return UserError(f"{target} is the target here", mend)


def _differs(found: Submission, wishes: Wishes) -> bool:
    """Whether a push asks for other than what was submitted before."""
    return (
        (wishes.divergence or found.divergence) != found.divergence
        or (wishes.task or found.closes) != found.closes
        or (wishes.topic is not None and not _is_of(found, wishes.topic))
    )


def _is_of(found: Submission, topic: str) -> bool:
    return (found.branch or "").startswith(FOR) and (found.branch or "").endswith(
        f"/{topic}"
    )


def _until(
    repo: Repository,
    found: Submission,
    wishes: Wishes,
    pusher: Pusher,
    *,
    working: bool,
) -> Submission:
    """Return a submission when its pusher need not wait for it any longer."""
    if not wishes.wait:
        if working:
            pusher.say(f"{AGAIN}, or there: gitagent logs -f {found.id}")
        else:
            pusher.say("no daemon runs there now; it waits for one")
        return found
    waited = follow.wait(
        repo, found.id, pusher.tell, seconds=wishes.patience, gone=pusher.gone
    )
    found = waited.submission
    match waited.over:
        case Over.ALONE:
            pusher.say(f"{found.id} stays {found.state}; no daemon runs there now")
        case Over.LATE:
            pusher.say(
                f"{found.id} is {found.state} after {wishes.patience} s, and goes on; "
                f"{AGAIN}"
            )
        case _:
            pass
    return found


def _about_again(found: Submission, say: Say) -> None:
    """Say to who pushed something again that was not taken how it can be."""
    if found.state is not SubmissionState.LANDED:
        say(
            "to submit it anew push a new commit, or the same with -o request-id= and "
            "a word that was not used"
        )


def _verdict(ref: str, found: Submission) -> list[str]:
    """Return the answer for a ref that became a submission."""
    if found.settled and found.state is not SubmissionState.LANDED:
        return [f"ng {ref} {_one_line(f'{found.id} is {found.state}: {found.reason}')}"]
    return [
        f"ok {ref}",
        f"option refname {submit.ref_of(found.id)}",
        f"option new-oid {found.tip}",
    ]


def _refusal(ref: str, error: GitagentError, say: Say) -> str:
    """Return the answer for a ref that became none; why, and the mend, are told."""
    say(f"{ref} was refused: {error.line()}")
    return f"ng {ref} {_one_line(error.message)}"


def _about_options(repo: Repository, push: Push, say: Say) -> None:
    """Say how to have push options where they are switched off."""
    key = "receive.advertisePushOptions"
    if push.options is None:
        done = repo.git.run("config", "--type=bool", key, ok=(0, 1), user_config=True)
        if done.text != "true":
            say(f"push options cannot be had there; they can with: git config {key} 1")


def _told(repo: Repository, objects: Objects, entered: Entered) -> str:
    """Return which submission something is, for the one who pushed it."""
    found = entered.submission
    if found.settled:
        why = f": {found.reason}" if found.reason else ""
        return f"submission {found.id}, which is {found.state} already{why}"
    waiting = [each.id for each in open_submissions(repo, objects)]
    place = waiting.index(found.id) if found.id in waiting else 0
    where = f"position {place + 1}" + (f", after {waiting[place - 1]}" * bool(place))
    before = "" if entered.new else ", submitted already"
    return f"submission {found.id} ({where}{before})"


def _one_line(text: str) -> str:
    return clean.sentence(text, _REASON)
