# Needs python3 (3.11 or newer) and make. Everything else is installed into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
PEERS := .bench/peers-venv
# Tools that pack; and what the wheel alone brings, for the bill of materials.
PACK := .bench/pack-venv
ALONE := .bench/alone-venv
# What pytest is told: two processes, unless somebody says otherwise, and a file stays in one of them, so that
# what its tests share is made once.
PYTEST ?= -n 2 --dist loadfile
# Which doors make fuzz throws bytes at (all of them), and how many at each; guided by atheris where it installs.
DOORS ?=
RUNS ?= 100000
GUIDE := .bench/atheris
# Mutants that make mutants tries of each file (ALL=1: every one), and of which groups (tools/mutants/groups.toml).
MOST ?= 30
PACKAGES ?=
MUTATOR := .bench/mutants/tool
# What make test-min installs, and what it runs.
OLDEST := .bench/oldest-venv
PINS_FOR ?= constraints-min.txt
PART ?= tests/rules tests/evidence/test_verify.py tests/checks/policies tests/io/formats/test_formats.py \
  tests/io/recipe/test_recipe.py tests/cli/test_verify.py tests/review/test_flow.py
# How long make fuzz begins new rounds; with SEED there is one round, a replay.
MINUTES ?= 5
# Bytecode is kept where the shell says otherwise, too: every process of the tests would compile every file again.
export PYTHONDONTWRITEBYTECODE :=
# Set-up is repeated when one of these changes.
PINS := pyproject.toml papers/pyproject.toml constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo setup test check format lint types tests test-slow test-browser test-postgresql test-spark test-long test-min test-papers fuzz campaign output-campaign golden messages mutants bench bench-peers docs \
        dist sbom licences clean

help:  ## show this list
	@echo "hitoku: protect statistical tables, attack them, prove them safe"
	@echo
	@grep -hE '^[a-z-]+:.*## ' Makefile | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

demo: $(VENV)/.installed  ## install hitoku into .venv, protect a made-up register, write demo-release/
	@if [ -f demo-release/checker/summary.json ]; then rm -rf demo-release; fi  # of an earlier make demo
	@$(BIN)/hitoku demo

setup: $(VENV)/.installed-dev  ## install hitoku with everything needed to work on it
	@echo "ready: $(BIN)/hitoku, $(BIN)/pytest; make test runs everything"

test: lint types tests  ## lint, types and every test but the slow ones

check: format test  ## put the code in form, then the same as make test

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix --quiet .

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

tests: $(VENV)/.installed-dev
	$(BIN)/hitoku warm-up  # compiled once, two at a time, instead of by every process of pytest
	$(BIN)/pytest --durations=10 $(PYTEST)

test-slow: $(VENV)/.installed-dev  ## browser, PostgreSQL, Spark and long enumerations; also test-browser, test-long ...
	$(BIN)/pytest --durations=10 -m "browser or postgresql or spark or long" $(PYTEST)

test-browser test-postgresql test-spark test-long: test-%: $(VENV)/.installed-dev
	$(BIN)/pytest --durations=10 -m $* $(PYTEST)

test-papers: $(VENV)/.installed-dev  ## the published results that papers/ computes again, slow ones included
	$(BIN)/pytest --durations=10 -m "" $(PYTEST) papers

test-min: dist  ## part of the tests with the oldest versions allowed, or with another Python: PYTHON=python3.13 PINS_FOR=constraints.txt
	@rm -rf $(OLDEST) && $(PYTHON) -m venv $(OLDEST)
	@$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(PINS_FOR) \
	  "$$(ls dist/*.whl)[review,regression,excel,postgresql,oidc]" pytest hypothesis httpx httpx2
	@# Old packages on new ones warn about each other; that is no failure of ours.
	PYTHONPATH= $(OLDEST)/bin/python -m pytest -W default -p no:cacheprovider $(PART)

fuzz: $(VENV)/.installed-dev $(GUIDE)/.installed  ## other examples, mutated files at every door: MINUTES=10 PYTEST=tests/rules
	PYTHONPATH=$(GUIDE) $(BIN)/python -m tools.doors $(DOORS) --minutes $(MINUTES) --runs $(RUNS) $(if $(SEED),--seed $(SEED))
	$(BIN)/python -m tools.mutations --minutes $(MINUTES) $(if $(SEED),--seed $(SEED) --most 1)
	$(BIN)/python -m tools.fuzz --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(PYTEST)

campaign: $(VENV)/.installed-dev  ## random tables held against independent programs; MINUTES=60, goes on where it stopped
	$(BIN)/python -m tools.campaign --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

