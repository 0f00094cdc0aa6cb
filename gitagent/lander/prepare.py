"""Candidates: submissions merged in memory one onto another, and described.

The same base and tips always give the same candidate, so nothing about it has to be
remembered over a restart. The commits on the way are made for the merges alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from gitagent.core.candidate import Candidate, Key, PathChange
from gitagent.core.layout import AGENT, CANDIDATES, CONFIG, RECORD_FOLDERS
from gitagent.core.settings import Settings, Strategy
from gitagent.core.submission import Submission
from gitagent.core.weakening import weakened
from gitagent.errors import ConfigError, GitagentError, GitError, UserError
from gitagent.files import settings as settings_file
from gitagent.git.identity import OWN
from gitagent.git.merge import Merger, MergeResult
from gitagent.git.objects import BLOB, EXECUTABLE, GITLINK, TREE, MissingObject, Objects
from gitagent.git.refs import ANY, RefUpdate, update
from gitagent.git.repository import Repository
from gitagent.git.tree import edit, product_tree, walk_changes
from gitagent.host.failpoint import failpoint
from gitagent.lander.compose import compose, moved
from gitagent.lander.contribution import merged_by, strategy_of
from gitagent.lander.remembered import remembered
from gitagent.lander.scope import colliding
from gitagent.lander.started import started
from gitagent.lander.texts import text

_STRANGERS: Final = ("everything: the two have no commit in common",)


@dataclass(frozen=True, slots=True)
class Stuck(Exception):
    """One submission could not be merged: an object or room is missing, or a bug."""

    submission: str
    error: Exception


@dataclass(slots=True)
class Round:
    """Candidates of one base, made one after another. For one thread."""

    repo: Repository
    objects: Objects
    merger: Merger
    base: str
    known: dict[Key, Candidate]
    _commits: dict[tuple[str, ...], str] = field(default_factory=dict)
    _in_force: Settings | None = None  # the target's

    def line(self, submissions: Iterable[Submission]) -> Iterator[Candidate]:
        """Yield those candidates of a line, bare target included, that are not known.

        It ends early at one that has no product.

        Raises:
            Stuck: a merge failed for other reasons than what is merged.
        """
        tips: tuple[str, ...] = ()
        if (self.base, ()) not in self.known:
            yield self._keep(self._bare())
        for submission in submissions:
            below, tips = tips, (*tips, submission.tip)
            made = self.known.get((self.base, tips))
            if made is None:
                try:
                    made = self._step(submission, below)
                except Exception as error:
                    raise Stuck(submission.id, error) from error
                yield self._keep(made)
            if not made.product:
                return

    def _keep(self, made: Candidate) -> Candidate:
        self.known[made.key] = made
        return made

    def _bare(self) -> Candidate:
        tree = self.objects.commit(self.base).tree
        return Candidate(self.base, (), product=product_tree(self.objects, tree))

    def _step(self, submission: Submission, below: tuple[str, ...]) -> Candidate:
        """Merge one submission onto the tips below it."""
        tip, onto = submission.tip, self._commit(below)
        blank = Candidate(self.base, (*below, tip), submission.id, submission.ends)
        if self.objects.ancestor(tip, onto):
            return replace(blank, contained=True)
        before = self.objects.commit(onto).tree
        try:
            # Git would unfold a tree of any size, and end with all the memory there is.
            walk_changes(self.objects, before, self.objects.commit(tip).tree)
            merged = self._merge(onto, submission)
            if merged.tree is None:
                conflicts = merged.conflicts or _STRANGERS
                final = bool(below) and self._conflicts_with_target(submission)
                return replace(blank, conflicts=conflicts, final=final)
            merges = self._strategy(submission) is Strategy.MERGE
            if merged.tree == before and not merges:
                return replace(blank, contained=True)
            changes = walk_changes(self.objects, before, merged.tree)
            self._require(changes)
        except UserError as error:
            return replace(blank, fault=f"It cannot be landed: {error.message}.")
        settings, fault = self._settings(before, merged.tree)
        fault = fault or self._misplaced(merged.tree)
        if fault:
            return replace(blank, fault=fault, final=True)
        after = self._ended(merged.tree, submission.ends)
        self._commits[blank.tips] = self._write(after, onto, tip)
        return replace(
            blank,
            product=product_tree(self.objects, merged.tree),
            changes=changes,
            colliding=colliding(self.objects, before, merged.tree, changes),
            weakened=tuple(weakened(changes, lambda blob: text(self.objects, blob))),
            starts=started(self.objects, changes),
            memory=remembered(self.objects, before, merged.tree, tip, changes),
            settings=settings,
        )

    def _require(self, changes: Iterable[PathChange]) -> None:
        """Raise MissingObject if a blob that a checkout needs is not here."""
        for each in changes:
            wanted = each.new_blob if each.new_mode != GITLINK else ""
            if wanted and self.objects.kind(wanted) is None:
                raise MissingObject(wanted, "blob")

    def _merge(self, onto: str, submission: Submission) -> MergeResult:
        """Merge by the target's strategy. Raises UserError where that cannot be."""
        facts = (self.repo, self.merger, self.objects, onto, submission.tip)
        return merged_by(self._strategy(submission), *facts)

    def _strategy(self, submission: Submission) -> Strategy:
        if self._in_force is None:
            entry = self.objects.path(self.base, CONFIG)
            data = b"" if entry is None else self.objects.blob(entry.oid)
            try:
                self._in_force = settings_file.parse(data)
            except ConfigError:
                self._in_force = Settings()
        return strategy_of(self._in_force, submission)

    def _conflicts_with_target(self, submission: Submission) -> bool:
        return self._merge(self.base, submission).tree is None

    def _settings(self, before: str, after: str) -> tuple[Settings | None, str]:
        """Return the settings that a step brings, or why they cannot be used."""
        old, new = (self.objects.path(tree, CONFIG) for tree in (before, after))
        if new is None or new == old:
            return None, ""
        if new.mode not in {BLOB, EXECUTABLE}:
            return None, f"{CONFIG} has to be a regular file."
        try:
            return settings_file.parse(self.objects.blob(new.oid)), ""
        except ConfigError as error:
            return None, f"Its settings cannot be used: {error.line()}."

    def _misplaced(self, tree: str) -> str:
        """Return what stands where records are to be kept, in a sentence; or ""."""
        for folder in (AGENT, *RECORD_FOLDERS):
            entry = self.objects.path(tree, folder.rstrip("/"))
            if entry is not None and entry.mode != TREE:
                return f"{folder} has to be a folder."
        return ""

    def _commit(self, tips: tuple[str, ...]) -> str:
        """Return a commit that has the tips merged, to merge the next one onto."""
        if not tips:
            return self.base
        if tips not in self._commits:
            below = self._commit(tips[:-1])
            made = self.known[self.base, tips]
            tree = compose(
                self.objects,
                made.product,
                self.objects.commit(below).tree,
                made.changes,
            )
            self._commits[tips] = self._write(
                self._ended(tree, made.ends), below, tips[-1]
            )
        return self._commits[tips]

    def _ended(self, tree: str, task: str | None) -> str:
        """Return the tree as it lands, the note aside: a task that ends has moved."""
        return (
            edit(self.objects, tree, moved(self.objects, tree, task)) if task else tree
        )

    def _write(self, tree: str, below: str, tip: str) -> str:
        who = replace(OWN, when=self.objects.commit(tip).committer.when)
        return self.objects.write_commit(tree, (below, tip), "Candidate\n", who, who)


