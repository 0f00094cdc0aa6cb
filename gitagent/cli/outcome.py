"""How the outcome of a submission is told, and which exit code it is."""

from gitagent.cli import say
from gitagent.core.submission import Submission, SubmissionState


def tell(submission: Submission) -> None:
    """Say on standard error where a submission stands."""
    text = f"{submission.id} is {submission.state}"
    say.note(f"{text}: {submission.reason}" if submission.reason else text)
    if submission.state is SubmissionState.REJECTED and submission.output:
        say.aside(submission.output)


def exit_code(submission: Submission) -> int:
    """Return 0 if it landed, 130 if nobody waited for the outcome, else 1."""
    if not submission.settled:
        return 130
    return 0 if submission.state is SubmissionState.LANDED else 1
