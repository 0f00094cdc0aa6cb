"""What a task asks, what is answered of it, and how it goes on from there.

The answers to a card can come one by one, by several people; the task goes on when all
of them are there. Until then, and until a daemon has taken them up, a later answer to
the same question replaces the one before.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gitagent.core.question import (
    Amount,
    Answer,
    Asker,
    Card,
    Misfit,
    Question,
    amount,
    choose,
    lettered,
)
from gitagent.core.task import TaskRecord, TaskState

ANSWER = "answer"  # a record's request

_NAMED = 5  # questions named one by one in a sentence


@dataclass(frozen=True, slots=True)
class Taken:
    """A record with answers in it."""

    record: TaskRecord
    message: str  # what happened, in words
    notes: tuple[str, ...] = ()  # sentences that the one who answers has to know


def asks(record: TaskRecord) -> bool:
    """Tell whether people owe an answer."""
    waits = record.state is TaskState.QUESTION and record.card is not None
    return waits and record.request != "stop" and not complete(record)


def complete(record: TaskRecord) -> bool:
    """Tell whether all is answered, and the next attempt is due."""
    waits = record.state is TaskState.QUESTION and record.request == ANSWER
    return waits and not still_open(record)


def given(record: TaskRecord) -> dict[int, Answer]:
    """Return what is answered of the card so far, by number."""
    return {
        each.number: each
        for each in record.answers
        if each.attempt == record.attempt and each.number
    }


def still_open(record: TaskRecord) -> tuple[int, ...]:
    """Return the numbers of the questions that nobody has answered."""
    if record.card is None:
        return ()
    known = given(record)
    numbers = range(1, len(record.card.questions) + 1)
    return tuple(number for number in numbers if number not in known)


def command(record: TaskRecord) -> str:
    """Return the command that answers what is open."""
    numbers = still_open(record) or (1,)
    more = " …" if len(numbers) > _NAMED else ""
    said = " ".join(f"{number}=…" for number in numbers[:_NAMED])
    return f"gitagent answer {record.id} {said}{more}"


def spoken(record: TaskRecord) -> str:
    """Return what is asked in one line: questions, and their options by letter."""
    said = []
    for number, each in enumerate(record.card.questions if record.card else (), 1):
        options = ", ".join(f"{key}: {text}" for key, text in lettered(each).items())
        said.append(f"{number}. {each.text}" + (f" ({options})" if options else ""))
    return " ".join(said)


def card_of(
    asker: Asker, questions: tuple[Question, ...], reason: str, now: str
) -> Card:
    """Return what a task asks; an end that left no question asks for the reason."""
    text = reason or "It cannot go on without a word from a person; what is it to do?"
    return Card(asker, questions or (Question(text),), now)


def owed(record: TaskRecord, why: str = "") -> str:
    """Return the sentence that names who owes what; ``why`` comes first."""
    card, numbers = record.card, still_open(record)
    if card is None:
        return why
    if card.asker is Asker.BUDGET:
        wants = "A person says how much more it may spend"
    elif len(card.questions) == 1:
        wants = "Its agent asks, and a person owes the answer"
    elif len(numbers) == len(card.questions):
        wants = f"Its agent asks {len(numbers)} questions, and a person answers"
    else:
        count = f"{len(numbers)} of {len(card.questions)}"
        wants = f"A person owes answers to {count} questions"
    return f"{why} {wants}: {command(record)}".lstrip()


def answered(
    record: TaskRecord,
    said: Mapping[int, str],
    *,
    by: str,
    at: str,
    because: str = "",
) -> Taken | Misfit:
    """Return the record with these answers to its card in it.

    All or none of them are taken. With the last one it asks for the next attempt, or,
    where a budget's question is answered with ``stop``, to be stopped.
    """
    card = record.card
    if card is None or record.state is not TaskState.QUESTION:
        problem = f"task {record.id} asks nothing: it is {record.state}"
        return Misfit(problem, f"see: gitagent status {record.id}")
    if record.request == "stop":
        mend = f"then: gitagent task retry {record.id}"
        return Misfit(f"task {record.id} is about to be stopped", mend)
    new: dict[int, Answer] = {}
    notes, stop = [], False
    for number, text in said.items():
        if not 1 <= number <= len(card.questions):
            last = len(card.questions)
            asked = "question 1" if last == 1 else f"questions 1 to {last}"
            return Misfit(
                f"task {record.id} asks no question {number}", f"it asks {asked}"
            )
        question = card.questions[number - 1]
        if card.asker is Asker.BUDGET:
            found = amount(text)
            if isinstance(found, Misfit):
                return found
            stop = stop or found == Amount()
            words = text
        else:
            chosen = choose(question, number, text)
            if isinstance(chosen, Misfit):
                return chosen
            words, offered = chosen
            if not offered:
                notes.append(
                    f"Question {number} has no such option; "
                    "what you wrote is passed on as it is."
                )
        attempt = record.attempt
        new[number] = Answer(question.text, words, by, at, because, number, attempt)
    kept = tuple(
        each
        for each in record.answers
        if each.attempt != record.attempt or each.number not in new
    )
    made = replace(record, answers=(*kept, *new.values()), request=None)
    return _stated(made, tuple(new), tuple(notes), stop=stop)


def _stated(
    record: TaskRecord, numbers: tuple[int, ...], notes: tuple[str, ...], *, stop: bool
) -> Taken:
    who = "a person answers " + ", ".join(map(str, numbers))
    if stop:
        made = replace(record, request="stop", reason="A person stops it.")
        return Taken(made, "answered: a person adds nothing to its budget", notes)
    if still_open(record):
        reason = owed(record)
        return Taken(replace(record, reason=reason), f"question: {who}", notes)
    reason = "It is answered, and the daemon owes the next attempt."
    return Taken(
        replace(record, request=ANSWER, reason=reason), f"answered: {who}", notes
    )


def resumed(record: TaskRecord) -> TaskRecord:
    """Return an answered record as the next attempt begins with it.

    What people added to its budget is added; it costs no retry.
    """
    usd, tokens = record.extra_usd, record.extra_tokens
    if record.card is not None and record.card.asker is Asker.BUDGET:
        for each in given(record).values():
            found = amount(each.text)
            if isinstance(found, Amount):
                usd, tokens = usd + found.usd, tokens + found.tokens
    return replace(record, card=None, request=None, extra_usd=usd, extra_tokens=tokens)
