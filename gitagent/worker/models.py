"""The ways to models that all attempts of one daemon share.

Nothing is opened, and no library loaded, before an attempt needs it.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gitagent.core.budget import Need, limits, used_up
from gitagent.core.layout import EXCHANGES
from gitagent.core.settings import Provider, Settings
from gitagent.errors import UserError
from gitagent.git.repository import Repository
from gitagent.host import place
from gitagent.model.breaker import Breaker
from gitagent.model.credentials import Credentials
from gitagent.model.ledger import Ledger, today
from gitagent.model.upstream import Providers, Upstream
from gitagent.worker.exchanges import newest
from gitagent.worker.journal import Journal

if TYPE_CHECKING:
    from gitagent.model import gateway


class Models:
    """One per daemon; for all threads."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self.owner = place.owner(repo.common_dir)  # of the sockets; see `outlet.clear`
        self._lock = threading.Lock()
        self._loaded = False
        self._ledger = Ledger()
        self.breaker = Breaker()
        self.credentials = Credentials(os.environ)
        self.upstream: Upstream = Providers(self.credentials)

    @property
    def ledger(self) -> Ledger:
        """What was spent, with what earlier daemons have recorded."""
        with self._lock:
            if not self._loaded:
                with self._repo.objects() as objects:
                    self._ledger.load(newest(objects, objects.refs(EXCHANGES)), today())
                self._loaded = True
        return self._ledger

    def problem(self, name: str, provider: Provider) -> str:
        """Return why a provider cannot be asked from here, as a sentence, or ""."""
        try:
            self.credentials.key(name, provider)
        except UserError as error:
            line = error.line()
            return f"{line[0].upper()}{line[1:]}."
        return ""

    def journal(
        self, task: str, program: str, parts: Sequence[tuple[str, str]]
    ) -> "gateway.Journal":
        """Return what keeps the exchanges of an attempt; see `journal.Journal`."""
        return Journal(self._repo, task, program=program, parts=parts)

    def conversation(self, task: str) -> str:
        """Return the name under which the conversation of a task is recorded."""
        return task

    def held(self) -> Mapping[str, str]:
        """Return by provider why it is asked nothing just now, as a sentence."""
        return self.breaker.holds()

    def spent_out(self, settings: Settings) -> str:
        """Return why models are asked nothing more today, as a sentence, or ""."""
        if not settings.budget.day:
            return ""
        spent = self.ledger.spent_day()
        return used_up(limits(settings.budget.day), Need(spent.usd, spent.tokens))
