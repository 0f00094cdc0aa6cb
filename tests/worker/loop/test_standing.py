"""The standing agent's tools: gitagent's own commands, and no more than these."""

import json

import pytest

from gitagent.core.chats import Proposal
from gitagent.core.conversation import Call, CallState, Entry, Kind, Origin
from gitagent.git.repository import discover
from gitagent.host.cancel import Cancel
from gitagent.worker.loop.bodies import Way
from gitagent.worker.loop.record import Conversation
from gitagent.worker.loop.showing import shown
from gitagent.worker.loop.standing import Standing, misfit
from tests.support.repos import Repo

CONFIG = """\
[worker]
agent = "helper"

[[check]]
name = "true"
run = "true"
"""
HELPER = '+++\nbackend = "model"\nmay = ["write", "shell"]\n+++\n'
WIDE = '+++\nbackend = "model"\nmay = ["write", "shell", "network"]\n+++\n'
FILES = {
    ".agent/config.toml": CONFIG,
    ".agent/agents/helper.md": HELPER,
    ".agent/agents/wide.md": WIDE,
    ".agent/memory/units.md": "# Units\nLengths are metres, always.\n",
    "src/a.py": "metres = 1\n",
}
START = {"id": "mend", "title": 'Mend "it"', "text": "Mend a.py.", "paths": ["src/**"]}


@pytest.fixture
def repo(tmp_path):
    return Repo.make(tmp_path / "repo", FILES)


@pytest.fixture
def standing(repo):
    return Standing(discover(repo.path), "_talk", "standing")


def way(key="k-1", seconds=60.0):
    return Way(seconds, Cancel(), key)


def call(standing, tool, given, **more):
    done = standing.execute(tool, given, way(**more))
    return done.state, done.whole.decode()


def test_a_task_is_started_once_and_says_who_has_started_it(repo, standing):
    first = call(standing, "start_task", START)
    again = call(standing, "start_task", START)
    probed = [standing.probe("start_task", START, way(key)) for key in ("k-1", "k-2")]
    none = standing.probe("start_task", {**START, "id": "none"}, way())

    text = repo.git("show", "main:.agent/tasks/mend.md")
    author = repo.git("log", "-1", "--format=%an <%ae>", "main")
    assert (CallState.DONE, "The task mend is started, by the usual agent.") == first
    assert CallState.FAILED is again[0]
    assert 'title = "Mend \\"it\\""\npaths = ["src/**"]\n+++\n\nMend a.py.' in text
    assert "Started by the agent standing in a chat (_talk, k-1)." in text
    assert "standing (gitagent) <standing@gitagent.invalid>" == author
    states = [each.state if each else None for each in (*probed, none)]
    assert [CallState.DONE, CallState.FAILED, CallState.FAILED] == states


def test_an_agent_that_may_more_than_the_usual_one_needs_a_persons_word(repo, standing):
    given = {**START, "agent": "wide"}
    state, said = call(standing, "start_task", given)
    before = repo.git("ls-tree", "--name-only", "main", ".agent/tasks/")
    proposal = Proposal(7, Call("c1", "start_task", json.dumps(given)), "mend")
    carried = standing.carry(proposal, "_talk.7")

    assert CallState.NEEDS_DECISION is state
    assert "wide may more than the usual agent" in said
    assert "may network" in said
    assert "" == before
    assert CallState.DONE is carried.state
    assert 'agent = "wide"' in repo.git("show", "main:.agent/tasks/mend.md")


@pytest.mark.parametrize("id_", ["--help", "../a", "A b", ""])
def test_an_id_is_no_option_and_no_path(standing, id_):
    state, said = call(standing, "start_task", {**START, "id": id_})

    assert CallState.FAILED is state
    assert "cannot be an id" in said


def test_how_things_stand_is_told_without_what_is_empty(standing):
    state, said = call(standing, "status", {})

    told = json.loads(said)
    assert CallState.DONE is state
    assert "refs/heads/main" == told["target"]["ref"]
    assert "daemon" not in told


def test_what_is_not_there_is_said_in_the_words_of_the_command(standing):
    status = call(standing, "status", {"id": "--none"})
    propose = call(standing, "propose", {"task": "none", "answers": ["1=b"]})

    assert CallState.FAILED is status[0]
    assert "none" in status[1]
    assert CallState.FAILED is propose[0]
    assert "none" in propose[1]


@pytest.mark.parametrize(
    ("answers", "wrong"),
    [(["1=b"], ""), (["1=b", "3=x y"], ""), (["b"], "'b'"), (["2=b"], "'2=b'")],
)
def test_an_answer_is_proposed_to_a_question_that_is_open(answers, wrong):
    said = misfit(answers, [1, 3])

    assert said.startswith(wrong)
    assert bool(wrong) is bool(said)


def test_what_was_said_in_other_conversations_is_found(repo, standing):
    other = Conversation.open(discover(repo.path), "_old")
    other.append(Entry(Kind.INPUT, origin=Origin.PERSON, text="Never use feet."))

    state, said = call(standing, "search_history", {"query": "feet"})

    assert CallState.DONE is state
    assert "_old, entry 1" in said
    assert "Never use feet." in said


def test_a_command_that_takes_too_long_or_is_stopped_is_interrupted(standing):
    late = call(standing, "log", {}, seconds=0.01)
    stop = Cancel()
    stop.set()
    stopped = standing.execute("log", {}, Way(60.0, stop))

    assert (CallState.INTERRUPTED, "It took more than 0.01 s.") == late
    assert (CallState.INTERRUPTED, b"It was stopped.") == (stopped.state, stopped.whole)


def test_what_a_person_has_said_yes_to_and_cannot_be_read_is_not_done(standing):
    proposal = Proposal(7, Call("c1", "propose", '{"task": "a"'), "a")

    assert CallState.FAILED is standing.carry(proposal, "k").state


def test_json_for_a_model_has_what_is_said_and_of_what_has_ended_the_newest():
    tasks = [{"id": f"t{n}", "state": "landed", "reason": None} for n in range(50)]
    values = {"version": 1, "tasks": [*tasks, {"id": "x", "state": "running"}], "q": []}

    told = json.loads(shown(values))

    assert ["tasks"] == list(told)
    assert [*(f"t{n}" for n in range(20)), "x"] == [
        each["id"] for each in told["tasks"]
    ]
    assert {"id": "t0", "state": "landed"} == told["tasks"][0]
    assert len(shown({"a": "b" * 9000})) < 3000
