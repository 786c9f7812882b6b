# Everything a newcomer needs; `make` alone lists the targets.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
# Compiled modules are kept, whatever the environment says: tests start hundreds of processes that import them.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
UV := $(BIN)/uv
NAME ?= noise accounting audit query costs costs_tables synth oracle local learn stream
# pytest runs one worker per core and two more, as those with Spark, PostgreSQL or a browser, which come first, mostly
# wait; statistical tests are independent of each other. Tests that share a server are a group, which one worker runs.
JOBS ?= $(shell echo $$(( $$(nproc 2>/dev/null || echo 2) + 2 )))
# A worker has one core, so what it calls has one thread: with two each, the first tests of privacy took half as much
# CPU again.
# Tests write to memory where there is room: ledgers and journals wait for the disk with every entry, and a kill loses
# nothing that was handed to the system.
SCRATCH ?= $(shell test -w /dev/shm && test "$$(df -Pk /dev/shm | awk 'NR == 2 {print $$4}')" -gt 8000000 && echo /dev/shm || echo $${TMPDIR:-/tmp})
PYTEST = TMPDIR=$(SCRATCH) OMP_NUM_THREADS=1 $(BIN)/pytest -n $(JOBS) --dist loadgroup

.DEFAULT_GOAL := help
.PHONY: help install demo serve test compiled test-slow search java browser check format bench bench-large learn-large mutants power pictures docs package lock clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(STAMP) ## Create .venv with everything the project needs, pinned by requirements.lock

$(STAMP): requirements.lock pyproject.toml
	@echo "Installing everything pinned by requirements.lock into .venv: a minute or a few, and 2 GB."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --quiet --disable-pip-version-check "$$(grep -oE '^uv==[^ ]+' requirements.lock)"
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP) ## A city sealed and asked, its ledger, and pictures in out/
	@$(BIN)/python examples/tour.py

serve: $(STAMP) ## Open the service on an invented city: out/serve
	@test -d out/serve || $(BIN)/discreet demo --keep out/serve --persons 20000 >/dev/null
	@$(BIN)/discreet serve out/serve

test: $(STAMP) ## Format, lint, types, then all tests but the slow ones
	@$(MAKE) --no-print-directory -j 3 check browser compiled
	@$(WITHOUT_JAVA); $(WITHOUT_BROWSER); $(PYTEST) -m "not slow"

# On a clean checkout every worker would compile all modules, its own and those of .venv, all at the same time. One
# process does it while types are checked. What fails here fails again in the tests, which say why.
compiled: $(STAMP)
	@$(BIN)/pytest --collect-only -q -p no:cacheprovider >/dev/null 2>&1 || true

test-slow: $(STAMP) java ## The tests that take minutes: hundreds of millions of draws per law
	@$(WITHOUT_JAVA); $(PYTEST) -m slow

search: $(STAMP) java ## The laws that hold for all inputs, on new examples each time
	@$(WITHOUT_JAVA); $(PYTEST) -m hypothesis --hypothesis-profile=new

# Spark runs on Java 17 or newer. Where there is none, Debian's is installed if we may; where we may not, its tests are
# skipped and say why. An older Java makes them fail.
FIND_JAVA = command -v "$${JAVA_HOME:+$$JAVA_HOME/bin/}java" >/dev/null
WITHOUT_JAVA = $(FIND_JAVA) || export DISCREET_WITHOUT_SPARK="there is no Java 17 here, and it could not be installed"
java:
	@$(FIND_JAVA) || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && \
	  for package in openjdk-17-jre-headless default-jre-headless; do \
	    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$package >/dev/null && break; done; \
	  $(FIND_JAVA); } || \
	  echo "There is no Java, and it cannot be installed here: the tests of Spark are skipped."

# The JavaScript client is tested in Chromium or Chrome: found, installed or done without in the same way.
FIND_BROWSER = { command -v chromium || command -v google-chrome; } >/dev/null
WITHOUT_BROWSER = $(FIND_BROWSER) || export DISCREET_WITHOUT_BROWSER="there is no Chromium here, and it could not be installed"
browser: java # one after the other: apt-get works alone
	@$(FIND_BROWSER) || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null; \
	  $(FIND_BROWSER); } || \
	  echo "There is no Chromium, and it cannot be installed here: the tests in a browser are skipped."

check: $(STAMP) ## Formatting, lint, strict types, layers (seconds)
	@$(BIN)/ruff format --check --quiet . || { echo "run: make format"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/pytest -q tests/test_layers.py -k "downwards or depends or generator" | tail -n 1

format: $(STAMP) ## Format the code and mend what the linter can
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

bench: $(STAMP) ## Side by side with peers, each in its own environment: make bench NAME=noise
	@for name in $(NAME); do \
	  test -f bench/$$name.py || { echo "There is no benchmark '$$name'. There are: noise, accounting, audit, query, costs, costs_tables, synth, oracle, local, learn, stream, serve, timing."; exit 2; }; \
	  $(BIN)/python -m bench.$$name; done

bench-large: $(STAMP) ## A hundred million rows sealed and asked within 4 GB (minutes, 4 GB of disk)
	@$(BIN)/python -m bench.large

learn-large: $(STAMP) ## Ten million rows classified, a hundred million regressed (minutes, 4 GB of disk)
	@$(BIN)/python -m bench.learn_large

power: $(STAMP) ## By how much noise must be too small before the auditor catches it (minutes)
	@$(BIN)/discreet audit --power

mutants: $(STAMP) ## Break the code on purpose, one change at a time, and see the tests fail: make mutants LAYER=vault
	@$(BIN)/python -m tests.mutants $(LAYER)

pictures: $(STAMP) ## Draw the pictures of the documentation again (docs/images)
	@$(BIN)/python examples/pictures.py

docs: $(STAMP) ## Build the documentation site strictly: out/site/index.html
	@$(BIN)/python docs/theme/build.py out

package: $(STAMP) ## Build the wheel and the source archive: dist/
	@rm -rf dist && $(UV) build --quiet --no-build-isolation --python $(BIN)/python && ls dist

lock: ## Resolve the newest versions into requirements.lock and bench/*.lock
	@test -x $(UV) || { $(PYTHON) -m venv .venv && $(BIN)/pip install --quiet uv; }
	@$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-emit-index-url --no-emit-find-links --all-extras --group dev --group docs pyproject.toml -o requirements.lock
	@for peer in bench/peers/*.in; do $(UV) pip compile --quiet --upgrade --python-version 3.11 --generate-hashes \
	  --no-header --no-emit-index-url --no-emit-find-links $$peer -o $${peer%.in}.lock; done

clean: ## Remove the environments and everything generated
	@rm -rf .venv .bench-venv* out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
