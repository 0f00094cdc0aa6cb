"""What an agent says of its own end: a return, questions, last words. All of it claims.

They can make an end worse, or turn it into a question; nothing makes it better.
"""

from dataclasses import replace

from gitagent.core.task import Outcome
from gitagent.worker import hooklog, questions, returns
from gitagent.worker.folder import Folder
from gitagent.worker.log import Log
from gitagent.worker.order import Ending

# What stopped it was not its own end; what it has asked still has to be answered.
_CAN_ASK = frozenset(
    {
        *(Outcome.OK, Outcome.NOTHING, Outcome.BLOCKED, Outcome.FAILED),
        *(Outcome.TIMEOUT, Outcome.INTERRUPTED, Outcome.QUESTION),
    }
)


def heard(folder: Folder, log: Log, ending: Ending, *, hooks: bool) -> Ending:
    """Return how an attempt ended, with what its agent says of that.

    With ``hooks`` the log is told what those came to.
    """
    if hooks:
        _tell_hooks(folder, log)
    return _answered(_with_questions(folder, log, _with_return(folder, log, ending)))


def _with_return(folder: Folder, log: Log, ending: Ending) -> Ending:
    """Add what the agent says of its work to how it ended."""
    try:
        data = folder.load_out(returns.NAME, returns.LIMIT)
        said = returns.parse(data) if data is not None else None
    except ValueError as error:
        if ending.outcome is not Outcome.OK:
            return ending
        reason = f"The agent's {returns.NAME} cannot be used: {error}."
        return replace(ending, outcome=Outcome.FAILED, reason=reason)
    if said is None:
        return ending
    for name, lines in (("evidence", said.evidence), ("risk", said.risks)):
        for line in lines:
            log.say(f"{name}: {line}")
    risks = f"Risks: {'; '.join(said.risks)}" if said.risks else ""
    ending = replace(
        ending,
        summary="\n\n".join(part for part in (said.summary, risks) if part),
        divergence=said.divergence,
        commands=said.commands,
    )
    if said.status == "blocked" and ending.outcome in {Outcome.OK, Outcome.FAILED}:
        return replace(ending, outcome=Outcome.BLOCKED, reason=said.summary)
    if said.status == "nothing" and ending.outcome is Outcome.OK:
        return replace(ending, outcome=Outcome.NOTHING)
    return ending


def _tell_hooks(folder: Folder, log: Log) -> None:
    try:
        data = folder.load_out(hooklog.NAME, hooklog.LIMIT)
    except ValueError:
        data = None
    log.say(hooklog.summary(data, installed=True))


def _with_questions(folder: Folder, log: Log, ending: Ending) -> Ending:
    """Let an attempt that has asked something end with its questions."""
    asked = ending.questions
    if not asked:
        try:
            data = folder.load_out(questions.NAME, questions.LIMIT)
            asked = questions.parse(data) if data is not None else ()
        except ValueError as error:
            log.say(f"the agent's {questions.NAME} cannot be used: {error}")
    if not asked or ending.outcome not in _CAN_ASK:
        return ending
    return replace(ending, outcome=Outcome.QUESTION, questions=asked)


def _answered(ending: Ending) -> Ending:
    """Let an attempt fail whose agent could say how it ended and said nothing."""
    silent = ending.spoken and not (ending.answer or ending.summary)
    if not silent or ending.outcome is not Outcome.OK:
        return ending
    reason = "The agent ended without an answer."
    return replace(ending, outcome=Outcome.FAILED, reason=reason)
