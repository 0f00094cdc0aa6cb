"""The one gate: what a call would do, and whether that may be done.

Every way in asks `judge`: a tool of the built-in agent, code mode, an MCP tool, the
hook of another program, the command line. Grants come first, and a profile takes of
them; what is left may need a person's decision on top, never instead.

An effect that outlives the attempt and reaches others needs one as soon as words of
others have come into the conversation: they may have asked for it.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gitagent.core import commands, network, reach
from gitagent.core.conversation import Entry, Origin, in_force
from gitagent.core.conversation import Kind as Entries
from gitagent.core.glob import named
from gitagent.core.ident import id_problem
from gitagent.core.layout import TASKS
from gitagent.core.profile import reaches, shrink
from gitagent.core.question import Answer, Question
from gitagent.core.reach import ALLOWED, Facts, Kind, Verdict

YES, NO = "yes", "no"

_EXCERPT = 400  # characters of what is shown in a question; the digest binds the rest


class Effects(StrEnum):
    """What a call does to the world; six kinds, whatever the tool."""

    READ = "read"  # of the worktree and its history
    WRITE = "write"  # a file of the worktree
    SHELL = "shell"  # a command, or code, in the sandbox
    NETWORK = "network"  # a host is reached
    START_TASK = "start_task"  # a task for an agent, be it this one
    REMEMBER = "remember"  # an item of the memory


@dataclass(frozen=True, slots=True)
class Effect:
    """What one call would do."""

    kind: Effects
    what: str = ""  # path, command, "host:port" or URL, id of a task, slug of an item
    cwd: str = ""  # where a path or a command is meant; "": the worktree
    content: str = ""  # what is written, run as code, started or remembered


@dataclass(frozen=True, slots=True)
class Context:
    """What is known of the conversation that an effect is asked for in."""

    profile: str = ""  # one of `core.profile.PROFILES`
    decide: tuple[str, ...] = ()  # effects that a person has to allow each time
    origins: frozenset[Origin] = frozenset()  # see `taint`
    decisions: Mapping[str, str] = field(default_factory=dict)  # see `decided`
    made: tuple[Effect, ...] = ()  # effects that were intended in it before


_ALL = Context()
OUTLIVES = frozenset({Effects.START_TASK, Effects.REMEMBER})
OTHERS = frozenset({Origin.WEB, Origin.MCP})  # who may not ask for effects
_TAINTED = "words from the web or an MCP server are in its conversation"

_ASKED = {
    Effects.READ: "read",
    Effects.WRITE: "write",
    Effects.SHELL: "run",
    Effects.NETWORK: "reach",
    Effects.START_TASK: "start the task",
    Effects.REMEMBER: "remember",
}


def judge(effect: Effect, facts: Facts, context: Context = _ALL) -> Verdict:
    """Return whether an effect may be; with NEEDS_DECISION what a person is asked."""
    left = shrink(facts.may, context.profile)
    held = replace(facts, may=left, cwd=effect.cwd or facts.cwd)
    verdict = _granted(effect, held, context.profile)
    if verdict.kind is Kind.DENY:
        return verdict
    why = _why(effect, held, context)
    return _decision(effect, verdict, why, facts, context) if why else verdict


def runs(effect: Effect, verdict: Verdict) -> bool:
    """Whether an executor makes the call.

    A command that was not understood is made, since the sandbox holds it; anything
    else is made only if it was looked at.
    """
    if verdict.kind is Kind.NOT_EVALUATED:
        return effect.kind is Effects.SHELL
    return verdict.kind is Kind.ALLOW


def decided(answers: Iterable[Answer]) -> dict[str, str]:
    """Return what people answered, by question; of two answers the later one."""
    return {each.question: each.text for each in answers}


def taint(entries: Iterable[Entry], facts: Facts) -> frozenset[Origin]:
    """Return whose words, of those who may not ask for effects, are in a conversation.

    Words of a person after them change nothing: the model still reads the others. What
    a command prints that could reach a host counts as the web's; else `curl` would do
    what fetching a page does, and count for nothing. A summary hands on what it covers.
    """
    reached = bool(facts.network) or not facts.confined
    found: set[Origin] = set()
    for each in in_force(entries):
        found |= OTHERS & {each.origin, *map(Origin, each.untrusted)}
        if reached and each.kind is Entries.RESULT and each.effect == Effects.SHELL:
            found.add(Origin.WEB)
    return frozenset(found)


def agreed(
    path: str, content: str, decide: tuple[str, ...], answers: Iterable[Answer]
) -> bool:
    """Whether a person has said yes to what a task file of the worktree holds.

    Whenever and for whatever reason they were asked for it; ``decide`` is that of the
    agent that wrote it.
    """
    said = decided(answers)
    effect = Effect(Effects.WRITE, path, content=content)
    whys = (_TAINTED, _wanted({Effects.WRITE, Effects.START_TASK}, decide))
    return any(
        said.get(question(effect, why, before).text) == YES
        for why in filter(None, whys)
        for before in range(len(said))
    )


def question(effect: Effect, why: str, before: int = 0) -> Question:
    """Return what a person is asked; its text is bound to all of the effect.

    ``before`` is how often it was made already: a yes counts once.
    """
    parts = (str(effect.kind), effect.what, effect.cwd, effect.content)
    # Its author is a model that may look for two effects of one digest: 128 bits.
    digest = hashlib.sha256(
        "\0".join(f"{len(part)}:{part}" for part in parts).encode(
            errors="surrogatepass"
        )
    ).hexdigest()[:32]
    said = f"May the agent {_ASKED[effect.kind]} {_shown(effect.what)}"
    if effect.cwd:
        said += f" in {_shown(effect.cwd)}"
    if effect.content:
        said += f", with the content {_shown(effect.content)}"
    if before:
        said += f", once more after {before} times"
    return Question(f"{said}? Asked since {why}. Effect {digest}.", (YES, NO))


def _granted(effect: Effect, facts: Facts, profile: str) -> Verdict:
    match effect.kind:
        case Effects.READ:
            return ALLOWED
        case Effects.NETWORK:
            return _network(effect.what, facts, profile)
        case Effects.WRITE | Effects.SHELL | Effects.START_TASK | Effects.REMEMBER:
            if effect.kind not in facts.may:
                return _lacks(effect.kind, profile)
    if effect.kind is Effects.WRITE:
        if not effect.what or "\0" in effect.what:
            return Verdict(Kind.DENY, "It names no path.")
        return reach.file(facts, reach.absolute(facts, effect.what))
    if effect.kind is Effects.SHELL:
        return commands.judge(effect.what, facts)
    if why := id_problem(effect.what):
        return Verdict(Kind.DENY, f"{_shown(effect.what)} is no name: {why}.")
    return ALLOWED


def _lacks(grant: str, profile: str) -> Verdict:
    if profile:
        return Verdict(
            Kind.DENY, f"This conversation can only read ({profile}): no {grant} in it."
        )
    if grant == Effects.WRITE:
        return Verdict(Kind.DENY, reach.READ_ONLY)
    return Verdict(Kind.DENY, f"This agent lacks the grant {grant}.")


def _network(what: str, facts: Facts, profile: str) -> Verdict:
    if not reaches(profile):
        return _lacks(Effects.NETWORK, profile)
    plain = what.isprintable() and not set(what) & {" ", "\\"}
    named_host = commands.address(what) if plain else None
    where = network.split(network.AllowList.show(*named_host) if named_host else what)
    if where is None:
        return Verdict(Kind.DENY, f"{_shown(what)} names no host.")
    if network.AllowList(facts.network).names(*where):
        return ALLOWED
    if facts.confined and not commands.is_loopback(where[0]):
        return commands.unreachable(facts, *where)
    return Verdict(
        Kind.NOT_EVALUATED,
        f"{named((network.AllowList.show(*where),))} is not in sandbox.network.",
    )


def _why(effect: Effect, facts: Facts, context: Context) -> str:
    """Return why a person has to decide, as a clause; "": nobody has to."""
    brought = _brought(effect, facts)
    if brought & OUTLIVES and context.origins & OTHERS:
        return _TAINTED
    return _wanted(brought, context.decide)


def _wanted(brought: Iterable[Effects], decide: tuple[str, ...]) -> str:
    asked = [each for each in Effects if each in brought and each in decide]
    return f"its definition wants a decision on {' and '.join(asked)}" if asked else ""


def _brought(effect: Effect, facts: Facts) -> set[Effects]:
    """Return what an effect may bring about; a command may do what the sandbox lets."""
    brought = {effect.kind}
    if effect.kind is Effects.WRITE:
        path = reach.inner(facts, reach.absolute(facts, effect.what))
        if path.startswith(TASKS):
            brought.add(Effects.START_TASK)
    elif effect.kind is Effects.SHELL:
        brought.add(Effects.READ)
        if Effects.WRITE in facts.may:
            brought.add(Effects.WRITE)
        if facts.network or not facts.confined:
            brought.add(Effects.NETWORK)
        if Effects.START_TASK in facts.may:
            may = tuple(each for each in facts.may if each != Effects.START_TASK)
            fewer = commands.judge(effect.what, replace(facts, may=may))
            if fewer.kind is Kind.DENY:
                brought.add(Effects.START_TASK)
    return brought


def _decision(
    effect: Effect, verdict: Verdict, why: str, facts: Facts, context: Context
) -> Verdict:
    effect = _told(effect, facts)
    made = sum(_told(each, facts) == effect for each in context.made)
    asked = question(effect, why, made)
    answer = context.decisions.get(asked.text)
    if answer is None:
        said = f"Nothing was done: a person has to decide this first, since {why}."
        return Verdict(Kind.NEEDS_DECISION, said, asked)
    if answer == YES:
        return verdict
    if answer == NO:
        return Verdict(Kind.DENY, "A person has decided against it.")
    return Verdict(Kind.DENY, f"A person has not said yes to it, but: {answer}")


def _told(effect: Effect, facts: Facts) -> Effect:
    """Return an effect as it is asked about: a path once, however it is spelled."""
    if effect.kind is not Effects.WRITE:
        return effect
    path = reach.absolute(replace(facts, cwd=effect.cwd or facts.cwd), effect.what)
    return replace(effect, what=reach.inner(facts, path) or path, cwd="")


def _shown(text: str) -> str:
    """Return a text on one line, quoted, and no more of it than can be read."""
    line = named((" ".join(text.split()),))
    if len(line) > _EXCERPT:
        line = f"{line[:_EXCERPT]}… ({len(text)} characters)"
    return f"“{line}”"
