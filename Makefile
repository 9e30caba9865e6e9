# Every target sets up the environment it needs: Python 3.11 or later with venv is enough.
PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-extended test-slow test-large lint lint-words lint-js cluster browser test-lowest bench docs notebooks store-notebooks attack wheel clean

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F '\t' '{printf "%-16s %s\n", $$1, $$2}'

demo: .venv/installed ## Solve Leduc poker and show its exploitability falling.
	$(BIN)/python examples/demo.py

PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile
# Tests compile hundreds of programs that run for milliseconds; without optimisation that takes half the time.
# The extended tests, which train networks, compile as users do.
UNOPTIMISED := JAX_DISABLE_MOST_OPTIMIZATIONS=1

test: .venv/installed-dev lint ## Lint, type-check and run the quick tests.
	$(UNOPTIMISED) $(PYTEST) -m "not slow and not extended"
	@echo "Left out: $$(wc -l < tests/extended_tests.txt) tests that take seconds (make test-extended)," \
		"the slow ones (make test-slow) and the largest (make test-large)."

test-extended: .venv/installed-dev ## Run the tests that take seconds each, as CI does after the quick ones.
	$(PYTEST) -m "extended and not slow"

test-slow: .venv/installed-dev ## Run the tests that take up to minutes each, as CI does at the end.
	$(UNOPTIMISED) $(PYTEST) -m "slow and not large"

test-large: .venv/installed-dev ## Run the tests that take many minutes or gigabytes, which CI leaves out.
	$(UNOPTIMISED) $(BIN)/python -m pytest -m large

# Folders and documents whose names and sentences the wording check covers.
PLAIN := src tests tools benchmarks examples docs README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md

lint: .venv/installed-dev ## Run ruff, mypy, and the checks of layers and wording.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/layers.py --check
	$(MAKE) lint-words

lint-words: .venv/installed-dev ## Check names and wording of the folders listed in PLAIN.
	$(BIN)/python tools/plain_words.py $(PLAIN)

JS_FILES := package.json eslint.config.js src/counterplay/studio/static src/counterplay/display/widgets.js

lint-js: ## Run Prettier and ESLint on the studio's pages (needs Node; skipped without, except in CI).
	@if command -v npm >/dev/null; then \
		{ test node_modules/.installed -nt package.json || \
			{ npm install --silent --no-audit --no-fund --no-package-lock && touch node_modules/.installed; }; } \
		&& node_modules/.bin/prettier --check $(JS_FILES) && node_modules/.bin/eslint .; \
	else \
		echo "lint-js: Node is not installed; the studio's pages were NOT checked" && test "$$CI" != true; \
	fi

cluster: .venv/installed-dev ## Run the tests on a Ray cluster of two nodes in its own network.
	$(BIN)/python -m pytest -m slow tests/distributed/test_ray_cluster.py

browser: ## Install Chromium for the studio's tests (Debian, as root); without it they are skipped.
	apt-get update && apt-get install --yes chromium chromium-driver

# Old packages warn about newer ones, which is not an error of ours.
QUICK := tests/test_*.py tests/core tests/play tests/games tests/matrix tests/search tests/cli tests/kernels tests/interop \
	tests/arenas/test_rules.py tests/algorithms/test_contract.py \
	tests/studio/server/test_metric_series.py tests/studio/server/test_security_middleware.py \
	tests/experiment/test_config.py tests/experiment/plots

test-lowest: .venv-lowest/installed ## Run the quickest tests with the oldest versions allowed.
	.venv-lowest/bin/python -m pytest -n 2 --dist loadfile -m "not slow and not extended" -W ignore::DeprecationWarning $(QUICK)

bench: .venv/installed-dev ## Measure the speed beside other libraries.
	$(BIN)/python -m benchmarks.speed.compare_libraries

attack: .venv/installed-dev ## Load 10,000 damaged files and count what goes wrong.
	$(BIN)/python -m benchmarks.robustness.damaged_files --count 10000

docs: .venv/installed-dev ## Build docs/_build/html, readable offline; dead links are errors.
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python tools/check_site.py docs/_build/html

notebooks: .venv/installed-dev ## Execute the course and compare with its stored outputs.
	$(BIN)/python tools/notebooks.py docs/course

store-notebooks: .venv/installed-dev ## Execute the course and store the outputs in its files.
	$(BIN)/python tools/notebooks.py --store docs/course

wheel: .venv/installed-dev ## Build the wheel and the source archive into dist/.
	$(BIN)/python -m build

clean: ## Remove environments, caches and what was built.
	rm -rf docs/_build .venv .venv-lowest node_modules build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP_INSTALL) --editable .
	touch $@

.venv/installed-dev: pyproject.toml .venv/installed
	$(PIP_INSTALL) --editable ".[dev]"
	touch $@

.venv-lowest/installed: pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install -qq --disable-pip-version-check uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python \
		--resolution lowest-direct --editable ".[test]"
	touch $@
