"""gitagent context: what an attempt sent to models, and who put it there."""

import json

import pytest

from gitagent.core.action import Archive
from gitagent.core.exchange import State
from gitagent.core.task import Attempt, Outcome, TaskState
from gitagent.daemon import archive
from gitagent.git.repository import discover
from gitagent.worker.journal import Journal
from tests.support import ledger
from tests.support.cli import call
from tests.support.exchanges import done, exchange, request, write

WHEN = "2026-11-30T12:00:00Z"
TASK = "Mend the\nlogin, please."
ANSWER = {"content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash"}]}
BODY = json.dumps(
    {
        "model": "sonnet",
        "system": "You are careful.",
        "tools": [{"name": "Bash"}, {"name": "mcp__gitagent__ask"}],
        "messages": [
            {"role": "user", "content": f"Hello.\n{TASK}"},
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "tool_use",
                        "id": "toolu_1",
                        "name": "Bash",
                        "input": {"command": "ls"},
                    }
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": "\na.py\nb.py",
                    }
                ],
            },
        ],
    }
).encode()


def attempt(number, **fields):
    values = {"ended": WHEN, "outcome": Outcome.FAILED}
    return Attempt(number, "0" * 40, "1" * 40, WHEN, **{**values, **fields})


@pytest.fixture
def talked(repo):
    call(repo, "init", "--no-check")
    talk = [(request("Hello."), json.dumps(ANSWER).encode()), (BODY, b"{}")]
    write(repo, talk, program="claude", parts=[("the task file", TASK)])
    attempts = (attempt(1), attempt(2))
    ledger.task(repo, "fix", TaskState.FAILED, attempt=2, attempts=attempts)
    return repo


def test_the_requests_of_an_attempt_are_listed(talked):
    assert [
        "1  done  anthropic:sonnet  1,000 in  50 out  $0.2500  2026-11-30T12:00:00Z",
        "2  done  anthropic:sonnet  1,000 in  50 out  $0.2500  2026-11-30T12:00:00Z",
    ] == call(talked, "context", "fix", "--attempt", "1").lines


def test_an_attempt_without_a_request_says_so(talked):
    found = call(talked, "context", "fix")

    assert (0, "") == (found.code, found.out)
    assert "gitagent: attempt 2 of fix has made no request to a model\n" == found.err


def test_a_failure_and_a_stand_in_are_told(talked):
    journal = Journal(discover(talked.path), "fix")
    one, two = (journal.sent(exchange(n, 2), request("a")) for n in (1, 2))
    journal.ended(done(one, state=State.FAILED, reason="It is busy."), b"")
    journal.ended(done(two, fallback="anthropic:opus: busy."), b"")
    lines = call(talked, "context", "fix").lines

    assert "It is busy." in lines[0]
    assert "in place of anthropic:opus: busy." in lines[1]


def test_the_blocks_of_a_request_are_shown_in_order_with_their_producers(talked):
    head, *rows, rest = call(
        talked, "context", "fix", "--attempt", "1", "--request", "2"
    ).lines
    blobs = {row.split()[5] for row in rows}

    assert (
        "attempt 1, request 2 to anthropic:sonnet: done, 1,000 tokens in, 50 out"
        " $0.2500"
    ) == head
    assert [
        ("system", "the program claude"),
        (
            "tools",
            "the program claude: 1 tool; gitagent's MCP server: ask",
        ),
        ("text", "the program claude"),
        ("text", "the task file"),
        ("text", "the program claude"),
        ("tool_use", "the model, request 1"),
        ("tool_result", "tool Bash, call toolu_1"),
    ] == [(row.split()[0], " ".join(row.split()[6:])) for row in rows]
    assert rest.startswith("and ")
    assert {"blob"} == {talked.git("cat-file", "-t", blob) for blob in blobs}


def test_an_explanation_says_how_each_block_begins_and_who_put_how_much(talked):
    out = call(talked, "context", "fix", "--attempt", "1", "--explain").out
    rows = [line.split("  ")[-1].strip() for line in out.splitlines()]

    assert (
        [
            "You are careful.",
            "Bash, mcp__gitagent__ask",
            "Hello.",
            "Mend the",
            "the program claude",  # nothing but the end of the string
            'Bash {"command": "ls"}',
            "a.py",
        ]
        == rows[1:8]
    )
    assert {"the program claude", "the task file", "the model", "tool Bash"} == set(
        rows[10:]
    )


def test_raw_gives_the_very_bytes(talked):
    found = call(talked, "context", "fix", "--attempt", "1", "--raw")
    first = call(talked, "context", "fix", "--attempt", "1", "--request", "1", "--raw")

    assert BODY.decode() == found.out
    assert request("Hello.").decode() == first.out


def test_json_has_all_requests_or_all_blocks_of_one(talked):
    listed = call(talked, "context", "fix", "--attempt", "1", "--json").json
    words = ("context", "fix", "--attempt", "1", "--request", "2", "--json")
    one = call(talked, *words).json["request"]
    told = call(talked, *words, "--explain").json["request"]

    assert (1, "fix", 1, [1, 2]) == (
        listed["version"],
        listed["task"],
        listed["attempt"],
        [each["number"] for each in listed["requests"]],
    )
    assert {"input": 900, "output": 50, "cache_read": 100, "cache_write": 0} == listed[
        "requests"
    ][0]["tokens"]
    assert len(BODY) == sum(block["bytes"] for block in one["blocks"])
    assert 1000 == sum(block["tokens"] for block in one["blocks"])
    assert BODY == b"".join(
        talked.raw("cat-file", "blob", block["oid"]) for block in one["blocks"]
    )
    assert "You are careful." in [block["line"] for block in told["blocks"]]


def test_what_was_archived_is_found(talked):
    repository = discover(talked.path)
    names = ("refs/gitagent/tasks/fix", "refs/gitagent/exchanges/fix")
    moved = tuple((name, talked.oid(name)) for name in names)
    with repository.objects() as objects:
        archive.enact(repository, objects, Archive("2026-11", moved))
    found = call(talked, "context", "fix", "--attempt", "1", "--raw")

    assert [None, None] == [talked.ref(name) for name in names]
    assert BODY.decode() == found.out
    assert 0 == call(talked, "status", "fix").code


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("nothing",), 1, 'no task and no submission "nothing"'),
        (("fix", "--attempt", "3"), 1, "fix has no attempt 3; it has 1, 2"),
        (("fix", "--explain"), 1, "this attempt at fix has made no request"),
        (
            ("fix", "--attempt", "1", "--request", "3"),
            1,
            "this attempt at fix has made no request 3; it made 1 to 2",
        ),
        (("fix", "--raw", "--json"), 2, "--raw goes with neither --json nor"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(talked, words, code, why):
    found = call(talked, "context", *words)

    assert code == found.code
    assert why in found.err
    assert 1 == found.err.count("\n")


def test_a_submission_stands_for_its_task(talked):
    its = ledger.submission(talked, talked.head(), task="fix")
    other = ledger.submission(talked, talked.oid("HEAD~1"))

    assert 2 == len(call(talked, "context", its.id, "--attempt", "1").lines)
    assert f"{other.id} is of no task" in call(talked, "context", other.id).err
