"""What an attempt asks of the memory: who may, and where it is taken from."""

from types import SimpleNamespace

import pytest

from gitagent.core.agent import Agent
from gitagent.core.remembering import Op, Operation, Ruled
from gitagent.files import proposed
from gitagent.files.proposed import NAME, NOTHING, Proposed
from gitagent.worker import proposals
from gitagent.worker.folder import Folder
from gitagent.worker.log import Log

ONE = Proposed((Operation(Op.WITHDRAW, "one", because="gone"),))
TWO = Proposed((Operation(Op.WITHDRAW, "two", because="gone"),))


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path, confined=True)
    made.out.mkdir()
    return made


def harvested(folder, backend="command", may=("remember",)):
    """Return what is taken from a folder, and what its log says."""
    order = SimpleNamespace(agent=Agent("a", backend, may=may))
    with Log(folder.log) as log:
        data = proposals.harvest(order, folder, log)
    said = folder.log.read_text() if folder.log.exists() else ""
    return (proposed.parse(data) if data else NOTHING), said


def test_a_program_without_a_gate_leaves_a_file(folder):
    (folder.out / NAME).write_bytes(proposed.dump(ONE))

    assert (ONE, "") == harvested(folder)


def test_without_the_grant_nothing_is_taken_and_the_log_says_so(folder):
    (folder.out / NAME).write_bytes(proposed.dump(ONE))
    found, said = harvested(folder, may=("write", "shell"))

    assert NOTHING == found
    assert "the agent's memory.json is left out: it lacks the grant remember" in said


def test_of_an_agent_behind_the_gate_only_what_passed_it_counts(folder):
    (folder.out / NAME).write_bytes(proposed.dump(ONE))
    dropped = Ruled(TWO.operations[0], admitted=False, reason="It dangles.")
    kept = Proposed(TWO.operations, (dropped,))
    proposals.keep(folder, ONE)
    proposals.keep(folder, kept)

    assert kept == proposals.kept(folder)
    assert (kept, "") == harvested(folder, backend="model")


def test_what_came_through_the_gate_and_what_was_left_are_one(folder):
    (folder.out / NAME).write_bytes(proposed.dump(TWO))
    proposals.keep(folder, ONE)
    both = Proposed((*ONE.operations, *TWO.operations))

    assert (both, "") == harvested(folder)


def test_a_file_that_is_none_is_nothing_and_the_log_says_why(folder):
    (folder.out / NAME).symlink_to("/etc/passwd")
    linked = harvested(folder)
    (folder.out / NAME).unlink()
    (folder.out / NAME).write_text("no JSON")
    odd = harvested(folder)

    assert NOTHING == linked[0] == odd[0]
    assert "the agent's memory.json cannot be used: it cannot be read" in linked[1]
    assert "the agent's memory.json cannot be used: it is not JSON" in odd[1]


def test_nothing_is_asked_for_where_nothing_was_left(folder):
    assert (NOTHING, "") == harvested(folder)
    assert NOTHING == proposals.kept(folder)
