"""Two clones with a daemon each: a task is done by one of them."""

from collections.abc import Callable
from pathlib import Path

from tests.scenarios.conftest import CHECK
from tests.support.daemon import Daemon, record
from tests.support.repos import Repo, settings_text
from tests.support.stepping import pipe

Start = Callable[..., Daemon]


def test_one_of_two_daemons_claims_a_task_and_the_remote_gets_the_landing(
    tmp_path: Path, daemon: Start
):
    first = Repo.make(tmp_path / "first", {"a.txt": "one\n"})
    gates = tmp_path / "gates"
    gates.mkdir()
    tables = f'[lander]\npush = "origin"\n[sandbox]\nwrite = ["{gates}"]\n'
    config = settings_text(CHECK, tables)
    first.commit({".agent/config.toml": config}, "Keep it\n\nGitagent-Record: init")
    # It lasts until the other daemon has tried to claim it too.
    gate = pipe(gates, "go")
    first.add_task("t", f"read x < {gate}; echo t > t.txt")
    hub = first.clone(tmp_path / "hub.git", bare=True)
    first.git("remote", "add", "origin", str(hub.path))
    second = hub.clone(tmp_path / "second")
    running = [daemon(repo) for repo in (first, second)]

    def states() -> list[str]:
        found = [record(r, "refs/gitagent/tasks/t") for r in (first, second)]
        return sorted(each["state"] for each in found if each)

    running[0].until(
        lambda: states() == ["running", "waiting"], timeout=60, what="one has it"
    )
    gate.write_text("go\n")
    running[0].until(
        lambda: states() == ["landed", "waiting"], timeout=60, what="one landed"
    )
    loser = next(
        repo
        for repo in (first, second)
        if record(repo, "refs/gitagent/tasks/t")["state"] == "waiting"
    )
    running[0].until(lambda: "t.txt" in hub.paths("main"), timeout=30, what="the push")

    assert (
        "Another daemon has claimed it"
        in record(loser, "refs/gitagent/tasks/t")["reason"]
    )
    assert hub.read("t.txt", "main") == "t\n"
