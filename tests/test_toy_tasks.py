"""A model trained through the command line learns a toy task that any correct Transformer learns."""

import operator
from pathlib import Path

import pytest

from tests.support.tiny_recipe import draw_nothing
from tests.support.toy import letters, write_pairs
from translator.cli import main

RECIPE = """
run: {{directory: "{folder}/run", device: cpu, threads: 1, seed: 1}}
corpus:
  sources: [{{name: toy, path: "{folder}/toy.tsv"}}]
  filters: {{min_target_script: null}}
  split: {{method: hash, validation: 100, test: 50}}
  prepared_directory: "{folder}/prepared"
subword: {{model_type: char, vocabulary_size: 40}}
batching: {{tokens_per_batch: 640, max_length: 16}}
model:
  {{d_model: 64, heads: 4, encoder_layers: 1, decoder_layers: 1, feed_forward: 128, dropout: 0.0, max_positions: 64}}
training:
  {{max_steps: 400, learning_rate: 6e-3, schedule: cosine, warmup_steps: 50, label_smoothing: 0.0,
    validate_every: 400, validation_sentences: 50, checkpoint_every: 400, matmul_precision: highest}}
search: {{method: greedy}}
evaluation: {{bootstrap_samples: 40}}
"""


def test_trained_model_reverses_over_99_percent_of_unseen_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    draw_nothing(monkeypatch)
    words = letters(5300, seed=2, longest=6)
    training_words, unseen_words = words[:5000], words[5000:]
    write_pairs(tmp_path / "toy.tsv", [(word, word[::-1]) for word in training_words])
    recipe = tmp_path / "toy.yaml"
    recipe.write_text(RECIPE.format(folder=tmp_path), encoding="utf-8")

    assert main(["train", "--config", str(recipe)]) == 0
    assert "The children are at school." in capsys.readouterr().out, "the next commands are suggested"

    unseen_file = tmp_path / "unseen.txt"
    unseen_file.write_text("".join(f"{word}\n" for word in unseen_words), encoding="utf-8")
    with unseen_file.open(encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert main(["translate", "--run", str(tmp_path / "run")]) == 0
    translations = capsys.readouterr().out.removesuffix("\n").split("\n")
    expected = [word[::-1] for word in unseen_words]
    assert len(translations) == len(expected)
    correct_count = sum(map(operator.eq, translations, expected))
    assert correct_count / len(expected) > 0.99
