"""The gate's table: an effect has one verdict, whichever way it is asked for.

The ways in are five:

    tool     a call of the built-in agent's own tool, through its executor
    code     the same tool, called by code that the model wrote, through the same
    server   a tool of an MCP server that has the effect, through the same
    hook     the call of another program, by the function that its hook asks
             (`hook`), and by the hook's own program inside the sandbox (`asking hook`)
    command  a person's `gitagent may`, by the target's commit

`itself` is the effect alone, as the gate is asked for it by all of them. A way is a
function from a case to the kind of verdict that it comes to, or to the state of the
call where one is made; None: it cannot ask for the effect. Another way is another
entry of `WAYS` or of `CALLS`.
"""

import ast
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gitagent.core import pretool
from gitagent.core.conversation import Call, CallState, Entry, Origin
from gitagent.core.conversation import Kind as Entries
from gitagent.core.effect import Context, Effect, Effects, judge, runs
from gitagent.core.ident import id_problem
from gitagent.core.reach import Facts, Kind, Verdict
from gitagent.core.settings import Loop
from gitagent.host.cancel import Cancel
from gitagent.worker import hooklog
from gitagent.worker.executor import Executor
from gitagent.worker.inside.hook import answer
from gitagent.worker.inside.place import Place
from gitagent.worker.loop.bodies import Output, Way
from gitagent.worker.loop.form import Form, Who
from gitagent.worker.loop.gating import Gate
from gitagent.worker.loop.offer import Offer
from gitagent.worker.loop.table import TABLE as TABLE_OF_TOOLS
from tests.support.cli import call
from tests.support.repos import Repo

ALLOW, DENY, UNKNOWN = Kind.ALLOW, Kind.DENY, Kind.NOT_EVALUATED
PACKAGE = Path(__file__).resolve().parents[2] / "gitagent"

HOST = "api.example.org:443"
GRANTS = {
    "reader": Facts(may=()),
    "writer": Facts(may=("write",)),
    "coder": Facts(may=("write", "shell"), agent_paths=("src/**", ".agent/tasks/**")),
    "runner": Facts(may=("shell",), network=(HOST,)),
    "lead": Facts(may=("write", "shell", "start_task", "remember"), network=(HOST,)),
}

# By effect: what each of GRANTS may do, in that order.
TABLE = {
    Effect(Effects.READ, "README.md"): (ALLOW, ALLOW, ALLOW, ALLOW, ALLOW),
    Effect(Effects.WRITE, "src/a.py"): (DENY, ALLOW, ALLOW, DENY, ALLOW),
    Effect(Effects.WRITE, "docs/a.md"): (DENY, ALLOW, DENY, DENY, ALLOW),
    Effect(Effects.WRITE, "../outside"): (DENY, DENY, DENY, DENY, DENY),
    Effect(Effects.WRITE, ".git/config"): (DENY, DENY, DENY, DENY, DENY),
    Effect(Effects.WRITE, ".agent/tasks/more.md"): (DENY, DENY, DENY, DENY, ALLOW),
    Effect(Effects.WRITE, ".agent/memory/a.md"): (DENY, DENY, DENY, DENY, DENY),
    Effect(Effects.WRITE, ".agent/tasks/done/a.md"): (DENY, DENY, DENY, DENY, DENY),
    Effect(Effects.WRITE, ".agent/tasks/answers/a.md"): (DENY, DENY, DENY, DENY, DENY),
    Effect(Effects.SHELL, "ls -l"): (DENY, DENY, ALLOW, ALLOW, ALLOW),
    Effect(Effects.SHELL, "make test"): (DENY, DENY, UNKNOWN, UNKNOWN, UNKNOWN),
    Effect(Effects.SHELL, "rm -rf src/a"): (DENY, DENY, ALLOW, DENY, ALLOW),
    Effect(Effects.SHELL, "git push"): (DENY, DENY, DENY, DENY, DENY),
    Effect(Effects.NETWORK, f"https://{HOST}/x"): (DENY, DENY, DENY, ALLOW, ALLOW),
    Effect(Effects.NETWORK, "https://other.example/"): (DENY, DENY, DENY, DENY, DENY),
    Effect(Effects.START_TASK, "tidy-up"): (DENY, DENY, DENY, DENY, ALLOW),
    Effect(Effects.START_TASK, "../../x"): (DENY, DENY, DENY, DENY, DENY),
    Effect(Effects.REMEMBER, "use-tabs"): (DENY, DENY, DENY, DENY, ALLOW),
    Effect(Effects.REMEMBER, "../../escaped"): (DENY, DENY, DENY, DENY, DENY),
}


