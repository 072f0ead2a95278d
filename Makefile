# One target for everything a person does; `make help` lists them.
#
#   make train CONFIG=configs/mizan.yaml SET="training.max_steps=2000 run.seed=2"

PYTHON ?= python3
VENV   ?= .venv
CONFIG ?= $(if $(CORPUS),,configs/sample.yaml)
RUN    ?= runs/sample
PORT   ?= 6006
TO     ?= ctranslate2
PART   ?= training search preparation

BIN  := $(VENV)/bin
# One word of a shell command, apostrophes included.
quoted = '$(subst ','\'',$(1))'
SETS := $(if $(SET),--set $(foreach override,$(SET),$(call quoted,$(override))))
PROCESSES := $(if $(NPROC),--set training.processes=$(NPROC))
SEARCH_FLAGS := $(if $(SEARCH),--search $(call quoted,$(SEARCH))) $(if $(BEAM),--beam $(call quoted,$(BEAM))) $(if $(ENGINE),--engine $(call quoted,$(ENGINE)))
CHECKPOINTS := $(foreach checkpoint,$(CHECKPOINT),--checkpoint $(call quoted,$(checkpoint)))

# RUN is a list; a path with spaces is one run where that run exists.
empty :=
space := $(empty) $(empty)
RUNS = $(if $(wildcard $(subst $(space),\ ,$(RUN))/config.yaml),--run $(call quoted,$(RUN)),$(foreach run,$(RUN),--run $(call quoted,$(run))))
# Make would expand the text again when it exports it by itself.
unexport TEXT

# A setting that no target has would be ignored without a word.
SETTINGS := PYTHON VENV CONFIG CORPUS RUN PORT TO PART SET NPROC SEARCH BEAM ENGINE CHECKPOINT TEXT DATASET TEST_SET \
            ENSEMBLE ROBUSTNESS A B FOLDER QUANTIZATION ADDRESS OPTIONS TESTS QUALITY_PYTHON
typed = $(foreach name,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(name)))),$(name)))
unknown := $(filter-out $(SETTINGS) MAKE% -%,$(typed))
ifneq ($(unknown),)
$(error $(firstword $(unknown)) is no setting of make. A key of a recipe needs SET="key=value"; the settings are $(SETTINGS))
endif

.DEFAULT_GOAL := help
.PHONY: help install download prepare train evaluate compare translate export serve tensorboard lint test test-core check schema format test-browser bench bench-gpu docs dist clean

help:  ## show this list
	@echo 'make TARGET [NAME=value ...]'
	@awk -F ':.*## *' '/^[a-z-]+:.*##/ {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo 'CONFIG=$(CONFIG)  RUN=$(RUN)  SET="key.path=value ..." (no spaces in a value)  SEARCH=greedy|beam|sampling  BEAM=5  TEXT="..."  PORT=$(PORT)'
	@echo 'Other verbs: $(BIN)/translator --help'

# The probe stops an old or incomplete Python with a clear message before pip fails.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'translator needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ...' >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo 'this Python lacks its venv module; on Debian or Ubuntu: apt install python3-venv' >&2; exit 2; }
	$(PYTHON) -m venv '$(VENV)'

# A stamp for each extra: it is installed once, and again when its list changes.
$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo 'installing torch and the other packages into $(VENV): a minute, and first a download if pip has no copy' >&2
	@'$(BIN)/python' -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch '$@'

$(VENV)/.installed-%: pyproject.toml constraints.txt | $(BIN)/python
	@echo 'installing what $* needs into $(VENV): a minute, and first a download if pip has no copy' >&2
	@'$(BIN)/python' -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$*]'
	@touch '$@' '$(VENV)/.installed'

install: $(VENV)/.installed  ## make .venv with translator in it

download: install  ## fetch DATASET=mizan|opus:NAME/VERSION|ntrex128 into data/, or list what there is; no other target downloads a corpus
	@'$(BIN)/translator' download $(if $(DATASET),$(call quoted,$(DATASET)))

prepare: install  ## clean and split the corpus of CONFIG or CORPUS="my.en my.fa", train its subword models, store its tokens
	@'$(BIN)/translator' prepare $(if $(CONFIG),--config $(call quoted,$(CONFIG))) $(if $(CORPUS),--corpus $(CORPUS)) $(SETS)

train: install  ## train the recipe CONFIG (default: the embedded sample) or CORPUS="my.en my.fa", then evaluate it; NPROC=4 processes
	@'$(BIN)/translator' train $(if $(CONFIG),--config $(call quoted,$(CONFIG))) $(if $(CORPUS),--corpus $(CORPUS)) $(SETS) $(PROCESSES)

evaluate: install  ## score RUN, or RUN="A B", on its test sets or TEST_SET="NAME=PATH ..."; SEARCH= BEAM= CHECKPOINT="best last" ENGINE= ENSEMBLE=1 ROBUSTNESS=1
	@'$(BIN)/translator' evaluate $(RUNS) $(SEARCH_FLAGS) $(CHECKPOINTS) $(foreach set,$(TEST_SET),--test-set $(call quoted,$(set))) $(if $(ENSEMBLE),--ensemble) $(if $(ROBUSTNESS),--robustness) $(SETS)

