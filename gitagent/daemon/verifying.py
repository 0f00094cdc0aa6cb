"""Commands that say whether an item of the memory is still true, run in the sandbox.

As a check is run: confined, without a network, on a fresh checkout of the product tree.
It is no check, so no receipt of it is kept.
"""

from dataclasses import replace
from math import inf
from typing import Final

from gitagent.core.action import StartRun
from gitagent.core.candidate import Candidate
from gitagent.core.receipt import Receipt, Result
from gitagent.core.settings import Check, Settings
from gitagent.errors import GitagentError
from gitagent.files import clean
from gitagent.git.checkout import Pool
from gitagent.git.identity import OWN
from gitagent.git.repository import Repository
from gitagent.git.tree import product_tree
from gitagent.host import place
from gitagent.host.engine import LocalEngine
from gitagent.host.process import Cancel
from gitagent.lander.environment import environment
from gitagent.lander.run import run_check

TIMEOUT_S: Final = 120
TOTAL_S: Final = 600  # of all commands that one task proposes

_NAME = "verify"


class Verifier:
    """Runs such commands; remembers what it has run. For one thread."""

    def __init__(
        self,
        repo: Repository,
        settings: Settings,
        cancel: Cancel | None = None,
        *,
        total: float = inf,
    ) -> None:
        """After ``total`` seconds of commands no further one is run, or passes."""
        self._repo = repo
        # No folder of the checks is kept for, or from, a command: it may be an agent's,
        # and what it leaves there would count as a check's.
        self._settings = replace(settings, check=())
        self._cancel = cancel or Cancel()
        self._total = total
        self._spent = 0.0
        self._pool = Pool(repo, place.cache_root(repo.common_dir) / "checkouts")
        self._known: dict[tuple[str, str], str] = {}

    def __call__(self, command: str, tree: str) -> str:
        """Return why a command does not pass on a tree, a sentence; "" if it does.

        Raises:
            GitagentError: it could not be run at all, so nothing is known.
        """
        with self._repo.objects() as objects:
            product = product_tree(objects, tree)
            made = objects.write_commit(product, (), "Verify the memory\n", OWN, OWN)
        key = (command, product)
        if key not in self._known:
            self._known[key] = self._run(command, product, made)
        return self._known[key]

    def _run(self, command: str, product: str, commit: str) -> str:
        left = self._total - self._spent
        if left < 1:
            said = f"`{clean.sentence(command, 200)}` was not run"
            return f"{said}: others before it have taken {self._spent:.0f} s."
        check = Check(_NAME, command, timeout=int(min(TIMEOUT_S, left)))
        candidate = Candidate(commit, (), product=product, commit=commit)
        start = StartRun((), candidate, check, "", 1)
        ended = run_check(
            self._repo,
            LocalEngine(),
            self._pool,
            self._settings,
            start,
            environment(self._settings),
            self._cancel,
        )
        if ended is None:
            raise GitagentError("the command that verifies an item was stopped")
        self._spent += ended[0].seconds
        return _problem(command, ended[0], check.timeout)


def _problem(command: str, receipt: Receipt, seconds: int) -> str:
    said = f"`{clean.sentence(command, 200)}`"
    match receipt.result:
        case Result.PASSED | Result.CHANGED:
            return ""
        case Result.TIMEOUT:
            return f"{said} did not end within {seconds} s."
        case _ if receipt.exit_code is None:
            why = clean.sentence(receipt.tail) or "no sandbox"
            raise GitagentError(f"{said} could not be run: {why}")
        case _:
            return f"{said} ends with {receipt.exit_code}."
