"""What ``.agent/config.toml`` may say, with every default.

The names of the fields are the keys of the file. ``doc`` is the one text about each
setting: the commented file that ``gitagent init`` writes and ``docs/settings.md`` are
both made from it. Durations are whole seconds here; the file also takes "20m".
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, ClassVar

SECONDS = "seconds"  # marks a field that is written as a duration
Seconds = Annotated[int, SECONDS]


def _doc(text: str) -> dict[str, Any]:
    return {"doc": text}


class SandboxMode(StrEnum):
    """Whether workers and checks are confined."""

    REQUIRED = "required"
    OFF = "off"


class LanderMode(StrEnum):
    """Whether each landed commit has a check run of its own."""

    BATCH = "batch"
    CHAIN = "chain"


class Strategy(StrEnum):
    """What a landing commit is made of."""

    MERGE = "merge"
    SQUASH = "squash"
    REBASE = "rebase"


class Guard(StrEnum):
    """What happens to direct moves of the target."""

    OFF = "off"
    WARN = "warn"
    REFUSE = "refuse"


class Strict:
    """Base of every table: a key that is not a field is an error."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class Worker(Strict):
    """[worker]: who does the work."""

    agent: str = field(
        default="shell",
        metadata=_doc("agent definition that runs a task which names none"),
    )
    parallel: int = field(default=2, metadata=_doc("attempts that run at once"))
    timeout: Seconds = field(default=1800, metadata=_doc("time limit of an attempt"))
    retries: int = field(
        default=0, metadata=_doc("attempts after the first one failed")
    )
    branch: str = field(
        default="agent/{task}", metadata=_doc("branch that keeps a task's work")
    )
    setup: tuple[str, ...] = field(
        default=(), metadata=_doc("commands run in a new worktree first")
    )
    setup_key: tuple[str, ...] = field(
        default=(), metadata=_doc("files whose change makes setup run again")
    )
    copy: tuple[str, ...] = field(
        default=(),
        metadata=_doc(
            "untracked files given to each worktree, such as .env; "
            "never committed by the harvest"
        ),
    )


@dataclass(frozen=True, slots=True)
class Sandbox(Strict):
    """[sandbox]: what workers and checks can see and reach."""

    mode: SandboxMode = field(
        default=SandboxMode.REQUIRED,
        metadata=_doc('"required", or "off": a choice that every receipt shows'),
    )
    network: tuple[str, ...] = field(
        default=(), metadata=_doc('"host:port" that workers may reach')
    )
    read: tuple[str, ...] = field(
        default=(),
        metadata=_doc("more paths to show read-only; $HOME is empty by default"),
    )
    write: tuple[str, ...] = field(
        default=(), metadata=_doc("more paths to show writable")
    )
    file_limit: int = field(
        default=2048,
        metadata=_doc("largest file in MiB that a worker or a check may write"),
    )
    memory: int = field(
        default=0,
        metadata=_doc(
            "MiB that a worker or a check may use at once; 0: as much as there is"
        ),
    )
    processes: int = field(
        default=4096,
        metadata=_doc(
            "processes and threads that a worker or a check may have at once; "
            "0: as many as the machine lets be"
        ),
    )


@dataclass(frozen=True, slots=True)
class Lander(Strict):
    """[lander]: how submissions become part of the target."""

    submit: tuple[str, ...] = field(
        default=("refs/heads/land/**",),
        metadata=_doc("refs whose objects are submissions, however they got there"),
    )
    window: int = field(
        default=0, metadata=_doc("candidates under check at once; 0: number of cores")
    )
    mode: LanderMode = field(
        default=LanderMode.BATCH,
        metadata=_doc(
            '"batch", or "chain": the product tree of every landed commit is checked'
        ),
    )
    setup: tuple[str, ...] = field(
        default=(),
        metadata=_doc(
            "commands run in a checkout before a check, unless its caches are good"
        ),
    )
    strategy: Strategy = field(
        default=Strategy.MERGE, metadata=_doc('"merge", "squash" or "rebase"')
    )
    push: str = field(
        default="", metadata=_doc("remote to push the target to after a landing")
    )
    protected: tuple[str, ...] = field(
        default=(
            ".agent/**",
            ".claude/**",
            ".mcp.json",
            ".github/workflows/**",
        ),
        metadata=_doc(
            "paths whose change needs an approval; "
            "tasks and memory have rules of their own"
        ),
    )
    guard: Guard = field(
        default=Guard.WARN,
        metadata=_doc('direct moves of the target: "off", "warn" or "refuse"'),
    )
    name: str = field(
        default="", metadata=_doc('committer of landings; empty: "gitagent"')
    )
    email: str = field(
        default="",
        metadata=_doc("committer's address; empty: the repository's user.email"),
    )
    signing_key: str = field(
        default="", metadata=_doc("SSH key that signs landing commits")
    )
    flaky_budget: int = field(
        default=3,
        metadata=_doc("flaky passes of one check in ten landings before it blocks"),
    )
    allow_unchecked: bool = field(
        default=False, metadata=_doc("true: land although there is no [[check]]")
    )


