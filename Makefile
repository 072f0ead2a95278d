# One target for everything a person does; `make help` lists them.
#
#   make train CONFIG=configs/mizan.yaml SET="training.max_steps=2000 run.seed=2"

PYTHON ?= python3
VENV   ?= .venv
CONFIG ?= configs/sample.yaml
RUN    ?= runs/sample
A      ?=
B      ?=
SET    ?=
SEARCH ?=
BEAM   ?=
CHECKPOINT ?=
TEST_SET ?=
ENGINE ?=
ADDRESS ?=
ENSEMBLE ?=
TEXT   ?=
NPROC  ?=
OF     ?= last
COUNT  ?= 5
KILLS  ?=
PORT   ?= 6006
DATASET ?=
TO     ?= ctranslate2
FOLDER ?=
QUANTIZATION ?=
INPUTS ?= 200000
QUALITY_PYTHON ?=
PLAN   ?=

BIN  := $(VENV)/bin
SETS := $(foreach override,$(SET),--set '$(override)')
PROCESSES := $(if $(NPROC),--set training.processes=$(NPROC))
SEARCH_FLAGS := $(if $(SEARCH),--search '$(SEARCH)') $(if $(BEAM),--beam '$(BEAM)') $(if $(CHECKPOINT),--checkpoint '$(CHECKPOINT)')
EVALUATE_FLAGS := $(if $(SEARCH),--search '$(SEARCH)') $(if $(BEAM),--beam '$(BEAM)') $(if $(ENGINE),--engine '$(ENGINE)') \
  $(foreach checkpoint,$(CHECKPOINT),--checkpoint '$(checkpoint)') $(foreach set,$(TEST_SET),--test-set '$(set)') \
  $(if $(ENSEMBLE),--ensemble)

# RUN is a list, and a path with spaces in it is one run where that run is there.
empty :=
space := $(empty) $(empty)
RUNS = $(if $(wildcard $(subst $(space),\ ,$(RUN))/config.yaml),--run '$(RUN)',$(foreach run,$(RUN),--run '$(run)'))

# The recipe of a benchmark is its own unless one is named.
BENCH_FLAGS := $(if $(filter command line,$(origin CONFIG)),--config '$(CONFIG)') $(SETS)
# Make would expand the text again when it hands it on by itself.
unexport TEXT

.DEFAULT_GOAL := help
.PHONY: help docs install install-dev download prepare train evaluate compare translate export serve average runs tensorboard pictures doctor schema sample test test-browser screenshots chromium check format lint types bench bench-train bench-search bench-quality bench-gpu experiments scaling torture fuzz dist newcomer clean

help:  ## show this list
	@echo 'make TARGET [NAME=value ...]'
	@awk -F ':.*## *' '/^[a-z-]+:.*##/ {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo 'CONFIG=$(CONFIG)  RUN=$(RUN)  SET="key.path=value ..." (no spaces in a value)  SEARCH=greedy|beam|sampling  BEAM=5  TEXT="..."  PORT=$(PORT)'

# A stamp each, so that what is installed is installed once and again only when its list changes.
# The probe stops an old or missing Python before pip can fail in a riddle.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'translator needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ...' >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo 'this Python lacks its venv module; on Debian or Ubuntu: apt install python3-venv' >&2; exit 2; }
	$(PYTHON) -m venv '$(VENV)'

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	'$(BIN)/python' -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch '$@'

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	'$(BIN)/python' -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch '$@' '$(VENV)/.installed'

install: $(VENV)/.installed  ## make .venv with translator in it

install-dev: $(VENV)/.installed-dev  ## the same, with the tools that the checks need

download: install  ## fetch DATASET=mizan|tatoeba|flores200 into data/; nothing is downloaded without being asked
	@'$(BIN)/translator' download $(if $(DATASET),'$(DATASET)')

prepare: install  ## clean and split the corpus of CONFIG, train its subword models, store its tokens
	@'$(BIN)/translator' prepare --config '$(CONFIG)' $(SETS)

train: install  ## train the recipe CONFIG (default: the embedded sample), then evaluate it; NPROC=4 processes
	@'$(BIN)/translator' train --config '$(CONFIG)' $(SETS) $(PROCESSES)

evaluate: install  ## score RUN, or RUN="A B", on its test sets or TEST_SET="NAME=PATH ..."; SEARCH= BEAM= CHECKPOINT="best last" ENGINE= ENSEMBLE=1
	@'$(BIN)/translator' evaluate $(RUNS) $(EVALUATE_FLAGS) $(SETS)

compare: install  ## say whether run B is better than run A, by paired significance tests; both evaluated before
	@'$(BIN)/translator' compare $(if $(A),'$(A)') $(if $(B),'$(B)')

