# All commands of the project. Rehearsals need Linux, git, make and Python 3.11+; the rest is fetched or built.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# A rehearsal and the tests start many interpreters, which share compiled bytecode.
unexport PYTHONDONTWRITEBYTECODE

# Empty unless given on make's command line: the environment may hold the default of a parent make.
STACK_ASKED := $(filter command,$(origin STACK))
STACK ?= dev
# Variables of targets, exactly as typed: recipes read them from the environment, so that quotes, dollars, blanks and
# semicolons mean nothing to make or to a shell. Values are taken unexpanded (GNU make manual, value function).
TYPED := STACK SITE BASE REAL CLEAR RESTORE YES ARGS SERVICE RPS SECONDS NODE WHAT GPU TARGET PYTHON FORMAT TABLE OUT SET EXPLAIN \
  BUDGET HOURS AGAINST PRESET ACCOUNT PROMETHEUS IN ADDRESS REGISTRIES \
  EXPERIMENT TO CSV WHOLE DEPLOYED ASKED REGION PROFILE REMOVE CONFIRM CONTEXT \
  SERIAL FABRIC ERRORS IMAGE DOCKERFILE SIGN_WITH VERBOSE \
  MODEL TOKENS DAYS SERVE TTFT PROMPT ANSWER SPOT PICK
$(foreach name,$(TYPED),$(eval $(name) ?=)$(eval override $(name) := $$(value $(name))))
export $(TYPED)
# SECONDS is a variable of bash.
SECONDS_ASKED := $(SECONDS)
export SECONDS_ASKED

VENV := .venv/bin
# RUN also names a run of the stack.
RUN_ASKED := $(if $(filter command environment,$(origin RUN)),$(value RUN))
export RUN_ASKED
override RUN := $(VENV)/python -m
REHEARSAL := $(RUN) rehearsal
WHICH := --stack "$$STACK" $${SITE:+--site "$$SITE"}

# Runs a command with the words of ARGS appended: quotes and backslashes keep a word together, nothing else is special.
define APPEND_ARGS
import os, shlex, sys
try:
    words = shlex.split(os.environ["ARGS"])
except ValueError as error:
    sys.exit(f"error: ARGS cannot be split into words ({error}): close the quote")
os.execvp(sys.argv[1], sys.argv[1:] + words)
endef
export APPEND_ARGS
WITH_ARGS := $(VENV)/python -c "$$APPEND_ARGS"
STAMP := .venv/.requirements-$(shell sha256sum requirements-dev.txt | cut -c1-16)

##@ Plan: what a stack will be, without an account and without an engine

plan: setup ## numbers and findings of STACK or PRESET; TABLE=bom, cables or switches; SET='pools[0].count=9', AGAINST=NAME or BASE=<git ref> compares
	@$(RUN) planner $(if $(PRESET),--preset "$$PRESET",--stack "$$STACK") $${FORMAT:+--format "$$FORMAT"} \
	  $${TABLE:+--table "$$TABLE"} $${OUT:+--out "$$OUT"} $${SET:+--set "$$SET"} \
	  $${AGAINST:+--against "$$AGAINST"} $${BASE:+--base "$$BASE"} $${EXPLAIN:+--explain "$$EXPLAIN"}

new: setup ## write a new Pulumi.STACK.yaml from six questions; ARGS='--region eu-north-1 --serve -' answers some of them
	@$(WITH_ARGS) $(RUN) planner.new --stack "$$STACK"

lab: setup ## write Pulumi.STACK.yaml of a short-lived stack that destroys itself, from three questions; ARGS='--hours 8 --gpus 2 --budget 100' answers them
	@$(WITH_ARGS) $(RUN) planner.lab --stack "$$STACK"

propose: setup ## propose hardware: MODEL=llama-3-70b TOKENS=2e12 DAYS=30 BUDGET=5e6, or SERVE=llama-3-8b RPS=10 TTFT=1; OUT=Pulumi.mine.yaml writes it
	@$(RUN) planner.proposing

