# `make demo` and `make test` do all their own set-up: Python 3.11 with venv is enough.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test cluster browser test-lowest lint bench docs notebooks clean

demo: .venv/installed
	$(BIN)/python examples/demo.py

test: .venv/installed-test lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow"

# A cluster of two nodes in a network of its own: the same bits as here, whatever is killed.
cluster: .venv/installed-test
	$(BIN)/python -m pytest -m slow tests/scale/test_cluster.py

# Chromium for the tests of the studio's pages, on Debian and its like; without it they are skipped.
browser:
	apt-get update && apt-get install --yes chromium chromium-driver

# The quick tests with the lowest versions that pyproject.toml allows; packages that old warn of
# packages that are newer, which is not our business.
QUICK := tests/test_*.py tests/games tests/matrix tests/search tests/cli tests/kernels tests/interop \
	tests/studio/test_curves.py tests/studio/test_guard.py \
	tests/experiment/test_config.py tests/experiment/test_memory.py tests/experiment/test_plotting.py

test-lowest: .venv-lowest/installed
	.venv-lowest/bin/python -m pytest -n 2 -m "not slow" -W ignore::DeprecationWarning $(QUICK)

lint: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/installed-bench
	$(BIN)/python benchmarks/side_by_side.py

# The site, readable without network: docs/_build/html/index.html. Dead links are errors.
docs: .venv/installed-docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python tools/check_site.py docs/_build/html

# The course, executed from the first cell to the last.
notebooks: .venv/installed-docs
	$(BIN)/python tools/notebooks.py docs/course

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -qq --disable-pip-version-check --editable .
	touch $@

.venv/installed-%: pyproject.toml .venv/installed
	$(BIN)/python -m pip install -qq --disable-pip-version-check --editable ".[$*]"
	touch $@

.venv-lowest/installed: pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install -qq --disable-pip-version-check uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python \
		--resolution lowest-direct --editable ".[test]"
	touch $@

clean:
	rm -rf docs/_build .venv .venv-lowest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
