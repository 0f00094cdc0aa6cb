"""Answer files, ``.agent/tasks/answers/<task>.md``: what people say to a task.

The keys of the front matter are the numbers of the questions, the text below it is why.
"""

import re
from typing import Final

from gitagent.core.ident import id_problem
from gitagent.core.question import AnswerFile
from gitagent.core.task import Refusal
from gitagent.files import clean
from gitagent.files.fields import Fields, found
from gitagent.files.frontmatter import Front, split
from gitagent.files.text import Malformed

_NUMBER = re.compile(r"[1-9]\d{0,3}", re.ASCII)
_LIMIT: Final = 16_000  # characters of why


def parse(task: str, blob: str, data: bytes, path: str) -> AnswerFile | Refusal:
    """Return what the answer file at ``path`` says, or why it cannot be used."""
    if why := id_problem(task):
        return Refusal(path, f"{clean.line(path)}: {why}; name it after its task")
    try:
        return _parse(task, blob, split(data, path), path)
    except Malformed as error:
        return Refusal(path, str(error))


def _parse(task: str, blob: str, front: Front, path: str) -> AnswerFile:
    fields = Fields(front, path)
    if not front.values:
        mend = 'write the numbers of questions above it: +++, 1 = "b", +++'
        raise Malformed(path, "the file answers nothing", mend)
    answers = tuple((_number(fields, key), _text(fields, key)) for key in front.values)
    return AnswerFile(task, blob, answers, front.body.strip()[:_LIMIT])


def _number(fields: Fields, key: str) -> int:
    if not _NUMBER.fullmatch(key):
        problem = f"{key[:80]} is no number of a question"
        fields.refuse(key, problem, "keys are 1, 2 and so on")
    return int(key)


def _text(fields: Fields, key: str) -> str:
    """Return an answer; a number in a file, such as one of a budget, is its text."""
    value = fields.front.values[key]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number and not (isinstance(value, str) and value.strip()):
        problem = f"{key} is {found(value)}, expected a text"
        fields.refuse(key, problem, "write the answer in quotes")
    return repr(value) if number else str(value).strip()
