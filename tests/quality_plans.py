"""A tiny plan of the contest of quality, on the embedded sample."""

from pathlib import Path

import yaml

from bench.quality_plan import QualityPlan, load_plan

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "data" / "sample"
RECIPE = f"""
run: {{directory: unused, device: cpu, threads: 1}}
corpus:
  sources:
    - {{name: first, path: "{SAMPLE}/train.tsv", max_pairs: 240}}
    - {{name: second, path: "{SAMPLE}/test.tsv", max_pairs: 120}}
  split: {{method: block, validation: 20, test: 15, block_size: 20}}
  workers: 1
subword: {{model_type: char, vocabulary_size: 100}}
batching: {{tokens_per_batch: 800, max_length: 120}}
model:
  {{d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 16, max_positions: 200, norm: post}}
training:
  {{processes: 1, max_steps: 20, warmup_steps: 4, schedule: cosine, validate_every: 10, validation_sentences: 2,
    checkpoint_every: 5, precision: float32}}
search: {{method: greedy, max_length_ratio: 0.2}}
evaluation: {{metrics: [bleu], bootstrap_samples: 40}}
"""


def tiny_plan(folder: Path, **changes: object) -> tuple[Path, QualityPlan]:
    """Write the plan and its recipe into `folder`; return the file and what it says."""
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE, encoding="utf-8")
    values = {
        "directory": str(folder / "contest"),
        "minutes": 0.02,
        "cores": 1,
        "trial_seconds": 0.01,
        "recipe": str(recipe),
        "settings": [f"corpus.prepared_directory={folder / 'prepared'}"],
        "choice_sentences": 8,
        "beam_size": 2,
        "bootstrap_samples": 100,
        "translator": {"ways": [{"processes": 1, "threads": 1}], "length_penalties": [1.0], "average": 2},
        "eole": {
            "ways": [{"matmul": "highest", "precision": "fp32"}],
            "length_penalties": [1.0],
            "config": {"training": {"batch_size": 64}, "model": {"layers": 1}},
            "average": 2,
        },
        "marian": {
            "ways": [{"processes": 1, "threads": 1, "matmul": "medium", "attention": "eager", "precision": "float32"}],
            "length_penalties": [1.0],
            "saves": 3,
            "average": 2,
        },
        **changes,
    }
    plan = folder / "plan.yaml"
    plan.write_text(yaml.safe_dump(values), encoding="utf-8")
    return plan, load_plan(plan)