average: install  ## average COUNT=5 checkpoints of RUN, OF=last or best, into its checkpoint `averaged`
	@'$(BIN)/translator' average --run '$(RUN)' --count $(COUNT) --of $(OF)

runs: install  ## list the runs: state, best score, speed
	@'$(BIN)/translator' runs

translate: install  ## translate TEXT, or standard input line by line, with RUN
	@'$(BIN)/translator' translate --run '$(RUN)' $(SEARCH_FLAGS) $(SETS) $(if $(value TEXT),-- "$$TRANSLATE_TEXT")
# `value` keeps a dollar sign in the text a dollar sign.
translate: export TRANSLATE_TEXT = $(value TEXT)

$(VENV)/.installed-export: pyproject.toml constraints.txt | $(BIN)/python
	'$(BIN)/python' -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[export]'
	@touch '$@' '$(VENV)/.installed'

export: $(VENV)/.installed-export  ## write RUN for other programs into FOLDER; TO=ctranslate2|marian|safetensors
	@'$(BIN)/translator' export --run '$(RUN)' --to '$(TO)' $(if $(CHECKPOINT),--checkpoint '$(CHECKPOINT)') $(if $(QUANTIZATION),--quantization '$(QUANTIZATION)') '$(or $(FOLDER),exports/$(notdir $(RUN))-$(TO))'

$(VENV)/.installed-serve: pyproject.toml constraints.txt | $(BIN)/python
	'$(BIN)/python' -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[serve]'
	@touch '$@' '$(VENV)/.installed'

# PORT is TensorBoard's unless one is named.
serve: $(VENV)/.installed-serve  ## serve RUN as a page and a JSON API at http://127.0.0.1:8000/, or at PORT; ADDRESS=0.0.0.0 lets other machines in
	@'$(BIN)/translator' serve --run '$(RUN)' $(if $(filter file,$(origin PORT)),,--port '$(PORT)') $(if $(ADDRESS),--host '$(ADDRESS)') $(if $(ENGINE),--engine '$(ENGINE)') $(SEARCH_FLAGS) $(SETS)

tensorboard: install  ## watch all runs in a browser, at PORT
	@'$(BIN)/translator' tensorboard runs --port $(PORT)

SENTENCE := "The children are at school."
PICTURE = '$(BIN)/translator' plot $(1) --output docs/pictures/$(2).svg

pictures: install  ## draw the pictures of the docs anew, from RUN (train it before) and from the recipes
	@$(call PICTURE,attention --run '$(RUN)' $(SENTENCE),attention)
	@$(call PICTURE,attention --run '$(RUN)' $(SENTENCE) --head all,attention-heads)
	@$(call PICTURE,attention --run '$(RUN)' $(SENTENCE) --head all --kind decoder,attention-decoder)
	@$(call PICTURE,curves '$(RUN)' --smooth 3,curves)
	@$(call PICTURE,cache --run '$(RUN)' --beam 4 --step 5 $(SENTENCE),cache)
	@$(call PICTURE,masks,masks)
	@$(call PICTURE,positions --config configs/sample.yaml,positions)
	@$(call PICTURE,positions --config configs/cpu-small.yaml,positions-rotary)
	@$(call PICTURE,schedule --config configs/sample.yaml --config configs/mizan-small.yaml,schedule)
	@$(call PICTURE,batches --config configs/sample.yaml,batches)

doctor: install  ## look at this machine: versions, devices, memory, disk, what is missing and how to get it
	@'$(BIN)/translator' doctor

schema: install  ## write configs/schema.json anew, by which editors complete and check recipes
	@'$(BIN)/translator' schema --output configs/schema.json

$(VENV)/.installed-docs: pyproject.toml constraints.txt | $(BIN)/python
	'$(BIN)/python' -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch '$@' '$(VENV)/.installed'

# The theme announces its successor at every start; the variable is its own switch for that.
docs: $(VENV)/.installed-docs  ## build these pages as a site, from docs/ and the code, into site/index.html
	NO_MKDOCS_2_WARNING=1 '$(BIN)/python' -m mkdocs build --strict

sample: install  ## write the embedded sample corpus anew
	'$(BIN)/python' scripts/make_sample_corpus.py

test: install-dev  ## run the tests, a process for each core, four at most
	OMP_NUM_THREADS=1 '$(BIN)/python' -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# The browser is Debian's, from its own archive; nothing else is asked for.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	  { echo 'installing Chromium' && sudo=$$(test "$$(id -u)" = 0 || echo sudo -n) && \
    { $$sudo apt-get install -y -q chromium >/dev/null 2>&1 || \
      { $$sudo apt-get update -q >/dev/null && $$sudo apt-get install -y -q chromium >/dev/null; }; }; } || \
	  { echo 'the browser tests need Chromium, and it cannot be installed from here; on Debian, as root: apt-get install chromium' >&2; exit 2; }

