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


# --- many at once


def test_receipts_stored_at_once_are_one_commit_of_each_month(
    made: Bench, product: str
):
    store(made, receipt(product))
    ended = [
        (receipt(product, check="lint", key="ac" * 8), b"one\n"),
        (receipt(product, run=2, started="2026-12-01T00:00:00Z"), b"two\n"),
        (receipt("7" * 40, result=Result.FAILED, exit_code=1), b"three\n"),
        (receipt(product, seconds=9.0), b"stored before\n"),
    ]
    stored = receipts.store_many(made.repository, made.objects, ended)

    assert [each.key for each, _ in ended] == [each.key for each in stored]
    assert [b"one\n", b"two\n", b"three\n", b"fine\n"] == [
        made.objects.blob(each.output) for each in stored
    ]
    assert 3.14 == stored[3].seconds
    assert 2 == len(made.repo.log("%s", CHAIN))
    assert 1 == len(made.repo.log("%s", "refs/gitagent/receipts/2026-12"))
    message = made.repo.log("%B", CHAIN)
    assert [True, True] == [
        any(name in line for line in message)
        for name in ("lint passed", "tests failed on 777777777777")
    ]
    assert ("Gitagent-Record", "receipt") in made.repo.trailers(CHAIN)
    made.repo.fsck()


def test_nothing_ended_is_no_change(made: Bench):
    before = made.repo.refs()

    assert [] == receipts.store_many(made.repository, made.objects, [])
    assert before == made.repo.refs()


def test_the_same_run_twice_at_once_is_stored_once(made: Bench, product: str):
    ended = [(receipt(product), b"first\n"), (receipt(product), b"second\n")]
    first, second = receipts.store_many(made.repository, made.objects, ended)

    assert first == second
    assert b"first\n" == made.objects.blob(first.output)


# --- many products


def look(made: Bench, products: list[str], memo: receipts.Memo) -> object:
    return receipts.of_products(
        made.objects, products, made.objects.refs(RECEIPTS), memo
    )


def test_what_is_remembered_is_what_would_be_read(made: Bench, product: str):
    memo = receipts.Memo()
    others = [f"{number:040x}" for number in range(300)]

    assert {} == look(made, [product, *others], memo)
    one = store(made, receipt(product))
    assert {one.key: (one,)} == look(made, [product, *others], memo)
    two = store(made, receipt(others[7], key="cd" * 8))
    assert {one.key: (one,), two.key: (two,)} == look(made, [product, *others], memo)
    assert {two.key: (two,)} == look(made, others, memo)
    tamper(made, two, run=7)
    assert {one.key: (one,)} == look(made, [product, *others], memo)


def test_asking_again_reads_nothing(made: Bench, product: str, monkeypatch):
    stored = store(made, receipt(product))
    memo = receipts.Memo()
    products = [product, *(f"{number:040x}" for number in range(300))]
    refs = made.objects.refs(RECEIPTS)
    first = receipts.of_products(made.objects, products, refs, memo)
    monkeypatch.delattr(type(made.objects), "_read")

    again = receipts.of_products(made.objects, products, refs, memo)

    assert {stored.key: (stored,)} == first == again


def test_a_memo_has_a_bound(made: Bench, monkeypatch):
    monkeypatch.setattr(receipts, "_REMEMBERED", 3)
    memo = receipts.Memo()
    for number in range(12):
        made_here = store(made, receipt(f"{number:040x}", key="ef" * 8))

        assert {made_here.key: (made_here,)} == look(made, [f"{number:040x}"], memo)

    assert 5 > len(memo.parsed)
    assert 5 > len(memo.folders)
