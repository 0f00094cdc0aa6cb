"""The proposed checks run once, before anything depends on them.

As in a landing: confined, on a fresh checkout of the target's product tree. The result
is for the person who set things up; no receipt is kept.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from gitagent.core.action import StartRun
from gitagent.core.candidate import Candidate
from gitagent.core.receipt import Receipt, check_key
from gitagent.core.settings import Check, Settings
from gitagent.git.checkout import Pool
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.git.text import Person
from gitagent.git.tree import product_tree
from gitagent.host import clock, place
from gitagent.host.engine import LocalEngine
from gitagent.host.process import Cancel
from gitagent.lander.environment import environment
from gitagent.lander.run import run_check


def run_once(
    repo: Repository,
    objects: Objects,
    commit: str,
    settings: Settings,
    during: Callable[[Check], AbstractContextManager[object]],
    ended: Callable[[Receipt], None],
) -> bool:
    """Run every check on ``commit``, one after the other; whether all passed.

    ``during`` is entered while a check runs.
    """
    candidate = _candidate(objects, commit)
    pool = Pool(repo, place.cache_root(repo.common_dir) / "checkouts")
    digest = environment(settings)
    good = True
    for check in settings.check:
        key = check_key(check, candidate.product, digest, (commit,))
        start = StartRun((), candidate, check, key, 1)
        with during(check):
            done = run_check(
                repo, LocalEngine(), pool, settings, start, digest, Cancel()
            )
        if done is not None:
            ended(done[0])
            good = good and done[0].result == "passed"
    return good


def _candidate(objects: Objects, commit: str) -> Candidate:
    tree = objects.commit(commit).tree
    product = product_tree(objects, tree)
    who = Person("gitagent", "gitagent@localhost", int(clock.now().timestamp()))
    made = objects.write_commit(product, (commit,), "A first check\n", who, who)
    return Candidate(commit, (), product=product, commit=made)
