"""One client's view of a conversation: frames and typed lines in, lines to show out.

Knows no terminal. What is typed counts as sent only when its entry is known; until then
it is kept, and said again under the same request when the connection comes back.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from gitagent.cli.terminal import shown, stream, words
from gitagent.cli.terminal.link import Back, Event, Gone, Lost
from gitagent.cli.terminal.past import Past
from gitagent.cli.terminal.shown import Line
from gitagent.cli.terminal.words import Command, Text, Typed, Wrong
from gitagent.core import chat
from gitagent.core.chat import (
    Answered,
    Delta,
    Doing,
    Greeting,
    Hello,
    MalformedError,
    Refused,
    Request,
    Rewind,
    Say,
    Sent,
    State,
    Stop,
    Told,
    Trouble,
    Undone,
    When,
)
from gitagent.core.conversation import Entry, Kind
from gitagent.files import clean

PLAN: Final = "plan"  # profile

_QUEUED: Final = " (queued: after this turn)"
_YES: Final = frozenset({"y", "yes"})


@dataclass(frozen=True, slots=True)
class Unsent:
    """Words whose entry is not known yet."""

    say: Say
    side: int  # side chat that they were typed in


@dataclass(slots=True)
class Shown:
    """What an event or a typed line comes to."""

    lines: list[Line] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    leave: bool = False


class Talk:
    """For one thread. ``name`` makes the id of a request."""

    def __init__(self, name: Callable[[], str]) -> None:
        self.id = ""
        self.state = State.IDLE
        self.profile = ""
        self.side = 0
        self.connected = True
        self.unsent: dict[str, Unsent] = {}  # by request, oldest first
        self.going_back: int | None = None  # entry that a person was asked about
        self.stream = stream.Stream()
        self._name = name
        self._seen: dict[int, int] = {}  # newest entry shown, by side chat
        self._sent: set[str] = set()  # requests that were shown as sent
        self._past = Past()  # of this side chat
        self._new = True  # the connection has not been greeted yet

    @property
    def busy(self) -> bool:
        """Whether a turn runs, as far as one knows."""
        return self.connected and self.state is not State.IDLE

    def hello(self) -> Hello:
        """Return what this client has."""
        return Hello(self._seen.get(self.side, 0), self.side)

    def status(self) -> str:
        """Return the line that says how it stands."""
        words_ = [self.state if self.connected else "connection lost, trying again"]
        words_ += [self.profile] * bool(self.profile and not self.side)
        words_ += [f"side chat {self.side}"] * bool(self.side)
        return " · ".join([*words_, f"chat {clean.sentence(self.id, 70)}"])

    def waiting(self) -> Iterator[Line]:
        """Yield what was typed and is not known to be recorded."""
        for each in self.unsent.values():
            queued = self.busy and each.say.when is When.FOLLOWUP
            mark = _QUEUED if queued else ""
            yield Line(f"[…] {clean.sentence(each.say.text, 200)}{mark}", "dim")

    def on(self, event: Event) -> Shown:
        """Return what something that came is shown as, and what to answer."""
        made = Shown()
        made.lines = list(self._on(event, made.requests))
        made.leave = isinstance(event, Gone)
        return made

    def typed(self, line: str) -> Shown:
        """Return what to do about a line that a person typed."""
        made = Shown()
        if self.going_back is not None:
            made.lines = list(self._confirmed(line, made.requests))
            return made
        meant = words.parse(line)
        made.lines = list(self._meant(meant, made.requests))
        made.leave = meant == Command("/quit")
        return made

    def interrupted(self) -> Shown | None:
        """Return what ^C comes to; None: there was nothing that it could end."""
        if self.going_back is not None:
            self.going_back = None
            return Shown([Line("[nothing was put aside]", "dim")])
        if self.busy:
            return Shown([Line("[stopping]", "dim")], [Stop()])
        return None

    def left(self) -> Iterator[Line]:
        """Yield what a person who leaves has to know."""
        for each in self.unsent.values():
            text = clean.sentence(each.say.text)
            yield Line(f"[not known to be recorded: {text}]", "warn")
        if self.busy:
            again = f"gitagent chat {clean.sentence(self.id, 70)}"
            yield Line(f"[the turn goes on; {again} shows it]", "dim")

    def _on(  # noqa: C901 - one arm a frame
        self, event: Event, answers: list[Request]
    ) -> Iterator[Line]:
        match event:
            case Greeting():
                yield from self._greeted(event, answers)
            case Told(entry=entry):
                yield from self._told(entry)
            case Delta(text=text):
                yield from self.stream.more(text)
            case Doing(state=state):
                self.state = state
                if state is State.IDLE:
                    yield from self.stream.cut()
            case Sent(request=request, number=number):
                yield from self._was_sent(request, number, waits=self.busy)
            case Refused(request=request, sentence=sentence):
                yield from self._was_refused(request, sentence)
            case Undone(to=to, effects=effects):
                yield from self._undone(to, effects)
            case Trouble(sentence=sentence):
                yield Line(f"[{clean.sentence(sentence)}]", "warn")
            case Answered():
                pass  # an entry says the same
            case Lost() | Back() | Gone():
                yield from self._carried(event)

    def _carried(self, event: Lost | Back | Gone) -> Iterator[Line]:
        match event:
            case Lost():
                self.connected = False
                self.going_back = None
                yield Line("[the connection is lost; trying again]", "warn")
            case Back():
                self.connected = self._new = True
                yield Line("[connected again]", "dim")
            case Gone(error=error):
                yield Line(f"[{clean.sentence(error.line())}]", "warn")

    def _greeted(self, greeting: Greeting, answers: list[Request]) -> Iterator[Line]:
        moved = greeting.side != self.side
        if moved:
            yield from self.stream.cut()
            self._past.clear()
            before = f"the side chat {self.side} is over"
            now = f"side chat {greeting.side}: it can only read; /end or /drop ends it"
            yield Line(f"[{now if greeting.side else before}]", "dim")
        if greeting.profile != self.profile and PLAN in {
            greeting.profile,
            self.profile,
        }:
            on = "on: nothing with an effect" if greeting.profile == PLAN else "off"
            yield Line(f"[plan {on}]", "dim")
        if greeting.side not in self._seen and moved:
            self._seen[greeting.side] = self._seen.get(0, 0)
        self.id, self.state = greeting.id, greeting.state
        self.profile, self.side = greeting.profile, greeting.side
        known = self._seen.get(self.side, 0)
        if (left := greeting.first - 1 - known) > 0:
            entries = "entry is" if left == 1 else "entries are"
            yield Line(f"[{left} {entries} left out]", "dim")
        self._seen[self.side] = max(known, greeting.first - 1)
        self.stream.joined()
        if self._new:
            self._new = False
            yield from self._send_again(answers)

    def _send_again(self, answers: list[Request]) -> Iterator[Line]:
        for request, each in list(self.unsent.items()):
            if each.side == self.side:
                answers.append(each.say)
            else:
                # Words that were meant for a side chat are not the conversation's.
                del self.unsent[request]
                text = clean.sentence(each.say.text)
                yield Line(f"not sent, its side chat is over: {text}", "warn")

    def _told(self, entry: Entry) -> Iterator[Line]:
        if entry.number <= self._seen.get(self.side, 0):
            return
        self._seen[self.side] = entry.number
        self._past.add(entry)
        match entry.kind:
            case Kind.SAY:
                yield from self.stream.whole(entry.text)
                yield from shown.call_lines(entry)
            case Kind.INPUT if entry.request in self._sent:
                pass
            case Kind.INPUT if entry.request in self.unsent:
                waits = entry.waits
                yield from self._was_sent(entry.request, entry.number, waits=waits)
            case Kind.END:
                yield from self.stream.cut()
                yield from shown.entry_lines(entry)
            case _:
                yield from shown.entry_lines(entry)

    def _was_sent(self, request: str, number: int, *, waits: bool) -> Iterator[Line]:
        kept = self.unsent.pop(request, None)
        if kept is None:
            return
        self._sent.add(request)
        waits = waits and kept.say.when is When.FOLLOWUP
        text = kept.say.text + _QUEUED * waits
        mark = f"[{number or 'said elsewhere'}] "
        yield from shown.text_lines(text, "person", mark)

    def _was_refused(self, request: str, sentence: str) -> Iterator[Line]:
        kept = self.unsent.pop(request, None)
        text = f" ({clean.sentence(kept.say.text)})" if kept else ""
        yield Line(f"not sent: {clean.sentence(sentence)}{text}", "warn")

    def _undone(self, to: int, effects: Sequence[str]) -> Iterator[Line]:
        self.going_back = to
        yield Line(f"What came after entry {to} will not be in the model's view.")
        if effects:
            yield Line("This stays as it is, whatever is put aside:", "warn")
            for each in effects:
                yield Line(f"  - {clean.sentence(each)}", "warn")
        else:
            yield Line("Nothing was done since that could not be undone.")

    def _confirmed(self, line: str, requests: list[Request]) -> Iterator[Line]:
        to, self.going_back = self.going_back, None
        if to is not None and line.strip().lower() in _YES:
            requests.append(Rewind(to, sure=True))
        else:
            yield Line("[nothing was put aside]", "dim")

    def _meant(self, meant: Typed | None, requests: list[Request]) -> Iterator[Line]:
        match meant:
            case Text(text=text, steer=steer):
                text = text.encode("utf-8", "replace").decode()
                when = When.STEER if steer else When.FOLLOWUP
                say = Say(text, self._name(), when)
                try:
                    chat.encode_request(say)
                except MalformedError as error:
                    mend = "say it shorter, or name a file to read"
                    yield Line(f"not sent: {error}; {mend}", "warn")
                    return
                self.unsent[say.request] = Unsent(say, self.side)
                requests.append(say)
            case Wrong(sentence=sentence):
                yield Line(sentence, "warn")
            case Command():
                yield from self._command(meant, requests)
            case None:
                pass

    def _command(self, command: Command, requests: list[Request]) -> Iterator[Line]:
        if command.name == "/help":
            yield from map(Line, words.help_lines())
        elif command.name == "/entries":
            yield from self._past.lines()
        elif problem := self._problem(command):
            yield Line(problem, "warn")
        elif command.name in words.REQUESTS:
            requests.append(words.REQUESTS[command.name](command))

    def _problem(self, command: Command) -> str:
        """Return why a command cannot be carried out now; "": it can."""
        match command.name:
            case "/side" if self.side:
                return "a side chat has no side chat of its own"
            case "/end" | "/drop" if not self.side:
                return "there is no side chat; /side begins one"
            case "/stop" if not self.busy:
                return "there is no turn that could be ended"
            case "/quit":
                return ""
            case _:
                return "" if self.connected else "there is no connection just now"