hosts: setup ## convert a supplier's machine list, CSV=list.csv, to `hosts` of the section gpucluster:inventory
	@$(RUN) planner.machines_csv "$$CSV"

slurm: setup ## write STACK (or PRESET) as Slurm configuration into OUT (build/slurm): configuration, accounts, checks, batch scripts
	@$(RUN) slurm $(if $(PRESET),--preset "$$PRESET",--stack "$$STACK") --out "$${OUT:-build/slurm}"

vmlab: setup ## write STACK (or PRESET=lab-vm) as virtual machines into OUT (build/vmlab): Vagrantfile, provisioning, a Mininet topology
	@$(RUN) vmlab $(if $(PRESET),--preset "$$PRESET",--stack "$$STACK") --out "$${OUT:-build/vmlab}"

##@ Runs: submitted by hand

submit: setup ## print the job of run RUN of STACK as YAML, for `kubectl create -f` into the same queue; OUT=job.yaml writes it
	@$(RUN) tests.graph.submit "$$STACK" "$$RUN_ASKED" $${OUT:+--out "$$OUT"} $${ACCOUNT:+--account "$$ACCOUNT"}

winner: setup ## write the values of EXPERIMENT's best trial into its run (or TO=RUN) in STACK's file, and show the line; CONTEXT= of kubectl
	@kubectl $${CONTEXT:+--context "$$CONTEXT"} get experiments --all-namespaces --field-selector "metadata.name=$$EXPERIMENT" --output json \
	  | $(RUN) planner.winner --stack "$$STACK" $${TO:+--to "$$TO"}

##@ Review: what a change does, for its reviewer

review: setup ## write what the tree changes against BASE=main in every stack (or STACK=prod), as a pull request's comment; OUT=DIR
	@$(WITH_ARGS) $(RUN) review $${BASE:+--base "$$BASE"} $(if $(STACK_ASKED),--stack "$$STACK") \
	  $${OUT:+--out "$$OUT"} $${WHOLE:+--whole "$$WHOLE"}

changed: setup ## print which stacks of DEPLOYED='["prod"]' differ from BASE, as JSON; ASKED=prod is included anyway
	@$(RUN) review.changed --base "$$BASE" --deployed "$$DEPLOYED" $${ASKED:+--asked "$$ASKED"}

drift: setup ## compare the account with STACK's file, reading only; writes to OUT (build/drift)
	@$(RUN) review.drift --stack "$$STACK" --out "$${OUT:-build/drift}"

##@ Dashboards

dashboards: setup ## write STACK's dashboards as JSON into OUT (build/dashboards); PROMETHEUS=http://127.0.0.1:9090 draws them as HTML with its data, HOURS=1 over the last hour
	@$(RUN) monitoring.picture --stack "$$STACK" --out "$${OUT:-build/dashboards}" $${PROMETHEUS:+--prometheus "$$PROMETHEUS"} $${HOURS:+--hours "$$HOURS"}

##@ Doctor: checks of a real account or real machines

doctor: setup ## check STACK against the account, or its on-premises machines and cables, reading only; ADDRESS=your public one; KEY=FILE (SSH); FABRIC=FILE; FORMAT=json
	@$(RUN) doctor --stack "$$STACK" $${FORMAT:+--format "$$FORMAT"} $${ADDRESS:+--address "$$ADDRESS"} $${KEY:+--key "$$KEY"} \
	  $${FABRIC:+--fabric "$$FABRIC"} $${ERRORS:+--errors "$$ERRORS"} $(if $(REGISTRIES),--registries)

power: setup ## control an on-premises machine by its BMC: NODE=dgx-01 WHAT=status, log, on, off, force-off, cycle or pxe; SERIAL=its serial number, to switch it
	@$(RUN) oob --stack "$$STACK" $${SERIAL:+--serial="$$SERIAL"} -- "$$NODE" "$$WHAT"

blocks: setup ## list capacity blocks on offer for STACK's pools, with price and purchase command; ARGS='--days 14 --from 2026-12-01'; buys nothing
	@$(WITH_ARGS) $(RUN) doctor.offers --stack "$$STACK"