@dataclass(frozen=True)
class Case:
    """One effect by an agent with one set of grants."""

    effect: Effect
    grants: str  # of GRANTS
    expected: Kind


CASES = [
    Case(effect, grants, kind)
    for effect, kinds in TABLE.items()
    for grants, kind in zip(GRANTS, kinds, strict=True)
]

_CLAUDE = {  # the tools by which Claude Code has an effect, and what names it
    Effects.READ: ("Read", "file_path"),
    Effects.WRITE: ("Write", "file_path"),
    Effects.SHELL: ("Bash", "command"),
    Effects.NETWORK: ("WebFetch", "url"),
}


def of_claude(effect: Effect) -> tuple[str, dict[str, str]] | None:
    """Return the call by which Claude Code has an effect; None: it cannot have it."""
    if effect.kind is Effects.START_TASK and id_problem(effect.what) is None:
        return "Write", {"file_path": f".agent/tasks/{effect.what}.md"}
    tool, key = _CLAUDE.get(effect.kind, ("", ""))
    return (tool, {key: effect.what}) if tool else None


def by_itself(case: Case, where: "Grounds") -> Kind:
    """The effect, as the gate is asked for it."""
    del where
    return judge(case.effect, GRANTS[case.grants], Context()).kind


def by_hook(case: Case, where: "Grounds") -> Kind | None:
    """The call of another program, as it is judged."""
    del where
    made = of_claude(case.effect)
    return pretool.judge(*made, GRANTS[case.grants]).kind if made else None


def by_asking_hook(case: Case, where: "Grounds") -> Kind | None:
    """The same, by the program that Claude Code runs inside the sandbox."""
    made = of_claude(case.effect)
    if made is None:
        return None
    facts = asdict(GRANTS[case.grants])
    where.place.given.joinpath("task.json").write_text(json.dumps(facts))
    log = where.place.out / hooklog.NAME
    log.unlink(missing_ok=True)
    given = dict(zip(("tool_name", "tool_input"), made, strict=True))
    said = answer(hooklog.PRE_TOOL, json.dumps(given).encode(), where.place, {})
    kind = Kind(json.loads(log.read_bytes())["verdict"])

    assert (kind is Kind.DENY) == ("deny" in json.dumps(said))
    return kind


def by_command(case: Case, where: "Grounds") -> Kind:
    """The command line of a person."""
    effect = case.effect
    given = ("may", case.grants, str(effect.kind), effect.what, "--json")
    done = call(where.repo, *given)
    kind = Kind(done.json["verdict"])

    assert (0 if done.json["allowed"] else 1) == done.code
    return kind


WAYS: dict[str, Callable[[Case, "Grounds"], Kind | None]] = {
    "itself": by_itself,
    "hook": by_hook,
    "asking hook": by_asking_hook,
    "command": by_command,
}


# No program has a tool of its own that remembers.
_NOT_BY = dict.fromkeys(("hook", "asking hook"), frozenset({Effects.REMEMBER}))


@dataclass(frozen=True)
class Grounds:
    """What the ways need beside the case."""

    repo: Repo  # its target defines an agent for each of GRANTS
    place: Place


@pytest.fixture(scope="module")
def grounds(tmp_path_factory):
    top = tmp_path_factory.mktemp("table")
    agents = {
        f".agent/agents/{name}.md": (
            f'+++\nbackend = "model"\nmay = {json.dumps(facts.may)}\n'
            f"paths = {json.dumps(facts.agent_paths)}\n"
            f"network = {json.dumps(facts.network)}\n+++\n"
        )
        for name, facts in GRANTS.items()
    }
    settings = {".agent/config.toml": 'target = "main"\n'}
    repo = Repo.make(top / "repo", {"README.md": "x\n"} | settings | agents)
    for folder in ("given", "out"):
        (top / folder).mkdir()
    place = Place(top / "given", top / "out", top, "/workspace")
    return Grounds(repo, place)


