"""The questions of an agent without tools: lines at the end of its last words."""

import json
import re

from gitagent.core.question import Question
from gitagent.worker import questions
from gitagent.worker.strictjson import BadForm

FORM = """\
QUESTION: what a person has to decide
- one answer
- another one"""

# With the marks that models like to put around such a word.
_QUESTION = re.compile(r"[\s>#*_-]*QUESTION(?: ?\d+)?[*_]*:[*_\s]*(.*?)[*_\s]*")
_OPTION = re.compile(r"\s*(?:[-*•]|\(?\w[.)])\s+(?:OPTION: *)?(.*?)\s*|OPTION: *(.*)")


def asked(words: str) -> tuple[Question, ...]:
    """Return the questions that the words end with; () : none, or they are unusable.

    Elsewhere such a line is part of a file or of a quotation.
    """
    found: list[dict[str, object]] = []
    options: list[str] = []
    for line in reversed(words.strip().splitlines()):
        if not line.strip():
            continue
        if question := _QUESTION.fullmatch(line):
            found.insert(0, {"text": question[1], "options": options})
            options = []
        elif option := _OPTION.fullmatch(line):
            options.insert(0, option[1] or option[2] or "")
        else:
            break
    if not found:
        return ()
    try:
        return questions.parse(json.dumps({"questions": found}).encode())
    except BadForm:
        return ()