##@ Real accounts: a first deployment, and clean-up

deploy: setup ## pulumi up of STACK on a real account or real machines; where it fails, also which component and what to do; ARGS='--yes --diff'
	@$(WITH_ARGS) $(RUN) deploy up --stack "$$STACK"

undeploy: setup ## pulumi destroy of STACK likewise; ARGS=--refresh
	@$(WITH_ARGS) $(RUN) deploy destroy --stack "$$STACK"

smoke: setup ## deploy STACK for real in stages, cheapest part first, and destroy it: make smoke STACK=lab BUDGET=10 (USD); costs money
	@$(RUN) smoke --stack "$$STACK" $${BUDGET:+--budget "$$BUDGET"} $${HOURS:+--hours "$$HOURS"}

sweep: setup ## list what expired stacks left in an account, with its price; REMOVE=lab deletes it; REGION= or REGION=all, PROFILE=, CONFIRM=lab
	@$(RUN) sweep $${REGION:+--region "$$REGION"} $${PROFILE:+--profile "$$PROFILE"} \
	  $${REMOVE:+--remove "$$REMOVE"} $${CONFIRM:+--confirm "$$CONFIRM"}

over: setup ## print true if the lab STACK has ended, by what its keeper goes by, else false; PROFILE=
	@$(RUN) review.over --stack "$$STACK" $${PROFILE:+--profile "$$PROFILE"}

trust: setup ## in a job of a workflow: refuse its AWS role if other jobs may take it or it may do more than such a job needs: a deployment, or ARGS=--look or --images; ENVIRONMENT=
	@$(WITH_ARGS) $(RUN) review.trust --environment "$$ENVIRONMENT"

extend: setup ## extend the lab STACK by HOURS=2, within its budget: make extend STACK=lab HOURS=2; REGION=, PROFILE=
	@$(RUN) sweep.extend --stack "$$STACK" --hours "$$HOURS" $${REGION:+--region "$$REGION"} $${PROFILE:+--profile "$$PROFILE"}

vacate: setup ## before pulumi destroy: delete what controllers created in STACK's cluster, interfaces of dead nodes, and runs submitted by hand; after it: late logs; CONTEXT= of kubectl, REGION=, PROFILE=, CONFIRM=
	@$(RUN) sweep.vacate --stack "$$STACK" $${CONTEXT:+--context "$$CONTEXT"} $${REGION:+--region "$$REGION"} \
	  $${PROFILE:+--profile "$$PROFILE"} $${CONFIRM:+--confirm "$$CONFIRM"}

destroy-plan: setup ## show what a destroy of STACK would leave, why, its price per month, and the order of the rest; no account
	@$(RUN) tests.graph.destroy "$$STACK"

##@ Rehearsal: apply a stack offline, without an account

up: setup ## check policies, apply STACK (default: dev) offline and leave it running; VERBOSE=1 lists all that was made
	@$(RUN) tests.graph "$$STACK"
	@$(WITH_ARGS) $(REHEARSAL) up $(WHICH) $(if $(VERBOSE),--verbose)

status: setup ## show nodes, gangs and services of the running rehearsal, and what is missing
	@$(REHEARSAL) status $(WHICH)

kubectl: setup ## run kubectl on the rehearsed cluster: make kubectl ARGS='get pods -A'
	@$(WITH_ARGS) $(REHEARSAL) kubectl $(WHICH) --

load: setup ## send RPS requests a second to SERVICE of the running rehearsal for SECONDS (600); RPS=0 stops
	@$(REHEARSAL) load $(WHICH) "$$SERVICE" --rps "$$RPS" $${SECONDS_ASKED:+--seconds "$$SECONDS_ASKED"}

fail: setup ## inject the fault WHAT into NODE of the running rehearsal (GPU=0, TARGET=device); WHAT=? lists the faults
	@$(REHEARSAL) fail $(WHICH) "$$NODE" "$$WHAT" $${GPU:+--gpu "$$GPU"} $${TARGET:+--target "$$TARGET"}

