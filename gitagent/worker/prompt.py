"""The text that an agent is given: what to do, where, within which bounds.

It is made of parts, each with the name of whoever put it there.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from gitagent.core.exposure import Delivery, Told
from gitagent.core.grants import GATED
from gitagent.core.models import talks
from gitagent.core.question import Answer
from gitagent.core.task import Outcome
from gitagent.files import clean
from gitagent.files.duration import duration
from gitagent.worker import asked, questions, returns
from gitagent.worker.context import NOTHING, Context, changed
from gitagent.worker.folder import Folder
from gitagent.worker.order import Order

FILE = "prompt.md"
FEEDBACK_FILE = "previous-output"

TOOLS = frozenset({"claude", "codex", "opencode", "acp"})  # use an MCP server
_DEAF = frozenset({"aider"})  # has no tools: it writes files, and says what it asks

_WHY = {
    Outcome.QUESTION: "You asked, and were answered.",
    Outcome.TIMEOUT: "Your time ran out.",
    Outcome.AMENDED: "Your task was changed, and you were stopped for it.",
    Outcome.STOPPED: "A person had stopped you.",
}
UNTAUGHT = Delivery()
_INTERRUPTED = frozenset({Outcome.INTERRUPTED, Outcome.CLAIMED, None})


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a prompt."""

    producer: str  # who put it there
    text: str
    ends: str = "\n\n"  # what stands between it and the next


def joined(pieces: Iterable[Part]) -> str:
    """Return parts as one text, ending in a newline."""
    *before, last = pieces
    return "".join(each.text + each.ends for each in before) + last.text + "\n"


def parts(
    order: Order,
    folder: Folder,
    known: Context = NOTHING,
    *,
    tools: bool | None = None,
    memory: Delivery = UNTAUGHT,
) -> tuple[Part, ...]:
    """Return the parts of a prompt that begins a conversation.

    ``known`` is what there is beside the task, ``memory`` what earlier work teaches.
    ``tools`` says whether the agent has those of gitagent's MCP server; None: if its
    backend uses one.
    """
    return _some(
        Part(_definition(order, known), order.agent.instructions.strip()),
        *(Part(each.producer, _words(each.name, each.text)) for each in known.texts),
        Part("gitagent: more to read", _named(known.named)),
        Part("skills", _skills(known)),
        *of_memory(memory.told),
        _task(order),
        Part("gitagent: where you are", _place(order, folder)),
        Part("gitagent: what counts", _bounds(order)),
        Part("gitagent: how to end", _end(order, folder, tools=tools)),
        Part("answers of a person", _answers(order.answers)),
        _changed(order, known),
        Part("handoff", memory.handoff),
        _feedback(order),
    )


def resumed(
    order: Order,
    folder: Folder,
    known: Context = NOTHING,
    *,
    tools: bool | None = None,
    memory: Delivery = UNTAUGHT,
) -> tuple[Part, ...]:
    """Return the parts of a prompt that goes on with a saved conversation.

    It says only what is new since the attempt before.
    """
    before = order.before
    amended = before is not None and before.blob != order.attempt.blob
    return _some(
        Part("gitagent: where you are", _again(order, folder)),
        *of_memory(memory.told),
        Part("answers of a person", _answers(latest(order))),
        *([_task(order)] if amended else []),
        *([Part("gitagent: what counts", _bounds(order))] if amended else []),
        _changed(order, known),
        *_anew(order, known),
        _feedback(order),
        Part("gitagent: how to end", _end(order, folder, tools=tools)),
    )


def _anew(order: Order, known: Context) -> list[Part]:
    """Return the instructions that the attempt before was given otherwise, or not."""
    if order.before is None or not order.before.instructions:
        return []
    old = {each.path: each.blob for each in order.before.instructions}
    new = {each.path: each.blob for each in known.instructions}
    own = order.agent
    found = [
        Part(each.producer, _words(each.name, each.text))
        for each in known.texts
        if old.get(each.name) != new.get(each.name)
    ]
    if old.get(own.path) != new.get(own.path):
        found.insert(0, Part(_definition(order, known), own.instructions.strip()))
    return found


