"""A recipe that trains in half a second, and what makes its runs cheaper still."""

from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tests.support.toy_corpora import letters, write_pairs
from translator.config import Config

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


def write_recipe(folder: Path) -> Path:
    write_pairs(folder / "toy.tsv", [(word, word) for word in letters(200, seed=1)])
    recipe = folder / "tiny.yaml"
    recipe.write_text(TINY.format(folder=folder), encoding="utf-8")
    return recipe


def draw_nothing(patch: pytest.MonkeyPatch) -> None:
    """Draw no attention in this process; runs in processes of their own do."""
    patch.setattr("translator.plots.attention.attention_figure", lambda *_: Figure(figsize=(0.1, 0.1)))
