"""The wheel holds everything: `gitagent init` runs from it, far from the sources."""

import os
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from gitagent import __version__
from tests.support.repos import python_project

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    # hatchling is called directly: `python -m build` would fetch it into a fresh venv.
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out, cwd=ROOT)
    (built,) = out.glob("*.whl")
    return built


def run(*argv: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        argv,
        cwd=cwd,
        env=dict(os.environ, **(env or {})),
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_carries_what_stands_at_the_top_of_the_repository(wheel):
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    tops = [
        f"gitagent/_data/{path.relative_to(ROOT).as_posix()}"
        for top in ("templates", "hooks")
        for path in (ROOT / top).rglob("*")
        if path.is_file()
    ]

    assert tops
    assert set() == set(tops) - names
    assert not [name for name in names if name.startswith(("tests", "bench", "docs"))]


def test_init_runs_from_the_wheel_in_an_empty_venv(wheel, tmp_path):
    place = tmp_path / "venv"
    venv.create(place, symlinks=True, with_pip=False)
    python = place / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    run(*pip, "--no-deps", "--no-index", wheel, cwd=tmp_path)
    (site,) = place.glob("lib/python3*/site-packages")
    # The libraries are those of the running venv, one by one: the whole folder would
    # bring this repository's own editable install along.
    for package in Path(pytest.__file__).parent.parent.iterdir():
        if "gitagent" not in package.name and package.suffix != ".pth":
            (site / package.name).symlink_to(package)
    project = python_project(tmp_path / "project")
    path = {"PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    where = run(python, "-c", "import gitagent; print(gitagent.__file__)", cwd=tmp_path)
    said = run("git", "agent", "init", "--no-check", cwd=project.path, env=path)

    assert Path(where.strip()).is_relative_to(place)
    assert said
    assert ".agent/config.toml" in project.paths()
    assert [] == project.status()
    assert __version__ in run(place / "bin" / "gitagent", "--version", cwd=tmp_path)
