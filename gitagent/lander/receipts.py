"""Receipts in Git: one chain a month, one file for each run, its output beside it.

``refs/gitagent/receipts/<yyyy-mm>`` holds ``<key>-<run>.json`` and ``<key>-<run>.log``
in a folder ``<2 hex>/<rest>`` named after the product tree. The path says what a
receipt is about, and one whose content says otherwise stands for nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

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

_REMEMBERED = 20_000  # trees, and folders of receipts; some 10 MB each
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


@dataclass(slots=True)
class Memo:
    """What one reader knows of one repository's receipts already; see `of_products`.

    Everything is remembered by an object id, so nothing in it goes stale.
    """

    folders: dict[str, dict[str, str]] = field(default_factory=dict)  # by commit, tree
    parsed: dict[tuple[str, str, str], tuple[Receipt, ...]] = field(
        default_factory=dict  # by ref, product tree, and tree of its receipts
    )

    def below(self, objects: Objects, treeish: str) -> Mapping[str, str]:
        """Return the trees in the tree of a commit or in a tree, by name.

        Raises GitError.
        """
        if treeish not in self.folders:
            if len(self.folders) > _REMEMBERED:
                self.folders.clear()
            is_commit = objects.kind(treeish) == "commit"
            tree = objects.commit(treeish).tree if is_commit else treeish
            entries = objects.tree(tree)
            self.folders[treeish] = {x.name: x.oid for x in entries if x.mode == TREE}
        return self.folders[treeish]

    def sound(
        self, objects: Objects, ref: str, tip: str, product: str
    ) -> tuple[Receipt, ...]:
        """Return the sound receipts that one chain holds about a product tree."""
        try:
            fan = self.below(objects, tip).get(product[:2])
            tree = fan and self.below(objects, fan).get(product[2:])
        except GitError:
            return ()
        if not tree:
            return ()
        key = (ref, product, tree)
        if key not in self.parsed:
            stored = tuple(in_chain(objects, ref, tip, product))
            found = tuple(x.receipt for x in stored if x.receipt is not None)
            if len(found) < len(stored):  # what cannot be read may be so only now
                return found
            if len(self.parsed) > _REMEMBERED:
                self.parsed.clear()
            self.parsed[key] = found
        return self.parsed[key]


def store(
    repo: Repository, objects: Objects, receipt: Receipt, output: bytes
) -> Receipt:
    """Store a receipt with the output of its run, and return it with its place.

    A sound one that is there already for the same key and run stays, and is returned.

    Raises:
        LostRace: other writers came first, again and again.
        GitError: it could not be written; nothing was stored.
    """
    (stored,) = store_many(repo, objects, [(receipt, output)])
    return stored


def store_many(
    repo: Repository, objects: Objects, ended: Sequence[tuple[Receipt, bytes]]
) -> list[Receipt]:
    """Store receipts as `store` does, in order, with one commit for each month."""
    chains: dict[str, list[int]] = {}
    for number, (receipt, _) in enumerate(ended):
        chains.setdefault(f"{RECEIPTS}{receipt.started[:7]}", []).append(number)
    found: dict[int, Receipt] = {}
    for ref, numbers in chains.items():
        stored = _store(repo, objects, ref, [ended[number] for number in numbers])
        found |= zip(numbers, stored, strict=True)
    return [found[number] for number in range(len(ended))]


def _store(
    repo: Repository,
    objects: Objects,
    ref: str,
    ended: Sequence[tuple[Receipt, bytes]],
) -> list[Receipt]:
    for _ in range(_TRIES):
        old = objects.ref(ref)
        with objects.together():
            stored, new = _commit(objects, ref, old, ended)
        if new:
            try:
                update(repo.git, [RefUpdate(ref, new, old)], "gitagent: receipts")
            except LostRace:
                continue
            except GitError as error:
                # A `gc --prune=now` took the new objects before a ref held them.
                if "nonexistent object" not in error.stderr:
                    raise
                continue
            failpoint("receipt-written")
        return stored
    raise LostRace(f"{ref} was moved by others {_TRIES} times")


def of_product(
    objects: Objects, product: str, refs: Mapping[str, str] | None = None
) -> dict[str, tuple[Receipt, ...]]:
    """Return the sound receipts of a product tree by key, oldest first.

    ``refs`` are refs with their object ids, if they were read already.
    """
    refs = objects.refs(RECEIPTS) if refs is None else refs
    return of_products(objects, (product,), refs, Memo())


def of_products(
    objects: Objects, products: Iterable[str], refs: Mapping[str, str], memo: Memo
) -> dict[str, tuple[Receipt, ...]]:
    """Return the sound receipts of some product trees by key, oldest first.

    With the memo of the call before, it costs what is new since then.
    """
    chains = [(ref, tip) for ref, tip in refs.items() if ref.startswith(RECEIPTS)]
    found: dict[str, list[Receipt]] = {}
    for product in products:
        for ref, tip in chains:
            for receipt in memo.sound(objects, ref, tip, product):
                found.setdefault(receipt.key, []).append(receipt)
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


def _commit(
    objects: Objects,
    ref: str,
    old: str | None,
    ended: Sequence[tuple[Receipt, bytes]],
) -> tuple[list[Receipt], str]:
    """Return the receipts as they are stored, and a commit with the new ones or ""."""
    stored: list[Receipt] = []
    new: dict[str, Receipt] = {}
    for receipt, output in ended:
        place = f"{ref}:{_stem(receipt)}.json"
        placed = replace(receipt, output="", place=place)
        known = new.get(place) or _at(objects, ref, old, placed)
        if known is None:
            known = replace(placed, output=objects.write_blob(output))
            new[place] = known
        stored.append(known)
    if not new:
        return stored, ""
    files = {}
    for receipt in new.values():
        data = record.dump_receipt(replace(receipt, place=""))
        files[f"{_stem(receipt)}.json"] = (BLOB, objects.write_blob(data))
        files[f"{_stem(receipt)}.log"] = (BLOB, receipt.output)
    subjects = [_subject(receipt) for receipt in new.values()]
    what = subjects[0]
    if len(subjects) > 1:
        lines = "\n".join(f"- {subject}" for subject in subjects)
        what = f"{len(subjects)} receipts\n\n{lines}"
    before = None if old is None else objects.commit(old).tree
    who = replace(OWN, when=int(clock.now().timestamp()))
    parents = () if old is None else (old,)
    tree = edit(objects, before, files)
    message = record_message(what, "receipt")
    return stored, objects.write_commit(tree, parents, message, who, who)


def _subject(receipt: Receipt) -> str:
    how = _TOLD.get(receipt.result, str(receipt.result))
    text = f"{receipt.check} {how} on {receipt.product[:12]} in {receipt.seconds:.1f} s"
    return clean.sentence(text)
