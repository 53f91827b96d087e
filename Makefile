# Everything a person runs here. Rehearsals need Linux, git, make and Python 3.11+; the rest is fetched or built.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# A rehearsal and the tests start many interpreters: none of them compiles what another has compiled.
unexport PYTHONDONTWRITEBYTECODE

STACK ?= dev
SITE ?=
BASE ?=
REAL ?=
CLEAR ?=
ARGS ?=
PYTHON ?=
FORMAT ?= text
TABLE ?= bom
OUT ?=
SET ?=
EXPLAIN ?=
AGAINST ?=
PRESET ?=

VENV := .venv/bin
RUN := $(VENV)/python -m
REHEARSAL := $(RUN) rehearsal
WHICH := --stack $(STACK) $(if $(SITE),--site $(SITE))
STAMP := .venv/.requirements-$(shell sha256sum requirements-dev.txt | cut -c1-16)

##@ Plan: what a stack will be, without an account and without an engine

plan: setup ## numbers and findings of STACK or PRESET; SET='pools[0].count=9' or AGAINST=NAME compares
	@$(RUN) planner $(if $(PRESET),--preset '$(PRESET)',--stack '$(STACK)') --format '$(FORMAT)' \
	  --table '$(TABLE)' $(if $(OUT),--out '$(OUT)') $(if $(SET),--set '$(SET)') \
	  $(if $(AGAINST),--against '$(AGAINST)') $(if $(EXPLAIN),--explain '$(EXPLAIN)')

##@ Doctor: what a real account has for a stack

doctor: setup ## compare STACK and the catalogue with the account, reading only; FORMAT=json for programs
	@$(RUN) doctor --stack '$(STACK)' --format '$(FORMAT)'

##@ Rehearsal: a stack really applied, without an account

up: setup ## apply STACK (default: dev) offline and leave it running
	@$(REHEARSAL) up $(WHICH) $(ARGS)

status: setup ## show what runs
	@$(REHEARSAL) status $(WHICH)

kubectl: setup ## run kubectl on the rehearsed cluster: make kubectl ARGS='get pods -A'
	@$(REHEARSAL) kubectl $(WHICH) -- $(ARGS)

down: setup ## destroy STACK, prove that nothing is left, stop everything
	@$(REHEARSAL) down $(WHICH)

rehearse: setup ## up, assertions, a preview without changes, down
	@$(REHEARSAL) rehearse $(WHICH)

preview: setup ## what the tree changes in STACK; BASE=<git ref> compares with that revision
	@$(REHEARSAL) preview $(WHICH) $(if $(BASE),--base '$(BASE)')

recover: setup ## settle what a killed pulumi left; REAL=1 for the stack of your own account
	@$(REHEARSAL) recover $(WHICH) $(if $(REAL),--real) $(if $(CLEAR),--clear)

##@ Checks

quick: setup ## tests that need no built tools
	@$(RUN) pytest -n 3 --dist loadgroup -m 'not engine' $(ARGS)

test: lint types contracts quick engine ## everything CI runs

engine: toolchain ## tests that apply stacks with the real engine, three sites at a time
	@$(RUN) pytest -n 3 --dist loadgroup --no-loadscope-reorder -m engine \
	  --override-ini 'testpaths=tests/engine tests/rehearsal' $(ARGS)

lint: setup ## ruff: rules and format
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .

types: setup ## mypy --strict
	@$(VENV)/mypy

contracts: setup ## which package may import which
	@PYTHONPATH=. $(VENV)/lint-imports --no-logo

fmt: setup ## let ruff rewrite what it can
	@$(VENV)/ruff check --fix .
	@$(VENV)/ruff format .

bench: setup ## measure time and memory as in docs/benchmarks.md
	@$(RUN) tests.bench $(ARGS)

##@ Generated files

lock: setup ## compile the hashed requirement files from their .in files
	@for name in requirements requirements-dev rehearsal/toolchain/go-requirements; do \
	  $(VENV)/uv pip compile --quiet --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-header \
	    "$$name.in" --output-file "$$name.txt"; \
	done

reference: setup ## schemas of stack files and plans, the list of rules, the doctor's IAM policy
	@$(RUN) settings.schema
	@$(RUN) planner.faces.generated
	@$(RUN) doctor.policy

picture: setup ## the README's drawing of the stack on metal
	@$(RUN) planner.faces.page.picture

accept: setup ## rewrite the goldens that the quick tests compare with
	@$(RUN) pytest -m 'not engine' --accept $(ARGS)

pin-images: setup ## resolve image digests (needs the registries)
	@$(RUN) catalogue.pins $$(sed -n 's/^ *image: *//p' Pulumi.*.yaml | sort -u)

upstream: setup ## fetch the vendors' CRDs, chart values and schemas (needs their sites)
	@$(RUN) catalogue.upstream

##@ Setup

toolchain: setup ## build the rehearsal's tools into the cache
	@$(RUN) rehearsal.toolchain

setup: $(STAMP) ## the Python environment, from hashed requirements

# A stamp named after the requirements' hash: changed requirements are installed on the next call of any target.
$(STAMP): requirements-dev.txt
	@suits() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }; \
	if [ ! -x $(VENV)/python ] || ! suits $(VENV)/python; then \
	  for candidate in '$(PYTHON)' python3 python3.14 python3.13 python3.12 python3.11 python; do \
	    if [ -n "$$candidate" ] && command -v "$$candidate" >/dev/null && suits "$$candidate"; then found="$$candidate"; break; fi; \
	  done; \
	  if [ -z "$${found:-}" ]; then \
	    echo "error: no Python 3.11 or later on PATH: install one, or name it: make setup PYTHON=/path/to/python3.11" >&2; exit 1; \
	  fi; \
	  if ! "$$found" -c 'import ensurepip, venv' 2>/dev/null; then \
	    echo "error: $$found cannot make virtual environments: install its venv package (Debian: python3-venv)" >&2; exit 1; \
	  fi; \
	  echo "making .venv with $$("$$found" --version)"; \
	  "$$found" -m venv --clear .venv; \
	fi; \
	echo "installing the Python packages"; \
	$(VENV)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt \
	  || { echo "error: the packages could not be installed: read pip's message above, then run make setup again" >&2; exit 1; }; \
	rm -f .venv/.requirements-*; touch $@

help: ## this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: plan doctor up status kubectl down rehearse preview recover quick test engine lint types contracts fmt bench lock reference picture \
	accept pin-images upstream toolchain setup help
