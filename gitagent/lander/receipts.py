"""Receipts in Git: one chain a month, one file for each run, its output beside it.

``refs/gitagent/receipts/<yyyy-mm>`` holds ``<key>-<run>.json`` and ``<key>-<run>.log``
in a folder ``<2 hex>/<rest>`` named after the product tree. The path says what a
receipt is about, and one whose content says otherwise stands for nothing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gitagent.core.layout import RECEIPTS
from gitagent.core.receipt import Receipt, Result
from gitagent.errors import GitError, LostRace, UserError
from gitagent.files import clean, record
from gitagent.files.message import record_message
from gitagent.git.identity import OWN
from gitagent.git.objects import BLOB, TREE, Objects
from gitagent.git.refs import RefUpdate, update
from gitagent.git.repository import Repository
from gitagent.git.tree import edit, folder
from gitagent.host import clock
from gitagent.host.failpoint import failpoint

_TRIES = 50  # writers of one month's chain that may come first
_TOLD = {
    Result.CHANGED: "changed its checkout",
    Result.BROKEN: "could not run",
    Result.TIMEOUT: "ran out of time",
}
_FILE = re.compile(r"(?P<stem>(?P<key>[0-9a-f]+)-(?P<run>\d+))\.json\Z")


@dataclass(frozen=True, slots=True)
class Stored:
    """A receipt as it lies in a chain, or why it stands for nothing."""

    place: str  # "<ref>:<path>"
    blob: str  # of its JSON
    receipt: Receipt | None
    problem: str = ""  # a sentence; empty if it is sound


def store(
    repo: Repository, objects: Objects, receipt: Receipt, output: bytes
) -> Receipt:
    """Store a receipt with the output of its run, and return it with its place.

    A sound one that is there already for the same key and run stays, and is returned.

    Raises:
        LostRace: other writers came first, again and again.
        GitError: it could not be written; nothing was stored.
    """
    ref = f"{RECEIPTS}{receipt.started[:7]}"
    stem = _stem(receipt)
    for _ in range(_TRIES):
        blob = objects.write_blob(output)
        placed = replace(receipt, output=blob, place=f"{ref}:{stem}.json")
        old = objects.ref(ref)
        known = _at(objects, ref, old, placed)
        if known is not None:
            return known
        new = _commit(objects, old, stem, placed)
        try:
            update(repo.git, [RefUpdate(ref, new, old)], _subject(placed))
        except LostRace:
            continue
        except GitError as error:
            # A `gc --prune=now` took the new objects before a ref held them.
            if "nonexistent object" not in error.stderr:
                raise
            continue
        failpoint("receipt-written")
        return placed
    raise LostRace(f"{ref} was moved by others {_TRIES} times")


def of_product(
    objects: Objects, product: str, refs: Mapping[str, str] | None = None
) -> dict[str, tuple[Receipt, ...]]:
    """Return the sound receipts of a product tree by key, oldest first.

    ``refs`` are refs with their object ids, if they were read already.
    """
    found: dict[str, list[Receipt]] = {}
    for stored in look_up(objects, product, refs):
        if stored.receipt is not None:
            found.setdefault(stored.receipt.key, []).append(stored.receipt)
    return {
        key: tuple(sorted(group, key=lambda each: (each.started, each.run)))
        for key, group in found.items()
    }


def look_up(
    objects: Objects, product: str, refs: Mapping[str, str] | None = None
) -> Iterator[Stored]:
    """Yield what every chain holds about a product tree, unsound ones included."""
    for ref, tip in (objects.refs(RECEIPTS) if refs is None else refs).items():
        if ref.startswith(RECEIPTS):
            yield from in_chain(objects, ref, tip, product)


def in_chain(objects: Objects, ref: str, tip: str, product: str) -> Iterator[Stored]:
    """Yield what one chain, at commit ``tip``, holds about a product tree."""
    place = f"{product[:2]}/{product[2:]}"
    try:
        entries = folder(objects, tip, place)
    except GitError as error:
        yield Stored(f"{ref}:{place}", "", None, f"It cannot be read: {error.message}.")
        return
    logs = {entry.name: entry.oid for entry in entries if entry.mode == BLOB}
    for entry in entries:
        match = _FILE.match(entry.name)
        if match is None or entry.mode == TREE:
            continue
        path = f"{ref}:{place}/{entry.name}"
        try:
            receipt = record.load_receipt(objects.blob(entry.oid))
        except (GitError, UserError) as error:
            yield Stored(path, entry.oid, None, f"It cannot be read: {error.message}.")
            continue
        problem = _problem(receipt, product, match, logs.get(f"{match['stem']}.log"))
        good = None if problem else replace(receipt, place=path)
        yield Stored(path, entry.oid, good, problem)


def _problem(
    receipt: Receipt, product: str, match: re.Match[str], log: str | None
) -> str:
    """Return what in a receipt belies the place where it lies, as a sentence."""
    claims = (
        ("product tree", receipt.product, product),
        ("key", receipt.key, match["key"]),
        ("run", str(receipt.run), match["run"]),
        ("output", receipt.output, log or "missing"),
    )
    return " ".join(
        f"Its {what} is {clean.line(said)[:64]}, and {found} where it lies."
        for what, said, found in claims
        if said != found
    )


def _stem(receipt: Receipt) -> str:
    return f"{receipt.product[:2]}/{receipt.product[2:]}/{receipt.key}-{receipt.run}"


def _at(
    objects: Objects, ref: str, tip: str | None, receipt: Receipt
) -> Receipt | None:
    """Return the sound receipt that already lies where ``receipt`` belongs."""
    if tip is None:
        return None
    for stored in in_chain(objects, ref, tip, receipt.product):
        if stored.place == receipt.place:
            return stored.receipt
    return None


def _commit(objects: Objects, old: str | None, stem: str, receipt: Receipt) -> str:
    data = record.dump_receipt(replace(receipt, place=""))
    files = {
        f"{stem}.json": (BLOB, objects.write_blob(data)),
        f"{stem}.log": (BLOB, receipt.output),
    }
    before = None if old is None else objects.commit(old).tree
    message = record_message(_subject(receipt), "receipt")
    who = replace(OWN, when=int(clock.now().timestamp()))
    parents = () if old is None else (old,)
    tree = edit(objects, before, files)
    return objects.write_commit(tree, parents, message, who, who)


def _subject(receipt: Receipt) -> str:
    how = _TOLD.get(receipt.result, str(receipt.result))
    text = f"{receipt.check} {how} on {receipt.product[:12]} in {receipt.seconds:.1f} s"
    return clean.sentence(text)