def of_memory(told: Iterable[Told]) -> tuple[Part, ...]:
    """Return what earlier work teaches as parts of a prompt."""
    return tuple(Part(each.producer, each.text, each.ends) for each in told)


def _some(*pieces: Part) -> tuple[Part, ...]:
    return tuple(each for each in pieces if each.text)


def _definition(order: Order, known: Context) -> str:
    agent = order.agent
    blobs = {each.path: each.blob for each in known.instructions}
    return _at(f"agent definition {agent.path}", blobs.get(agent.path, agent.blob))


def _at(what: str, blob: str) -> str:
    return f"{what.strip()}@{blob[:8]}" if blob else what.strip()


def _words(name: str, text: str) -> str:
    return f"## What {name} of this repository says\n\n{text}"


def _named(paths: tuple[str, ...]) -> str:
    if not paths:
        return ""
    lines = "\n".join(f"- {clean.line(path)}" for path in paths)
    return (
        "## More to read\n"
        "Read these before you work on what is below their folders, or the whole of"
        f" this repository if they are at its top:\n{lines}"
    )


def _skills(known: Context) -> str:
    if not known.skills:
        return ""
    lines = [
        f"- {clean.line(each.name)} ({clean.line(each.path)}): {each.description}"
        for each in known.skills
    ]
    return (
        "## Skills\n"
        "Each is a file that says how something is done here. When one fits what you"
        " are about to do, read its file first.\n" + "\n".join(lines)
    )


def _task(order: Order) -> Part:
    task = order.task
    words = f"# Task {task.id}: {clean.sentence(task.title)}\n\n{task.text.strip()}"
    return Part(_at(f"task file .agent/tasks/{task.id}.md", task.blob), words.strip())


def _place(order: Order, folder: Folder) -> str:
    target = order.target_ref.removeprefix("refs/heads/")
    lines = [
        f"You are in a Git worktree of your own, {folder.inside_tree}, on the branch",
        f"{order.local_branch}. It is to become part of {target}.",
        *_commits(order, target),
        f"You have {duration(order.timeout_s)}.",
    ]
    if order.confined:
        lines += [
            _network(order),
            "Outside of the worktree you can write only to your home directory and",
            "to /tmp, and neither becomes part of the result.",
        ]
    if order.attempt.base != order.target:
        lines += [
            f"This is attempt {order.attempt.number}; earlier work is on the branch",
            f"already: `git log origin/{target}..HEAD`. Go on from it.",
        ]
    return "## Where you are\n" + "\n".join(lines)


def _commits(order: Order, target: str) -> tuple[str, ...]:
    if "write" not in order.agent.may:
        return (
            "You can only read it: what is wanted is what you find out, not a change.",
        )
    return (
        "Commit as you like. Whatever you leave in the worktree when you end, and that",
        "Git does not ignore, is committed for you; then the branch is merged with",
        f"{target}, checked and landed by others. There is nothing to push.",
    )


def _network(order: Order) -> str:
    if order.network:
        return (
            f"Of the network you reach {_codes(order.network)}, through the proxy that"
            "\nthe environment names (`https_proxy` and its like), and nothing else."
        )
    if talks(order.agent):
        return "There is no network but the way to your model."
    return "There is no network."


def _again(order: Order, folder: Folder) -> str:
    before = order.before
    outcome = before.outcome if before else None
    why = _WHY.get(outcome) if outcome else None
    if why is None:
        why = (
            "You were interrupted."
            if outcome in _INTERRUPTED
            else "What you did is not good enough yet."
        )
    where = "" if order.confined else f" It is now {folder.inside_tree}."
    return (
        f"This is attempt {order.attempt.number} at the task that you were working on."
        f" {why}\nYour worktree is as you left it, and what you had not committed is"
        f" committed.{where}\nLook at where it stands (`git status`, `git log`), and go"
        f" on from there. You have {duration(order.timeout_s)}, from now."
    )


def latest(order: Order) -> tuple[Answer, ...]:
    """Return the answers to what the attempt before asked; all, if it asked nothing."""
    asked = {each.text for each in order.before.questions} if order.before else set()
    found = tuple(each for each in order.answers if each.question in asked)
    return found or order.answers


