"""Real runs, a browser, and a place for what it shows."""

import io
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser.serving import Visitor
from evaluation.report.browser import CHROMIUM, Browser
from PIL import Image
from tiny_runs import run

from translator.config import parse_config

ROOT = Path(__file__).parents[2]
LARGEST = 150_000
"""Bytes of a picture."""
RECIPE = """
run: {{directory: "{run}", seed: {seed}, device: cpu, threads: 1}}
corpus:
  sources: [{{name: sample, path: "{pairs}"}}, {{name: rest, path: "{others}"}}]
  split: {{validation: 20, test: 20}}
  prepared_directory: "{prepared}"
subword: {{vocabulary_size: 400}}
batching: {{tokens_per_batch: 400, max_length: 64}}
model:
  {{d_model: 32, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 64, max_positions: 128}}
training:
  {{precision: float32, max_steps: 40, warmup_steps: 20, learning_rate: {rate}, log_every: 5, validate_every: 20,
   validation_sentences: 8, checkpoint_every: 20}}
search: {{method: greedy, min_length_ratio: 0.5}}
evaluation: {{bootstrap_samples: 40}}
"""

Keep = Callable[[str], None]


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two runs: those of BROWSER_RUNS, a list of folders with colons between, or two tiny ones."""
    folder = tmp_path_factory.mktemp("project") / "runs"
    given = os.environ.get("BROWSER_RUNS", "").split(":")
    if given != [""]:
        for name in given:
            shutil.copytree(Path(name), folder / Path(name).resolve().name, symlinks=True)
        return folder
    lines = (ROOT / "data" / "sample" / "train.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    pairs, others = folder.parent / "pairs.tsv", folder.parent / "others.tsv"
    pairs.write_text("".join(lines[:300]), encoding="utf-8")
    others.write_text("".join(lines[300:500]), encoding="utf-8")
    for name, seed, rate in (("first", 1, 0.005), ("tuned/second", 2, 0.002)):
        text = RECIPE.format(
            run=folder / name, prepared=folder.parent / "prepared", pairs=pairs, others=others, seed=seed, rate=rate
        )
        run(parse_config(text, "browser.yaml"))
    return folder


@pytest.fixture(scope="session")
def a_run(runs: Path) -> Path:
    """One of them, which has been evaluated if any has."""
    found = [path.parent for path in runs.rglob("config.yaml")]
    return min(found, key=lambda path: (not (path / "evaluation" / "report.html").exists(), path))


@pytest.fixture(scope="session")
def evaluated(a_run: Path) -> Path:
    """The folder of its evaluation."""
    folder = a_run / "evaluation"
    if not (folder / "report.html").exists():
        leave = pytest.fail if os.environ.get("BROWSER_PICTURES") else pytest.skip  # no picture is left as it was
        leave(f"{folder} has no report.html: evaluate that run anew")
    return folder


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all."""
    if CHROMIUM is None:
        pytest.skip("needs chromium")
    with Browser(tmp_path_factory.mktemp("browser") / "profile") as opened:
        yield opened


@pytest.fixture
def guest(chromium: Browser) -> Visitor:
    """Somebody with an empty window."""
    found = Visitor(chromium)
    found.look(width=1280, height=800)
    return found


@pytest.fixture
def keep(guest: Visitor, tmp_path: Path) -> Keep:
    """Keep what the window shows as a picture of the docs, where BROWSER_PICTURES names their folder."""

    def write(name: str) -> None:
        guest.screenshot(tmp_path / "picture.png")
        with Image.open(tmp_path / "picture.png") as picture:
            assert len(picture.convert("RGB").getcolors(1 << 24) or []) > 20, f"{name}: there is nothing to see"
            content = io.BytesIO()
            picture.convert("RGB").quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
                content, "PNG", optimize=True
            )
        assert len(content.getvalue()) < LARGEST
        if folder := os.environ.get("BROWSER_PICTURES"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / f"{name}.png").write_bytes(content.getvalue())

    return write


def errors(guest: Visitor) -> list[str]:
    """Return what a page has done wrong since it was opened; warnings of TensorBoard's own parts are none."""
    found = []
    for event in guest.browser.events:
        about = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            found.append(str(about["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded" and about["entry"]["level"] == "error":
            found.append(f"{about['entry']['text']} {about['entry'].get('url')}")
        elif event.get("method") == "Runtime.consoleAPICalled" and about["type"] in ("error", "assert"):
            found.append(str(about["args"]))
    return found