def prepare(
    repo: Repository,
    objects: Objects,
    base: str,
    lines: Iterable[Iterable[Submission]],
    known: Mapping[Key, Candidate],
) -> Iterator[tuple[Candidate, ...]]:
    """Yield line by line the candidates on ``base`` that they need and ``known`` lacks.

    Raises:
        Stuck: one could not be merged; the lines before it were yielded.
    """
    with Merger(repo, objects) as merger:
        work = Round(repo, objects, merger, base, dict(known))
        for submissions in lines:
            yield tuple(work.line(submissions))


def pin(repo: Repository, objects: Objects, candidate: Candidate) -> Candidate:
    """Write the commit that is checked out for the checks, and keep it by a ref.

    Its time is the last tip's, so that making it again gives the same commit.

    Raises:
        GitError: the objects are not here any more, or could not be written.
    """
    for again in (True, False):
        made = replace(candidate, commit=_checked_out(objects, candidate))
        ref = RefUpdate(pin_ref(made), made.commit, ANY)
        try:
            update(repo.git, [ref], "gitagent: candidate under check")
        except GitError:
            # A `gc --prune=now` can take new objects before a ref holds them.
            if not again:
                raise
            continue
        failpoint("candidate-pinned")
        return made
    raise AssertionError("unreachable")


def unpin(repo: Repository, candidates: Iterable[Candidate]) -> None:
    """Let the commits of candidates go; without a pin nothing happens.

    It never fails: what stays behind costs some kilobytes and harms nothing.
    """
    gone = [RefUpdate(pin_ref(each), None, ANY) for each in candidates]
    with suppress(GitagentError):
        update(repo.git, gone, "gitagent: candidate let go", wait_s=0.1)


def pin_ref(candidate: Candidate) -> str:
    """Return the ref that keeps a candidate's commit while it is checked."""
    return CANDIDATES + candidate.commit


def _checked_out(objects: Objects, candidate: Candidate) -> str:
    newest = candidate.tip or candidate.base
    when = objects.commit(newest).committer
    who = replace(OWN, when=when.when, offset=when.offset)
    tips = ", ".join(candidate.tips) or "nothing"
    message = f"Candidate: {tips} on {candidate.base}\n"
    parents = (candidate.base, *candidate.tips)
    return objects.write_commit(candidate.product, parents, message, who, who)