@dataclass(frozen=True, slots=True)
class Check(Strict):
    """[[check]]: a command that must pass on every candidate."""

    name: str = field(metadata=_doc("unique name, shown in notes and receipts"))
    run: str = field(metadata=_doc("shell command; exit code 0 passes"))
    group: int = field(
        default=1, metadata=_doc("groups run in order, members of a group side by side")
    )
    timeout: Seconds = field(default=600, metadata=_doc("time limit of one run"))
    network: tuple[str, ...] = field(
        default=(), metadata=_doc('"host:port" that this check may reach')
    )
    cache: tuple[str, ...] = field(
        default=(),
        metadata=_doc("ignored folders kept between candidates, such as node_modules"),
    )
    cache_key: tuple[str, ...] = field(
        default=(), metadata=_doc("files whose change empties them")
    )
    history: bool = field(
        default=False,
        metadata=_doc("true: the verdict also depends on the candidate's parents"),
    )


@dataclass(frozen=True, slots=True)
class Provider(Strict):
    """[model.providers.NAME]: where a model is reached."""

    kind: str = field(
        default="anthropic", metadata=_doc('the API it speaks: "anthropic" or "openai"')
    )
    base_url: str = field(
        default="https://api.anthropic.com", metadata=_doc("address of the API")
    )
    key_env: str = field(
        default="", metadata=_doc("environment variable that holds the key")
    )
    key_file: str = field(
        default="", metadata=_doc("file with mode 600 that holds the key")
    )
    keyring: str = field(default="", metadata=_doc("keyring entry that holds the key"))
    prices: dict[str, dict[str, float]] = field(
        default_factory=dict,
        metadata=_doc(
            "usd per million tokens by model; unknown price: tokens alone are counted"
        ),
    )


def _providers() -> dict[str, Provider]:
    return {"anthropic": Provider(key_env="ANTHROPIC_API_KEY")}


@dataclass(frozen=True, slots=True)
class Model(Strict):
    """[model]: the language models that agents may use."""

    default: str = field(
        default="anthropic:claude-sonnet-4-5",
        metadata=_doc("provider:model of an agent that names none"),
    )
    fallback: tuple[str, ...] = field(
        default=(),
        metadata=_doc(
            "provider:model that stand in, in this order, for the default alone"
        ),
    )
    aliases: dict[str, str] = field(
        default_factory=dict,
        metadata=_doc("short names for agent definitions, as provider:model"),
    )
    patience: Seconds = field(
        default=300,
        metadata=_doc("how long a provider may say nothing before it counts as hung"),
    )
    providers: dict[str, Provider] = field(
        default_factory=_providers, metadata=_doc("providers by name")
    )


@dataclass(frozen=True, slots=True)
class Loop(Strict):
    """[loop]: the built-in agent, backend "model"."""

    turns: int = field(
        default=200, metadata=_doc("requests to the model in one attempt")
    )
    shell: Seconds = field(default=120, metadata=_doc("time limit of one command"))
    output_kib: int = field(
        default=50, metadata=_doc("KiB of a tool's output that the model reads at most")
    )
    output_lines: int = field(
        default=2000, metadata=_doc("lines of it; the whole is recorded")
    )
    answer: int = field(
        default=8192, metadata=_doc("tokens of one answer of the model at most")
    )
    context: int = field(
        default=200_000, metadata=_doc("tokens that the model can be given")
    )
    reserve: int = field(
        default=16_384,
        metadata=_doc(
            "tokens of them left free: beyond, the conversation is summed up"
        ),
    )
    keep: int = field(
        default=20_000, metadata=_doc("newest tokens that a summary leaves as they are")
    )


@dataclass(frozen=True, slots=True)
class Mcp(Strict):
    """[mcp.NAME]: an MCP server; agents have it whose `mcp` names it."""

    command: tuple[str, ...] = field(
        default=(), metadata=_doc("program and arguments; it runs in the sandbox")
    )
    url: str = field(
        default="", metadata=_doc("or its address; the agent has to reach that host")
    )
    env: dict[str, str] = field(
        default_factory=dict, metadata=_doc("variables of the program; no secrets")
    )
    tools: tuple[str, ...] = field(
        default=(), metadata=_doc("tools that are offered; empty: all, up to `most`")
    )
    reads: tuple[str, ...] = field(
        default=(), metadata=_doc("tools that change nothing, and may be called again")
    )
    probes: dict[str, str] = field(
        default_factory=dict,
        metadata=_doc(
            "by tool: the one that tells by a call's `key` whether it was carried out"
        ),
    )
    most: int = field(default=40, metadata=_doc("tools that are offered at most"))
    timeout: Seconds = field(default=60, metadata=_doc("time limit of one call"))


