# Every target makes the virtual environment it needs and never changes the system's Python.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HOSTS := .venv-hosts
# Without bytecode files, every process that a test starts would compile the package again.
unexport PYTHONDONTWRITEBYTECODE
# Two BLAS threads sometimes stall on small matrices; the demo's language model needs both cores.
test montecarlo crash fuzz coverage bench: export OPENBLAS_NUM_THREADS := 1
test montecarlo crash fuzz coverage bench: export OMP_NUM_THREADS := 1

.PHONY: demo test lint types montecarlo crash fuzz hosts coverage docs site bench clean

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "adjudge needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[embedded]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[bench]'
	@touch $@

demo: $(VENV)/.demo  ## judge, select, estimate, diagnose and rank on the embedded model
	$(BIN)/adjudge demo

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy -n 2

# Three workers: many tests wait for a process or a page.
test: lint types  ## what CI runs first
	$(BIN)/pytest -n 3 --dist loadfile --ignore tests/montecarlo \
	  -m "not montecarlo and not crash and not fuzz and not hosts" src tests

montecarlo: $(VENV)/.dev  ## the Monte Carlo tests of every guarantee, short and full
	$(BIN)/pytest -n 2 --dist worksteal tests/montecarlo

crash: $(VENV)/.dev  ## processes killed, disks full, servers under load: nothing is lost
	$(BIN)/pytest -n 2 --dist loadfile -m crash --tries crash tests/conformance
	$(BIN)/python docs/make_reliability.py

fuzz: $(VENV)/.dev  ## 3,000 malformed inputs over all verbs: a result or one line, never a traceback
	$(BIN)/pytest -n 2 --dist worksteal -m fuzz --tries fuzz tests/conformance
	$(BIN)/pytest -n 2 --dist loadfile -m "(hypothesis or attack) and not crash and not fuzz" \
	  --hypothesis-profile thorough --tries properties tests
	$(BIN)/python docs/make_reliability.py

# The tools that load adjudge, each in its own environment.
$(HOSTS)/.made: pyproject.toml
	$(PYTHON) -m venv $(HOSTS) && $(PYTHON) -m venv $(HOSTS)/label-studio
	$(HOSTS)/bin/python -m pip install --quiet -e '.[server,postgres]' pytest hypothesis jsonschema trio inspect-ai==0.3.285 deepeval==4.3.1
	$(HOSTS)/label-studio/bin/python -m pip install --quiet label-studio==1.23.2
	npm install --silent --prefix $(HOSTS)/promptfoo promptfoo@0.121.20
	@touch $@

hosts: $(HOSTS)/.made  ## docs/integrations.md inside the real promptfoo, Inspect, DeepEval and Label Studio
	PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PROMPTFOO=$(CURDIR)/$(HOSTS)/promptfoo/node_modules/.bin/promptfoo \
	  LABEL_STUDIO=$(CURDIR)/$(HOSTS)/label-studio/bin/label-studio \
	  $(HOSTS)/bin/python -m pytest -W default -m hosts tests/hosts

coverage: $(VENV)/.dev  ## the tests with line coverage of src; fails below the floor
	$(BIN)/pytest -n 2 --dist loadfile -m "not montecarlo and not crash and not fuzz and not hosts" --cov --cov-report=term src tests

docs: $(VENV)/.dev  ## docs/cli.md, docs/api.md and docs/api/, the notebook, the type stub and the skill, from the code
	$(BIN)/python docs/make_cli.py
	$(BIN)/python docs/make_api.py
	$(BIN)/python docs/make_notebook.py
	$(BIN)/python docs/make_stub.py
	$(BIN)/python docs/make_skill.py

site: docs  ## the documentation as a site, in site/; stops at a broken link
	$(BIN)/zensical build --clean --strict
	$(BIN)/python docs/make_schemas.py site/schemas
	cp llms.txt site/

bench: $(VENV)/.bench
	for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) $(HOSTS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* .cache demo-out site
