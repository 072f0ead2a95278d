"""The contests that train for hours: their plans, resumption, choices and tables."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from bench import experiments as experiments_part
from bench import quality as quality_part
from bench.__main__ import main
from bench.experiments import Plan as ExperimentPlan
from bench.experiments import read_yaml, trials
from bench.options import FailedError, Options
from bench.quality_contestants import Contestant
from bench.scores import read_lines
from tests.support.doc_examples import blocks
from translator.errors import Interrupted, RunError

ROOT = Path(__file__).parents[2]
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
training: {{processes: 1, max_steps: 20, warmup_steps: 4, schedule: cosine, validate_every: 10, precision: float32}}
search: {{method: greedy, max_length_ratio: 0.2}}
"""


def tiny_plan(folder: Path, **changes: object) -> Path:
    """Write a plan for the quality contest and its recipe into `folder`; return the path of the plan."""
    (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    values = {
        "directory": str(folder / "contest"),
        "recipe": str(folder / "recipe.yaml"),
        "minutes": 0.02,
        "cores": 1,
        "settings": [f"corpus.prepared_directory={folder / 'prepared'}"],
        "choice_sentences": 8,
        "beam_size": 2,
        "length_penalties": [0.6, 1.4, 1.0],
        "bootstrap_samples": 100,
        "average": 2,
        "saves": 3,
        "eole": {"matmul": "medium", "precision": "fp32", "config": {"training": {"batch_size": 64}, "model": {}}},
        "marian": {"matmul": "medium", "precision": "float32", "model": {"init_std": 0.05}, "settings": []},
        **changes,
    }
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


class Fake(Contestant):
    """Outputs the references, damaged more for earlier checkpoints and for penalties further from 0.6."""

    done: ClassVar[list[str]] = []
    mishaps: ClassVar[list[BaseException]] = []

    def train(self) -> dict[str, Any]:
        self.done.append("train")
        if self.mishaps:
            raise self.mishaps.pop()
        return {"seconds": 1.2, "steps": 10, "target_tokens": 300, "weights": 5000, "candidates": ["step-1", "step-2"]}

    def translate(self, checkpoint: str, penalty: float, split: str, output: Path) -> None:
        self.done.append(f"{checkpoint} {penalty} {split}")
        spoilt = (2 - int(checkpoint[-1])) * 10 + round(abs(penalty - 0.6) * 10)
        lines = read_lines(self.text / f"{split}.fa")
        output.write_text("".join(line[spoilt:].strip() + "\n" for line in lines), encoding="utf-8")


def test_contest_picks_checkpoint_then_penalty_and_resumes_after_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(quality_part, "contestants", lambda plan: {"fake": Fake})
    monkeypatch.setattr(Fake, "mishaps", [RunError("it fell over"), Interrupted(15)])
    monkeypatch.setattr(Fake, "done", [])
    options = Options(config=str(tiny_plan(tmp_path)))
    table_options = Options(config=options.config, table=True)
    assert list(quality_part.bench(table_options)) == ["No contestant is finished yet."]

    # The first training is interrupted, the second fails, and the third succeeds.
    with pytest.raises(Interrupted):
        list(quality_part.bench(options))
    with pytest.raises(FailedError, match="failed: fake"):
        list(quality_part.bench(options))
    assert "it fell over" in capsys.readouterr().err
    lines = list(quality_part.bench(options))

    # The checkpoint is chosen with a penalty of 1.0, then the penalty with this checkpoint.
    assert Fake.done == [
        "train",
        "train",
        "train",
        "step-1 1.0 choice",
        "step-2 1.0 choice",
        "step-2 0.6 choice",
        "step-2 1.4 choice",
        "step-2 0.6 test",
    ]
    assert any("step-2, 0.6" in line for line in lines)
    assert "| first | 15 | fake | 100.00 | 100.00 |" in lines
    assert (tmp_path / "contest" / "results.md").read_text(encoding="utf-8") == "\n".join(lines) + "\n"

    # Another call does nothing twice, and its folder takes no other plan.
    assert list(quality_part.bench(options)) == lines
    assert len(Fake.done) == 8
    changed_plan = tiny_plan(tmp_path, minutes=0.03)
    with pytest.raises(RunError, match="belongs to another plan"):
        list(quality_part.bench(Options(config=str(changed_plan))))


@pytest.mark.parametrize("file", ["experiments.yaml", "quality-tuning.yaml"])
def test_shipped_experiments_have_distinct_runs_and_a_baseline_first(file: str) -> None:
    planned = list(trials(read_yaml(ROOT / "bench" / file, ExperimentPlan)))
    assert [trial.seed for trial in planned] == sorted(trial.seed for trial in planned)
    trained = [trial for trial in planned if trial.variant.average is None]
    runs = [trial.run for trial in trained]
    assert len(set(runs)) == len(runs)
    baseline, *later_trials = trained
    assert baseline is planned[0]
    for trial in later_trials:
        assert trial.config != baseline.config


def test_plan_of_the_page_gives_a_table_with_the_difference_for_each_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = ROOT / "docs" / "comparing-recipes.md"
    ((_, plan),) = blocks(page, 'yaml title="heads.yaml"')
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    Path("heads.yaml").write_text(plan, encoding="utf-8")
    chrf_of_run = {"baseline-seed1": 50, "baseline-seed2": 52, "baseline-seed3": 51}
    chrf_of_run |= {"one-head-seed1": 51, "one-head-seed2": 51, "one-head-seed3": 51}
    done: list[tuple[str, str]] = []

    def run_command(command: Sequence[str], log: Path, threads: int | None = None) -> None:
        """Write the scores of a finished evaluation, whatever the command; the runs without scores fail."""
        name = log.stem
        done.append((command[3], name))
        if command[3] == "train":
            assert capsys.readouterr().err.endswith(f"{name}: see runs/heads/{name}.log\n")
        if name not in chrf_of_run:
            raise RunError("it fell over")
        scores = []
        for metric in ("bleu", "chrf"):
            score = {"test_set": "validation", "checkpoint": "last", "normalization": "raw", "metric": metric}
            scores.append({**score, "score": chrf_of_run[name]})
        state = {"state": {"progress": {"step": 150, "seconds": 60, "target_tokens": 200_000}}}
        values = {"evaluation/scores.json": scores, "checkpoints/last/state.json": state}
        for file, value in values.items():
            path = log.with_suffix("") / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value), encoding="utf-8")

    monkeypatch.setattr(experiments_part, "run_command", run_command)
    assert main(["experiments", "--config", "heads.yaml", "--only", "baseline"]) == 0
    capsys.readouterr()
    assert main(["experiments", "--config", "heads.yaml"]) == 1, "the other variants fail"
    header, _, baseline, one_head, *_ = capsys.readouterr().out.splitlines()
    assert done.count(("train", "baseline-seed1")) == 1, "what is finished is not trained again"
    assert header in page.read_text(encoding="utf-8")
    assert "| 51.00 | – |" in baseline
    assert "| 51.00 | +0.00 (+1.00, -1.00, +0.00) | 51.00, 51.00, 51.00 |" in one_head
