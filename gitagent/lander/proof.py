"""Whether one landing is what its commit says, told from record, receipts and note."""

import hashlib
from collections.abc import Iterator, Mapping

from gitagent.core.layout import DONE, LANDINGS
from gitagent.core.receipt import Receipt, Result, check_key
from gitagent.core.settings import Check, Settings
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
from gitagent.lander.receipts import Stored
from gitagent.lander.trail import Step

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

    def problems(
        self, seen: Step, record: Submission | UserError | None
    ) -> Iterator[str]:
        """Yield what does not agree about a landing, as sentences."""
        if record is None:
            yield f"It names {clean.line(seen.submission)}, which has no record."
            return
        if isinstance(record, UserError):
            yield f"The record of {seen.submission} cannot be read: {record.line()}."
            return
        try:
            yield from self._trailers(seen.commit, record)
            yield from self._checks(seen.commit, record)
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

    def _trailers(self, commit: Commit, record: Submission) -> Iterator[str]:
        pairs = trailers(commit.message)
        said = dict(pairs)
        product = product_tree(self._objects, commit.tree)
        claims = (
            ("record's commit", record.commit, commit.oid),
            ("Gitagent-Tip", said.get("Gitagent-Tip"), record.tip),
            ("second parent", (*commit.parents, "", "")[1], record.tip),
            ("Gitagent-Task", said.get("Gitagent-Task"), record.task),
            ("Gitagent-Config", said.get("Gitagent-Config"), record.config or ""),
            ("Gitagent-Checked", said.get("Gitagent-Checked"), product),
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

    def _checks(self, commit: Commit, record: Submission) -> Iterator[str]:
        product = product_tree(self._objects, commit.tree)
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
        for line in record.checks:
            check = wanted.get(line.name)
            for text in self._line(commit, product, line, check, note.get(line.name)):
                yield f"Check {line.name}: {text}"

    def _line(
        self,
        commit: Commit,
        product: str,
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
        yield from self._receipt(commit, found, found.receipt, line, check)

    def _receipt(
        self,
        commit: Commit,
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
            parents = (commit.parents[0], commit.parents[-1])
            key = check_key(check, receipt.product, receipt.environment, parents)
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
        try:
            settings: Settings = settings_file.parse(
                self._objects.blob(record.config or "")
            )
        except (GitError, ConfigError, ValueError):
            return {}, f"Its settings {record.config} cannot be read."
        return {check.name: check for check in settings.check}, ""

    def _note(self, commit: Commit, record: Submission) -> tuple[dict[str, str], str]:
        """Return the receipts' blobs that the note names by check, or a problem."""
        for change in walk_changes(
            self._objects, self._notes(commit.parents[0]), self._notes(commit.oid)
        ):
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
