"""Small corpora and recipes that several tests share."""

import logging
import multiprocessing
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import torch

from tests.support.few_draws import RESAMPLES, TRIALS
from tests.support.tiny_recipe import Recipe, draw_nothing, write_recipe
from translator.config import Config, parse_config
from translator.run.logging import warn_once

# Who starts us in the background may ignore these for us, and for all that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Two threads of one process fight for the cores with the next process, and our tensors here are tiny.
torch.set_num_threads(1)

# A busy machine takes its time.
hypothesis.settings.register_profile("without deadline", deadline=None)
hypothesis.settings.load_profile("without deadline")

DEAREST = (
    "test_docs_commands.py",
    "fence/test_deriving.py",
    "bench/test_verbs.py",
    "fence/test_ranks.py",
    "core/test_page.py",
    "fence/test_tags.py",
    "fence/test_given_translations.py",
    "test_docs_examples.py",
    "core/test_toy_tasks.py",
    "test_notebook.py",
    "fence/test_translating.py",
    "bench/test_gpu.py",
    "training/test_resume.py",
    "cli/test_command_line.py",
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
def few_draws(request: pytest.FixtureRequest) -> Iterator[None]:
    """Draw few sentences where scores are compared."""
    with pytest.MonkeyPatch.context() as patch:
        # Tests of the core alone import no other room.
        if any("core" not in item.path.parts for item in request.session.items):
            patch.setattr("translator.evaluation.metrics.RESAMPLES", RESAMPLES)
            patch.setattr("translator.evaluation.significance.TRIALS", TRIALS)
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


@pytest.fixture
def tiny_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe file for a copy task of 200 words that trains in half a second."""
    draw_nothing(monkeypatch)
    return write_recipe(tmp_path)


@pytest.fixture(scope="session")
def trained_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny recipe, its corpus, its prepared data and its finished run; to be read only."""
    from tests.support.tiny_runs import run  # few tests need what it imports

    folder = tmp_path_factory.mktemp("trained")
    config = parse_config(write_recipe(folder).read_text(encoding="utf-8"), "tiny.yaml")
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        run(config)
    return folder


@pytest.fixture(scope="session")
def random_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of the tiny recipe with random weights; to be read only."""
    from tests.support.untrained import untrained_run

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