@pytest.mark.parametrize("way", WAYS)
def test_an_effect_has_the_same_verdict_whichever_way_it_is_asked_for(way, grounds):
    found = {case: WAYS[way](case, grounds) for case in CASES}
    asked = {case: kind for case, kind in found.items() if kind is not None}

    assert {case: case.expected for case in asked} == asked
    assert {each.effect.kind for each in asked} == set(Effects) - _NOT_BY.get(
        way, set()
    )


@dataclass
class Spoken:
    """A conversation that is nowhere written down."""

    entries: tuple[Entry, ...] = ()
    name: str = "table"
    full: bool = False

    def append(self, entry: Entry, attached: object = None) -> Entry:
        del attached
        made = replace(entry, number=len(self.entries) + 1)
        self.entries += (made,)
        return made

    @staticmethod
    def name_of(data: bytes) -> str:
        del data
        return "0" * 40


class Body:
    """Carries out nothing, but for code: that calls the tool that it names."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def execute(self, tool: str, given: Mapping[str, Any], way: Way) -> Output:
        self.made.append(tool)
        if way.nested is not None:
            way.nested(*json.loads(given["source"]))
        return Output(b"done")


# The built-in agent's tool for an effect, and its arguments.
_TOOLS = {
    Effects.READ: lambda what: ("read", {"path": what}),
    Effects.WRITE: lambda what: ("write", {"path": what, "content": "x"}),
    Effects.SHELL: lambda what: ("shell", {"command": what}),
    Effects.NETWORK: lambda what: ("web_fetch", {"url": what}),
    Effects.START_TASK: lambda what: (
        "start_task",
        {"id": what, "title": "Tidy up", "text": "Tidy up."},
    ),
    Effects.REMEMBER: lambda what: ("remember", {"op": "add", "slug": what}),
}


def called_as_tool(case: Case, before: tuple[Entry, ...]) -> "Called | None":
    """A tool of the built-in agent."""
    if case.effect.kind not in _TOOLS:
        return None
    return Called.make(case, before, *_TOOLS[case.effect.kind](case.effect.what))


def called_by_code(case: Case, before: tuple[Entry, ...]) -> "Called | None":
    """The same tool, by code that the model wrote."""
    facts = GRANTS[case.grants]
    if case.effect.kind not in _TOOLS or "shell" not in facts.may:
        return None
    inner = _TOOLS[case.effect.kind](case.effect.what)
    return Called.make(case, before, "code", {"source": json.dumps(inner)})


def called_at_server(case: Case, before: tuple[Entry, ...]) -> "Called":
    """A tool of an MCP server that has the effect."""
    return Called.make(case, before, "mcp__server__tool", {})


@dataclass(frozen=True)
class Called:
    """What became of a call."""

    state: CallState | None
    made: bool  # whether a body was called for it
    intended: bool  # whether that was written down before

    @classmethod
    def make(
        cls,
        case: Case,
        before: tuple[Entry, ...],
        tool: str,
        given: Mapping[str, Any],
    ) -> "Called":
        facts = GRANTS[case.grants]
        foreign = Form(
            "mcp__server__tool",
            "",
            {"type": "object"},
            Who.MCP,
            lambda *_: case.effect,
            Effects.READ,
        )
        # Everything is offered, so that only the gate stands before the body.
        chat = case.effect.kind is Effects.START_TASK and tool == "start_task"
        offer = Offer(GRANTS["lead"], chat=chat, more=(foreign,))
        if tool == "code" and case.effect.kind is Effects.START_TASK:
            offer = Everything(GRANTS["lead"])
        body = Body()
        spoken = Spoken(before)
        bodies = dict.fromkeys((*_ALL_TOOLS, foreign.name), body)
        executor = Executor(spoken, Gate(facts), bodies, offer, Loop())
        executor.run([Call("c", tool, json.dumps(given))], Cancel())
        nested = [each for each in spoken.entries if each.via]
        about = nested if tool == "code" else [*spoken.entries[len(before) :]]
        results = [each for each in about if each.kind is Entries.RESULT]
        made = [each for each in body.made if each != "code"]
        return cls(
            results[-1].state,
            bool(made),
            any(each.kind is Entries.INTENT for each in about),
        )


class Everything(Offer):
    """An offer with a tool that conversations of tasks do not have."""

    def form(self, tool: str) -> Form | None:
        return super().form(tool) or _ALL_TOOLS.get(tool)


_ALL_TOOLS = {each.name: each for each in TABLE_OF_TOOLS}

CALLS = {
    "tool": called_as_tool,
    "code": called_by_code,
    "server": called_at_server,
}


@pytest.mark.parametrize("tainted", [False, True])
@pytest.mark.parametrize("way", CALLS)
def test_a_call_is_made_if_the_gate_lets_it_whoever_asks(way, tainted):
    before = (Entry(Entries.RESULT, 1, origin=Origin.WEB),) if tainted else ()
    context = Context(origins=frozenset({Origin.WEB}) if tainted else frozenset())
    found = {case: CALLS[way](case, before) for case in CASES}

    for case, called in found.items():
        if called is None:
            continue
        verdict = judge(case.effect, GRANTS[case.grants], context)
        made = runs(case.effect, verdict)
        state = CallState.DONE if made else _STATES[verdict.kind]
        loud = made and case.effect.kind is not Effects.READ

        assert Called(state, made, loud) == called, case
    asked = {each.effect.kind for each in CASES if found[each]}
    assert asked == set(Effects) - _NOT_BY.get(way, frozenset())


_STATES = {
    DENY: CallState.DENIED,
    Kind.NEEDS_DECISION: CallState.NEEDS_DECISION,
}


def test_the_table_has_every_effect_allowed_and_denied():
    assert {(each, kind) for each in Effects for kind in (ALLOW, DENY)} - {
        (case.effect.kind, case.expected) for case in CASES
    } == {(Effects.READ, DENY)}


@pytest.mark.parametrize("profile", ["plan", "side", "no such profile"])
def test_where_only_reading_is_left_everything_else_is_denied(profile):
    context = Context(profile=profile)
    found = {case: judge(case.effect, GRANTS[case.grants], context) for case in CASES}

    assert {
        case: ALLOW if case.effect.kind is Effects.READ else DENY for case in CASES
    } == {case: verdict.kind for case, verdict in found.items()}


def test_only_a_command_is_made_although_it_was_not_understood():
    verdict = Verdict(UNKNOWN)
    made = {kind for kind in Effects if runs(Effect(kind), verdict)}

    assert {Effects.SHELL} == made


def executing() -> Iterator[tuple[str, str]]:
    """Yield where the body of a tool is called, by module, and how it is written."""
    for path in sorted(PACKAGE.rglob("*.py")):
        data = path.read_bytes()
        # What the memory executes are statements of SQLite: it knows no worker.
        if b".execute" not in data or path.is_relative_to(PACKAGE / "memory"):
            continue
        tree = ast.parse(data)
        handing_on = {
            id(node)
            for body in ast.walk(tree)
            if isinstance(body, ast.ClassDef) and _is_body(body)
            for node in ast.walk(body)
            if isinstance(node, ast.Attribute)
            and ast.unparse(node) == "self._hands.execute"
        }
        for node in ast.walk(tree):
            # Also where it is only handed on, as `partial(body.execute, …)`.
            named = isinstance(node, ast.Attribute) and node.attr == "execute"
            if named and id(node) not in handing_on:
                yield path.relative_to(PACKAGE).as_posix(), ast.unparse(node)


def _is_body(found: ast.ClassDef) -> bool:
    return any(
        isinstance(each, ast.FunctionDef) and each.name == "execute"
        for each in found.body
    )


def test_nothing_but_the_executor_calls_the_body_of_a_tool():
    # A body may hand its own call on to the program in the sandbox.
    assert {("worker/executor.py", "body.execute")} == {*executing()}