heal: setup ## clear the fault WHAT of NODE, or all of its faults
	@$(REHEARSAL) heal $(WHICH) "$$NODE" $${WHAT:+"$$WHAT"}

down: setup ## destroy STACK, prove that nothing is left, stop everything
	@$(REHEARSAL) down $(WHICH)

rehearse: setup ## check policies, apply, assert, preview without changes, destroy
	@$(RUN) tests.graph "$$STACK"
	@$(REHEARSAL) rehearse $(WHICH) $(if $(VERBOSE),--verbose)

preview: setup ## check policies and preview what the tree changes in STACK; BASE=<git ref> compares with that revision
	@$(RUN) tests.graph "$$STACK"
	@$(REHEARSAL) preview $(WHICH) $${BASE:+--base "$$BASE"}

refresh: setup ## show drift of the rehearsed STACK; YES=1 writes it to the state, `make up` then repairs it
	@$(REHEARSAL) refresh $(WHICH) $(if $(YES),--yes)

recover: setup ## clean up after a killed pulumi; RESTORE=1 replaces a damaged state; REAL=1 for a stack in your own account
	@$(REHEARSAL) recover $(WHICH) $(if $(REAL),--real) $(if $(CLEAR),--clear) $(if $(RESTORE),--restore)

##@ Checks

# One worker more than cores, so that a core has work while a worker waits; each takes 600 MB.
WORKERS := $(shell cores=$$(getconf _NPROCESSORS_ONLN); echo $$((cores < 8 ? cores + 1 : 8)))
# Said behind the tests, failed or not: a time says little without how fast the machine is in this hour.
YARDSTICK := trap '$(RUN) tests.bench.yardstick' EXIT

quick: setup ## run the fast tests, those of every day; ARGS='-n 2' for fewer processes than one more than cores
	@$(YARDSTICK); $(WITH_ARGS) $(RUN) pytest -n $(WORKERS) --dist loadgroup -m 'not engine and not slow'

slow: setup ## run the other tests that need no built tools: whole corpora, killed processes, MLflow and Kubeflow Pipelines from PyPI
	@$(RUN) tests.partners
	@$(YARDSTICK); $(WITH_ARGS) $(RUN) pytest -n $(WORKERS) --dist loadgroup -m 'slow and not engine'

test: export FUZZ ?= 5000
test: lint types contracts quick slow engine ## run everything that CI runs, with 5,000 random stack files (FUZZ)

engine: toolchain ## run the tests that apply stacks with the real engine, three sites at a time
	@$(YARDSTICK); $(WITH_ARGS) $(RUN) tests.again -n 3 --dist loadgroup --no-loadscope-reorder -m 'engine and not scale' \
	  --durations=25 --durations-min=30 --override-ini 'testpaths=tests/engine tests/rehearsed rehearsal/tests'

test-scale: toolchain ## run the largest rehearsals, beyond the engine tests' time: autoscaling under load, every failure in turn
	@$(WITH_ARGS) $(RUN) pytest -n 1 -m 'engine and scale' \
	  --override-ini 'testpaths=tests/engine tests/rehearsed rehearsal/tests'

presets: toolchain ## rehearse every shipped stack and preset, or PRESET; rewrites the table of docs/rehearsal.md (an hour)
	@$(RUN) tests.presets $${PRESET:+"$$PRESET"}

AS_ROOT = $(shell [ "$$(id -u)" = 0 ] || echo sudo)
OF_UBUNTU = kernel.apparmor_restrict_unprivileged_userns
packages: ## install on Debian or Ubuntu what rehearsed hosts, fabrics, Slurm and the VM lab take; on Ubuntu users may make namespaces until a boot
	@$(AS_ROOT) apt-get update --quiet
	@$(AS_ROOT) apt-get install --yes --no-install-recommends $$(grep -v '^#' rehearsal/apt.txt) \
	  mariadb-server munge ruby shellcheck slurm-wlm slurmdbd
	@if sysctl $(OF_UBUNTU) >/dev/null 2>&1; then $(AS_ROOT) sysctl $(OF_UBUNTU)=0; fi

