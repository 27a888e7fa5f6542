PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= auto

.PHONY: run test test-security check bench clean

run: $(STAMP)
	@$(BIN)/agent-tui $(ARGS)

test: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) -m "not security and not bench and not attack" $(ARGS)

test-security: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) -m "security or attack" tests $(ARGS)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/python -m pytest -q tests/test_architecture.py

bench: $(STAMP)
	$(BIN)/python -m tests.bench $(ARGS)

$(STAMP): pyproject.toml constraints.txt
	@echo "Installing into $(VENV); this takes about a minute, once."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	@touch $(STAMP)

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache
