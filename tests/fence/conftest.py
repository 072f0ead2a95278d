"""One small run that all files of the fence share, and folders to work in."""

import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from tests.fence.short_runs import short
from tests.fence.small_language import all_pairs
from tests.support.command_line import succeed
from tests.support.faults import Faults

RECIPE = """
run: {{directory: "{folder}/runs/small", seed: 1, device: cpu, threads: 1}}
corpus:
  sources: [{{name: small, path: "{folder}/small.tsv"}}]
  split: {{validation: 30, test: 30}}
  prepared_directory: "{folder}/prepared"
subword: {{model_type: unigram, vocabulary_size: 61, placeholders: 8}}
batching: {{tokens_per_batch: 512, max_length: 64}}
model:
  {{d_model: 64, heads: 4, encoder_layers: 2, decoder_layers: 2, feed_forward: 128, dropout: 0.05, max_positions: 128}}
training:
  precision: float32
  optimizer: muon
  initialization: counts
  learning_rate: 8e-3
  schedule: cosine
  warmup_steps: 20
  max_steps: 150
  augmentation: {{copies: 0.3, final_punctuation: 0.1}}
  log_every: 10
  validate_every: 75
  validation_sentences: 20
  checkpoint_every: 75
search: {{method: beam, beam_size: 4, length_penalty: 1.0}}
"""
"""The recipe of the small run; `{folder}` has its corpus."""


def write_small_recipe(folder: Path) -> Path:
    """Write the corpus of the small language and the recipe that trains on it; return the recipe's path."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"{english}\t{persian}\n" for english, persian in all_pairs()]
    (folder / "small.tsv").write_text("".join(rows), encoding="utf-8")
    recipe = folder / "small.yaml"
    recipe.write_text(RECIPE.format(folder=folder), encoding="utf-8")
    return recipe


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all processes of a test run share."""
    folder = tmp_path_factory.getbasetemp()
    return folder if worker_id == "master" else folder.parent


def train_once(folder: Path, *options: str) -> Path:
    """Train the small recipe in `folder`, unless another process of the test run has done so; return the folder."""
    with FileLock(f"{folder}.lock"):
        if not (folder / "trained").exists():
            succeed("train", "--config", write_small_recipe(folder), *options)
            (folder / "trained").touch()
    return folder


@pytest.fixture(scope="session")
def small(shared: Path) -> Path:
    """The folder with the small corpus (`small.tsv`), its recipe (`small.yaml`) and its finished run (`runs/small`).

    Trained once for all processes of a test run; to be read only, `small_copy` is there to be changed.
    """
    return train_once(shared / "fence")


@pytest.fixture(scope="session")
def small_run(small: Path) -> Path:
    """The run folder of the small model; to be read only."""
    return small / "runs" / "small"


@pytest.fixture(scope="session")
def reverse_run(shared: Path) -> Path:
    """A run that translates Persian into some English; to be read only."""
    settings = ["corpus.direction=fa-en", "training.augmentation.final_punctuation=0", "training.max_steps=10"]
    settings += ["training.warmup_steps=1", "training.validate_every=10", "training.checkpoint_every=10"]
    settings += ["corpus.split={validation: 4, test: 8}", "search.max_length_ratio=1"]
    return train_once(shared / "reverse", "--set", *settings) / "runs" / "small"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the runs of one file, with the corpus of the small language and its recipe."""
    return write_small_recipe(tmp_path_factory.mktemp("folder")).parent


@pytest.fixture(scope="module")
def operations(folder: Path) -> list[tuple[str, str]]:
    """What a short run that nobody disturbs does to its checkpoints, in order."""
    with Faults(folder / "undisturbed" / "checkpoints") as faults:
        succeed(*short(folder / "undisturbed"))
    return faults.operations


@pytest.fixture(scope="module")
def undisturbed(folder: Path, operations: list[tuple[str, str]]) -> Path:
    """The short run that nobody disturbed; to be read only."""
    return folder / "undisturbed"


@pytest.fixture
def small_copy(small: Path, tmp_path: Path) -> Path:
    """A copy of the small run, which a test may damage or continue."""
    copy = tmp_path / "run"
    shutil.copytree(small / "runs" / "small", copy, symlinks=True)
    return copy
