"""Skills, ``<folder>/<name>/SKILL.md``: a name, and when it is of use."""

from dataclasses import dataclass

from gitagent.core.task import Refusal
from gitagent.files import clean
from gitagent.files.fields import Fields
from gitagent.files.frontmatter import split
from gitagent.files.text import Malformed

NAME = "SKILL.md"

_LONGEST = 100  # characters of a name
_DESCRIPTION = 1024  # characters, as the format has it; what is longer is cut


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill, as it is offered."""

    name: str
    description: str  # on one line
    path: str  # of its file
    blob: str = ""  # object id of its content


def parse(folder: str, data: bytes, path: str, blob: str = "") -> Skill | Refusal:
    """Return the skill that the file at ``path`` describes, or why it is not offered.

    Without ``name`` it is called as its ``folder``.
    """
    try:
        fields = Fields(split(data, path, lenient=True), path)
        name = fields.text("name") or folder
        description = fields.text("description")
    except Malformed as error:
        return Refusal(path, str(error))
    if description is None:
        why = "it does not say when it is of use", "write a description"
        return Refusal(path, str(Malformed(path, *why, 1)))
    return Skill(
        clean.sentence(name, _LONGEST),
        clean.sentence(description, _DESCRIPTION),
        path,
        blob,
    )
