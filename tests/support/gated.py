"""A queue on a real repository whose check says what it runs on, and waits where told.

Each submission adds a file of one letter; a set is named by its letters in order, the
bare target is ``none``. Which of them are bad is in the files.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from gitagent.core.submission import Submission, SubmissionState
from tests.support.stepping import Stepped, lines, pipe

# It fails where a file says bad, or two say pair, unless a pipe of the set's name is
# there: that one decides.
CHECK = (
    "s=$(ls -d [a-z] 2> /dev/null | tr -d '\\n'); s=${{s:-none}};"
    "echo $s >> {0}/started;"
    "rm {0}/flake-$s 2> /dev/null && exit 1;"
    "if [ -p {0}/$s ]; then read x < {0}/$s || exit 9; exit $x; fi;"
    "[ $(cat none [a-z] 2> /dev/null | grep -cx pair) -lt 2 ] || exit 1;"
    "! grep -qsx bad [a-z]"
)


@dataclass(slots=True)
class Gated:
    """A stepped loop and the folder in which its checks say what they do."""

    made: Stepped
    outside: Path

    def hold(self, *sets: str) -> None:
        """Let the runs on these sets wait until they are let go."""
        for each in sets:
            pipe(self.outside, each)

    def free(self, *sets: str) -> None:
        """Let later runs on these sets decide for themselves again."""
        for each in sets:
            (self.outside / each).unlink()

    def flake(self, name: str) -> None:
        """Let the next run on a set fail, and no other."""
        (self.outside / f"flake-{name}").touch()

    def let(self, name: str, code: int = 0) -> None:
        """Let the one run that waits on a set end with this exit code."""
        (self.outside / name).write_text(f"{code}\n")

    def push(self, name: str, content: str = "good", **how: object) -> str:
        """Offer a submission; return its tip."""
        return self.made.push(name, {name: f"{content}\n"}, name, **how)

    def push_all(self, names: str, **contents: str) -> dict[str, str]:
        """Offer submissions that stand beside each other; return their tips by name."""
        base = self.made.repo.oid("refs/heads/main")
        return {n: self.push(n, contents.get(n, "good"), on=[base]) for n in names}

    def started(self) -> list[str]:
        """Return the sets that runs have started on, in order."""
        return lines(self.outside / "started")

    def runs(self) -> Counter[str]:
        """Return how many runs have started on each set."""
        return Counter(self.started())

    def under_check(self) -> int:
        """Return how many runs the daemon has under way."""
        return len(self.made.loop.live.runs)

    def until_started(self, *sets: str) -> None:
        """Take turns until so many runs on these sets have started."""
        wanted = Counter(sets)
        self.made.until(lambda: wanted <= self.runs())

        assert wanted <= self.runs(), self.started()

    def until_known(self, *results: tuple[str, str]) -> None:
        """Take turns until there is a receipt (set, result) for each of these."""
        wanted = Counter(results)
        self.made.until(lambda: wanted <= self.receipts())

        assert wanted <= self.receipts()

    def receipts(self) -> Counter[tuple[str, str]]:
        """Return the results that are kept, with their sets."""
        repo = self.made.repo
        found: Counter[tuple[str, str]] = Counter()
        for ref in repo.refs("refs/gitagent/receipts/"):
            for path in repo.paths(ref):
                if path.endswith(".json"):
                    kept = json.loads(repo.read(path, ref))
                    found[self.letters(kept["product"]), kept["result"]] += 1
        return found

    def letters(self, treeish: str = "refs/heads/main") -> str:
        """Return the set that a tree holds."""
        found = (path for path in self.made.repo.paths(treeish) if len(path) == 1)
        return "".join(sorted(found)) or "none"

    def landed(self) -> str:
        """Return the names of the submissions that have landed, oldest first."""
        names = {each.id: self.name(each) for each in self.made.submissions}
        return "".join(names[each] for each in reversed(self.made.landings()))

    def name(self, each: Submission) -> str:
        """Return the name under which a submission was offered."""
        return (each.branch or "").removeprefix("refs/heads/land/")

    def states(self, tips: dict[str, str]) -> dict[str, SubmissionState]:
        """Return where each of these stands."""
        return {name: self.made.of(tip).state for name, tip in tips.items()}
