"""The shape of the house: small modules, and each way out in one place only."""

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import quantiles

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "gitagent"

LARGEST = 500
NINE_OF_TEN = 320

# what is used: the modules (or packages, with a slash) that may use it
IMPORTS = {
    "acp": ("worker/inside/",),
    "anthropic": ("model/",),
    "apscheduler": ("automations/",),
    "bs4": ("worker/inside/",),
    "click": ("cli/",),
    "h11": ("model/",),
    "httpcore": ("model/",),
    "httpx": ("daemon/notify.py", "model/"),
    "httpx2": ("model/", "worker/inside/"),
    "markdownify": ("worker/inside/",),
    "mcp": ("worker/inside/",),
    "multiprocessing": (),
    "openai": ("model/",),
    "prompt_toolkit": ("cli/terminal/prompt.py",),
    "pydantic": ("files/", "model/"),
    "pygit2": ("git/",),
    "rich": ("cli/",),
    "ruamel": ("files/",),
    "socket": ("host/",),
    "subprocess": ("host/process.py",),
    "time": ("host/clock.py",),
    "watchdog": ("host/",),
}
CALLS = {
    "asyncio.create_subprocess_exec": (),
    "asyncio.create_subprocess_shell": (),
    "asyncio.sleep": (),
    "datetime.now": ("host/clock.py",),
    "datetime.today": (),
    "datetime.utcnow": (),
    "os.execv": (),
    "os.execve": ("host/process.py",),
    "os.execvp": ("host/forward.py",),
    "os.fork": ("host/forward.py",),
    "os.kill": ("host/",),
    "os.killpg": ("host/",),
    "os.popen": (),
    "os.posix_spawn": (),
    "os.spawnv": (),
    "os.system": (),
}


@cache
def trees() -> dict[str, ast.Module]:
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_bytes())
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@cache
def used(find: Callable[[ast.Module], Iterator[str]]) -> dict[str, set[str]]:
    return {module: set(find(tree)) for module, tree in trees().items()}


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def called(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ".".join(ast.unparse(node.func).split(".")[-2:])


def strays(
    find: Callable[[ast.Module], Iterator[str]], name: str, allowed: tuple[str, ...]
) -> list[str]:
    return [
        module
        for module, names in used(find).items()
        if name in names
        and not any(
            module.startswith(place) if place.endswith("/") else module == place
            for place in allowed
        )
    ]


@pytest.mark.parametrize("name", IMPORTS)
def test_a_library_is_imported_in_its_place_only(name):
    assert [] == strays(imported, name, IMPORTS[name])


@pytest.mark.parametrize("name", CALLS)
def test_a_way_out_is_taken_in_its_place_only(name):
    assert [] == strays(called, name, CALLS[name])


def test_modules_are_small():
    sizes = {
        path.relative_to(PACKAGE).as_posix(): len(path.read_bytes().splitlines())
        for path in PACKAGE.rglob("*.py")
        if path.name != "__init__.py"
    }

    assert {} == {name: size for name, size in sizes.items() if size > LARGEST}
    assert quantiles(sizes.values(), n=10)[-1] <= NINE_OF_TEN


def test_every_module_says_what_it_decides_or_owns():
    silent = [name for name, tree in trees().items() if not ast.get_docstring(tree)]

    assert [] == silent
