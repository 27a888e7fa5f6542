PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= auto

.PHONY: run test test-security test-release check bench docs dist clean

run: $(STAMP)
	@$(BIN)/agent-tui $(ARGS)

test: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) -m "not security and not bench and not attack and not release" $(ARGS)

test-security: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) -m "security or attack" tests $(ARGS)

test-release: $(STAMP)
	$(BIN)/python -m pytest -m release tests/release $(ARGS)

check: $(STAMP) docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/python -m pytest -q tests/test_architecture.py tests/test_explained.py

bench: $(STAMP)
	$(BIN)/python -m tests.bench $(ARGS)

docs: $(STAMP)
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs build/docs

dist: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build

$(STAMP): pyproject.toml constraints.txt
	@echo "Installing into $(VENV); this takes about a minute, once."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	@touch $(STAMP)

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache
