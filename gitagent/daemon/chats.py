"""The chats that are open: for each a process, a worktree to look at, and a gateway.

One that nobody looks at ends by itself, and all end with the daemon; their records
stay, and whoever opens one again goes on with it.
"""

import shutil
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gitagent.core import chats
from gitagent.core.chats import Name
from gitagent.core.snapshot import Snapshot
from gitagent.daemon import chat_order, crash
from gitagent.errors import Busy, GitagentError, UserError
from gitagent.git.repository import Repository
from gitagent.host import channel, clock, outlet, place
from gitagent.host.cancel import Cancel
from gitagent.host.engine import Engine, LocalEngine
from gitagent.host.log import log
from gitagent.worker import talking, workspace
from gitagent.worker.ahead import Ahead
from gitagent.worker.backends.launch import Refused
from gitagent.worker.folder import Folder
from gitagent.worker.log import Log
from gitagent.worker.loop import spec
from gitagent.worker.models import Models
from gitagent.worker.order import Ending, Order, Stop, Teacher
from gitagent.worker.taught import Taught

OP: Final = "chat"

MOST: Final = 4  # open at once; each has a process and a sandbox
_READY_S: Final = 50.0  # within the patience of who asks
_DEAD_S: Final = 10.0
_EVER_S: Final = 13 * 86400.0  # less than `Ahead` lets a process live


@dataclass(slots=True)
class _Open:
    """One chat; ``ready`` when it is listened to, or ``error`` says why not."""

    name: Name
    where: Path  # folder of the socket
    ahead: Ahead
    lock: threading.Lock = field(default_factory=threading.Lock)
    ready: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread = field(default_factory=threading.Thread)
    said: str = ""  # its last line
    error: str = ""
    over: bool = False
    free: bool = False  # nobody looks, and no turn is under way
    target: str = ""  # commit that it looks at

    @property
    def socket(self) -> str:
        return str(self.where / "chat")

    def close(self) -> None:
        """End its process, which records where it was; harmless more than once."""
        with self.lock:
            self.ahead.close()

    def heard(self, data: bytes) -> None:
        for line in data.decode("utf-8", "replace").splitlines():
            if line == chats.LISTENING:
                self.ready.set()
            elif line in {chats.FREE, chats.TAKEN}:
                self.free = line == chats.FREE
            elif line.strip():
                self.said = line
                log(self.name.conversation, line)