golden: $(VENV)/.installed-dev  ## compare answers with the recorded ones (tools/golden.json); after a change that is meant, record them: RECORD=1
	$(BIN)/python -m tools.golden $(if $(RECORD),--record)

messages: $(VENV)/.installed-dev  ## list messages without a translation, and translations without a message
	$(BIN)/python -m tools.messages

output-campaign: $(VENV)/.installed-dev  ## random research outputs under attack; MINUTES=60, SEED=0 is the first session
	$(BIN)/python -m tools.output_campaign --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

mutants: $(VENV)/.installed-dev $(MUTATOR)/.installed  ## one thing changed in what must not be wrong: does a test notice? MOST=30, ALL=1
	$(BIN)/python -m tools.mutants $(PACKAGES) --most $(MOST) $(if $(ALL),--all)

bench: $(VENV)/.installed-dev  ## speed and memory, beside a baseline measured in the same run
	@set -e; for file in bench/*.py; do \
	  name=$$(basename "$$file" .py); echo "== $$name"; $(BIN)/python -m "bench.$$name"; done

bench-peers: $(VENV)/.installed-dev $(PEERS)/.installed  ## the same work done by other programs
	@set -e; for file in bench/peers/*.py; do echo "== $$file"; $(PEERS)/bin/python "$$file"; done

docs: $(VENV)/.installed-dev  ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

dist: $(PACK)/.installed  ## wheel and source archive, in dist/, the same bytes for the same commit
	@rm -rf dist && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(PACK)/bin/python -m build --outdir dist . >/dev/null
	@ls -l dist | awk 'NF > 8 {printf "%8.0f kB  dist/%s\n", $$5 / 1000, $$9}'

sbom: dist  ## a bill of materials (CycloneDX) of what the wheel installs, in dist/
	@rm -rf $(ALONE) && $(PYTHON) -m venv --without-pip $(ALONE)
	@$(PACK)/bin/python -m pip --python $(ALONE)/bin/python install --quiet --disable-pip-version-check \
	  --constraint constraints.txt dist/*.whl
	@$(PACK)/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
	  --output-file dist/hitoku.cdx.json $(ALONE)/bin/python
	@echo "dist/hitoku.cdx.json"

licences: $(VENV)/.installed  ## licences of everything that hitoku installs; EXTRAS="review spark"
	@$(BIN)/python packaging/licences.py $(EXTRAS)

clean:  ## remove everything that make has made
	rm -rf $(VENV) .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis site demo-release dist
	find src papers tests bench tools -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "no $(PYTHON) on this machine"; \
	  echo "  fix: install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3"; exit 2; } >&2
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "hitoku needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) -V 2>&1)"; \
	  echo "  fix: name a newer one: make PYTHON=python3.12"; exit 2; } >&2
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments"; \
	  echo "  fix: install its venv package (Debian and Ubuntu: apt install python3-venv)"; exit 2; } >&2
	@echo "creating $(VENV)" && $(PYTHON) -m venv $(VENV) && touch $@

$(VENV)/.installed: $(VENV)/.created $(PINS)
	@echo "installing hitoku into $(VENV)" && $(INSTALL) --editable . && touch $@

$(VENV)/.installed-dev: $(VENV)/.created $(PINS)
	@echo "installing hitoku and the development tools into $(VENV)"
	@$(INSTALL) --editable '.[dev,docs,review]' --editable ./papers && touch $@ $(VENV)/.installed

# Peers get an environment of their own: their solvers cannot share a process with ours.
$(PEERS)/.installed: $(VENV)/.created
	@echo "installing peers into $(PEERS)" && $(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check pytauargus acro pyarrow && touch $@

# Beside the environment, not in it: nothing but make fuzz needs it.
$(GUIDE)/.installed: $(VENV)/.created
	@mkdir -p $(GUIDE)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(GUIDE) atheris==3.0.0 \
	  || echo "atheris does not install here: inputs are not guided by what they reach"
	@touch $@

# Beside the environment, too: what cosmic-ray brings must not stand before ours.
$(MUTATOR)/.installed: $(VENV)/.created
	@mkdir -p $(MUTATOR)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --target $(MUTATOR) cosmic-ray==8.7.0 coverage==7.17.2
	@touch $@

$(PACK)/.installed:
	@mkdir -p $(@D) && $(PYTHON) -m venv $(PACK)
	@$(PACK)/bin/python -m pip install --quiet --disable-pip-version-check build cyclonedx-bom && touch $@
