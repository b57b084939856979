# Everything here needs python3 (3.11 or newer) and make; the rest is installed into .venv.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP_INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
TYPED := build/typing
WORKERS ?= 2
EXTRAS ?= test

.DEFAULT_GOAL := help
.PHONY: help demo test lint format types unit check-generated coverage divergences models bench \
  conformance reexport alarms fuzz fuzz-graphs sweep locate clean

help:  ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' Makefile

# A stamp per environment: it is installed again only when what it depends on has changed.
$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "isomorph needs Python 3.11 or newer; name one with: make PYTHON=python3.11"; exit 2; }
	@$(PYTHON) -m venv --clear $(VENV) || \
	  { echo "this Python cannot make environments; on Debian and Ubuntu: apt install python3-venv"; exit 2; }
	@$(PIP_INSTALL) setuptools
	@touch $@

$(VENV)/installed: $(VENV)/made pyproject.toml setup.py constraints.txt compiler/__init__.py
	@echo "installing isomorph into $(VENV)"
	@$(PIP_INSTALL) --no-build-isolation --editable .
	@touch $@

$(VENV)/installed-test: $(VENV)/made pyproject.toml setup.py constraints.txt compiler/__init__.py
	@echo "installing isomorph and its test tools into $(VENV)"
	@$(PIP_INSTALL) --no-build-isolation --editable '.[$(EXTRAS)]'
	@touch $(VENV)/installed $@

demo: $(VENV)/installed  ## check, export and verify a trained digit classifier
	@$(PY) examples/digits/demo.py

test: lint types check-generated unit  ## install, then lint, type-check and run all tests

unit: $(VENV)/installed-test  ## the tests alone
	@$(PY) -m pytest --numprocesses $(WORKERS)

lint: $(VENV)/installed-test  ## ruff: rules and formatting
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check --quiet

format: $(VENV)/installed-test  ## let ruff mend what it can
	@$(PY) -m ruff check --fix
	@$(PY) -m ruff format

# No type checker follows an editable install, so a built copy is checked. Pyright calls it a success
# when it finds no file at all, hence the second look at what it says.
types: $(VENV)/installed-test  ## pyright, strict, over a built copy of the package
	@rm -rf $(TYPED)
	@$(PY) setup.py --quiet build_py --no-compile --build-lib $(TYPED)
	@said=$$($(PY) -m pyright --pythonpath $(PY)); status=$$?; echo "$$said"; \
	  case "$$said" in *"No source files"*) exit 1;; esac; exit $$status

check-generated: $(VENV)/installed-test  ## fail when op_coverage.md or docs/divergences.md is out of date
	@$(PY) -m isomorph coverage > /dev/null
	@$(PY) -m isomorph divergences > /dev/null

divergences: $(VENV)/installed-test  ## run the probes of onnxruntime's known divergences, and write their page
	@$(PY) -m isomorph divergences --probe --write

coverage: $(VENV)/installed-test  ## measure the operator coverage and write op_coverage.md
	@$(PY) -m isomorph coverage --measure --write

models: $(VENV)/installed-test  ## fetch the trained .onnx files and describe them in docs/real-models.md
	@$(PY) -m tests.realmodels_page

bench: $(VENV)/installed-test  ## run every benchmark
	@for script in benchmarks/*.py; do echo "== $$script"; $(PY) $$script || exit 1; done

conformance: $(VENV)/installed-test  ## every node case of onnx's own suite, through isomorph.backend
	@$(PY) -m tests.backend.conformance

reexport: $(VENV)/installed-test  ## every node case of that suite, written for every opset
	@$(PY) -m tests.backend.reexport

alarms: $(VENV)/installed-test  ## right models against themselves: nothing may be called wrong
	@$(PY) -m tests.parity.alarms

fuzz: $(VENV)/installed-test  ## 200,000 mutated model files, read, shown, optimized and written
	@$(PY) -m tests.fuzz 200000 0

fuzz-graphs: $(VENV)/installed-test  ## 50,000 drawn graphs, exported and judged; goes on where it stopped
	@$(PY) -m tests.fuzz.graph_run 50000 0

sweep: $(VENV)/installed-test  ## the main job on real models with the default number of inputs
	@ISOMORPH_CASES=200 $(PY) -m pytest tests/e2e --numprocesses $(WORKERS)

locate: $(VENV)/installed-test  ## how often the first diverging node is named, over 200 mutations
	@$(PY) -m tests.parity.localisation 200 0

clean:  ## remove the environment and everything that was built or fetched
	rm -rf $(VENV) .cache .hypothesis .pytest_cache .ruff_cache build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