compare: install  ## test whether run B is better than run A; both evaluated before
	@'$(BIN)/translator' compare $(if $(A),$(call quoted,$(A))) $(if $(B),$(call quoted,$(B)))

translate: install  ## translate TEXT, or standard input line by line, with RUN
	@'$(BIN)/translator' translate --run $(call quoted,$(RUN)) $(SEARCH_FLAGS) $(CHECKPOINTS) $(SETS) $(if $(value TEXT),-- "$$TRANSLATE_TEXT")
# `value` keeps a dollar sign in the text a dollar sign.
translate: export TRANSLATE_TEXT = $(value TEXT)

export: install  ## write RUN for other programs into FOLDER; TO=ctranslate2|marian|safetensors
	@'$(BIN)/translator' export --run $(call quoted,$(RUN)) --to $(call quoted,$(TO)) $(CHECKPOINTS) $(if $(QUANTIZATION),--quantization $(call quoted,$(QUANTIZATION))) $(call quoted,$(or $(FOLDER),exports/$(notdir $(patsubst %/,%,$(RUN)))-$(TO)))

# PORT is TensorBoard's unless one is named.
serve: $(VENV)/.installed-serve  ## serve RUN as a page and a JSON API at http://127.0.0.1:8000/, or at PORT; ADDRESS=0.0.0.0 lets other machines in
	@'$(BIN)/translator' serve --run $(call quoted,$(RUN)) $(if $(filter file,$(origin PORT)),,--port $(call quoted,$(PORT))) $(if $(ADDRESS),--host $(call quoted,$(ADDRESS))) $(SEARCH_FLAGS) $(CHECKPOINTS) $(SETS)

tensorboard: install  ## watch all runs in a browser, at PORT
	@'$(BIN)/translator' tensorboard runs --port $(PORT)

lint: $(VENV)/.installed-dev  ## format check, lint, spelling and types
	'$(BIN)/ruff' format --check .
	'$(BIN)/ruff' check .
	'$(BIN)/codespell' translator configs docs bench scripts notebooks *.md
	'$(BIN)/mypy'

test: $(VENV)/.installed-dev  ## run the tests, or TESTS="tests/search FILE ...", one process per core, four at most
	OMP_NUM_THREADS=1 '$(BIN)/python' -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(TESTS)

test-core: TESTS := tests/core
test-core: test  ## run the tests of the core alone, in seconds

check: lint test  ## lint and test: what must hold before a change lands

schema: install  ## write configs/schema.json, from which editors complete and check the keys of a recipe
	@'$(BIN)/python' -c 'from translator.config.writing import schema_text; print(schema_text(), end="")' > configs/schema.json

format: $(VENV)/.installed-dev  ## format every file
	'$(BIN)/ruff' format .
	'$(BIN)/ruff' check --fix .

# The browser is Debian's, from its own archive.
test-browser: $(VENV)/.installed-dev  ## test every page in Chromium: TensorBoard, reports, the server, the docs
	@command -v chromium chromium-browser google-chrome >/dev/null || \
	  { echo 'the browser tests need Chromium; on Debian, as root: apt-get install chromium' >&2; exit 2; }
	OMP_NUM_THREADS=1 '$(BIN)/python' -m pytest -m browser

# eole has an environment of its own, unless QUALITY_PYTHON names one that has it.
$(VENV)/eole/.installed: bench/quality-eole.txt constraints.txt | $(BIN)/python
	'$(BIN)/python' -m venv '$(VENV)/eole'
	'$(VENV)/eole/bin/python' -m pip install --quiet --disable-pip-version-check -r bench/quality-eole.txt $$(grep '^torch==' constraints.txt)
	@touch '$@'

bench: $(VENV)/.installed-bench $(if $(filter quality,$(PART)),$(if $(QUALITY_PYTHON),,$(VENV)/eole/.installed))  ## measure PART="training search preparation", or torture, quality ...; OPTIONS="--rounds 3"
	QUALITY_PYTHON='$(or $(QUALITY_PYTHON),$(VENV)/eole/bin/python)' '$(BIN)/python' -m bench $(PART) $(if $(filter command line,$(origin CONFIG)),--config $(call quoted,$(CONFIG))) $(SETS) $(OPTIONS)

bench-gpu: PART := gpu
bench-gpu: bench  ## measure all that is to be known of a GPU, in eight minutes

# The theme announces its successor at every start; the variable is its own switch for that.
docs: $(VENV)/.installed-docs  ## build these pages as a site, from docs/ and the code, into site/index.html
	NO_MKDOCS_2_WARNING=1 '$(BIN)/python' -m mkdocs build --strict

dist: $(VENV)/.installed-dist  ## build dist/: a source distribution, and from it a wheel; check both
	rm -rf dist
	'$(BIN)/python' -m build
	'$(BIN)/twine' check --strict dist/*
	'$(BIN)/check-wheel-contents' dist/*.whl
	'$(BIN)/python' scripts/check_distributions.py dist

clean:  ## remove what was built: environment, caches, prepared data; runs and corpora stay
	rm -rf '$(VENV)' data/prepared build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
