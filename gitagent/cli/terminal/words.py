"""What a typed line means: words for the model, or a command."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from gitagent.core.chat import Decide, Plan, Request, Rewind, Side, SideEnd, Stop
from gitagent.files import clean
from gitagent.files.fields import nearest

COMMANDS: Final = {
    "/plan [off]": "only look and think; nothing with an effect can be done",
    "/side": "ask something aside, of which the conversation hears nothing",
    "/end": "end the side chat; a summary of it goes into the conversation",
    "/drop": "end the side chat without a word",
    "/entries": "list what one can go back to, with its number",
    "/rewind N": "go back to the entry N; says first what cannot be undone",
    "/yes N": "confirm what the entry N proposes",
    "/no N": "turn it down",
    "/steer TEXT": "say something to the turn that runs, not after it",
    "/stop": "end the turn that runs, as ^C does",
    "/quit": "leave, as ^D does; a turn that runs goes on",
    "/help": "show this",
}
_NAMES: Final = {each.partition(" ")[0] for each in COMMANDS}
_NUMBERED: Final = frozenset({"/rewind", "/yes", "/no"})


@dataclass(frozen=True, slots=True)
class Text:
    """Words for the model."""

    text: str
    steer: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """A command, as it stands in COMMANDS without what it takes."""

    name: str
    number: int = 0
    off: bool = False


@dataclass(frozen=True, slots=True)
class Wrong:
    """A command that there is not: a sentence with the mend."""

    sentence: str


REQUESTS: Final[dict[str, Callable[[Command], Request]]] = {
    "/plan": lambda command: Plan(on=not command.off),
    "/side": lambda _: Side(),
    "/end": lambda _: SideEnd(inject=True),
    "/drop": lambda _: SideEnd(inject=False),
    "/rewind": lambda command: Rewind(command.number),
    "/yes": lambda command: Decide(command.number, yes=True),
    "/no": lambda command: Decide(command.number, yes=False),
    "/stop": lambda _: Stop(),
}

Typed = Text | Command | Wrong


def parse(line: str) -> Typed | None:
    """Return what a typed line means; None: it is empty.

    A line that begins with white space is never a command.
    """
    if not line.strip():
        return None
    if not line.startswith("/"):
        return Text(line.strip())
    name, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    if name not in _NAMES:
        return Wrong(_unknown(name))
    if name == "/steer":
        return Text(rest, steer=True) if rest else Wrong("say what: /steer TEXT")
    if name in _NUMBERED:
        # int() takes more than digits, such as "1_0" and other scripts' ones.
        if not rest.isascii() or not rest.isdigit() or len(rest) > 9:
            return Wrong(f"{name} takes the number of an entry, such as {name} 12")
        return Command(name, number=int(rest))
    if name == "/plan" and rest in {"on", "off"}:
        return Command(name, off=rest == "off")
    if rest:
        return Wrong(
            f"{name} takes {'off or nothing' if name == '/plan' else 'nothing'}"
        )
    return Command(name)


def help_lines() -> Iterator[str]:
    """Yield what /help shows."""
    wide = max(map(len, COMMANDS))
    for name, what in COMMANDS.items():
        yield f"  {name:{wide}}  {what}"


def _unknown(name: str) -> str:
    near = nearest(name, _NAMES)
    mend = f"did you mean {near}?" if near else "see /help"
    return (
        f"there is no {clean.sentence(name, 40)}; {mend}"
        " (begin with a space to say it to the model)"
    )
