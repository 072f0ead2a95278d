"""Small corpora and recipes that several tests share."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from toy import letters, write_pairs

from translator.config import Config, parse_config

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
"""


@pytest.fixture(autouse=True)
def exact_matrix_products() -> Iterator[None]:
    """Take back what a run sets for the whole process: where the CPU has bf16, products would be too coarse."""
    yield
    torch.set_float32_matmul_precision("highest")


@pytest.fixture
def tiny_recipe(tmp_path: Path) -> Path:
    """A recipe file for a copy task of 200 words that trains in a second."""
    write_pairs(tmp_path / "toy.tsv", [(word, word) for word in letters(200, seed=1)])
    recipe = tmp_path / "tiny.yaml"
    recipe.write_text(TINY.format(folder=tmp_path), encoding="utf-8")
    return recipe


@pytest.fixture
def tiny(tiny_recipe: Path) -> Recipe:
    """Return the tiny configuration, with overrides."""

    def make(*overrides: str) -> Config:
        return parse_config(tiny_recipe.read_text(encoding="utf-8"), str(tiny_recipe), overrides)

    return make
