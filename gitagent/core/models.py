"""Which model an agent talks to, and which may stand in for it.

A model that an agent definition names is pinned: nothing stands in for it. Only who
leaves the choice to ``model.default`` gets one of ``model.fallback`` when the provider
before it cannot be had, and every such step is recorded.
"""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from gitagent.core.agent import Agent
from gitagent.core.settings import Model, Provider

ANTHROPIC = "anthropic"
OPENAI = "openai"

# The APIs that an agent's program can speak, the one it prefers first.
SPEAKS = {
    "claude": (ANTHROPIC,),
    "codex": (OPENAI,),
    "opencode": (ANTHROPIC, OPENAI),
    "aider": (ANTHROPIC, OPENAI),
    "acp": (ANTHROPIC, OPENAI),
    "command": (ANTHROPIC, OPENAI),
    "model": (ANTHROPIC, OPENAI),
}

# Usd per million tokens at the provider's own address, as it lists them for the first
# 200,000 tokens of context; `prices` of a provider come first.
_LISTED_AT = "https://api.anthropic.com"
_LISTED = {
    "claude-opus-4-5": (5.0, 25.0),
    "claude-sonnet-4-5": (3.0, 15.0),
    "claude-haiku-4-5": (1.0, 5.0),
}

# Definitions made for Claude Code name models so; `model.aliases` come first.
_SHORT = {name.split("-")[1]: f"anthropic:{name}" for name in _LISTED}
_OF_CLAUDE_CODE = frozenset({"inherit", "default"})  # "as the one that starts me"


@dataclass(frozen=True, slots=True)
class ModelRef:
    """A model of a provider; ``str`` gives ``provider:model``."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True, slots=True)
class Route:
    """The models that may answer an agent, the one to ask first."""

    models: tuple[ModelRef, ...]  # of one API
    api: str  # ANTHROPIC or OPENAI
    pinned: bool  # the definition names it

    @property
    def first(self) -> ModelRef:
        """The model that is asked."""
        return self.models[0]


def talks(agent: Agent) -> bool:
    """Whether an agent is given a way to a model."""
    if agent.backend == "command":
        return bool(agent.model)
    return agent.backend in SPEAKS


def route(agent: Agent, settings: Model) -> Route | str:
    """Return the models of an agent that `talks`, or a sentence that says why none.

    One that names none has ``model.default``, or, if its program does not speak the
    API of that, the first of ``model.fallback`` that it can talk to.
    """
    named = "" if agent.model in _OF_CLAUDE_CODE else agent.model
    short = {**_SHORT, **settings.aliases}
    wanted = short.get(named, named) or settings.default
    first = resolve(wanted, settings)
    if isinstance(first, str):
        return f"Agent {agent.name} names {named}. {first}" if named else first
    speaks = SPEAKS[agent.backend]
    kind = settings.providers[first.provider].kind
    if named and kind in speaks:
        return Route((first,), kind, pinned=True)
    others = [] if named else [resolve(each, settings) for each in settings.fallback]
    known = [first, *(each for each in others if isinstance(each, ModelRef))]
    fitting = [e for e in known if settings.providers[e.provider].kind in speaks]
    if not fitting:
        return (
            f"Agent {agent.name} ({agent.backend}) speaks the API {' or '.join(speaks)}"
            f", and the provider {first.provider} of {first} speaks {kind}; name a "
            "model of another provider in its definition, or in model.fallback: "
            '"provider:model".'
        )
    kind = settings.providers[fitting[0].provider].kind
    same = [each for each in fitting if settings.providers[each.provider].kind == kind]
    return Route(tuple(dict.fromkeys(same)), kind, pinned=False)


def resolve(text: str, settings: Model) -> ModelRef | str:
    """Return the model that ``provider:model`` or a bare name means, or why none.

    A bare name is of the provider of ``model.default``.
    """
    provider, colon, model = text.partition(":")
    if not colon or provider not in settings.providers:
        default, _, _ = settings.default.partition(":")
        if colon and "/" not in provider and default in settings.providers:
            known = ", ".join(sorted(settings.providers))
            return (
                f"There is no provider {provider} for the model {text}; add "
                f"[model.providers.{provider}], or use one of: {known}."
            )
        provider, model = default, text
    if provider not in settings.providers:
        return f"There is no [model.providers.{provider}] for the model {text}."
    if not model:
        return f"The model {text} has no name after its provider."
    return ModelRef(provider, model)


def price(ref: ModelRef, settings: Model) -> dict[str, float] | None:
    """Return what a model costs by `usage.PRICES`, None if that is not known."""
    provider: Provider = settings.providers[ref.provider]
    known = provider.prices.get(ref.model)
    if known is None and provider.base_url.rstrip("/") == _LISTED_AT:
        listed = _LISTED.get(ref.model)
        if listed is not None:
            usd, out = listed
            known = {
                "input": usd,
                "output": out,
                "cache_read": usd / 10,
                "cache_write": usd * 1.25,
            }
    return known


def is_here(address: str) -> bool:
    """Whether an ``http://`` or ``https://`` address is of this machine's loopback."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return False
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
