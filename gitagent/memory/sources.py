"""What a source says where it lies: lines, a receipt, a landing, a person's answer.

Nothing that is said about a source is believed. Its bytes are read from Git again, and
it has to be part of what everybody has: the target's history, or gitagent's records.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from gitagent.core.ident import id_problem, is_oid
from gitagent.core.layout import RECEIPTS
from gitagent.core.memory import QUOTE, From, Source, read_source
from gitagent.core.question import Answer
from gitagent.core.receipt import Receipt
from gitagent.core.submission import Submission, SubmissionState
from gitagent.core.task import TaskRecord
from gitagent.errors import GitError, UserError
from gitagent.files import clean, record
from gitagent.git import records
from gitagent.git.objects import Commit, Objects
from gitagent.git.repository import Repository
from gitagent.git.tree import walk_changes
from gitagent.memory import ledger
from gitagent.memory.cited import cited, parsed
from gitagent.memory.lines import file_problem

_RECEIPT: Final = 4 << 20  # bytes of one; it holds no whole output
_STORY: Final = 500  # records of a task that are looked through for an answer
_PATHS: Final = 20_000  # that a landing may have changed, if they are to be named
_BLOB: Final = re.compile(r"[0-9a-f]{7,64}")
_ASKED: Final = re.compile(r"[^.!?;\n]+\?")  # sentences that ask
_NO: Final = re.compile(
    r"\W*(?:no|nope|not|never|neither|none|nothing|don['\u2019]t|do not)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Found:
    """A source that resolved."""

    source: Source  # with its quote
    oid: str  # object that says it: a blob, a landing's commit, a record
    proof: str  # what of the quote is evidence: not what its submitter, or asker, says


def look_up(repo: Repository, objects: Objects, target: str, text: str) -> Found | str:
    """Return what ``text`` names, or why it names nothing, as a clause.

    ``target`` is a commit of the target.

    Raises:
        GitError: Git cannot be read.
    """
    named = read_source(text)
    if isinstance(named, str):
        return named
    match named.kind:
        case From.LINES:
            found = cited(repo, objects, target, named)
            return found if isinstance(found, str) else Found(*found, found[0].quote)
        case From.RECEIPT:
            return _receipt(repo, objects, named)
        case From.LANDING:
            return _landing(objects, target, named)
        case From.DECISION:
            return _decision(objects, named)


def _receipt(repo: Repository, objects: Objects, named: Source) -> Found | str:
    blob = _receipt_blob(repo, objects, named.oid)
    shown = _shown(named.oid)
    if blob is None:
        return f"there is no receipt {shown}"
    try:
        if objects.size(blob) > _RECEIPT:
            return f"{shown} is no receipt"
        receipt = record.load_receipt(objects.blob(blob))
    except (GitError, UserError):
        return f"{shown} is no receipt"
    # Anybody can write such a blob; a receipt lies where its content says.
    ref = f"{RECEIPTS}{receipt.started[:7]}"
    folder = f"{receipt.product[:2]}/{receipt.product[2:]}"
    stem = f"{folder}/{receipt.key}-{receipt.run}"
    tip = objects.ref(ref)
    stored = objects.path(tip, f"{stem}.json") if tip else None
    output = objects.path(tip, f"{stem}.log") if tip else None
    if stored is None or output is None or stored.oid != blob:
        return f"{shown} is no receipt that the lander has stored"
    if output.oid != receipt.output:
        return f"the output beside receipt {shown} is not the one that it names"
    said = _said(receipt)
    return Found(Source(From.RECEIPT, blob, quote=said), blob, said)


def _receipt_blob(repo: Repository, objects: Objects, name: str) -> str | None:
    ref, colon, path = name.partition(":")
    if colon:
        tip = objects.ref(ref) if ref.startswith(RECEIPTS) else None
        entry = objects.path(tip, path) if tip else None
        return None if entry is None or file_problem(entry) else entry.oid
    if is_oid(name):
        return name if objects.kind(name) == "blob" else None
    return parsed(repo, f"{name}^{{blob}}") if _BLOB.fullmatch(name) else None


def _said(receipt: Receipt) -> str:
    how = f"exit code {receipt.exit_code}"
    if receipt.exit_code is None:
        how = "no exit code"
    facts = (
        f"check {receipt.check} {receipt.result}, {how}, {receipt.seconds:.1f} s",
        f"command: {clean.sentence(receipt.command, 300)}",
        f"product tree: {receipt.product}",
        f"submission: {receipt.submission or 'none'}",
    )
    return _fitted(facts, reversed(clean.visible(receipt.tail).split("\n")), end=True)


def _landing(objects: Objects, target: str, named: Source) -> Found | str:
    shown = _shown(named.name)
    if id_problem(named.name):
        return f"{shown} names no submission; see: gitagent log"
    known = ledger.submission(objects, named.name)
    if known is None:
        return f"there is no submission {shown} here"
    if known.state is not SubmissionState.LANDED or not known.commit:
        return f"submission {shown} is {known.state}, and has not landed"
    if objects.kind(known.commit) is None or not objects.ancestor(known.commit, target):
        return f"the landing of {shown} is not part of the target's history"
    quote = _of_landing(objects, known, objects.commit(known.commit))
    proof = quote.partition("\n")[2]  # its subject is its submitter's word
    return Found(replace(named, oid=known.commit, quote=quote), known.commit, proof)


def _of_landing(objects: Objects, known: Submission, commit: Commit) -> str:
    facts = [
        clean.sentence(commit.message.partition("\n")[0]),
        f"{known.id} landed as {commit.oid}",
    ]
    if known.ends:
        facts.append(f"task: {known.ends}")
    facts += [f"check {clean.sentence(x.name)} {x.state}" for x in known.checks]
    before = objects.commit(commit.parents[0]).tree if commit.parents else None
    try:
        changes = walk_changes(objects, before, commit.tree, limit=_PATHS)
    except UserError:
        changes = ()
    return _fitted(facts, (f"changed {clean.sentence(x.path)}" for x in changes))


def _decision(objects: Objects, named: Source) -> Found | str:
    task, shown = named.name, _shown(named.name)
    known = None if id_problem(task) else ledger.task(objects, task)
    if known is None:
        return f"there is no record of a task {shown} here"
    if named.first > len(known.answers):
        count = len(known.answers) or "no"
        said = f"{count} answer{'' if count == 1 else 's'}"
        return f"people gave {said} to task {shown}"
    answer = known.answers[named.first - 1]
    quote = "\n".join(
        clean.visible(text).strip("\n")
        for text in (answer.question, answer.text, answer.because)
        if text.strip()
    )
    if len(quote) > QUOTE:
        return f"the answer has {len(quote):,} characters, and {QUOTE:,} are the most"
    oid = _first_said(objects, known, named.first)
    return Found(replace(named, oid=oid, quote=quote), oid, _proof(answer))


def _proof(answer: Answer) -> str:
    """Return what a person has said by an answer.

    An agent has written the question. What it asserts there nobody has confirmed, and
    what it asks nobody has either, if the answer is no.
    """
    said = [answer.text, answer.because]
    if not _NO.match(answer.text):
        said[:0] = _ASKED.findall(answer.question)
    return "\n".join(clean.visible(each) for each in said)


def _first_said(objects: Objects, known: TaskRecord, number: int) -> str:
    """Return the record in which an answer stands first, where it stays."""
    answer, found = known.answers[number - 1], known.oid
    for step, commit in enumerate(records.history(objects, known.oid)):
        try:
            older = record.load_task(records.read(objects, commit.oid))
        except (GitError, UserError):
            break
        if step > _STORY or answer not in older.answers:
            break
        found = commit.oid
    return found


def _fitted(
    facts: Iterable[str],
    more: Iterable[str],
    *,
    end: bool = False,
) -> str:
    """Return facts and as many whole lines more as a quote has room for.

    With ``end`` the lines come last first.
    """
    head = list(facts)
    room = QUOTE - len("\n".join(head))
    kept: list[str] = []
    for line in more:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    if end:
        kept.reverse()
    return "\n".join([*head, *kept]).strip("\n")


def _shown(text: str) -> str:
    return clean.sentence(text, 120)