policy: setup ## check the rules of policy/ over what STACK registers, without an engine
	@$(RUN) tests.graph "$$STACK"

mutants: setup ## mutate each argument of stacks and components, IN=components/serving; list the mutants that no test kills
	@$(WITH_ARGS) $(RUN) tests.mutants $${IN:+"$$IN"}

lint: setup ## check with ruff: rules and format
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .

types: setup ## check types with mypy --strict
	@$(VENV)/mypy

contracts: setup ## check which package may import which
	@PYTHONPATH=. $(VENV)/lint-imports --no-logo

fmt: setup ## fix and format with ruff
	@$(VENV)/ruff check --fix .
	@$(VENV)/ruff format .

bench: setup ## measure time and memory as in docs/benchmarks.md
	@$(WITH_ARGS) $(RUN) tests.bench

pack: policy/pack/.venv/.installed ## create the policy pack's environment: with it `make review` checks policies too

policy/pack/.venv/.installed: policy/pack/requirements.txt | setup
	@$(VENV)/python -m venv --clear policy/pack/.venv
	@policy/pack/.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

##@ Generated files

lock: setup ## compile the hashed requirement files from their .in files
	@for name in requirements requirements-dev rehearsal/toolchain/go-requirements policy/pack/requirements \
	    rehearsal/toolchain/pythons/mlflow rehearsal/toolchain/pythons/katib tests/partners/kfp; do \
	  $(VENV)/uv pip compile --quiet --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-header \
	    "$$name.in" --output-file "$$name.txt"; \
	done

reference: setup ## generate schemas, the reference pages, IAM policies of doctor and sweep, and runbooks
	@$(RUN) settings.schema
	@$(RUN) policy.page
	@$(RUN) planner.faces.generated
	@$(RUN) tests.graph.pages
	@$(RUN) doctor.policy
	@$(RUN) sweep.rights
	@$(RUN) monitoring.runbooks

site: setup ## build the pages of docs/ as a site in build/site; a dead link fails it
	@$(RUN) mkdocs build --quiet --site-dir build/site
	@echo "build/site/index.html"

picture: setup ## draw the pictures of README and docs: the on-premises fabric, and by a Chromium on PATH comments of pull requests
	@$(RUN) planner.faces.page.picture
	@$(RUN) tests.review.pictures

accept: setup ## rewrite the goldens that the quick tests compare with
	@$(WITH_ARGS) $(RUN) pytest -n $(WORKERS) --dist loadgroup -m 'not engine' --accept

images: setup ## list the images that STACK's nodes pull, each with its copy if supply.registry names a mirror; no account
	@$(RUN) tests.graph.images "$$STACK"

pin-images: setup ## resolve image digests (needs the registries)
	@$(RUN) catalogue.pins $$(sed -n 's/^ *image: *//p' Pulumi.*.yaml | sort -u)

sbom: setup ## list what the program consists of and deploys, as CycloneDX JSON; OUT=build/sbom.json writes it
	@$(RUN) catalogue.sbom $${OUT:+--out "$$OUT"}

charts: setup ## fetch the charts' packages into OUT (build/charts), verified against the recorded digests, for supply.charts
	@$(RUN) catalogue.upstream --packages "$${OUT:-build/charts}"

pin-charts: setup ## record the digests of charts that have none yet (needs their sites)
	@$(RUN) catalogue.upstream --record

upstream: setup ## fetch the vendors' complete charts and CRDs, with digests (needs their sites)
	@$(RUN) catalogue.upstream

##@ The trainer's image (images/trainer): needs Docker; to scan, push and sign also Trivy, the AWS CLI and Cosign

COMMIT := $(shell git rev-parse HEAD 2>/dev/null)
# The image by its repository and the commit that it is built of: tags of ECR never move here.
TAGGED := "$$IMAGE:$(COMMIT)"

image-check: setup ## check that DOCKERFILE (images/trainer/Dockerfile) has what the fabric of STACK's runs needs
	@$(RUN) planner.image_check --stack "$$STACK" "$${DOCKERFILE:-images/trainer/Dockerfile}"

