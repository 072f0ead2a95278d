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
from bench.quality_text import Plan as ContestPlan
from bench.quality_text import read_lines
from tests.support.doc_examples import blocks
from translator.config import load_config, resolved_yaml
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
"""


def tiny_plan(folder: Path, **changes: object) -> Path:
    """Write the shipped plan of the quality contest with a tiny recipe into `folder`; return its path."""
    (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    plan = read_yaml(ROOT / "bench" / "quality.yaml", ContestPlan).model_dump(mode="json")
    plan |= {
        "directory": str(folder / "contest"),
        "recipe": str(folder / "recipe.yaml"),
        "settings": [f"corpus.prepared_directory={folder / 'prepared'}"],
        "choice_sentences": 8,
        "length_penalties": [0.6, 1.4, 1.0],
        **changes,
    }
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump(plan), encoding="utf-8")
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

    # The first training is interrupted, the second fails, and the third succeeds.
    with pytest.raises(Interrupted):
        list(quality_part.bench(options))
    with pytest.raises(FailedError, match="failed: fake"):
        list(quality_part.bench(options))
    assert "it fell over" in capsys.readouterr().err
    report = "\n".join(quality_part.bench(options))

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
    assert "step-2, 0.6" in report
    assert report.count(" = 100.00") == 2 * 2, "BLEU and chrF of both test sets"

    # Another call does nothing twice, and its folder takes no other plan.
    assert "\n".join(quality_part.bench(options)) == report
    assert len(Fake.done) == 8
    changed_plan = tiny_plan(tmp_path, minutes=0.03)
    with pytest.raises(RunError, match="belongs to another plan"):
        list(quality_part.bench(Options(config=str(changed_plan))))


@pytest.mark.parametrize("file", ["experiments.yaml", "gpu-tuning.yaml", "quality-tuning.yaml"])
def test_shipped_experiments_have_distinct_runs_and_a_baseline_first(file: str) -> None:
    baseline, *others = trials(read_yaml(ROOT / "bench" / file, ExperimentPlan))
    runs = {trial.run for trial in (baseline, *others)}
    assert len(runs) == 1 + len(others)
    assert all(trial.config != baseline.config for trial in others)


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
        """Write the files of a finished evaluation, whatever the command; the runs without scores fail."""
        run = log.with_suffix("")
        done.append((command[3], run.name))
        if run.name not in chrf_of_run:
            raise RunError("it fell over")
        if command[3] == "train":
            config = load_config("configs/sample.yaml", list(command[7:]))
            files = {"config.yaml": resolved_yaml(config)}
        else:
            score = {"test_set": "validation", "normalization": "raw", "score": chrf_of_run[run.name]}
            state = {"state": {"progress": {"step": 150, "seconds": 60, "target_tokens": 200_000}}}
            files = {
                "evaluation/scores.json": json.dumps([{**score, "metric": metric} for metric in ("bleu", "chrf")]),
                "checkpoints/last/state.json": json.dumps(state),
            }
        for name, text in files.items():
            (run / name).parent.mkdir(parents=True, exist_ok=True)
            (run / name).write_text(text, encoding="utf-8")

    monkeypatch.setattr(experiments_part, "run_command", run_command)
    assert main(["experiments", "--config", "heads.yaml", "--only", "baseline"]) == 0
    capsys.readouterr()
    assert main(["experiments", "--config", "heads.yaml"]) == 1, "the other variants fail"
    header, _, baseline, one_head, *_ = capsys.readouterr().out.splitlines()
    assert done.count(("train", "baseline-seed1")) == 1, "what is finished is not trained again"
    assert header in page.read_text(encoding="utf-8")
    assert "| 51.00 | – |" in baseline
    assert "| 51.00 | +0.00 (+1.00, -1.00, +0.00) | 51.00, 51.00, 51.00 |" in one_head

    # A run of another plan is left out.
    assert main(["experiments", "--config", "heads.yaml", "--table", "--set", "training.max_steps=9"]) == 0
    assert "No experiment is finished yet." in capsys.readouterr().out
