"""The backend ``shell``: the fenced sh blocks of the task, in order.

Each block is a shell of its own (``sh -e``) in the worktree; the first that fails
ends the attempt with its exit code.
"""

from gitagent.worker.backends.launch import STEP_FILE, Launch, Means, Refused
from gitagent.worker.folder import Folder
from gitagent.worker.order import Order

_DRIVER = """\
count=$1 given=$2 out=$3 step=1
while [ "$step" -le "$count" ]; do
    printf %s "$step" >"$out/{file}"
    sh -e "$given/block-$step.sh" </dev/null || exit
    step=$((step + 1))
done
""".replace("{file}", STEP_FILE)


def prepare(
    order: Order,
    folder: Folder,
    prompt: str,  # noqa: ARG001
    means: Means | None,  # noqa: ARG001
) -> Launch | Refused:
    """Return the shell that runs the blocks."""
    scripts = order.task.scripts
    if not scripts:
        return Refused(
            "A prose task needs an agent that reads prose: the agent"
            f" {order.agent.name} only runs fenced `sh` blocks, and the task has none."
        )
    files = [
        (f"block-{number}.sh", script.encode(errors="surrogateescape"))
        for number, script in enumerate(scripts, 1)
    ]
    count = len(scripts)
    return Launch(
        argv=(
            "sh",
            "-c",
            _DRIVER,
            "sh",
            str(count),
            folder.inside_given,
            folder.inside_out,
        ),
        files=tuple(files),
        steps=tuple(f"block {number} of {count}" for number in range(1, count + 1)),
    )
