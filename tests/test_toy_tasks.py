"""A model trained through the command line learns a toy task that any correct Transformer learns."""

import subprocess
import sys
from pathlib import Path

from toy import letters, write_pairs

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
  {{max_steps: 500, learning_rate: 6e-3, schedule: cosine, warmup_steps: 50, label_smoothing: 0.0,
    validate_every: 250, validation_sentences: 100, checkpoint_every: 500, matmul_precision: highest}}
search: {{method: greedy}}
evaluation: {{bootstrap_samples: 40}}
"""


def command(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "translator", *arguments], input=text, capture_output=True, text=True, check=False
    )


def test_trained_model_reverses_over_99_percent_of_unseen_words(tmp_path: Path) -> None:
    words = letters(5300, seed=2, longest=6)
    write_pairs(tmp_path / "toy.tsv", [(word, word[::-1]) for word in words[:5000]])
    (tmp_path / "toy.yaml").write_text(RECIPE.format(folder=tmp_path), encoding="utf-8")

    trained = command("train", "--config", str(tmp_path / "toy.yaml"))
    assert trained.returncode == 0, trained.stderr
    assert "The children are at school." in trained.stdout, "the next commands are suggested"

    unseen = words[5000:]
    translated = command("translate", "--run", str(tmp_path / "run"), text="".join(f"{word}\n" for word in unseen))
    assert translated.returncode == 0, translated.stderr
    lines = translated.stdout.split("\n")
    assert len(lines) == len(unseen) + 1
    right = sum(line == word[::-1] for line, word in zip(lines, unseen, strict=False))
    assert right / len(unseen) > 0.99
