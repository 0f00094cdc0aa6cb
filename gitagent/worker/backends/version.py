"""Which version an agent's program has, and whether that is new enough.

It is read from the ``package.json`` above the program or from its virtual environment,
else asked of the program, once for each file: programs of 180 MB are slow to start.
"""

import json
import os
import re
import tempfile
from functools import lru_cache
from pathlib import Path

from gitagent.host import process
from gitagent.worker.backends import program
from gitagent.worker.backends.launch import Refused
from gitagent.worker.backends.program import Program

_PATIENCE_S = 30
_NUMBER = re.compile(r"\d+(?:\.\d+)+")


def require(
    name: str, package: str, least: str, install: str
) -> tuple[Program, str] | Refused:
    """Return a program that a backend needs and its version, "" if it does not say.

    ``name`` is of a command on the PATH, ``package`` of the package it is from,
    and ``install`` the command that mends both that it is missing and too old.
    """
    found = program.find(name)
    if found is None:
        return Refused(
            f"There is no program `{name}` on the PATH of the daemon; install it:"
            f" `{install}`."
        )
    version = of(found.path, package)
    if version and _older(version, least):
        return Refused(
            f"`{found.path}` is {Path(name).name} {version}, and {least} is the oldest"
            f" that can be used; install a newer one: `{install}`."
        )
    return found, version


def of(path: str, package: str) -> str:
    """Return the version of a program, "" if it cannot be told."""
    real = os.path.realpath(path)
    try:
        changed = Path(real).stat().st_mtime_ns
    except OSError:
        return ""
    return _of(real, package, changed)


@lru_cache(maxsize=64)
def _of(real: str, package: str, _changed: int) -> str:
    path = Path(real)
    return _packaged(path, package) or _in_venv(path, package) or _said(real)


def _packaged(real: Path, package: str) -> str:
    for parent in real.parents:
        if parent.name == "node_modules":
            break
        try:
            values = json.loads((parent / "package.json").read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(values, dict) and values.get("name") == package:
            return str(values.get("version", ""))
    return ""


def _in_venv(real: Path, package: str) -> str:
    name = package.replace("-", "_")
    found = real.parent.parent.glob(f"lib/python*/site-packages/{name}-*.dist-info")
    return next((each.stem.rpartition("-")[2] for each in found), "")


def _said(real: str) -> str:
    """Ask the program, in a folder of its own and without the daemon's environment."""
    with tempfile.TemporaryDirectory() as folder:
        done = process.run(
            [real, "--version"],
            cwd=folder,
            env={"HOME": folder, "PATH": os.environ.get("PATH", os.defpath)},
            timeout=_PATIENCE_S,
            keep=4096,
        )
    number = _NUMBER.search(done.output.decode(errors="replace"))
    return number[0] if number and done.code == 0 else ""


def _older(version: str, least: str) -> bool:
    return _numbers(version) < _numbers(least)


def _numbers(version: str) -> tuple[int, ...]:
    number = _NUMBER.match(version)
    return tuple(int(each) for each in number[0].split(".")) if number else ()
