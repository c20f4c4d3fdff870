# jackpot: `make demo` runs the whole thing, `make test` passes. `make help` lists the rest.
SHELL := /bin/bash
PY := .venv/bin/python
STAMP := .venv/.stamp
# The system's certificates, if it has any: uv's own do not know a company's proxy.
UV = VIRTUAL_ENV=.venv .venv/bin/uv $$(test -e /etc/ssl/certs/ca-certificates.crt && echo --system-certs)

.PHONY: help setup demo test slow check format lock audit release bench bench-growth bench-boards soak simulate faults \
  cluster pictures clean

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

setup: $(STAMP) ## .venv, and the Debian packages that the tests use
	@deploy/system-packages.sh tests

$(STAMP): requirements.lock pyproject.toml
	@deploy/system-packages.sh python
	@$(PY) -m pip --version >/dev/null 2>&1 || { \
	  echo "setup: a virtual environment in .venv ($$(python3 --version))"; python3 -m venv --clear .venv; }
	@echo "setup: the packages of requirements.lock into .venv"
	@sed -n '/^uv==/,/[^\]$$/p' requirements.lock \
	  | $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --requirement /dev/stdin
	@{ $(UV) pip sync --quiet --require-hashes requirements.lock \
	  && $(UV) pip install --quiet --no-deps --no-build-isolation --editable .; } || { \
	  echo "setup: once more with pip, which is slower but knows this machine's package index"; \
	  $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock \
	  && $(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .; }
	@touch $@

check: $(STAMP) ## linters and types
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

test: setup ## the tests
	.venv/bin/pytest -n 2

slow: setup ## the long versions of tests that the suite has short; those of tests/faults are in `make faults`
	.venv/bin/pytest -n 2 -m slow --ignore=tests/faults

format: $(STAMP) ## formats the code
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

demo: $(STAMP) ## the whole floor, live
	.venv/bin/jackpot demo

bench: $(STAMP) ## speed, beside its limits
	.venv/bin/jackpot bench

bench-growth: $(STAMP) ## what must not cost as it grows: tables, links, 5 million events of history, open rounds
	.venv/bin/jackpot bench --growth

bench-boards: $(STAMP) ## what boards cost the money's path: none, fifty, some of them stuck
	.venv/bin/jackpot bench --boards

MINUTES ?= 60
soak: $(STAMP) ## MINUTES of play at 1,000 events/s: memory stays flat
	.venv/bin/jackpot bench --soak $(MINUTES)

DAYS ?= 1000
simulate: $(STAMP) ## DAYS of the floor on virtual time, two minutes of play each, some whole; an independent auditor
	$(PY) -m tests.simulation.run --days $(DAYS)

KILLS ?= 1000
faults: setup ## KILLS of the daemon, a third as many of broker and PostgreSQL, and all else that fails; one table of counts
	JACKPOT_KILLS=$(KILLS) .venv/bin/pytest -n 2 -m 'slow or not slow' tests/faults

.venv/cluster/.stamp: deploy/cluster/requirements.lock $(STAMP)
	@deploy/system-packages.sh cluster
	@echo "setup: the packages of deploy/cluster/requirements.lock into .venv/cluster"
	@# PostgreSQL does not run as root: its Patroni needs a Python that other users reach.
	@$(UV) venv --quiet --clear --python $$(test -x /usr/bin/python3 && echo /usr/bin/python3 || echo python3) .venv/cluster
	@$(UV) pip sync --quiet --python .venv/cluster --require-hashes deploy/cluster/requirements.lock \
	  || $(PY) -m pip --python .venv/cluster install --quiet --require-hashes --requirement deploy/cluster/requirements.lock
	@touch $@

cluster: KILLS = 2
cluster: .venv/cluster/.stamp ## three machines, two daemons: each kind of machine, node and daemon killed KILLS times
	$(PY) -m tests.cluster.rehearse --kills $(KILLS)

pictures: setup ## the README's pictures, from the running demo
	$(PY) deploy/pictures/make.py

COMPILE = $(UV) pip compile --generate-hashes --no-emit-index-url --no-header --no-annotate --universal \
  --python-version 3.11 --quiet
lock: ## resolves pyproject.toml into requirements.lock, and its group `cluster` into one of its own
	$(COMPILE) pyproject.toml --group dev --output-file requirements.lock
	$(COMPILE) --group cluster --output-file deploy/cluster/requirements.lock

audit: $(STAMP) ## looks every locked package up in the public list of vulnerabilities; fails if it cannot be asked
	deploy/supply/audit.sh

release: $(STAMP) ## dist/: the wheel, built twice and equal, what it runs with, bill of materials, deploy/, sums
	deploy/supply/release.sh

clean: ## removes what setup and the tests made
	rm -rf .venv dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
