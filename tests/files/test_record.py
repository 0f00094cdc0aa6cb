import json
import subprocess
import sys
import time
from dataclasses import fields, is_dataclass, replace
from types import UnionType
from typing import get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitagent.core.approval import Approval
from gitagent.core.conversation import Entry
from gitagent.core.receipt import Receipt, Result
from gitagent.core.submission import CheckLine, Submission, SubmissionState
from gitagent.core.task import Attempt, Outcome, TaskRecord, TaskState
from gitagent.errors import UserError
from gitagent.files import record

OID = "0123456789abcdef0123456789abcdef01234567"

texts = st.text(st.characters(exclude_categories=()), max_size=12)
numbers = st.floats(allow_nan=False, allow_infinity=False)


def of(kind):
    """Give values of a dataclass with any text and any number in its fields."""
    hints = get_type_hints(kind)
    return st.builds(kind, **{f.name: drawn(hints[f.name]) for f in fields(kind)})


def drawn(hint):
    if get_origin(hint) is UnionType:
        return st.one_of(*(drawn(each) for each in get_args(hint)))
    if get_origin(hint) is tuple:
        return st.lists(drawn(get_args(hint)[0]), max_size=3).map(tuple)
    if is_dataclass(hint):
        return of(hint)
    return {str: texts, float: numbers}.get(hint, st.from_type(hint))


CODECS = {
    TaskRecord: (record.dump_task, record.load_task),
    Submission: (record.dump_submission, record.load_submission),
    Approval: (record.dump_approval, record.load_approval),
    Receipt: (record.dump_receipt, record.load_receipt),
    Entry: (record.dump_entry, record.load_entry),
}


# A task holds all kinds of fields in hundreds of places: few examples try them all.
@pytest.mark.parametrize("kind", CODECS)
@settings(max_examples=25)
@given(st.data())
def test_what_was_written_is_read_back(kind, data):
    dump, load = CODECS[kind]
    value = data.draw(of(kind))

    assert value == load(dump(value))
    assert dump(value) == dump(load(dump(value)))


def attempt(number=1):
    return Attempt(
        number=number,
        blob=OID,
        base=OID,
        started="2026-11-30T12:00:00Z",
        boot="b",
        pid=4711,
        ticks=99,
        ended="2026-11-30T12:05:00Z",
        outcome=Outcome.OK,
        exit_code=0,
        tip=OID,
        log=OID,
    )


def task(number=0):
    return TaskRecord(
        id=f"task-{number}",
        state=TaskState.LANDED,
        blob=OID,
        since="2026-11-30T12:00:00Z",
        title="Fix the lögin",
        agent="shell",
        attempt=2,
        attempts=(attempt(1), attempt(2)),
        branch=f"refs/heads/agent/task-{number}",
        tip=OID,
        submission="s-0123456789ab",
    )


def submission():
    line = CheckLine("tests", "passed", 3.2, "refs/gitagent/receipts/2026-11:x")
    return Submission(
        id="s-1",
        tip=OID,
        state=SubmissionState.LANDED,
        created="2026-11-30T12:00:00.000001Z",
        since="2026-11-30T12:00:00Z",
        checks=(line,),
    )


def receipt():
    return Receipt(
        check="tests",
        key="k",
        product=OID,
        run=1,
        command="make test",
        result=Result.PASSED,
        exit_code=0,
        seconds=3,
        started="2026-11-30T12:00:00Z",
        sandbox="required",
        environment="e",
        output=OID,
        place="written:here",
    )


def test_a_record_is_readable_json_with_sorted_keys():
    data = record.dump_task(task())
    got = json.loads(data)

    assert "Fix the lögin" in data.decode()
    assert list(got) == sorted(got)
    assert got["state"] == "landed"
    assert got["attempts"][0]["outcome"] == "ok"
    assert got["version"] == 1
    assert got["release"]
    assert "oid" not in got
    assert data.decode().count("\n") > 20


def test_a_reader_says_where_a_record_was_read_from():
    data = record.dump_receipt(receipt())

    assert record.load_task(record.dump_task(task()), oid=OID).oid == OID
    assert record.load_submission(record.dump_submission(submission()), OID).oid == OID
    assert record.load_receipt(data).place == "written:here"
    assert record.load_receipt(data, "read:there").place == "read:there"


def changed(**keys):
    values = json.loads(record.dump_task(task())) | keys
    return json.dumps({k: v for k, v in values.items() if v is not ...}).encode()


def test_unknown_keys_are_passed_over_and_absent_ones_have_their_defaults():
    more = record.load_task(changed(colour="green", attempts=[]))
    less = record.load_task(changed(claim=..., title=...))

    assert replace(task(), attempts=()) == more
    assert replace(task(), title="") == less


def test_a_newer_version_is_refused_with_the_release_that_wrote_it():
    with pytest.raises(UserError) as caught:
        record.load_task(changed(version=2, release="9.8.7", state="quantum"))

    assert "9.8.7" in caught.value.line()
    assert len(caught.value.line().splitlines()) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"{}",
        b"[" * 200_000,
        changed(version="1"),
        changed(state="gone"),
        changed(state=None),
        changed(id=...),
        changed(id=3),
        changed(attempt="2"),
        changed(attempt=True),
        changed(attempts={}),
        changed(attempts=[1]),
        changed(attempts=[{}]),
        changed(branch=1),
    ],
)
def test_a_damaged_record_is_a_users_error_in_one_line(data):
    with pytest.raises(UserError) as caught:
        record.load_task(data)

    assert len(caught.value.line().splitlines()) == 1


def test_two_thousand_records_are_decoded_fast_and_without_pydantic():
    data = [record.dump_task(task(number)) for number in range(2000)]
    started = time.process_time()
    for each in data:
        record.load_task(each)
    took = time.process_time() - started
    modules = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, gitagent.files.record; print(*sys.modules)",
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()

    # 40 to 60 ms on a quiet machine; the rest is room for a noisy one.
    assert took < 0.4
    assert not {"pydantic", "ruamel.yaml", "pygit2"} & set(modules)
