import json
import subprocess
import sys
from dataclasses import replace

import pytest

from gitagent.core.layout import RECEIPTS
from gitagent.core.receipt import Receipt, Result
from gitagent.core.settings import Check
from gitagent.files.record import dump_receipt
from gitagent.lander import receipts
from tests.support.lander import Bench

CHAIN = "refs/gitagent/receipts/2026-11"

_STORE = """
import os
import sys
from dataclasses import replace
from pathlib import Path
from gitagent.files.record import load_receipt
from gitagent.git.repository import discover
from gitagent.lander import receipts
repository = discover(Path(sys.argv[1]))
receipt = load_receipt(sys.argv[2].encode())
gate, opened = os.pipe()
for child in range(5):
    if os.fork() == 0:
        os.close(opened)
        os.read(gate, 1)
        with repository.objects(fast=True) as objects:
            for n in range(2):
                one = replace(receipt, key=f"{child:08x}{n:08x}")
                receipts.store(repository, objects, one, one.key.encode())
        os._exit(0)
os.close(opened)
sys.exit(max(os.wait()[1] for _ in range(5)))
"""


@pytest.fixture
def product(made: Bench) -> str:
    return made.prepare(made.submit(made.offer({"a": "1"}))).product


def receipt(product: str, **fields: object) -> Receipt:
    first = Receipt(
        check="tests",
        key="ab" * 8,
        product=product,
        run=1,
        command="make test",
        result=Result.PASSED,
        exit_code=0,
        seconds=3.14,
        started="2026-11-30T12:00:00Z",
        sandbox="required",
        environment="e" * 16,
        output="",
    )
    return replace(first, **fields)  # type: ignore[arg-type]


def store(made: Bench, one: Receipt, output: bytes = b"fine\n") -> Receipt:
    return receipts.store(made.repository, made.objects, one, output)


def test_a_stored_receipt_is_found_by_its_product_and_key(made: Bench, product: str):
    stored = store(made, receipt(product))
    found = receipts.of_product(made.objects, product)

    assert {stored.key: (stored,)} == found
    assert {} == receipts.of_product(made.objects, "0" * 40)


def test_plain_git_reads_a_receipt_its_output_and_its_story(made: Bench, product: str):
    stored = store(made, receipt(product), b"\xff all of it \x00\n")
    ref, _, path = stored.place.partition(":")

    assert CHAIN == ref
    assert b"\xff all of it \x00\n" == made.repo.raw(
        "show", f"{ref}:{path.replace('.json', '.log')}"
    )
    assert stored.key == json.loads(made.repo.read(path, ref))["key"]
    subject = made.repo.log("%s", ref)[0]
    assert "tests passed" in subject
    assert product[:12] in subject
    assert ("Gitagent-Record", "receipt") in made.repo.trailers(ref)


def test_receipts_of_every_month_are_read_oldest_first(made: Bench, product: str):
    late = store(made, receipt(product, run=2, started="2026-12-01T00:00:00Z"))
    early = store(made, receipt(product, result=Result.FAILED, exit_code=1))

    assert {early.key: (early, late)} == receipts.of_product(made.objects, product)
    assert 2 == len(made.repo.refs(RECEIPTS))


def test_storing_the_same_run_again_keeps_the_first(made: Bench, product: str):
    first = store(made, receipt(product))
    second = store(made, receipt(product, result=Result.FAILED), b"other\n")

    assert first == second
    assert 1 == len(made.repo.log("%s", CHAIN))


def test_writers_at_once_lose_no_receipt(made: Bench, product: str):
    text = dump_receipt(receipt(product)).decode()
    command = [sys.executable, "-c", _STORE, str(made.repo.path), text]
    subprocess.run(command, check=True)

    assert 10 == len(receipts.of_product(made.objects, product))
    assert 10 == len(made.repo.log("%s", CHAIN))
    made.repo.fsck()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("product", "1" * 40),
        ("key", "cd" * 8),
        ("run", 2),
        ("output", "2" * 40),
        ("result", "splendid"),
    ],
)
def test_a_receipt_that_belies_its_place_stands_for_nothing(
    made: Bench, product: str, field: str, value: object
):
    stored = store(made, receipt(product))
    tamper(made, stored, **{field: value})
    (found,) = receipts.look_up(made.objects, product)

    assert {} == receipts.of_product(made.objects, product)
    assert found.receipt is None
    assert found.problem
    assert stored.place == found.place


def test_a_receipt_in_place_of_an_unsound_one_is_stored(made: Bench, product: str):
    tamper(made, store(made, receipt(product)), run=7)
    stored = store(made, receipt(product))

    assert {stored.key: (stored,)} == receipts.of_product(made.objects, product)


def test_a_receipt_copied_to_another_product_is_ignored(made: Bench, product: str):
    stored = store(made, receipt(product, check="tests"))
    other = made.prepare(made.submit(made.offer({"b": "1"}, branch="b"))).product
    _, _, path = stored.place.partition(":")
    name = path.rpartition("/")[2].removesuffix(".json")
    copy = {
        f"{other[:2]}/{other[2:]}/{name}.json": made.repo.read(path, CHAIN),
        f"{other[:2]}/{other[2:]}/{name}.log": "fine\n",
    }
    made.repo.commit_at(CHAIN, copy)

    assert {} == receipts.of_product(made.objects, other)
    assert 1 == len(receipts.of_product(made.objects, product))


def test_the_key_follows_command_settings_environment_and_history(made: Bench):
    submission = made.submit(made.offer({"a": "1"}))
    first = made.prepare(submission)
    made.repo.add_task("other", "true")
    second = made.prepare(submission)
    plain, history = Check("t", "true"), Check("t", "true", history=True)

    assert made.start(first, plain).key == made.start(second, plain).key
    assert made.start(first, history).key != made.start(second, history).key
    assert made.start(first, plain).key != made.start(first, Check("t", "false")).key


def tamper(made: Bench, stored: Receipt, **fields: object) -> None:
    """Rewrite the newest commit of the chain with other content of one receipt."""
    ref, _, path = stored.place.partition(":")
    values = json.loads(made.repo.read(path, ref)) | fields
    parents = tuple(made.repo.git("rev-parse", f"{ref}^@").split())
    log = path.replace(".json", ".log")
    content = {path: json.dumps(values), log: made.repo.raw("show", f"{ref}:{log}")}
    made.repo.commit_at(ref, content, "tests passed", parents=parents)
