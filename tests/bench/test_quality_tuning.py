"""Tuning by short runs of equal minutes: one schedule in time for all."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from quality_plans import RECIPE, ROOT

from bench.experiment_plan import load_experiments, trials
from bench.quality_tuning import main, timed


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    recipe = yaml.safe_load(RECIPE)
    del recipe["run"]["directory"]
    recipe["training"] |= {"max_minutes": 2.0, "max_steps": 900, "schedule": "cosine", "schedule_clock": "minutes"}
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
    """Notes the commands."""

    def __init__(self, code: int = 0) -> None:
        self.code = code
        self.commands: list[Sequence[str]] = []

    def __call__(self, command: Sequence[str]) -> int:
        self.commands.append(command)
        return self.code


def settings(command: Sequence[str]) -> list[str]:
    return [setting for flag, setting in itertools.pairwise(command) if flag == "--set"]


def test_every_variant_has_the_plan_of_the_recipe(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = Recorder()
    assert main(["--config", str(plan)], first) == 0
    assert [command[2:4] for command in first.commands] == [("translator", "train")] * 2
    assert all("training.max_steps=900" in settings(command) for command in first.commands)
    assert "No experiment is finished yet." in capsys.readouterr().out
    # Nothing was trained, so the same command asks for it again.
    again = Recorder()
    assert main(["--config", str(plan), "--only", "quick"], again) == 0
    assert len(again.commands) == 1 and "training.learning_rate=0.01" in settings(again.commands[0])
    longer = Recorder()
    assert main(["--config", str(plan), "--only", "plain", "--minutes", "4"], longer) == 0
    assert any(setting.endswith("runs-4-minutes/plain-seed1") for setting in settings(longer.commands[0]))
    recipe = yaml.safe_load((plan.parent / "runs-4-minutes" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["training"]["max_minutes"] == 4 and recipe["training"]["max_steps"] == 900


@pytest.mark.parametrize(("code", "begun", "end"), [(143, 1, 143), (2, 2, 1)])
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
    values["recipe"]["training"] |= {"max_minutes": 2.0, "schedule_clock": "steps"}
    plan.write_text(yaml.safe_dump(values), encoding="utf-8")
    assert main(["--config", str(plan)], Recorder()) == 2
    assert "needs training.schedule_clock: minutes" in capsys.readouterr().err


def test_the_tuning_of_the_house_is_whole_and_never_sees_the_test_text() -> None:
    experiments = timed(load_experiments(ROOT / "bench" / "quality-tuning.yaml"), None)
    planned = list(trials(experiments))
    assert planned[0].variant.settings == ()
    trained = [trial for trial in planned if trial.variant.average is None]
    assert all(trial.config != planned[0].config for trial in trained[1:])
    averaged = max(trial.variant.average or 0 for trial in planned)
    settings = planned[0].config.training
    assert averaged <= settings.keep_checkpoints
    assert averaged * settings.checkpoint_every <= 200, "of some 1,000 updates, the mean is to be of the last"
    parts = {source.use: str(source.source_path) for source in planned[0].config.corpus.sources}
    assert {use: path.split("/")[3] for use, path in parts.items()} == {
        "train": "train",
        "validation": "watched",
        "test": "scored",
    }
