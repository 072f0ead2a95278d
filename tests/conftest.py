"""Small corpora and recipes that several tests share."""

import logging
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from toy import letters, write_pairs

from translator.config import Config, parse_config
from translator.run.logging import warn_once

# Who starts us in the background may ignore these for us, and for all that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Two threads of one process fight for the cores with the next process, and our tensors here are tiny.
torch.set_num_threads(1)

Recipe = Callable[..., Config]

TINY = """
run: {{directory: "{folder}/run", seed: 1, device: cpu, threads: 1}}
corpus:
  sources: [{{name: toy, path: "{folder}/toy.tsv"}}]
  filters: {{min_target_script: null, max_untranslated: null}}
  split: {{validation: 20, test: 20}}
  prepared_directory: "{folder}/prepared"
subword: {{model_type: char, vocabulary_size: 60}}
batching: {{tokens_per_batch: 200, max_length: 40}}
model:
  {{d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 32, dropout: 0.1, max_positions: 64}}
training:
  {{precision: float32, max_steps: 12, warmup_steps: 4, log_every: 3, validate_every: 6, validation_sentences: 8,
   checkpoint_every: 4}}
search: {{method: greedy}}
evaluation: {{bootstrap_samples: 40}}
"""


DEAREST = (
    "test_promises.py",
    "test_docs_commands.py",
    "training/test_distributed.py",
    "training/test_launching.py",
    "training/test_kill.py",
    "test_toy_tasks.py",
    "evaluation/test_evaluate.py",
    "training/test_resume.py",
    "training/test_checkpointing.py",
)
"""The slowest files; they begin first, so that no process is left alone with one of them at the end."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the dearest files first; it needs `--no-loadscope-reorder` where files are spread over processes."""
    folder = Path(__file__).parent
    places = {folder / name: place for place, name in enumerate(DEAREST)}
    items.sort(key=lambda item: places.get(item.path, len(DEAREST)))


@pytest.fixture(autouse=True)
def fresh_process() -> None:
    """Undo, before a test, what a run of a fixture has set for the process: our logger, and how products round."""
    warn_once.cache_clear()
    logger = logging.getLogger("translator")
    logger.propagate, logger.handlers[:], logger.filters[:] = True, [], []
    logger.setLevel(logging.NOTSET)
    torch.set_float32_matmul_precision("highest")


@pytest.fixture(scope="session", autouse=True)
def no_flushing() -> Iterator[None]:
    """Flushing many small files costs time, and a test sees no power cut; a handle must still be an open one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)
        yield


@pytest.fixture(scope="session", autouse=True)
def ready_workers() -> Iterator[None]:
    """Fork the worker processes of this process from one that has imported everything and has no threads."""
    get_context = multiprocessing.get_context
    multiprocessing.set_forkserver_preload(["translator.data", "translator.subword"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            multiprocessing,
            "get_context",
            lambda method=None: get_context("forkserver" if method == "spawn" else method),
        )
        yield


def draw_nothing(patch: pytest.MonkeyPatch) -> None:
    """Draw no attention in this process; runs in processes of their own do."""
    patch.setattr("translator.training.monitor.attention_figure", lambda *_: np.zeros((1, 1, 3), np.uint8))


def compare_with_few_draws(patch: pytest.MonkeyPatch) -> None:
    """Test differences of scores with 40 draws, not 10,000."""
    from translator.evaluation.resampling import resample  # few tests need what it imports

    def with_few_draws(systems: Any, metric: Any, references: Any, kind: Any, draws: int) -> Any:
        return resample(systems, metric, references, kind, 40)

    patch.setattr("translator.evaluation.significance.resample", with_few_draws)


@pytest.fixture
def tiny_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe file for a copy task of 200 words that trains in half a second."""
    draw_nothing(monkeypatch)
    return write_recipe(tmp_path)


def write_recipe(folder: Path) -> Path:
    write_pairs(folder / "toy.tsv", [(word, word) for word in letters(200, seed=1)])
    recipe = folder / "tiny.yaml"
    recipe.write_text(TINY.format(folder=folder), encoding="utf-8")
    return recipe


@pytest.fixture(scope="session")
def trained_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny recipe, its corpus, its prepared data and its finished run; to be read only."""
    from tiny_runs import run  # few tests need what it imports

    folder = tmp_path_factory.mktemp("trained")
    config = parse_config(write_recipe(folder).read_text(encoding="utf-8"), "tiny.yaml")
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        run(config)
    return folder


@pytest.fixture(scope="session")
def random_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of the tiny recipe with random weights; to be read only."""
    from untrained import untrained_run

    recipe = write_recipe(tmp_path_factory.mktemp("random"))
    return untrained_run(parse_config(recipe.read_text(encoding="utf-8"), "tiny.yaml")).path


@pytest.fixture
def trained(trained_folder: Path, tiny_recipe: Path) -> Path:
    """The run folder of the tiny recipe, trained as it is: a copy of one that all tests share."""
    folder = tiny_recipe.parent
    for name in ("prepared", "run"):
        shutil.copytree(trained_folder / name, folder / name, symlinks=True)
    settings = folder / "run" / "config.yaml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace(str(trained_folder), str(folder)), encoding="utf-8")
    return folder / "run"


@pytest.fixture
def tiny(tiny_recipe: Path) -> Recipe:
    def make(*overrides: str) -> Config:
        return parse_config(tiny_recipe.read_text(encoding="utf-8"), str(tiny_recipe), overrides)

    return make
