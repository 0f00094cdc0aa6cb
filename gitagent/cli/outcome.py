"""How the news and the outcome of a submission are told, and which exit code it is."""

from gitagent.cli import say
from gitagent.core.submission import Submission, SubmissionState
from gitagent.daemon.lineup import RunNow
from gitagent.daemon.news import Alone, Began, Ended, Judged, News, Place, Standing
from gitagent.files import clean

_NAMED = 2  # submissions judged together; more are counted


def tell(news: News) -> None:
    """Say on standard error what is new about a submission."""
    match news:
        case Standing(submission):
            _stands(submission)
        case Place(name, position, of, ahead):
            after = f", after {ahead}" if ahead else ""
            say.note(f"{name} has position {position} of {of}{after}")
        case Began(name, run):
            again = " once more" if run.run > 1 else ""
            say.note(f"{name}: check {run.check} runs{again}{_along(name, run)}")
        case Ended(name, run, None):
            say.note(f"{name}: check {run.check} was stopped{_along(name, run)}")
        case Ended(name, run, receipt):
            assert receipt is not None  # noqa: S101 - the case before
            code = f" (exit {receipt.exit_code})" if receipt.exit_code else ""
            took = say.seconds(receipt.seconds)
            how = f"{receipt.result} in {took}{code}{_along(name, run)}"
            say.note(f"{name}: check {run.check} {how}")
        case Judged(name, line):
            took = f" in {say.seconds(line.seconds)}" if line.seconds else ""
            say.note(f"{name}: check {line.name} {line.state}{took}")
        case Alone():
            say.note("no daemon runs, so this waits for one: gitagent up --detach")


def _along(name: str, run: RunNow) -> str:
    """Return with which others a run judges a submission, and its no is not final."""
    others = [each for each in run.submissions if each != name]
    if len(others) > _NAMED:
        return f", together with {len(others)} others"
    return f", together with {', '.join(others)}" if others else ""


def _stands(submission: Submission) -> None:
    text = f"{submission.id} is {submission.state}"
    say.note(f"{text}: {submission.reason}" if submission.reason else text)
    if submission.state is SubmissionState.REJECTED and submission.output:
        say.aside(clean.tail(clean.plain(submission.output.encode("utf-8", "replace"))))


def exit_code(submission: Submission) -> int:
    """Return 0 if it landed, 130 if nobody waited for the outcome, else 1."""
    if not submission.settled:
        return 130
    return 0 if submission.state is SubmissionState.LANDED else 1