@dataclass(frozen=True, slots=True)
class Hook(Strict):
    """[[hook]]: a command that is run around calls of tools by the built-in agent."""

    name: str = field(metadata=_doc("unique name, shown in receipts"))
    run: str = field(
        metadata=_doc("shell command in the sandbox; the call as JSON on its input")
    )
    on: str = field(
        default="before_tool", metadata=_doc('"before_tool" or "after_tool"')
    )
    tools: tuple[str, ...] = field(
        default=(), metadata=_doc("tools that it is about; empty: all")
    )
    policy: bool = field(
        default=True,
        metadata=_doc(
            "true: a call is made only if it exits with 0; false: it only observes"
        ),
    )
    timeout: Seconds = field(default=30, metadata=_doc("time limit of one run"))


@dataclass(frozen=True, slots=True)
class Budget(Strict):
    """[budget]: what may be spent; an empty table is no limit."""

    task: dict[str, float] = field(
        default_factory=lambda: {"usd": 5.0}, metadata=_doc("limit of one task")
    )
    day: dict[str, float] = field(
        default_factory=lambda: {"usd": 50.0}, metadata=_doc("limit of one day")
    )


class Distill(StrEnum):
    """What is looked through for what it teaches."""

    OFF = "off"
    LANDINGS = "landings"


class Changed(StrEnum):
    """What becomes of items whose evidence changed."""

    MARK = "mark"
    HIDE = "hide"


@dataclass(frozen=True, slots=True)
class Memory(Strict):
    """[memory]: what earlier work teaches later work."""

    limit: int = field(default=150, metadata=_doc("active items at most"))
    distill: Distill = field(
        default=Distill.OFF,
        metadata=_doc(
            '"landings": after each landing of a task an agent says what it teaches'
        ),
    )
    distiller: str = field(
        default="distiller", metadata=_doc("agent definition that does so")
    )
    brief: int = field(
        default=2000,
        metadata=_doc("tokens of what an attempt is told at its start; 0: nothing"),
    )
    recall: int = field(
        default=3,
        metadata=_doc("items recalled at once for what an attempt is about; 0: none"),
    )
    floor: float = field(
        default=0.25, metadata=_doc("least score, up to 1, of what is recalled")
    )
    changed: Changed = field(
        default=Changed.MARK,
        metadata=_doc(
            'items whose evidence changed: "mark" them where they are told, or "hide"'
        ),
    )
    withhold: float = field(
        default=0.1,
        metadata=_doc("share of tasks that recall is kept from, to see if it helps"),
    )
    embeddings: str = field(
        default="",
        metadata=_doc(
            'vectors for the search: "local" (needs the extra), or provider:model'
        ),
    )
    labels: str = field(
        default=".agent/recall.toml",
        metadata=_doc("committed queries and what they should find, for `memory eval`"),
    )


@dataclass(frozen=True, slots=True)
class Records(Strict):
    """[records]: how long machine records stay."""

    keep: Seconds = field(
        default=2592000,
        metadata=_doc(
            "settled records move to refs/gitagent/archive/<yyyy-mm> after this"
        ),
    )


@dataclass(frozen=True, slots=True)
class Notify(Strict):
    """[notify]: who is told of an outcome."""

    desktop: bool = field(
        default=False, metadata=_doc("true: show a desktop notification")
    )
    webhook: str = field(
        default="", metadata=_doc("address that outcomes are posted to as JSON")
    )


@dataclass(frozen=True, slots=True)
class Trust(Strict):
    """[trust]: whose word counts."""

    allowed_signers: str = field(
        default="",
        metadata=_doc(
            "a committed file; when set, decisions and approvals must be signed"
        ),
    )


@dataclass(frozen=True, slots=True)
class Settings(Strict):
    """The whole file."""

    target: str = field(default="main", metadata=_doc("branch that landings advance"))
    worker: Worker = field(default_factory=Worker)
    sandbox: Sandbox = field(default_factory=Sandbox)
    lander: Lander = field(default_factory=Lander)
    check: tuple[Check, ...] = ()
    model: Model = field(default_factory=Model)
    loop: Loop = field(default_factory=Loop)
    mcp: dict[str, Mcp] = field(default_factory=dict)
    hook: tuple[Hook, ...] = ()
    budget: Budget = field(default_factory=Budget)
    memory: Memory = field(default_factory=Memory)
    records: Records = field(default_factory=Records)
    notify: Notify = field(default_factory=Notify)
    trust: Trust = field(default_factory=Trust)

    @property
    def target_ref(self) -> str:
        """The full name of the target ref."""
        if self.target.startswith("refs/"):
            return self.target
        return f"refs/heads/{self.target}"