image-named:
	@[ -n "$$IMAGE" ] || { echo "error: name the repository: make image IMAGE=123456789012.dkr.ecr.us-east-2.amazonaws.com/lab/trainer" >&2; exit 2; }

image: setup image-named ## build IMAGE=<repository> from the tree's commit, and check it for FABRIC=efa (infiniband, roce, none)
	@git diff --quiet HEAD -- images node || { echo "error: images or node differ from the commit: commit first, the tag is its name" >&2; exit 1; }
	@base=$$($(RUN) planner.image_check --base); docker buildx build --load --pull --provenance=false \
	  --build-arg BASE="$$base" --build-arg FABRIC="$${FABRIC:-efa}" --build-arg REVISION=$(COMMIT) \
	  --file images/trainer/Dockerfile --tag $(TAGGED) .

image-sbom: image-named ## list the image's contents as CycloneDX JSON in build/trainer.cdx.json
	@mkdir -p build; trivy image --quiet --format cyclonedx --output build/trainer.cdx.json $(TAGGED)

image-scan: image-named ## scan the image with Trivy; fails on HIGH or CRITICAL vulnerabilities that have a fix, and on secrets
	@trivy image --quiet --scanners vuln,secret --severity HIGH,CRITICAL --ignore-unfixed --exit-code 1 $(TAGGED)

image-push: image-named ## push the image to ECR; its digest goes to build/trainer.image
	@host="$${IMAGE%%/*}"; region="$${host#*.ecr.}"; \
	  aws ecr get-login-password --region "$${region%%.*}" | docker login --username AWS --password-stdin "$$host"
	@docker push --quiet $(TAGGED); mkdir -p build; \
	  docker inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' $(TAGGED) | grep -F "$$IMAGE@" | head -n 1 > build/trainer.image
	@cat build/trainer.image

image-sign: ## sign the pushed image and its SBOM, keyless by the job's identity or with SIGN_WITH=awskms:///alias/images
	@cosign sign --yes $${SIGN_WITH:+--use-signing-config=false --tlog-upload=false --key "$$SIGN_WITH"} "$$(cat build/trainer.image)"
	@cosign attest --yes $${SIGN_WITH:+--use-signing-config=false --tlog-upload=false --key "$$SIGN_WITH"} --type cyclonedx --predicate build/trainer.cdx.json "$$(cat build/trainer.image)"

##@ The pre-training pipeline: of the image that was pushed

pipeline: setup ## compile the pre-training pipeline at the tree's commit, for the image in build/trainer.image, into OUT (build/pretraining.yaml); ARGS has its words
	@git diff --quiet HEAD -- node || { echo "error: node differs from the commit: commit first, the pipeline's version is called by it" >&2; exit 1; }
	@mkdir -p build; image=$$(cat build/trainer.image 2>/dev/null || true); \
	  $(WITH_ARGS) $(RUN) tests.partners.compile --into="$${OUT:-build/pretraining.yaml}" --commit=$(COMMIT) $${image:+--image="$$image"}

##@ Setup

toolchain: setup ## build the rehearsal's tools into the cache
	@$(RUN) rehearsal.toolchain

setup: $(STAMP) ## create the Python environment from hashed requirements

# A stamp named after the requirements' hash: changed requirements are installed on the next call of any target.
$(STAMP): requirements-dev.txt
	@suits() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }; \
	if [ ! -x $(VENV)/python ] || ! suits $(VENV)/python; then \
	  for candidate in "$$PYTHON" python3 python3.14 python3.13 python3.12 python3.11 python; do \
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

help: ## print this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: plan propose slurm vmlab submit winner power destroy-plan lab dashboards doctor deploy undeploy smoke over trust extend up status kubectl down rehearse preview refresh recover quick slow test packages engine test-scale policy mutants lint types contracts fmt bench sweep vacate review changed drift new \
	lock reference picture \
	accept images pin-images charts pin-charts sbom upstream image-check image-named image image-sbom image-scan image-push image-sign pipeline toolchain pack setup help
