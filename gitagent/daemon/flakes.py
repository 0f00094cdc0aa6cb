"""The flake ledger of a repository, from the receipts of all months.

Receipts never change, so what a folder of them says is remembered by its object id in
``flakes.json``: a cache, which costs a read of the new ones and can be thrown away.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitagent import __version__
from gitagent.core.flakes import Run, Tally, ledger
from gitagent.core.judge import flaky_counts
from gitagent.core.layout import HEADS, RECEIPTS, SUBMISSIONS
from gitagent.core.receipt import Receipt, Result
from gitagent.core.settings import Lander
from gitagent.daemon import remembered
from gitagent.daemon.overview import newest_landed
from gitagent.daemon.target import SettingsInForce
from gitagent.errors import UserError
from gitagent.files import record
from gitagent.git import records
from gitagent.git.objects import Objects
from gitagent.git.repository import Repository
from gitagent.host.place import state_dir

_FILE = re.compile(r"(?P<fan>[0-9a-f]{2})/(?P<rest>[0-9a-f]+)/(?P<stem>[0-9a-f]+-\d+)")

# check, key, run, result, exit code, started, submission, path
_Row = tuple[str, str, int, str, int | None, str, str, str]


@dataclass(slots=True)
class _Said:
    """What the receipts of one folder say; `passed` are first runs, by check."""

    passed: Counter[str] = field(default_factory=Counter)
    rows: list[_Row] = field(default_factory=list)


def flakes(repo: Repository) -> tuple[Tally, ...]:
    """Return what is known of each check that was ever flaky, the worst first.

    Raises:
        UserError: the repository has no target.
    """
    with repo.objects(fast=True) as objects:
        _, commit = remembered.target(repo, objects, objects.refs(HEADS))
        settings, _, _ = SettingsInForce().at(objects, commit)
        lander = settings.lander if settings else Lander()
        landings = flaky_counts(newest_landed(repo, objects))
        passed: Counter[str] = Counter()
        runs = []
        for ref, said in _chains(repo, objects):
            passed += said.passed
            runs += [_run(ref, row) for row in said.rows]
    return ledger(passed, runs, landings, lander.flaky_budget)


def tasks_of(repo: Repository, submissions: Iterable[str]) -> dict[str, str]:
    """Return the tasks behind submissions, for those that have one and a record."""
    with repo.objects(fast=True) as objects:
        refs = objects.refs(SUBMISSIONS)
        wanted = {SUBMISSIONS + each for each in submissions}
        tips = {ref: oid for ref, oid in refs.items() if ref in wanted}
        found = {}
        for ref, data in records.read_all(objects, tips).items():
            if isinstance(data, UserError):
                continue
            with suppress(UserError):
                if task := record.load_submission(data).task:
                    found[ref.removeprefix(SUBMISSIONS)] = task
    return found


def _run(ref: str, row: _Row) -> Run:
    check, key, run, result, exit_code, started, submission, path = row
    place = f"{ref}:{path}"
    return Run(check, key, run, Result(result), exit_code, started, submission, place)


def _chains(repo: Repository, objects: Objects) -> list[tuple[str, _Said]]:
    """Return what each month's chain says."""
    known = _recall(repo)
    found: list[tuple[str, _Said]] = []
    kept: dict[str, _Said] = {}
    for ref, tip in objects.refs(RECEIPTS).items():
        folders = _folders(repo, objects, tip, known)
        kept |= folders
        whole = _Said()
        for said in folders.values():
            whole.passed += said.passed
            whole.rows += said.rows
        found.append((ref, whole))
    if kept.keys() != known.keys():
        _remember(repo, kept)
    return found


def _folders(
    repo: Repository, objects: Objects, tip: str, known: Mapping[str, _Said]
) -> dict[str, _Said]:
    """Return what each folder of a chain says, by the object id of the folder."""
    tree = objects.commit(tip).tree
    fans = {entry.name: entry.oid for entry in objects.tree(tree)}
    new = {name for name, oid in fans.items() if oid not in known}
    found = {oid: known[oid] for oid in fans.values() if oid in known}
    found |= {fans[name]: _Said() for name in new}
    if not new:
        return found
    listed = repo.git.run("ls-tree", "-r", "-z", "--full-tree", tree)
    blobs: dict[str, str] = {}
    for line in listed.fields:
        facts, _, path = line.partition("\t")
        if path[:2] in new:
            blobs[path] = facts.rpartition(" ")[2]
    paths = [path for path in blobs if path.endswith(".json")]
    contents = objects.blobs_at((fans[path[:2]], path[3:]) for path in paths)
    for path, data in zip(paths, contents, strict=True):
        receipt = _sound(path, data, blobs)
        if receipt is not None:
            _add(found[fans[path[:2]]], receipt, path)
    return found


def _add(said: _Said, receipt: Receipt, path: str) -> None:
    if receipt.run == 1 and receipt.result is Result.PASSED:
        said.passed[receipt.check] += 1
        return
    said.rows.append(
        (
            receipt.check,
            receipt.key,
            receipt.run,
            str(receipt.result),
            receipt.exit_code,
            receipt.started,
            receipt.submission or "",
            path,
        )
    )


def _sound(path: str, data: bytes | None, blobs: Mapping[str, str]) -> Receipt | None:
    """Return a receipt that is what its path says; None: it stands for nothing."""
    stem = path.removesuffix(".json")
    match = _FILE.fullmatch(stem)
    if match is None or data is None:
        return None
    try:
        receipt = record.load_receipt(data)
    except UserError:
        return None
    claims = (receipt.product, f"{receipt.key}-{receipt.run}", receipt.output)
    there = (match["fan"] + match["rest"], match["stem"], blobs.get(f"{stem}.log"))
    return receipt if claims == there else None


def _file(repo: Repository) -> Path:
    return state_dir(repo.common_dir) / "flakes.json"


def _recall(repo: Repository) -> dict[str, _Said]:
    try:
        values = json.loads(_file(repo).read_bytes())
        if values["release"] != __version__:
            return {}
        return {
            str(oid): _Said(
                Counter({str(check): int(n) for check, n in passed.items()}),
                [_row(row) for row in rows],
            )
            for oid, (passed, rows) in values["folders"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _row(row: Any) -> _Row:  # noqa: ANN401 - JSON's
    check, key, run, result, exit_code, started, submission, path = row
    texts = (check, key, result, started, submission, path)
    code_is_sound = exit_code is None or isinstance(exit_code, int)
    if not (code_is_sound and all(isinstance(text, str) for text in texts)):
        raise ValueError("not a row")
    Result(result)
    return check, key, int(run), result, exit_code, started, submission, path


def _remember(repo: Repository, folders: Mapping[str, _Said]) -> None:
    path = _file(repo)
    new = path.with_name(f"{path.name}.{os.getpid()}")
    values = {oid: (said.passed, said.rows) for oid, said in folders.items()}
    text = json.dumps({"release": __version__, "folders": values})
    with suppress(OSError):  # a repository of somebody else can still be looked at
        path.parent.mkdir(exist_ok=True)
        new.write_text(text, "utf-8")
        new.replace(path)
