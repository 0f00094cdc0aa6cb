"""A chat on a terminal: what was said scrolls by, and below it one types.

The only module that knows prompt_toolkit. What is not final (the line that a model is
saying, words that are not known to be recorded) stands above the prompt and is drawn
anew; what is final is printed once, so that a terminal scrolls and copies it.
"""

import asyncio
import os
import queue
import signal
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from prompt_toolkit import PromptSession, print_formatted_text
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth

from gitagent.cli.terminal.link import Event, Link, new_request
from gitagent.cli.terminal.shown import Line
from gitagent.cli.terminal.talk import Shown, Talk

_STYLES: Final = {
    "person": "bold",
    "dim": "fg:ansibrightblack",
    "warn": "fg:ansiyellow",
}
_REDRAW_S: Final = 0.05  # between two drawings: a model's words come faster
_ROWS: Final = 8  # of the terminal that are not for the line that is being said


def run(common_dir: Path, id_: str, *, new: bool) -> None:
    """Lead a chat on this terminal until the person leaves. Raises as `Link.open`."""
    terminal = _Terminal(common_dir, id_, new=new)
    # Not within the loop, which would not let ^C end the wait for the daemon.
    terminal.link.open()
    asyncio.run(terminal.lead())


def wrapped(text: str, width: int, rows: int) -> list[str]:
    """Return the last ``rows`` rows that a text takes on a terminal so wide."""
    made, row, wide = [], "", 0
    for each in text:
        size = get_cwidth(each)
        if wide + size > width:
            made.append(row)
            row, wide = "", 0
        row += each
        wide += size
    return [*made, row][-rows:] if text else []


class _Terminal:
    def __init__(self, common_dir: Path, id_: str, *, new: bool) -> None:
        self._talk = Talk(new_request)
        self.link = Link(
            common_dir, id_, new=new, hello=self._talk.hello, told=self._put
        )
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._came = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._style = Style([] if os.environ.get("NO_COLOR") else [*_STYLES.items()])
        self._warned = False  # that ^C once more leaves
        self._left = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._session: PromptSession[str] = PromptSession(
            self._message,
            history=InMemoryHistory(),
            bottom_toolbar=self._talk.status,
            key_bindings=self._keys(),
            style=self._style,
            erase_when_done=True,
            enable_suspend=True,
        )
        self._session.app.min_redraw_interval = _REDRAW_S
        self._session.default_buffer.on_text_changed += self._changed

    async def lead(self) -> None:
        """Lead the chat that the link is open to."""
        loop = self._loop = asyncio.get_running_loop()
        self._came.set()
        self._talk.id = self.link.id
        for each in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(each, self._leave)
        self._show([Line(f"chat {self.link.id}; /help says what one can type", "dim")])
        receiving = self._begin(self._receive())
        try:
            # One prompt for all lines: between two the terminal itself would echo.
            with suppress(EOFError, KeyboardInterrupt):
                await self._session.prompt_async()
        finally:
            receiving.cancel()
            self.link.close()
        await asyncio.gather(*self._tasks - {receiving})
        self._show(self._talk.left())

    def _put(self, event: Event) -> None:
        """Take an event in the thread of the link."""
        self._events.put(event)
        if self._loop is not None:
            # The loop may have ended, and with it whoever would look.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._came.set)

    async def _receive(self) -> None:
        while True:
            await self._came.wait()
            self._came.clear()
            events = []
            while not self._events.empty():
                events.append(self._events.get_nowait())
            made = [self._talk.on(event) for event in events]
            for each in made:
                self._send(each)
            self._show([line for each in made for line in each.lines])
            if any(each.leave for each in made):
                self._leave()
            self._session.app.invalidate()

    def _do(self, made: Shown) -> None:
        self._send(made)
        self._show(made.lines)
        if made.leave:
            self._leave()

    def _send(self, made: Shown) -> None:
        for request in made.requests:
            self.link.send(request)

    def _show(self, lines: Iterable[Line]) -> None:
        styled = [(f"class:{each.style}", f"{each.text}\n") for each in lines]
        if not styled:
            return

        def show() -> None:
            print_formatted_text(
                FormattedText(styled),
                end="",
                style=self._style,
                output=self._session.output,
            )

        if self._session.app.is_running:
            self._begin(_in_terminal(show))
        else:
            show()

    def _message(self) -> FormattedText:
        size = self._session.output.get_size()
        rows = max(1, size.rows - _ROWS)
        tail = self._talk.stream.tail.expandtabs(4)
        made = [("", f"{row}\n") for row in wrapped(tail, size.columns, rows)]
        for each in self._talk.waiting():
            row = wrapped(each.text, size.columns, rows)[:1]
            made += [(f"class:{each.style}", f"{text}\n") for text in row]
        asked = self._talk.going_back
        made.append(("", "> " if asked is None else f"go back to {asked}? y/n "))
        return FormattedText(made)

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        @keys.add("<sigint>")
        def _(event: KeyPressEvent) -> None:
            made = self._talk.interrupted()
            if made is not None:
                self._do(made)
            elif event.current_buffer.text:
                event.current_buffer.reset()
            elif self._warned:
                self._leave()
            else:
                self._warned = True
                line = Line("[^C once more leaves, and so does ^D]", "dim")
                self._show([line])

        @keys.add("enter")
        def _(event: KeyPressEvent) -> None:
            line = event.current_buffer.text
            event.current_buffer.reset(append_to_history=bool(line.strip()))
            self._do(self._talk.typed(line))

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        return keys

    def _changed(self, _buffer: object) -> None:
        self._warned = False

    def _leave(self, error: BaseException | None = None) -> None:
        if self._session.app.is_running and not self._left:
            self._left = True
            self._session.app.exit(exception=error or EOFError())

    def _begin(self, what: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(what)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._leave(error)


async def _in_terminal(show: Callable[[], None]) -> None:
    await run_in_terminal(show)
