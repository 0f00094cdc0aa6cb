"""The card of a task that asks, as people see it wherever it is shown."""

from collections.abc import Iterator

from gitagent.core import answering
from gitagent.core.question import Asker, lettered
from gitagent.core.task import TaskRecord
from gitagent.files import clean

_TEXT = 2000  # characters of a question


def lines(record: TaskRecord) -> Iterator[str]:
    """Yield the questions with their options, and what is answered of them so far."""
    if record.card is None:
        return
    known = answering.given(record)
    for number, question in enumerate(record.card.questions, 1):
        yield f"  {number}. {clean.sentence(question.text, _TEXT)}"
        for letter, option in lettered(question).items():
            yield f"     {letter}) {clean.sentence(option, _TEXT)}"
        for option in question.options[len(lettered(question)) :]:
            yield f"     -  {clean.sentence(option, _TEXT)}"
        if number in known:
            said = known[number]
            by = f", by {said.by}" if said.by else ""
            yield f"     = {clean.sentence(said.text, _TEXT)}{by}"
    if record.card.asker is Asker.BUDGET:
        yield "  An answer is an amount such as 2.50 or 200000 tokens, or stop."