class Chats:
    """All chats of one daemon; for any thread."""

    def __init__(
        self, repo: Repository, engine: Engine, models: Models, teacher: Teacher
    ) -> None:
        self._repo = repo
        self._engine = engine
        self._models = models
        self._teacher = teacher
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}
        self._stopping = False

    def answer(
        self, message: Mapping[str, Any], snapshot: Snapshot | None
    ) -> dict[str, object]:
        """Answer who wants a chat with where it listens, once it does.

        An ``error`` that passes by itself has ``again``.
        """
        wanted, new = message.get("id"), message.get("new") is True
        try:
            if snapshot is None:
                raise Busy("the daemon is just starting", "try again")
            id_ = wanted if isinstance(wanted, str) else ""
            one = self._ready(self._opened(id_, snapshot, new=new))
            # Nobody would see it go, and who comes sees what is now.
            late = one.free and one.target != snapshot.target.commit
            if late:
                one.close()
            if late or not _listens(one.socket):
                # Its process has ended, and its thread is about to see it.
                one.thread.join(_DEAD_S)
                one = self._ready(self._opened(one.name.chat, snapshot, new=False))
        except (GitagentError, OSError) as error:
            line = error.line() if isinstance(error, GitagentError) else str(error)
            return {"error": line, "again": isinstance(error, Busy)}
        return {"ok": True, "socket": one.socket, "id": one.name.chat}

    def stop(self, wait_s: float = 0.0) -> None:
        """End all of them and open no more; return when they have ended, or before."""
        with self._lock:
            self._stopping = True
            everyone = list(self._open.values())
        for one in everyone:
            threading.Thread(target=one.close, daemon=True).start()
        deadline = clock.monotonic() + wait_s
        for one in everyone:
            one.thread.join(max(0.0, deadline - clock.monotonic()))

    def _ready(self, one: _Open) -> _Open:
        """Wait until a chat is listened to. Raises UserError if it is not."""
        if not one.ready.wait(_READY_S):
            raise UserError(f"the chat {one.name.chat} takes too long to begin")
        if one.error:
            raise UserError(one.error)
        return one

    def _opened(self, wanted: str, snapshot: Snapshot, *, new: bool) -> _Open:
        with self._lock:
            if self._stopping:
                raise Busy("the daemon is ending", "try again")
            with self._repo.objects() as objects:
                name = Name(chat_order.chosen(objects, wanted, self._open, new=new))
                known = self._open.get(name.chat)
                if known is not None and not known.over:
                    return known
                if len(self._open) >= MOST:
                    raise UserError(
                        f"{MOST} chats are open: {', '.join(sorted(self._open))}",
                        "leave one; it ends ten minutes later",
                    )
                order = chat_order.order(
                    self._repo,
                    self._engine,
                    self._models,
                    self._teacher,
                    objects,
                    name,
                    snapshot,
                )
            route = talking.way(order)
            if route is None or isinstance(route, Refused):
                raise UserError((route.reason if route else "no model").rstrip("."))
            where = Path(outlet.make_folder(self._models.owner))
            ahead = Ahead(route.api, self._models.owner, Cancel())
            one = self._open[name.chat] = _Open(name, where, ahead, target=order.target)
            one.thread = threading.Thread(
                target=self._run, args=(one, order), name=f"chat {name.chat}"
            )
            one.thread.start()
            return one

    def _run(self, one: _Open, order: Order) -> None:
        try:
            self._led(one, order)
        except (GitagentError, OSError) as error:
            one.error = error.line() if isinstance(error, GitagentError) else str(error)
        except Exception as error:  # noqa: BLE001 - told; it ends one chat
            one.error = crash.report(error, lambda: self._repo)
        finally:
            one.over = True
            one.close()
            shutil.rmtree(one.where, ignore_errors=True)
            if not one.ready.is_set():
                one.error = one.error or one.said or "it ended before it had begun"
            with self._lock:
                if self._open.get(one.name.chat) is one:
                    del self._open[one.name.chat]
            if one.error:
                log(one.name.conversation, one.error)
            one.ready.set()

    def _led(self, one: _Open, order: Order) -> None:
        folder = Folder(root(self._repo) / one.name.chat, order.confined)
        _remove(self._repo, folder)
        folder.path.mkdir(mode=0o700, parents=True)
        try:
            with self._repo.objects() as objects:
                covered = workspace.make(order, objects, folder, lambda *_: False)
            if isinstance(covered, Ending):
                raise UserError(covered.reason.rstrip("."))
            found = talking.way(order)
            if found is None or isinstance(found, Refused):
                raise UserError(found.reason.rstrip(".") if found else "no model")
            parts = chat_order.parts(order, folder)
            taught = Taught(order, folder)
            with (
                Log(folder.log) as said,
                talking.opened(
                    order, folder, found, parts, said, Stop(), taught=taught
                ) as talk,
            ):
                told = chat_order.spec_of(
                    order, folder, covered, talk, parts, one.socket
                )
                one.ahead.go(
                    spec.dump(told),
                    seconds=_EVER_S,
                    on_start=lambda pid: log(
                        one.name.conversation, f"process {pid} leads the chat"
                    ),
                    on_output=one.heard,
                )
        finally:
            _remove(self._repo, folder)


def root(repo: Repository) -> Path:
    """Return the folder of all chats' worktrees."""
    return place.cache_root(repo.common_dir) / "chats"


def clear(repo: Repository) -> None:
    """Remove what the chats of an earlier daemon have left."""
    top = root(repo)
    for path in sorted(top.iterdir()) if top.is_dir() else ():
        _remove(repo, Folder(path, confined=True))


def make(repo: Repository, models: Models, teacher: Teacher) -> Chats:
    """Return the chats of a daemon."""
    engine = LocalEngine(place.owner(repo.common_dir))
    return Chats(repo, engine, models, teacher)


def _listens(path: str) -> bool:
    try:
        channel.connect(Path(path)).close()
    except OSError:
        return False
    return True


def _remove(repo: Repository, folder: Folder) -> None:
    if folder.path.is_dir():
        workspace.strip(repo, folder)
        with suppress(OSError):
            shutil.rmtree(folder.path)
