# One command per intention. `make check` never writes; `make fix` does.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
.DEFAULT_GOAL := help
.PHONY: help demo demo-pipeline test test-fast check fix bench soak lock clean venv

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /  make \1\t/' | expand -t 20

$(VENV)/.installed: requirements-dev.lock pyproject.toml
	@$(PYTHON) tools/prerequisites.py venv
	@echo "making the virtual environment $(VENV) (about a minute the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	@touch $@

venv: $(VENV)/.installed  ## the virtual environment, from the lock with hashes

demo: venv  ## a real three-node Kubernetes, the operator, a quorum, a client: the main job, shown
	@$(PYTHON) tools/prerequisites.py demo
	@$(BIN)/python -m deploy.demo

demo-pipeline: venv  ## logs of real clusters, then ingest, tables, audit and a report on local Spark
	@$(PYTHON) tools/prerequisites.py demo-pipeline
	@$(BIN)/python -m deploy.demo.pipeline

test: venv  ## every layer of tests, in order of speed
	@$(PYTHON) tools/prerequisites.py test
	@$(BIN)/python tools/run_tests.py

test-fast: venv  ## the layers that take under a minute
	@$(BIN)/python tools/run_tests.py --fast

check: venv  ## formatting, lint, types, import contracts, generated files; never writes
	@$(BIN)/python tools/check.py

fix: venv  ## what `make check` can mend by itself
	@$(BIN)/python tools/check.py --fix

bench: venv  ## side by side with peers, as ratios
	@$(BIN)/python -m benchmarks

soak: venv  ## what `make test` samples, whole (hours)
	@$(BIN)/python tools/mutate.py --sample 500 --report
	@QUORATE_SOAK=1 $(BIN)/python tools/run_tests.py unit simulation properties fuzz integration interop spark e2e

lock: venv  ## renew the locks after a change of pyproject.toml
	@$(BIN)/python tools/lock.py

clean:  ## remove what was built here (caches outside the repository stay)
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
