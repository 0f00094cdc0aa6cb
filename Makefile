# Everything runs from .venv, which the first target that needs it makes.

PYTHON := $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
	2>/dev/null && echo $$p && break; done)
PIP := .venv/bin/python -m pip --disable-pip-version-check --quiet
# One more than cores: some tests wait for a disk or a clock.
JOBS ?= $(shell expr $$(nproc) + 1)
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: agents bench check demo format help soak test venv

agents: ## install the coding agents that tests run, where they are missing
	tests/agents/install

bench: .venv/dev ## measure what the project promises about speed and size
	for script in $(wildcard bench/bench_*.py); do .venv/bin/python $$script $(ARGS) || exit 1; done

check: .venv/dev ## format, lint, types, floors, freshness of the drawn docs
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports --no-logo
	.venv/bin/python docs/draw.py --check

demo: .venv/runtime ## watch two tasks go from a commit to a landing
	.venv/bin/python bench/demo.py $(ARGS)

format: .venv/dev ## rewrite code and drawn docs into their one form
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .
	.venv/bin/python docs/draw.py

help: ## list the targets
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

soak: .venv/dev ## the long runs: state machines with many examples, hours if asked
	.venv/bin/pytest -n $(JOBS) --hypothesis-profile=soak $(wildcard tests/core tests/machines)
	for script in $(wildcard bench/soak_*.py); do .venv/bin/python $$script $(ARGS) || exit 1; done

# Daemons start by the hundred; without its byte code each would be compiled anew.
test: .venv/dev ## run the tests
	PYTHONDONTWRITEBYTECODE= .venv/bin/pytest -n $(JOBS) --dist worksteal $(ARGS)

venv: .venv/dev ## make .venv with everything that development needs

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "No Python >= 3.11 with venv here; install one (Debian: apt install python3-venv)." >&2; exit 1; }
	$(PYTHON) -m venv .venv

# pip is not the quickest; a stamp spares asking it each time.
.venv/runtime: pyproject.toml | .venv/bin/python
	$(PIP) install -e '.[sandbox]'
	@touch $@

.venv/dev: pyproject.toml | .venv/bin/python
	$(PIP) install -e '.[sandbox,dev]'
	@touch .venv/runtime $@
