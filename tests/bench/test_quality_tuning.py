"""Tuning by short runs of equal minutes: their steps come from a measured speed, once."""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from quality_plans import RECIPE, ROOT

from bench.experiment_plan import load_experiments, trials
from bench.quality_contestant import Trained
from bench.quality_tuning import main, timed


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    recipe = yaml.safe_load(RECIPE)
    del recipe["run"]["directory"]
    recipe["training"] |= {"max_minutes": 2.0, "max_steps": 20}
    recipe["corpus"]["prepared_directory"] = str(tmp_path / "prepared")
    file = tmp_path / "tuning.yaml"
    variants = [
        {"name": "plain", "about": "nothing changed"},
        {"name": "quick", "about": "quick", "settings": ["training.learning_rate=0.01"]},
    ]
    values = {
        "directory": str(tmp_path / "runs"),
        "tokens": 10**9,
        "seeds": [1],
        "recipe": recipe,
        "variants": variants,
    }
    file.write_text(yaml.safe_dump(values), encoding="utf-8")
    return file


class Recorder:
    """Notes the commands, and says how fast a variant is where it is asked."""

    def __init__(self, code: int = 0) -> None:
        self.code = code
        self.commands: list[Sequence[str]] = []

    def __call__(self, command: Sequence[str]) -> int:
        self.commands.append(command)
        if command[2] == "bench.quality_speed":
            Path(command[5]).write_text(json.dumps(Trained(4.0, 20, 999).to_json()), encoding="utf-8")
            return 0
        return self.code


def test_the_schedule_ends_with_the_minutes(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = Recorder()
    assert main(["--config", str(plan)], first) == 0
    assert [command[2] for command in first.commands] == ["bench.quality_speed", "translator"] * 2
    settings = [setting for flag, setting in itertools.pairwise(first.commands[1]) if flag == "--set"]
    assert "training.max_steps=570" in settings  # 5 steps a second, 120 seconds, 95% of them
    assert "No experiment is finished yet." in capsys.readouterr().out
    # Nothing was trained, so the same command asks for it again; the speed is known.
    again = Recorder()
    assert main(["--config", str(plan), "--only", "quick"], again) == 0
    assert [command[2] for command in again.commands] == ["translator"]
    assert "training.learning_rate=0.01" in again.commands[0]
    longer = Recorder()
    assert main(["--config", str(plan), "--only", "plain", "--minutes", "4"], longer) == 0
    assert "training.max_steps=1140" in longer.commands[1]
    assert any(argument.endswith("runs-4-minutes/plain-seed1") for argument in longer.commands[1])


@pytest.mark.parametrize(("code", "begun", "end"), [(143, 2, 143), (2, 4, 1)])
def test_a_stop_ends_the_work_and_a_failure_does_not(plan: Path, code: int, begun: int, end: int) -> None:
    recorder = Recorder(code)
    assert main(["--config", str(plan)], recorder) == end
    assert len(recorder.commands) == begun


def test_mistakes_are_told(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", str(plan), "--only", "unknown"], Recorder()) == 2
    assert "no variant unknown" in capsys.readouterr().err
    values = yaml.safe_load(plan.read_text(encoding="utf-8"))
    del values["recipe"]["training"]["max_minutes"]
    plan.write_text(yaml.safe_dump(values), encoding="utf-8")
    assert main(["--config", str(plan)], Recorder()) == 2
    assert "no training.max_minutes" in capsys.readouterr().err


def test_the_tuning_of_the_house_is_whole_and_never_sees_the_test_text() -> None:
    experiments = timed(load_experiments(ROOT / "bench" / "quality-tuning.yaml"), None)
    planned = list(trials(experiments))
    assert planned[0].variant.settings == ()
    trained = [trial for trial in planned if trial.variant.average is None]
    assert all(trial.config != planned[0].config for trial in trained[1:])
    parts = {source.use: str(source.source_path) for source in planned[0].config.corpus.sources}
    assert {use: path.split("/")[3] for use, path in parts.items()} == {
        "train": "train",
        "validation": "watched",
        "test": "scored",
    }
