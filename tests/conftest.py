"""What every test gets: a private home, a private Git configuration, no GIT_* leaks."""

import contextlib
import gc
import itertools
import os
import pwd
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.daemon import Daemon
from tests.support.repos import Repo, python_project

_GITCONFIG = """\
[user]
\tname = Test Person
\temail = person@example.org
[init]
\tdefaultBranch = main
[advice]
\tdetachedHead = false
[protocol "file"]
\tallow = always
"""

# A noisy machine makes any deadline a coin toss; the suite's own time is the bound.
settings.register_profile(
    "gitagent", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "soak", settings.get_profile("gitagent"), max_examples=3000, stateful_step_count=100
)
settings.load_profile("gitagent")

_count = itertools.count()

_MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes a private folder in it
_ROOM = 4 << 30  # bytes; a run has needed half of one GiB at a time


def pytest_configure() -> None:
    """Keep the tests' folders in memory where there is room.

    Git makes and removes files by the ten thousand, which takes a disk's driver as
    long as all the rest. ``PYTEST_DEBUG_TEMPROOT`` or ``--basetemp`` say otherwise.
    """
    with contextlib.suppress(OSError):
        found = os.statvfs(_MEMORY)
        runs = not found.f_flag & os.ST_NOEXEC and os.access(_MEMORY, os.W_OK)
        if runs and found.f_bavail * found.f_frsize >= _ROOM:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector the tests: they are many, and stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a folder for homes; fail if the account's own home gained anything."""
    before = _home_traces()
    yield tmp_path_factory.mktemp("homes")
    assert before == _home_traces()


@pytest.fixture(autouse=True)
def home(_homes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make HOME, the XDG folders and Git's configuration private to the test."""
    home = _homes / str(next(_count))
    template = home / "template"
    template.mkdir(parents=True)
    config = home / ".gitconfig"
    config.write_text(_GITCONFIG)
    for name in os.environ:
        if name.startswith(("GIT_", "GITAGENT_", "XDG_")):
            monkeypatch.delenv(name)
    private = {
        "HOME": home,
        "XDG_CACHE_HOME": home / ".cache",
        "XDG_CONFIG_HOME": home / ".config",
        "XDG_DATA_HOME": home / ".local/share",
        "XDG_STATE_HOME": home / ".local/state",
        "GIT_CONFIG_GLOBAL": config,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TEMPLATE_DIR": template,
        "GIT_TERMINAL_PROMPT": "0",
        "EDITOR": "false",
        "PAGER": "cat",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
    for name, value in private.items():
        monkeypatch.setenv(name, str(value))
    if pygit2 := sys.modules.get("pygit2"):
        # libgit2 looks for the home directory once, when it is loaded.
        for level in (pygit2.enums.ConfigLevel.GLOBAL, pygit2.enums.ConfigLevel.XDG):
            pygit2.settings.search_path[level] = str(home)
        pygit2.settings.search_path[pygit2.enums.ConfigLevel.SYSTEM] = str(template)
    return home


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Make a repository with one commit on ``main``, checked out."""
    return Repo.make(tmp_path / "repo", files={"README.md": "# a repository\n"})


@pytest.fixture
def project(tmp_path: Path) -> Repo:
    """Make the 31-file Python project, with history and passing tests."""
    return python_project(tmp_path / "project")


@pytest.fixture
def daemon() -> Iterator[Callable[..., Daemon]]:
    """Start daemons: ``daemon(repo, failpoint=…)``; all are ended with the test."""
    started: list[Daemon] = []

    def start(repo: Repo, **options: object) -> Daemon:
        started.append(Daemon.start(repo, **options))
        return started[-1]

    yield start
    for each in started:
        each.close()


def _home_traces() -> dict[str, object]:
    """Return what a leak would change in the account's own home."""
    real = Path(pwd.getpwuid(os.getuid()).pw_dir)
    config = real / ".gitconfig"
    traces: dict[str, object] = {
        ".gitconfig": config.read_bytes() if config.is_file() else None
    }
    for name in (".cache/gitagent", ".config/gitagent", ".local/state/gitagent"):
        folder = real / name
        traces[name] = sorted(folder.iterdir()) if folder.is_dir() else None
    return traces
