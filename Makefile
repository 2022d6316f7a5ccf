# Needs python3 (3.11 or newer) and make. Everything else is installed into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
PEERS := .bench/peers-venv
# Packaging tools; and an environment with the wheel alone, for the bill of materials.
PACK := .bench/pack-venv
ALONE := .bench/alone-venv
# Arguments of pytest. Two processes by default; all tests of a file run in the same one, so that fixtures are built once.
PYTEST ?= -n 2 --dist loadfile
# Entry points that make fuzz tests (default: all), and inputs for each. Coverage-guided if atheris can be installed.
ENTRY_POINTS ?=
RUNS ?= 100000
GUIDE := .bench/atheris
# Mutants per file that make mutants tests (ALL=1: all), and groups of tools/mutants/groups.toml (default: all).
PER_FILE ?= 30
GROUPS ?=
MUTATOR := .bench/mutants/tool
# Versions that make test-min installs, and tests that it runs.
OLDEST := .bench/oldest-venv
PINS_FOR ?= constraints-min.txt
PART ?= tests/rules tests/evidence/test_verify.py tests/checks/policies tests/io/formats/test_formats.py \
  tests/io/recipe/test_recipe.py tests/cli/test_verify.py tests/review/test_flow.py
# Time limit of make fuzz and the campaigns. With SEED, make fuzz replays one round.
MINUTES ?= 5
# Keep bytecode even if the shell disables it: otherwise every test process compiles every file again.
export PYTHONDONTWRITEBYTECODE :=
# Set-up is repeated when one of these changes.
PINS := pyproject.toml papers/pyproject.toml constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo setup test check format lint types tests test-slow test-browser test-postgresql test-spark test-long test-min test-papers fuzz campaign output-campaign golden messages mutants bench bench-peers docs \
        dist sbom licences clean

help:  ## show this list
	@echo "hitoku: statistical disclosure control for tables"
	@echo
	@grep -hE '^[a-z-]+:.*## ' Makefile | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

demo: $(VENV)/.installed  ## install hitoku into .venv, protect a synthetic register, write demo-release/
	@if [ -f demo-release/checker/summary.json ]; then rm -rf demo-release; fi  # from an earlier run
	@$(BIN)/hitoku demo

setup: $(VENV)/.installed-dev  ## install hitoku and the development tools into .venv
	@echo "ready: $(BIN)/hitoku, $(BIN)/pytest; make test runs everything"

test: lint types tests  ## lint, type checks and all tests except the slow ones

check: format test  ## format the code, then make test

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix --quiet .

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

tests: $(VENV)/.installed-dev
	$(BIN)/hitoku warm-up  # once here instead of in every test process
	$(BIN)/pytest --durations=10 $(PYTEST)

test-slow: $(VENV)/.installed-dev  ## tests with a browser, PostgreSQL or Spark, and long enumerations; one kind: test-browser, test-postgresql, test-spark, test-long
	$(BIN)/pytest --durations=10 -m "browser or postgresql or spark or long" $(PYTEST)

test-browser test-postgresql test-spark test-long: test-%: $(VENV)/.installed-dev
	$(BIN)/pytest --durations=10 -m $* $(PYTEST)

test-papers: $(VENV)/.installed-dev  ## published results reproduced in papers/, slow ones included
	$(BIN)/pytest --durations=10 -m "" $(PYTEST) papers

test-min: dist  ## some tests with the oldest allowed versions, or another Python: PYTHON=python3.13 PINS_FOR=constraints.txt
	@rm -rf $(OLDEST) && $(PYTHON) -m venv $(OLDEST)
	@$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(PINS_FOR) \
	  "$$(ls dist/*.whl)[review,regression,excel,postgresql,oidc]" pytest hypothesis httpx httpx2
	@# Warnings between old and new dependencies are not failures of hitoku.
	PYTHONPATH= $(OLDEST)/bin/python -m pytest -W default -p no:cacheprovider $(PART)

fuzz: $(VENV)/.installed-dev $(GUIDE)/.installed  ## mutated input files, and property tests with new examples: MINUTES=10 PYTEST=tests/rules ENTRY_POINTS="jj ledger"
	PYTHONPATH=$(GUIDE) $(BIN)/python -m tools.entry_points $(ENTRY_POINTS) --minutes $(MINUTES) --runs $(RUNS) $(if $(SEED),--seed $(SEED))
	$(BIN)/python -m tools.mutations --minutes $(MINUTES) $(if $(SEED),--seed $(SEED) --count 1)
	$(BIN)/python -m tools.fuzz --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(PYTEST)