def _bounds(order: Order) -> str:
    task, agent = order.task, order.agent
    rules = [
        ("Change only paths that match", task.paths),
        ("Change only paths that match", agent.paths),
        ("Do not change paths that match", task.forbidden),
        (
            "Do not change these, or a person has to approve it:",
            order.settings.lander.protected,
        ),
    ]
    lines = [f"{rule} {_codes(globs)}." for rule, globs in rules if globs]
    lines.append(f"Do not change {clean.code(f'.agent/tasks/{task.id}.md')}.")
    commands = [*task.accept, *(check.run for check in order.settings.check)]
    lines += [f"{clean.code(run)} has to pass." for run in commands]
    return "## What counts\n" + "\n".join(f"- {line}" for line in lines)


def _codes(texts: tuple[str, ...]) -> str:
    return ", ".join(clean.code(each) for each in texts)


def _end(order: Order, folder: Folder, *, tools: bool | None) -> str:
    backend = order.agent.backend
    if backend == GATED:  # it has the same tools by itself
        return _TOOLS_END.format("Three of your tools are about the end.")
    if backend in TOOLS if tools is None else tools:
        return _TOOLS_END.format(
            "Three tools of the MCP server `gitagent` are about the end."
        )
    if backend in _DEAF:
        return _DEAF_END
    by_code = backend not in TOOLS
    return (
        "## How to end\n"
        + (f"{_BY_CODE}\n" if by_code else "")
        + f"You may say more in {folder.inside_out}/{returns.NAME}; every key but"
        f" status can be left out:\n\n```json\n{returns.FORM}\n```\n\n"
        "If a person has to decide something first, write"
        f" {folder.inside_out}/{questions.NAME} and end; the answers come with the"
        f" next attempt:\n\n```json\n{questions.FORM}\n```"
    )


_BY_CODE = (
    "End with exit code 0 when the work is done, with another one when it is not."
)

_TOOLS_END = """\
## How to end
{}
When the work is done, call `finish` with the status `done` (`nothing`: there was \
nothing to do; `blocked`: you cannot go on), with what you did in a sentence or two, \
and as `divergence` what differs from what was asked, each path by name, or `None`. \
Then stop.
If a person has to decide something that you cannot find out, call `ask` with all your \
questions at once and stop: the answers come with the next attempt, which goes on from \
your work.
`task_status` says what has to pass and how much time is left."""

_DEAF_END = f"""\
## How to end
When the work is done, say in a sentence or two what you did, and what differs from \
what was asked, each path by name.
If a person has to decide something that you cannot find out, change nothing and end \
your answer with all your questions, each of this form, and with nothing after them; \
the answers come with the next attempt:

{asked.FORM}"""


def _answers(answers: tuple[Answer, ...]) -> str:
    if not answers:
        return ""
    lines = []
    for each in answers:
        because = f" (because: {clean.sentence(each.because)})" if each.because else ""
        question = clean.sentence(each.question, 2000)
        lines.append(f"- Question: {question}\n  Answer: {_flat(each.text)}{because}")
    return "## What a person answered\n" + "\n".join(lines)


def _flat(text: str) -> str:
    return clean.visible(text).strip().replace("\n", "\n  ")


def _changed(order: Order, known: Context) -> Part:
    news = changed(order.before, known.instructions)
    words = ""
    if news:
        what = "; ".join(clean.line(each) for each in news)
        words = (
            f"Instructions changed since your last attempt: {what}. What they say now"
            " counts; drop habits from the old ones."
        )
    return Part("gitagent: what changed", words)


def _feedback(order: Order) -> Part:
    producer = f"output of attempt {order.attempt.number - 1}"
    if not order.feedback:
        return Part(producer, "")
    words = (
        "## What went wrong before\n"
        "The attempt before this one failed. This is the end of what it said; find the"
        " cause and mend it, rather than making the failure invisible.\n\n"
        + clean.fenced(order.feedback)
    )
    return Part(producer, words)
