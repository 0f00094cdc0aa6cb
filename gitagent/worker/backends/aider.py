"""The backend ``aider``: one message, which it answers with edits that it commits.

It has no tools. It shows the model a map of the repository, the files that the prompt
names, and those that the model then asks for by name. What has to pass on the result it
runs by itself, and tells the model of a failure. A question is lines at the end of the
answer.
"""

import os
import stat
from pathlib import Path

from gitagent.core.models import ANTHROPIC
from gitagent.core.task import TaskFile
from gitagent.worker.backends import version
from gitagent.worker.backends.aider_stream import AiderStream
from gitagent.worker.backends.launch import Launch, Means, Refused
from gitagent.worker.folder import Folder
from gitagent.worker.order import Order

NAME = "aider"
PACKAGE = "aider-chat"
LEAST = "0.86"  # what its options were verified with
INSTALL = f"pipx install {PACKAGE}"

MESSAGE_FILE = "aider-message.md"
FOLDER = ".gitagent/aider"  # below HOME: the conversation, and what it would put in cwd

_MAP_TOKENS = 2048  # it warns of more
_MAPPED = 3000  # files; it reads them all for its map, which took minutes with 10,000
_HISTORY_TOKENS = 16_384  # of a conversation that it goes on with; then it shortens it

# It looks for the prices of models here before it asks the network for them.
_PRICES = (".aider/caches/model_prices_and_context_window.json", b'{"gitagent": {}}')

# The gateway tries again, and so does the program itself, for a minute.
_EXTRA = b'[{"name": "aider/extra_params", "extra_params": {"max_retries": 0}}]'

_ALWAYS = (
    *("--yes-always", "--no-pretty", "--no-fancy-input", "--no-notifications"),
    # Only what is not streamed is sure to come with its number of tokens.
    "--no-stream",
    *("--no-check-update", "--no-show-release-notes", "--no-show-model-warnings"),
    # Nothing is sent; but its events, of which each is a line of JSON, are written.
    *("--no-analytics", "--analytics-log", "/dev/stdout"),
    *("--no-gitignore", "--no-suggest-shell-commands", "--no-auto-lint"),
    *("--no-detect-urls", "--disable-playwright"),
    *("--no-attribute-author", "--no-attribute-committer"),
    "--no-attribute-co-authored-by",
)
_READS_ONLY = ("--edit-format", "ask", "--no-auto-commits", "--no-dirty-commits")

_ENV = (
    ("COLUMNS", "30000"),  # it breaks lines that are longer
    ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),  # no look at the network
    ("PYTHONUNBUFFERED", "1"),  # or its lines and its events change places
)


def prepare(
    order: Order, folder: Folder, prompt: str, means: Means | None
) -> Launch | Refused:
    """Return the program with its options, or why it cannot be run."""
    agent = order.agent
    if means is None:
        return Refused(f"Agent {agent.name} ({NAME}) was given no model.")
    found = version.require(NAME, PACKAGE, LEAST, INSTALL)
    if isinstance(found, Refused):
        return found
    program, number = found
    own = f"{means.home}/{FOLDER}"
    argv = [program.path, *_ALWAYS, *_model(means)]
    argv += ["--message-file", f"{folder.inside_given}/{MESSAGE_FILE}"]
    argv += ["--chat-history-file", f"{own}/chat.md"]
    argv += ["--input-history-file", f"{own}/input"]
    argv += ["--model-settings-file", f"{own}/settings.json"]
    large = _has_more_files(folder.tree, _MAPPED)
    argv += ["--map-tokens", "0" if large else str(_MAP_TOKENS)]
    argv += ["--max-chat-history-tokens", str(_HISTORY_TOKENS)]
    argv += ["--timeout", str(order.timeout_s)]
    if means.session:
        argv.append("--restore-chat-history")
    if "write" not in agent.may:
        argv += _READS_ONLY
    elif "shell" in agent.may and order.task.accept:
        argv += ["--auto-test", "--test-cmd", _all_of(order.task.accept)]
    for path in _files(order.task, folder):
        argv += ["--file", path]
    # What begins with these is a command of its own, as `/run`.
    message = f" {prompt}" if prompt[:1] in {"/", "!"} else prompt
    return Launch(
        argv=tuple(argv),
        files=((MESSAGE_FILE, message.encode(errors="replace")),),
        read=program.read,
        env=_ENV,
        home=(_PRICES, (f"{FOLDER}/settings.json", _EXTRA)),
        stream=AiderStream(),
        program=number,
    )


def _model(means: Means) -> list[str]:
    """Return the options that say which model, and where.

    As options and not as variables: it reads a ``.env`` of the worktree over those.
    """
    if means.route.api == ANTHROPIC:
        prefix, base = "ANTHROPIC", means.anthropic_url
    else:
        prefix, base = "OPENAI", means.openai_url
    name = f"{prefix.lower()}/{means.route.first.model}"
    return [
        *("--model", name, "--weak-model", name, "--editor-model", name),
        *("--set-env", f"{prefix}_API_BASE={base}"),
        *("--set-env", f"{prefix}_API_KEY={means.token}"),
    ]


def _all_of(commands: tuple[str, ...]) -> str:
    return " && ".join(f"(\n{command}\n)" for command in commands)


def _files(task: TaskFile, folder: Folder) -> list[str]:
    """Return the files that the task names; what does not exist it would create."""
    found = []
    for path in task.paths:
        try:
            facts = (folder.tree / path).lstat()
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(facts.st_mode):
            found.append(f"{folder.inside_tree}/{path}")
    return found


def _has_more_files(tree: Path, count: int) -> bool:
    """Whether a worktree has more files than that; no link is followed."""
    left = count
    for _, _, names in os.walk(tree):
        left -= len(names)
        if left < 0:
            return True
    return False