campaign: $(VENV)/.installed-dev  ## random tables compared with independent programs; resumes where it stopped: MINUTES=60
	$(BIN)/python -m tools.campaign --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

golden: $(VENV)/.installed-dev  ## compare answers with those in tools/golden.json; after an intended change: RECORD=1
	$(BIN)/python -m tools.golden $(if $(RECORD),--record)

messages: $(VENV)/.installed-dev  ## list messages without a translation, and translations without a message
	$(BIN)/python -m tools.messages

output-campaign: $(VENV)/.installed-dev  ## attack random research outputs: MINUTES=60; first session: SEED=0
	$(BIN)/python -m tools.output_campaign --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

mutants: $(VENV)/.installed-dev $(MUTATOR)/.installed  ## mutation testing of critical code: PER_FILE=30 GROUPS=rules; all mutants: ALL=1
	$(BIN)/python -m tools.mutants $(GROUPS) --per-file $(PER_FILE) $(if $(ALL),--all)

bench: $(VENV)/.installed-dev  ## speed and memory, compared with a baseline measured in the same run
	@set -e; for file in bench/*.py; do \
	  name=$$(basename "$$file" .py); echo "== $$name"; $(BIN)/python -m "bench.$$name"; done

bench-peers: $(VENV)/.installed-dev $(PEERS)/.installed  ## speed of other programs on the same work
	@set -e; for file in bench/peers/*.py; do echo "== $$file"; $(PEERS)/bin/python "$$file"; done

docs: $(VENV)/.installed-dev  ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

dist: $(PACK)/.installed  ## build wheel and source archive in dist/, reproducibly
	@rm -rf dist && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(PACK)/bin/python -m build --outdir dist . >/dev/null
	@ls -l dist | awk 'NF > 8 {printf "%8.0f kB  dist/%s\n", $$5 / 1000, $$9}'

sbom: dist  ## write a software bill of materials (CycloneDX) for the wheel into dist/
	@rm -rf $(ALONE) && $(PYTHON) -m venv --without-pip $(ALONE)
	@$(PACK)/bin/python -m pip --python $(ALONE)/bin/python install --quiet --disable-pip-version-check \
	  --constraint constraints.txt dist/*.whl
	@$(PACK)/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
	  --output-file dist/hitoku.cdx.json $(ALONE)/bin/python
	@echo "dist/hitoku.cdx.json"

licences: $(VENV)/.installed  ## list the licences of all dependencies: EXTRAS="review spark"
	@$(BIN)/python packaging/licences.py $(EXTRAS)

clean:  ## remove everything that make created
	rm -rf $(VENV) .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis site demo-release dist
	find src papers tests bench tools -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "no $(PYTHON) on this machine"; \
	  echo "  fix: install Python 3.11 or newer, or pass its path: make PYTHON=/path/to/python3"; exit 2; } >&2
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "hitoku needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) -V 2>&1)"; \
	  echo "  fix: pass a newer one: make PYTHON=python3.12"; exit 2; } >&2
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot create virtual environments"; \
	  echo "  fix: install its venv package (Debian and Ubuntu: apt install python3-venv)"; exit 2; } >&2
	@echo "creating $(VENV)" && $(PYTHON) -m venv $(VENV) && touch $@

$(VENV)/.installed: $(VENV)/.created $(PINS)
	@echo "installing hitoku into $(VENV)" && $(INSTALL) --editable . && touch $@

$(VENV)/.installed-dev: $(VENV)/.created $(PINS)
	@echo "installing hitoku and the development tools into $(VENV)"
	@$(INSTALL) --editable '.[dev,docs,review]' --editable ./papers && touch $@ $(VENV)/.installed

# Separate environment for other programs: their solvers cannot share a process with HiGHS.
$(PEERS)/.installed: $(VENV)/.created
	@echo "installing peers into $(PEERS)" && $(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check pytauargus acro pyarrow && touch $@

# Installed outside the environment, because only make fuzz needs it.
$(GUIDE)/.installed: $(VENV)/.created
	@mkdir -p $(GUIDE)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(GUIDE) atheris==3.0.0 \
	  || echo "atheris cannot be installed: fuzzing without coverage guidance"
	@touch $@

# Installed outside the environment: the dependencies of cosmic-ray must not replace those of hitoku.
$(MUTATOR)/.installed: $(VENV)/.created
	@mkdir -p $(MUTATOR)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --target $(MUTATOR) cosmic-ray==8.7.0 coverage==7.17.2
	@touch $@

$(PACK)/.installed:
	@mkdir -p $(@D) && $(PYTHON) -m venv $(PACK)
	@$(PACK)/bin/python -m pip install --quiet --disable-pip-version-check build cyclonedx-bom && touch $@
