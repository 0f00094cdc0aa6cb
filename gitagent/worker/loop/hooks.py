"""The commands of `[[hook]]` around a call: some decide, the others look on."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from gitagent.core.conversation import CallState
from gitagent.core.settings import Hook
from gitagent.files import clean
from gitagent.worker.loop.bodies import Output
from gitagent.worker.loop.offer import named

BEFORE: Final = "before_tool"
AFTER: Final = "after_tool"

# Runs one hook with the call; whatever goes wrong is an output or an error.
Run = Callable[[Hook, Mapping[str, Any]], Output]


def allowed(hooks: Iterable[Hook], tool: str, call: Mapping[str, Any], run: Run) -> str:
    """Run what comes before a call; return why it may not be made, or "".

    One that decides says no by any exit code but 0, also if it cannot be started or
    takes too long. What only looks on never holds up a call.
    """
    for hook in _matching(hooks, BEFORE, tool):
        try:
            output = run(hook, call)
        except Exception as error:  # noqa: BLE001 - what decides and fails says no
            output = Output(str(error).encode(errors="replace"), CallState.FAILED)
        if hook.policy and output.state is not CallState.DONE:
            said = clean.tail(clean.plain(output.whole), 20, 2000)
            return f"The hook {hook.name} does not allow it: {said or output.state}"
    return ""


def told(hooks: Iterable[Hook], tool: str, call: Mapping[str, Any], run: Run) -> None:
    """Run what comes after a call; nothing that it does changes anything."""
    for hook in _matching(hooks, AFTER, tool):
        try:
            run(hook, call)
        except Exception:  # noqa: BLE001, S112 - it only looks on
            continue


def _matching(hooks: Iterable[Hook], on: str, tool: str) -> list[Hook]:
    return [
        each
        for each in hooks
        if each.on == on and (not each.tools or tool in map(named, each.tools))
    ]
