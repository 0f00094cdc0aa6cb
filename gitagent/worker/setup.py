"""Setup commands, run in a new worktree before the agent, and kept for the next ones.

What setup makes are untracked and ignored files; tracked ones are put back, so that a
worktree that gets them from the cache is the same. The cache is filled only from
commits that are part of the target: an earlier attempt's own commit could otherwise
choose what every later worker runs. Everything that touches these files, copying
included, happens in the sandbox, since they can be links to anywhere.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gitagent.core.task import Outcome
from gitagent.files import clean
from gitagent.files.duration import duration
from gitagent.git.objects import Objects
from gitagent.git.sweep import remove_tree
from gitagent.host.place import cache_root, make_private
from gitagent.host.process import Exit
from gitagent.host.sandbox import Bind
from gitagent.worker import exits, sandbox
from gitagent.worker.folder import Folder
from gitagent.worker.log import Log
from gitagent.worker.order import Ending, Order, Stop

KEPT = 8  # results of setup, the newest
_MADE = "/gitagent/made"

_RUN = """\
step=1
for command do
    printf %s "$step" >"$0/step"
    sh -e -c "$command" </dev/null || exit
    step=$((step + 1))
done
"""

# Names end in NUL all the way. `made` is empty where nothing is kept.
_COLLECT = """\
set -e
git_dir=$1 made=$2
shift 2
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false "$@"; }
rm -f "$git_dir"/*.lock
git diff-index --quiet HEAD -- || git checkout -q -f HEAD -- .
git ls-files -z --others --exclude-standard --directory --no-empty-directory |
    sed -z -e 's/[][\\\\*?]/\\\\&/g' -e 's/\\n/?/g' -e 's/ $/\\\\ /' -e 's/^/\\//' |
    tr '\\0' '\\n' >"$0/exclude"
cat "$0/exclude" >>"$git_dir/info/exclude"
[ -n "$made" ] || exit 0
mv "$0/exclude" "$made/exclude"
git ls-files -z --others -- . "$@" |
    xargs -0 -r cp -a --reflink=auto --parents -t "$made/files" --
"""

_RESTORE = """\
set -e
cp -a --reflink=auto "$0/files/." .
cat "$0/exclude" >>"$1/info/exclude"
"""


@dataclass(frozen=True, slots=True)
class Setup:
    """The setup of one attempt."""

    order: Order
    folder: Folder
    covered: Sequence[str]
    log: Log
    stop: Stop

    def run(self, objects: Objects) -> Ending | None:
        """Prepare the worktree; None: it is ready. Without commands nothing is done."""
        worker = self.order.settings.worker
        if not worker.setup:
            return None
        cache = self._cache(objects) if self.folder.confined else None
        if cache is not None and cache.is_dir() and self._restore(cache):
            return None
        # What it makes is kept for every agent, so it reaches what all of them may.
        network = self.order.settings.sandbox.network
        done = self._shell(_RUN, self.folder.inside_out, *worker.setup, network=network)
        if done.code != 0:
            return self._failed(done)
        done = self._collect(cache if self._trusted(objects) else None)
        return None if done.code == 0 else self._failed(done)

    def _cache(self, objects: Objects) -> Path:
        order = self.order
        worker = order.settings.worker
        keyed = [
            (path, entry.oid if entry else "")
            for path in sorted(set(worker.setup_key))
            for entry in (objects.path(order.attempt.base, path),)
        ]
        facts = json.dumps([worker.setup, keyed, worker.copy])
        key = hashlib.sha256(facts.encode(errors="replace")).hexdigest()[:16]
        return cache_root(order.repo.common_dir) / "setup" / key

    def _trusted(self, objects: Objects) -> bool:
        return objects.ancestor(self.order.attempt.base, self.order.target)

    def _restore(self, cache: Path) -> bool:
        """Copy what is kept; False if it could not be, so that setup has to run."""
        bind = Bind(str(cache), _MADE)
        done = self._shell(_RESTORE, _MADE, self.folder.inside_git, extra=(bind,))
        if done.code == 0:
            self.log.say("the worktree got what setup had made before")
        return done.code == 0

    def _collect(self, cache: Path | None) -> Exit:
        """Leave what setup made out of commits, and keep it in ``cache`` if given."""
        folder = self.folder
        if cache is None:
            return self._shell(_COLLECT, folder.inside_out, folder.inside_git, "")
        new = cache.with_name(f"{cache.name}.{folder.path.name}")
        remove_tree(new)
        make_private(cache.parent)
        (new / "files").mkdir(mode=0o700, parents=True)
        copied = (
            f":(top,exclude,literal){name}" for name in self.order.settings.worker.copy
        )
        done = self._shell(
            _COLLECT,
            folder.inside_out,
            folder.inside_git,
            _MADE,
            *copied,
            extra=(Bind(str(new), _MADE, writable=True),),
        )
        if done.code == 0 and not cache.exists():
            new.rename(cache)
            _drop_oldest(cache.parent)
        else:
            remove_tree(new)
        return done

    def _shell(
        self,
        script: str,
        *args: str,
        extra: tuple[Bind, ...] = (),
        network: tuple[str, ...] = (),
    ) -> Exit:
        order = self.order
        return order.engine.run(
            ["sh", "-c", script, *args],
            sandbox.workspace(
                order, self.folder, self.covered, extra=extra, network=network
            ),
            timeout=order.settings.worker.timeout,
            keep=0,
            merge_stderr=True,
            on_output=self.log.write,
            cancel=self.stop,
            on_network=self.log.say,
        )

    def _failed(self, done: Exit) -> Ending:
        commands = self.order.settings.worker.setup
        names = [f"setup command {clean.code(command)}" for command in commands]
        where = exits.step(self.folder, names) or "setup"
        limit = duration(self.order.settings.worker.timeout)
        outcome, reason = exits.explain(self.order, self.stop, done, where, limit)
        if outcome is Outcome.TIMEOUT:
            outcome = Outcome.FAILED
        return Ending(outcome, reason, output=self.log.tail())


def _drop_oldest(root: Path) -> None:
    kept = [each for each in root.iterdir() if "." not in each.name]
    kept.sort(key=lambda each: each.stat().st_mtime, reverse=True)
    for old in kept[KEPT:]:
        remove_tree(old)
