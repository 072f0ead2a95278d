"""A tiny evaluated run, and a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.chromium import CHROMIUM, Browser, Visitor
from tests.support.tiny_runs import run
from translator.config import parse_config

ROOT = Path(__file__).parents[2]
RECIPE = """
run: {{directory: "{run}", seed: 1, device: cpu, threads: 1}}
corpus:
  sources: [{{name: sample, path: "{first_source}"}}, {{name: rest, path: "{second_source}"}}]
  split: {{validation: 20, test: 20}}
  prepared_directory: "{prepared}"
subword: {{vocabulary_size: 400}}
batching: {{tokens_per_batch: 400, max_length: 64}}
model:
  {{d_model: 32, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 64, max_positions: 128}}
training:
  {{precision: float32, max_steps: 40, warmup_steps: 20, learning_rate: 0.005, log_every: 5, validate_every: 20,
   validation_sentences: 8, checkpoint_every: 20}}
search: {{method: greedy, min_length_ratio: 0.5}}
"""


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run on two sources, one of which has a line twice."""
    folder = tmp_path_factory.mktemp("project")
    lines = (ROOT / "data" / "sample" / "train.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    first_source, second_source = folder / "first.tsv", folder / "second.tsv"
    first_source.write_text("".join(lines[:301]), encoding="utf-8")
    second_source.write_text("".join(lines[300:500]), encoding="utf-8")
    recipe = RECIPE.format(
        run=folder / "run", first_source=first_source, second_source=second_source, prepared=folder / "prepared"
    )
    return run(parse_config(recipe, "browser.yaml")).run.path


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("needs chromium")
    with Browser(tmp_path_factory.mktemp("browser") / "profile") as opened:
        yield opened


@pytest.fixture
def guest(chromium: Browser) -> Visitor:
    visitor = Visitor(chromium)
    visitor.look(width=1280, height=800)
    return visitor
