"""Landed history made by hand: batches, squashed and replayed landings, all true."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gitagent.core.receipt import Receipt, Result, check_key
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.files.message import annotated, landing_message
from gitagent.files.note import Landing, note, note_path
from gitagent.git.identity import OWN
from gitagent.git.merge import merge
from gitagent.git.objects import BLOB
from gitagent.git.tree import edit, product_tree
from gitagent.lander import receipts, submit
from tests.support.lander import ENVIRONMENT, Bench

MAIN = "refs/heads/main"
WHEN = "2026-11-30T12:00:00Z"


@dataclass(slots=True)
class History:
    """Makes landings on the target of a bench, one move of it at a time."""

    made: Bench
    strategy: str = "merge"

    def move(
        self, tips: Sequence[str], *, chain: bool = False, checked: str = ""
    ) -> list[Submission]:
        """Land ``tips`` in one move of the target; return them as recorded.

        The last one's product tree vouches for all, or with ``chain`` each one's own.
        ``checked`` is named instead, true or not.
        """
        objects, base = self.made.objects, self.made.target
        config = objects.path(base, ".agent/config.toml")
        assert config is not None
        trees = self._trees(base, tips)
        products = [product_tree(objects, tree) for tree in trees]
        head, landed = base, []
        for count, tip in enumerate(tips, 1):
            own = count if chain else len(tips)
            product = checked or products[own - 1]
            lines = self._checks(products[own - 1], base, tips[:own])
            submission = replace(
                self.made.submit(tip, branch=f"refs/heads/{tip[:7]}"),
                state=SubmissionState.LANDED,
                checks=lines,
                config=config.oid,
                base=base,
            )
            head = self._commit(submission, head, base, product)
            new = replace(submission, commit=head)
            repository = self.made.repository
            landed.append(
                submit.write(repository, submission, new, "landed", keep=(head,))
            )
        self.made.repo.git("update-ref", MAIN, head, base)
        return landed

    def _trees(self, base: str, tips: Sequence[str]) -> list[str]:
        """Return the merged tree after each tip."""
        objects, head, trees = self.made.objects, base, []
        for tip in tips:
            tree = merge(self.made.repository, objects, head, tip).tree
            assert tree is not None
            trees.append(tree)
            head = objects.write_commit(tree, (head, tip), "merged", OWN, OWN)
        return trees

    def _commit(
        self, submission: Submission, head: str, base: str, checked: str
    ) -> str:
        """Write the commits of one landing on top of ``head``; return the last."""
        objects, tip = self.made.objects, submission.tip
        parents: tuple[str, ...] = (head, tip)
        tree = merge(self.made.repository, objects, head, tip).tree
        if self.strategy == "squash":
            parents = (head,)
        elif self.strategy == "rebase":
            *firsts, last = self._own(base, tip)
            for each in firsts:
                head = self._replay(submission, head, each)
            parents = (head,)
            tree = self._picked(head, last)
        assert tree is not None
        landing = Landing(
            title="Change",
            message="Change",
            base=base,
            landed=WHEN,
            strategy=self.strategy,
            checked=checked,
            config=submission.config or "",
            sandbox="required",
        )
        blob = objects.write_blob(note(submission, landing).encode())
        tree = edit(objects, tree, {note_path(submission.id, WHEN): (BLOB, blob)})
        message = landing_message(
            submission,
            "Change",
            "",
            config=submission.config or "",
            checked=checked,
            checks=submission.checks,
        )
        return objects.write_commit(tree, parents, message, OWN, OWN)

    def _own(self, base: str, tip: str) -> list[str]:
        """Return the commits that ``tip`` has and ``base`` lacks, oldest first."""
        listed = self.made.repo.git("rev-list", "--reverse", tip, f"^{base}")
        return listed.split("\n")

    def _replay(self, submission: Submission, head: str, commit: str) -> str:
        message = annotated("Part", [("Gitagent-Submission", submission.id)])
        tree = self._picked(head, commit)
        return self.made.objects.write_commit(tree, (head,), message, OWN, OWN)

    def _picked(self, head: str, commit: str) -> str:
        common = self.made.objects.commit(commit).parents[0]
        picked = merge(
            self.made.repository, self.made.objects, head, commit, common=common
        )
        assert picked.tree is not None
        return picked.tree

    def _checks(
        self, product: str, base: str, tips: Sequence[str]
    ) -> tuple[CheckLine, ...]:
        """Store a passing receipt of each check; return what a record says of it."""
        lines = []
        for check in self.made.settings.check:
            made = Receipt(
                check=check.name,
                key=check_key(check, product, ENVIRONMENT, (base, *tips)),
                product=product,
                run=1,
                command=check.run,
                result=Result.PASSED,
                exit_code=0,
                seconds=1.0,
                started=WHEN,
                sandbox="required",
                environment=ENVIRONMENT,
                output="",
            )
            kept = receipts.store(
                self.made.repository, self.made.objects, made, b"well\n"
            )
            lines.append(CheckLine(check.name, "passed", kept.seconds, kept.place))
        return tuple(lines)
