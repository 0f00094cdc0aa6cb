"""Which command tests a project, told from its files."""

import json
from dataclasses import dataclass, field

import pytest

from gitagent.daemon.detect import commands, folders_to_show
from gitagent.daemon.tools import Tools


@dataclass
class Tree:
    """Files by path."""

    files: dict[str, str] = field(default_factory=dict)

    def text(self, path):
        return self.files.get(path)

    def names(self, folder):
        prefix = f"{folder}/" if folder else ""
        below = [p[len(prefix) :] for p in self.files if p.startswith(prefix)]
        return tuple(dict.fromkeys(path.split("/")[0] for path in below))


class Plain(Tools):
    """A machine whose Python has everything and which has no rustup."""

    def python(self, module):
        del module
        return "python"

    def rustup_home(self):
        return None


PACKAGE = json.dumps({"scripts": {"test": "vitest run"}})
NPM_DEFAULT = json.dumps(
    {"scripts": {"test": 'echo "Error: no test specified" && exit 1'}}
)
PYTEST = "python -m pytest -q"
UNITTEST = "import unittest\n"

FINDS = {
    "a Makefile": ({"Makefile": "test:\n\ttrue\n"}, ["make test"]),
    "several targets in one rule": ({"Makefile": "lint test: all\n"}, ["make test"]),
    "a GNUmakefile": ({"GNUmakefile": ".PHONY: test\ntest: build\n"}, ["make test"]),
    "no test target": ({"Makefile": ".PHONY: test\ntests:\n\ttrue\n"}, []),
    "a variable called test": ({"Makefile": "test := 1\nall:\n"}, []),
    "pytest in pyproject": (
        {"pyproject.toml": "[tool.pytest.ini_options]\n"},
        [PYTEST],
    ),
    "pytest as a dependency": (
        {"pyproject.toml": '[project]\ndependencies = ["pytest>=8"]\n'},
        [PYTEST],
    ),
    "pytest in the requirements": ({"requirements-dev.txt": "pytest\n"}, [PYTEST]),
    "another package with pytest in its name": (
        {"requirements.txt": "pytest-cov-not\n"},
        [],
    ),
    "pytest.ini": ({"pytest.ini": "[pytest]\n"}, [PYTEST]),
    "setup.cfg": ({"setup.cfg": "[tool:pytest]\n"}, [PYTEST]),
    "tox.ini": ({"tox.ini": "[pytest]\n"}, [PYTEST]),
    "a conftest": ({"tests/conftest.py": ""}, [PYTEST]),
    "unittest in a package": (
        {"tests/__init__.py": "", "tests/test_a.py": UNITTEST},
        ["python3 -m unittest discover"],
    ),
    "unittest without a package": (
        {"tests/test_a.py": UNITTEST},
        ["python3 -m unittest discover -s tests"],
    ),
    "tests that are none of Python's": ({"tests/test_a.py": "x = 1\n"}, []),
    "npm": ({"package.json": PACKAGE}, ["npm test"]),
    "npm's default": ({"package.json": NPM_DEFAULT}, []),
    "a broken package.json": ({"package.json": "{"}, []),
    "a package.json that is a list": ({"package.json": "[]"}, []),
    "a broken pyproject": ({"pyproject.toml": "["}, []),
    "cargo": ({"Cargo.toml": ""}, ["cargo test"]),
    "go": ({"go.mod": ""}, ["go test ./..."]),
    "several languages": (
        {"go.mod": "", "package.json": PACKAGE},
        ["npm test", "go test ./..."],
    ),
    "a Makefile before all": (
        {"Makefile": "test:\n", "package.json": PACKAGE},
        ["make test"],
    ),
    "nothing": ({"README.md": "test:\n"}, []),
}


@pytest.mark.parametrize("case", FINDS)
def test_the_command_is_found(case):
    files, expected = FINDS[case]

    assert expected == [found.run for found in commands(Tree(files), Plain())]


def test_each_says_what_it_was_told_from():
    (found,) = commands(Tree({"Makefile": "test:\n\tpytest -q\n"}), Plain())

    assert "Makefile" in found.because
    assert {"make", "pytest"} == set(found.programs)


def test_folders_outside_the_system_are_named(tmp_path, monkeypatch):
    home = tmp_path / "home"
    shims = home / ".nvm/versions/node/v22/bin"
    shims.mkdir(parents=True)
    for name in ("npm", "node"):
        (shims / name).write_text("#!/bin/sh\n")
        (shims / name).chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{shims}:/usr/bin:/bin")
    found = commands(Tree({"package.json": PACKAGE}), Tools())

    assert ("~/.nvm",) == folders_to_show(found, Tools())
