"""The gate's table: an effect has one verdict, whichever way it is asked for.

A way is a function from a case to the kind of verdict that it comes to, or None if it
cannot ask for the effect. Another way is another entry of `WAYS`.
"""

import ast
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import pytest

from gitagent.core import pretool
from gitagent.core.effect import Context, Effect, Effects, judge, runs
from gitagent.core.reach import Facts, Kind
from gitagent.worker import hooklog
from gitagent.worker.inside.hook import answer
from gitagent.worker.inside.place import Place
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


def by_tool(case: Case, where: "Grounds") -> Kind:
    """A tool, code that calls tools, an MCP tool: all of them are one executor's."""
    del where
    return judge(case.effect, GRANTS[case.grants], Context()).kind


def by_hook(case: Case, where: "Grounds") -> Kind | None:
    """The call of another program, as it is judged."""
    del where
    tool, key = _CLAUDE.get(case.effect.kind, ("", ""))
    if not tool:
        return None
    return pretool.judge(tool, {key: case.effect.what}, GRANTS[case.grants]).kind


def by_asking_hook(case: Case, where: "Grounds") -> Kind | None:
    """The same, by the program that Claude Code runs inside the sandbox."""
    tool, key = _CLAUDE.get(case.effect.kind, ("", ""))
    if not tool:
        return None
    facts = asdict(GRANTS[case.grants])
    where.place.given.joinpath("task.json").write_text(json.dumps(facts))
    log = where.place.out / hooklog.NAME
    log.unlink(missing_ok=True)
    given = {"tool_name": tool, "tool_input": {key: case.effect.what}}
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
    "tool": by_tool,
    "hook": by_hook,
    "asking hook": by_asking_hook,
    "command": by_command,
}


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
    assert {case.effect.kind for case in asked} >= set(_CLAUDE)


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
    verdict = pretool.Verdict(UNKNOWN)
    made = {kind for kind in Effects if runs(Effect(kind), verdict)}

    assert {Effects.SHELL} == made


@cache
def executing() -> dict[str, list[int]]:
    """Return where the body of a tool is called, by module."""
    return {
        path.relative_to(PACKAGE).as_posix(): found
        for path in sorted(PACKAGE.rglob("*.py"))
        if b".execute" in (data := path.read_bytes())
        and (found := [*_executed(ast.parse(data))])
    }


def _executed(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        # Also where it is only handed on, as `partial(body.execute, …)`.
        if isinstance(node, ast.Attribute) and node.attr == "execute":
            yield node.lineno


def test_nothing_but_the_executor_calls_the_body_of_a_tool():
    assert {"worker/executor.py"} >= executing().keys()