BROWSER_TESTS = OMP_NUM_THREADS=1 '$(BIN)/python' -m pytest -m ''

test-browser: install-dev chromium  ## look at every page in Chromium: TensorBoard on tiny runs, reports, the server, the docs
	$(BROWSER_TESTS) tests/browser tests/evaluation/report/test_browser.py tests/test_docs_site.py

screenshots: install-dev chromium  ## keep what these tests see of RUN, or RUN="A B", evaluated before, in docs/pictures/browser
	BROWSER_RUNS='$(subst $(space),:,$(strip $(RUN)))' BROWSER_PICTURES=docs/pictures/browser $(BROWSER_TESTS) tests/browser/test_tensorboard.py tests/browser/test_pages.py

format: install-dev  ## put every file into the house style
	'$(BIN)/ruff' format .
	'$(BIN)/ruff' check --fix .

lint: install-dev
	'$(BIN)/ruff' format --check .
	'$(BIN)/ruff' check .

types: install-dev
	'$(BIN)/mypy'

check: lint types test  ## everything that must hold before a change lands

$(VENV)/.installed-bench: pyproject.toml constraints.txt | $(BIN)/python
	'$(BIN)/python' -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	@touch '$@' '$(VENV)/.installed'

bench: $(VENV)/.installed-bench  ## measure speed (see docs/results.md); the last part prepares 4,000,000 pairs and takes some minutes
	'$(BIN)/python' -m bench $(BENCH_FLAGS)

bench-train: $(VENV)/.installed-bench  ## training speed and learning curves beside nn.Transformer and Marian
	'$(BIN)/python' -m bench training $(BENCH_FLAGS)

bench-search: $(VENV)/.installed-bench  ## search speed beside CTranslate2 and Hugging Face; trains bench/search.yaml first, once
	@test -e runs/bench/search/checkpoints/best || '$(BIN)/translator' train --config bench/search.yaml
	'$(BIN)/python' -m bench search $(BENCH_FLAGS)

# eole has an environment of its own, unless QUALITY_PYTHON names one that has it.
$(VENV)/eole/.installed: bench/quality-eole.txt constraints.txt | $(BIN)/python
	'$(BIN)/python' -m venv '$(VENV)/eole'
	'$(VENV)/eole/bin/python' -m pip install --quiet --disable-pip-version-check -r bench/quality-eole.txt $$(grep '^torch==' constraints.txt)
	@touch '$@'

bench-quality: $(VENV)/.installed-bench $(if $(QUALITY_PYTHON),,$(VENV)/eole/.installed)  ## our recipe beside eole and Marian, 25 minutes of training each, then tables (hours; goes on where it stopped)
	QUALITY_PYTHON='$(or $(QUALITY_PYTHON),$(VENV)/eole/bin/python)' '$(BIN)/python' -m bench.quality $(if $(PLAN),--config '$(PLAN)')

bench-gpu: $(VENV)/.installed-bench  ## training speed on a GPU beside Marian, as a share of its matrix rate
	'$(BIN)/python' -m bench gpu

experiments: install  ## train the variants of bench/experiments.yaml and compare them (hours; goes on where it stopped)
	'$(BIN)/python' -m bench.experiments

scaling: install  ## simulate how evenly up to 64 processes are loaded, and measure one against two
	'$(BIN)/python' -m bench.scaling simulate
	'$(BIN)/python' -m bench.scaling measure

torture: install-dev  ## kill training at 25 instants a scenario (KILLS=N), and in every other way, and compare the bits
	'$(BIN)/python' -m bench.torture $(if $(KILLS),--kills $(KILLS))

fuzz: install-dev  ## read INPUTS=200000 broken corpora and look for tracebacks and misaligned pairs
	'$(BIN)/python' -m bench.fuzz --inputs $(INPUTS)

$(VENV)/.installed-dist: pyproject.toml constraints.txt | $(BIN)/python
	'$(BIN)/python' -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dist]'
	@touch '$@' '$(VENV)/.installed'

dist: $(VENV)/.installed-dist  ## build dist/: a source distribution, and from it a wheel; look into both
	rm -rf dist
	'$(BIN)/python' -m build
	'$(BIN)/twine' check --strict dist/*
	'$(BIN)/check-wheel-contents' dist/*.whl
	'$(BIN)/python' scripts/check_distributions.py dist

newcomer: dist  ## walk through the first hour with both, without git, home, network or much memory
	'$(BIN)/python' -m bench.newcomer dist

clean:  ## remove what was built: environment, caches, prepared data; runs and corpora stay
	rm -rf '$(VENV)' data/prepared build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
