"""What an agent wants to know, in ``question.json``: hostile until it is read here."""

from gitagent.core.question import LETTERS, Question
from gitagent.files import clean
from gitagent.worker.strictjson import BadForm, known, load, shown

NAME = "question.json"
LIMIT = 512 * 1024  # bytes, which hold the most that is taken in any alphabet

QUESTIONS = 10
OPTIONS = len(LETTERS)
_TEXT = 2000  # characters of a question
_OPTION = 300

FORM = """\
{"questions": [{"text": "what a person has to decide",
                "options": ["one answer", "another one"]}]}"""


def parse(data: bytes) -> tuple[Question, ...]:
    """Return what the bytes of a question file ask, at least one question.

    Raises:
        BadForm: with one sentence that says what to change.
    """
    values = load(data, LIMIT, ("questions",)).get("questions")
    if not isinstance(values, list):
        raise BadForm(f"questions has to be a list of questions, not {shown(values)}")
    if not values:
        raise BadForm("questions is empty; ask at least one")
    if len(values) > QUESTIONS:
        raise BadForm(
            f"questions has {len(values)} entries; at most {QUESTIONS} are taken"
        )
    return tuple(_question(value, number) for number, value in enumerate(values, 1))


def _question(value: object, number: int) -> Question:
    where = f"question {number}"
    if not isinstance(value, dict):
        raise BadForm(f"{where} has to be an object with a text, not {shown(value)}")
    try:
        known(value, ("text", "options"))
    except BadForm as error:
        raise BadForm(f"{where}: {error}") from None
    text = _text(value.get("text"), where, "text", _TEXT)
    options = value.get("options")
    if options is None:
        return Question(text)
    if not isinstance(options, list):
        raise BadForm(
            f"options of {where} has to be a list of texts, not {shown(options)}"
        )
    if len(options) > OPTIONS:
        raise BadForm(f"{where} has {len(options)} options; at most {OPTIONS} fit")
    read = tuple(_option(option, where) for option in options)
    if len(set(read)) < len(read):
        raise BadForm(f"{where} has an option twice; write it once")
    return Question(text, read)


def _option(value: object, where: str) -> str:
    text = _text(value, where, "an option", _OPTION)
    if "\n" in text:
        raise BadForm(f"an option of {where} has more than one line; write it on one")
    return text


def _text(value: object, where: str, what: str, limit: int) -> str:
    if not isinstance(value, str):
        raise BadForm(f"{what} of {where} has to be a text, not {shown(value)}")
    if len(value) > limit:
        raise BadForm(
            f"{what} of {where} has {len(value)} characters; at most {limit} are taken"
        )
    text = clean.visible(value).strip()
    if not text:
        raise BadForm(f"{what} of {where} is empty; say what is meant")
    return text
