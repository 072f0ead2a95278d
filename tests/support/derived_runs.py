"""Two runs of a made-up language pair, and what verbs make of them."""

from pathlib import Path

from tests.support.toy_corpora import letters
from translator.config import Config, parse_config
from translator.run.folder import RunFolder

RECIPE = """
run: {{directory: "{folder}/{direction}", threads: 1, device: cpu}}
corpus:
  direction: {direction}
  sources: [{{name: toy, path: "{folder}/toy.tsv"}}]
  prepared_directory: "{folder}/prepared"
  split: {{validation: 10, test: 10}}
  filters: {{max_length_ratio: null}}
subword: {{vocabulary_size: 60, model_type: char, byte_fallback: false}}
model: {{d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 32, max_positions: 64,
  attention_dropout: 0.1, feed_forward_dropout: 0.1}}
batching: {{max_length: 64, tokens_per_batch: 512}}
training: {{max_steps: 4, warmup_steps: 2, validate_every: 4, checkpoint_every: 4}}
search: {{method: beam, beam_size: 3, avoid_loops: false}}
"""
SHORT = ("training.max_steps=2", "training.validate_every=2", "training.checkpoint_every=2")
_TO_PERSIAN = str.maketrans("abcdefghxyz", "ابپتجچحخدذر")


def to_persian(text: str) -> str:
    """Return the translation of a text into the made-up Persian: letter by letter."""
    return text.translate(_TO_PERSIAN)


def sentences(seeds: range, alphabet: str = "abcdefgh") -> list[str]:
    """Return one English sentence of three words for each seed."""
    return [" ".join(letters(3, seed, alphabet)) for seed in seeds]


def with_translations(texts: list[str]) -> list[tuple[str, str]]:
    return [(text, to_persian(text)) for text in texts]


def recipe(folder: Path, direction: str = "en-fa", *overrides: str) -> Config:
    return parse_config(RECIPE.format(folder=folder, direction=direction), "toy.yaml", overrides)


def config_of(folder: Path, name: str) -> Config:
    return RunFolder.open(folder / name).config()


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
