"""Task files, ``.agent/tasks/<id>.md``: what is wanted, as a value or a refusal."""

from gitagent.core.ident import id_problem
from gitagent.core.task import Land, Refusal, TaskFile
from gitagent.files import clean
from gitagent.files.fields import Fields
from gitagent.files.frontmatter import Front, split
from gitagent.files.globs import command_problem, glob_problem
from gitagent.files.markdown import Outline, outline
from gitagent.files.text import Malformed

KEYS = (
    "title",
    "agent",
    "kind",
    "priority",
    "after",
    "paths",
    "forbidden",
    "accept",
    "timeout",
    "retries",
    "land",
    "budget",
)

_PRIORITY = 1_000_000
_RETRIES = 100


def parse(id: str, blob: str, data: bytes, path: str) -> TaskFile | Refusal:  # noqa: A002
    """Return what the task file at ``path`` asks for, or why it cannot be used."""
    if why := id_problem(id):
        return Refusal(path, f"{clean.line(path)}: {why}; rename the file")
    try:
        return _parse(id, blob, split(data, path), path)
    except Malformed as error:
        return Refusal(path, str(error))


def _parse(id: str, blob: str, front: Front, path: str) -> TaskFile:  # noqa: A002
    found = outline(front.body)
    fields = Fields(front, path)
    fields.known(KEYS)
    if (row := found.unclosed) is not None:
        problem = "the sh block that begins here does not end"
        raise Malformed(path, problem, "end it with its fence", front.first + row)
    if not front.body.strip() and "title" not in front.values:
        raise Malformed(path, "the file asks for nothing", "write what is wanted")

    def other_task(name: str) -> str | None:
        return "a task cannot wait for itself" if name == id else id_problem(name)

    return TaskFile(
        id=id,
        blob=blob,
        title=clean.sentence(fields.text("title") or _heading(found) or id),
        text=front.body if front.kind else _below_title(front.body, found),
        scripts=found.scripts,
        agent=fields.text("agent", id_problem),
        kind=fields.text("kind", id_problem),
        priority=fields.whole("priority", -_PRIORITY, _PRIORITY) or 0,
        after=fields.texts("after", other_task),
        paths=fields.texts("paths", glob_problem),
        forbidden=fields.texts("forbidden", glob_problem),
        accept=fields.texts("accept", command_problem),
        timeout=fields.duration("timeout"),
        retries=fields.whole("retries", 0, _RETRIES),
        land=fields.choice("land", Land) or Land.AUTO,
        budget=fields.amounts("budget"),
    )


def _heading(found: Outline) -> str:
    return found.heading.text if found.heading else ""


def _below_title(body: str, found: Outline) -> str:
    """Return the body without a heading that it begins with: that one is the title."""
    rows = body.split("\n")
    taken = found.heading.rows if found.heading else range(0)
    if "".join(rows[: taken.start]).strip():
        return body
    return "\n".join(rows[taken.stop :]).lstrip("\n")
