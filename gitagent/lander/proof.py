"""Whether one landing is what its commit says, told from record, receipts and note."""

import hashlib
from collections.abc import Iterator, Mapping

from gitagent.core.layout import CONFIG, DONE, LANDINGS
from gitagent.core.receipt import Receipt, Result, check_key
from gitagent.core.settings import Check, Settings, Strategy
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.errors import ConfigError, GitError, UserError
from gitagent.files import clean
from gitagent.files import settings as settings_file
from gitagent.files.frontmatter import split
from gitagent.files.message import check_trailer, trailers
from gitagent.files.text import Malformed
from gitagent.git.objects import Commit, Objects
from gitagent.git.tree import product_tree, walk_changes
from gitagent.lander import receipts
from gitagent.lander.approved import unapproved
from gitagent.lander.contribution import strategy_of
from gitagent.lander.cover import parents
from gitagent.lander.receipts import Stored
from gitagent.lander.trail import Step, lands

_NO = frozenset({SubmissionState.REJECTED, SubmissionState.WITHDRAWN})


class Proof:
    """Proves landings of one repository; reads each product's receipts once."""

    def __init__(
        self, objects: Objects, refs: Mapping[str, str], *, sha256: bool
    ) -> None:
        self._objects = objects
        self._refs = refs
        self._hash = "sha256" if sha256 else "sha1"
        self._stored: dict[str, tuple[Stored, ...]] = {}
        self._parsed: dict[str, Settings | None] = {}

    def problems(
        self, seen: Step, record: Submission | UserError | None, cover: Step | None
    ) -> Iterator[str]:
        """Yield what does not agree about a landing, as sentences.

        ``cover`` is the landing whose product tree it was checked as; None: none can
        be found.
        """
        if record is None:
            yield f"It names {clean.line(seen.submission)}, which has no record."
            return
        if isinstance(record, UserError):
            yield f"The record of {seen.submission} cannot be read: {record.line()}."
            return
        try:
            if record.commit != seen.commit.oid and lands(self._objects, seen, record):
                yield from self._part(seen.commit)
                return
            yield from self._trailers(seen.commit, record)
            if cover is None:
                yield (
                    "Its Gitagent-Checked is neither its own product tree nor that of"
                    " a later landing of the same move of the target."
                )
                return
            yield from self._checks(seen.commit, record, cover)
            settings, _ = self._settings(record)
            if settings is not None:
                problem = unapproved(self._objects, seen.commit, record, settings)
                yield from filter(None, (problem,))
        except GitError as error:
            yield f"It cannot be read whole: {error.message}."

    def intact(self, oid: str) -> str:
        """Return what is wrong with a blob, as a clause, or "" if it is whole."""
        try:
            data = self._objects.blob(oid)
        except GitError as error:
            return error.message
        content = b"blob %d\0%b" % (len(data), data)
        told = hashlib.new(self._hash, content, usedforsecurity=False).hexdigest()
        return "" if told == oid else f"blob {oid} has other bytes than it had"

    def _part(self, commit: Commit) -> Iterator[str]:
        """Yield what is wrong with a replayed commit that another one of it follows."""
        if len(commit.parents) != 1:
            yield "It is part of a landing that was replayed, and is a merge."
        if "Gitagent-Check" in dict(trailers(commit.message)):
            yield "It is not the last commit of its landing, and names checks."

    def _trailers(self, commit: Commit, record: Submission) -> Iterator[str]:
        pairs = trailers(commit.message)
        said = dict(pairs)
        claims = (
            ("record's commit", record.commit, commit.oid),
            ("Gitagent-Tip", said.get("Gitagent-Tip"), record.tip),
            ("second parent", self._second(commit, record), record.tip),
            ("Gitagent-Task", said.get("Gitagent-Task"), record.ends),
            ("Gitagent-Config", said.get("Gitagent-Config"), record.config or ""),
            ("settings", self._in_force(record), record.config),
            ("task file", self._done(commit, record), record.task_blob),
        )
        for what, one, other in claims:
            if one != other:
                yield f"Its {what} is {_shown(one)}, and {_shown(other)} was expected."
        if record.state in _NO:
            yield f"Its submission is recorded as {record.state}."
        named = [value for key, value in pairs if key == "Gitagent-Check"]
        lines = [check_trailer(line) for line in record.checks]
        if named != lines:
            yield f"It names the checks {named}, and its record {lines}."

    def _second(self, commit: Commit, record: Submission) -> str:
        """Return the second parent, or the tip where a landing has none."""
        if len(commit.parents) > 1:
            return commit.parents[1]
        settings, _ = self._settings(record)
        merges = settings and strategy_of(settings, record) is Strategy.MERGE
        return "" if merges else record.tip

    def _in_force(self, record: Submission) -> str | None:
        """Return the settings of the target's commit when it landed.

        Those of the record where the target's could not be used, as the last good
        ones judge then.
        """
        entry = self._objects.path(record.base or "", CONFIG) if record.base else None
        if entry is None or entry.oid == record.config:
            return record.config
        try:
            settings_file.parse(self._objects.blob(entry.oid))
        except (GitError, ConfigError, ValueError):
            return record.config
        return entry.oid

    def _checks(self, commit: Commit, record: Submission, cover: Step) -> Iterator[str]:
        product = product_tree(self._objects, cover.commit.tree)
        wanted, problem = self._wanted(record)
        if problem:
            yield problem
        lines = {line.name: line for line in record.checks}
        yield from (
            f"Check {name} of its settings was not run."
            for name in wanted
            if name not in lines
        )
        note, problem = self._note(commit, record)
        if problem:
            yield problem
        above: tuple[str, ...] = ()
        for line in record.checks:
            check = wanted.get(line.name)
            if check is not None and check.history:
                above = parents(self._objects, cover, record.base or "")
            for text in self._line(product, above, line, check, note.get(line.name)):
                yield f"Check {line.name}: {text}"

    def _line(
        self,
        product: str,
        above: tuple[str, ...],
        line: CheckLine,
        check: Check | None,
        noted: str | None,
    ) -> Iterator[str]:
        if line.state not in {"passed", "flaky"}:
            yield f"it is recorded as {line.state}."
            return
        stored = self._of_product(product)
        found = next((each for each in stored if each.place == line.receipt), None)
        if found is None:
            yield f"its receipt {line.receipt or ''} is not there."
            return
        if noted is not None and noted != found.blob:
            yield f"{found.place} is not what the landing note saw: it was changed."
        if found.receipt is None:
            yield f"{found.place} is not sound. {found.problem}"
            return
        yield from self._receipt(above, found, found.receipt, line, check)

    def _receipt(
        self,
        above: tuple[str, ...],
        found: Stored,
        receipt: Receipt,
        line: CheckLine,
        check: Check | None,
    ) -> Iterator[str]:
        if receipt.check != line.name:
            yield f"{found.place} is about the check {clean.line(receipt.check)}."
        if receipt.result is not Result.PASSED:
            yield f"{found.place} says {receipt.result}."
        for blob in (found.blob, receipt.output):
            if damage := self.intact(blob):
                yield f"{found.place}: {damage}."
        if check is not None:
            key = check_key(check, receipt.product, receipt.environment, above)
            if (key, check.run) != (receipt.key, receipt.command):
                yield f"{found.place} is about another command or other settings."
        failed = any(
            each.receipt is not None
            and each.receipt.key == receipt.key
            and each.receipt.result is not Result.PASSED
            for each in self._of_product(receipt.product)
        )
        if failed != (line.state == "flaky"):
            yield f"it is recorded as {line.state}, and its receipts say otherwise."

    def _done(self, commit: Commit, record: Submission) -> str | None:
        if record.task is None:
            return None
        entry = self._objects.path(commit.oid, f"{DONE}{record.task}.md")
        return None if entry is None else entry.oid

    def _wanted(self, record: Submission) -> tuple[dict[str, Check], str]:
        """Return the checks by name that the settings of a landing ask for."""
        settings, problem = self._settings(record)
        checks = settings.check if settings is not None else ()
        return {check.name: check for check in checks}, problem

    def _settings(self, record: Submission) -> tuple[Settings | None, str]:
        """Return the settings that a landing was judged by, or a problem."""
        blob = record.config or ""
        if blob not in self._parsed:
            try:
                self._parsed[blob] = settings_file.parse(self._objects.blob(blob))
            except (GitError, ConfigError, ValueError):
                self._parsed[blob] = None
        found = self._parsed[blob]
        problem = "" if found else f"Its settings {record.config} cannot be read."
        return found, problem

    def _note(self, commit: Commit, record: Submission) -> tuple[dict[str, str], str]:
        """Return the receipts' blobs that the note names by check, or a problem."""
        if record.remembers:
            return {}, ""
        before = self._notes(commit.parents[0]) if commit.parents else None
        for change in walk_changes(self._objects, before, self._notes(commit.oid)):
            name = change.path.rpartition("/")[2]
            if name.startswith(record.id) and not change.old_mode:
                return self._noted(change.new_blob, change.path)
        return {}, "It brought no landing note."

    def _noted(self, blob: str, path: str) -> tuple[dict[str, str], str]:
        try:
            values = split(self._objects.blob(blob), path).values
        except Malformed as error:
            return {}, f"Its note cannot be read: {error}."
        checks = values.get("check", [])
        return {
            str(each.get("name")): str(each["blob"])
            for each in checks
            if "blob" in each
        }, ""

    def _notes(self, commit: str) -> str | None:
        entry = self._objects.path(commit, LANDINGS.rstrip("/"))
        return None if entry is None else entry.oid

    def _of_product(self, product: str) -> tuple[Stored, ...]:
        if product not in self._stored:
            found = tuple(receipts.look_up(self._objects, product, self._refs))
            self._stored[product] = found
        return self._stored[product]


def _shown(value: str | None) -> str:
    return clean.line(value)[:80] if value else "none"
