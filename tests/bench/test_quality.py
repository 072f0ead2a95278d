"""The contest of quality as a whole: resumed, failing, and with our own training for real."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from quality_plans import tiny_plan

import bench.quality as quality
from bench import quality_speed
from bench.quality_contestant import Contestant, Trained
from bench.quality_ours import Ours
from bench.quality_text import ContestText, read_lines
from translator.cli import main as translator_main
from translator.errors import Interrupted, RunError
from translator.run_folder import RunFolder


class Fake(Contestant):
    """Knows the references, and spoils them more the earlier the checkpoint and the further the penalty from 0.6."""

    name = "fake"
    done: list[str]

    @property
    def ways(self) -> Sequence[Mapping[str, Any]]:
        return ({"speed": 100}, {"speed": 0}, {"speed": 300})

    @property
    def length_penalties(self) -> Sequence[float]:
        return (0.6, 1.4, 1.0)

    def try_way(self, way: Mapping[str, Any], folder: Path) -> Trained:
        self.done.append(f"try {way['speed']}")
        assert not list(folder.iterdir())
        if not way["speed"]:
            raise RunError("not on this machine")
        return Trained(1.0, 10, way["speed"])

    def train(self, way: Mapping[str, Any], trial: Trained) -> Trained:
        self.done.append(f"train {way['speed']}")
        return Trained(60 * self.plan.minutes, trial.steps, trial.target_tokens, 5000, ("step-1", "step-2"))

    def translate(self, checkpoint: str, penalty: float, source: str, output: Path) -> None:
        self.done.append(f"{checkpoint} {penalty} {source}")
        spoilt = (2 - int(checkpoint[-1])) * 10 + round(abs(penalty - 0.6) * 10)
        lines = read_lines(self.text.folder / f"{source}.fa")
        output.write_text("".join(line[spoilt:].strip() + "\n" for line in lines), encoding="utf-8")


def contest(monkeypatch: pytest.MonkeyPatch, *kinds: type[Contestant]) -> None:
    monkeypatch.setattr(quality, "CONTESTANTS", {kind.name: kind for kind in kinds})


def never(*_: Any) -> int:
    raise AssertionError("no command is to be run")


def test_the_fastest_way_the_best_checkpoint_and_then_the_best_penalty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []
    contest(monkeypatch, type("Known", (Fake,), {"done": done}))
    path, plan = tiny_plan(tmp_path)
    assert quality.main(["--config", str(path), "--table"], never) == 0
    assert "No contestant is finished yet." in capsys.readouterr().out
    assert quality.main(["--config", str(path)], never) == 0
    assert done == [
        *("try 100", "try 0", "try 300", "train 300"),
        *("step-1 1.0 choice", "step-2 1.0 choice", "step-2 0.6 choice", "step-2 1.4 choice", "step-2 0.6 test"),
    ]
    trial = json.loads((plan.folder / "fake" / "trial.json").read_text(encoding="utf-8"))
    assert trial["way"] == {"speed": 300} and trial["tried"][1]["failed"] == "not on this machine"
    said = capsys.readouterr().out
    assert "step-2, length penalty 0.6" in said and "| first | 15 | fake | 100.00 |" in said
    done.clear()
    assert quality.main(["--config", str(path)], never) == 0
    assert done == []

    other, _ = tiny_plan(tmp_path, minutes=0.03)
    assert quality.main(["--config", str(other)], never) == 2
    assert "holds the contest of another plan or recipe" in capsys.readouterr().err


def test_a_stop_ends_the_contest_and_the_next_call_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    stops = [True]

    class Stopped(Fake):
        def train(self, way: Mapping[str, Any], trial: Trained) -> Trained:
            if stops:
                raise Interrupted(15)
            return super().train(way, trial)

    Stopped.done = done
    contest(monkeypatch, Stopped)
    path, _ = tiny_plan(tmp_path)
    assert quality.main(["--config", str(path)], never) == 143
    stops.clear()
    done.clear()
    assert quality.main(["--config", str(path)], never) == 0
    assert done[0] == "train 300"


def test_one_that_fails_does_not_keep_the_others_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken(Fake):
        name = "broken"
        done: list[str] = []  # noqa: RUF012 (its own)

        def train(self, way: Mapping[str, Any], trial: Trained) -> Trained:
            raise RunError("it fell over")

    class Sound(Fake):
        done: list[str] = []  # noqa: RUF012 (its own)

    contest(monkeypatch, Broken, Sound)
    path, _ = tiny_plan(tmp_path)
    assert quality.main(["--config", str(path)], never) == 1
    captured = capsys.readouterr()
    assert "bench: broken: it fell over" in captured.err
    assert "| fake |" in captured.out and "| broken |" not in captured.out


def here(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
    """Do what a command of ours does, in this process."""
    assert command[1] == "-m"
    if command[2] == "bench.quality_speed":
        return quality_speed.main(list(command[3:]))
    assert command[2] == "translator"
    return translator_main(list(command[3:]))


def test_our_own_training_comes_to_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    contest(monkeypatch, Ours)
    # The command line begins itself anew in another environment, which a test process must not do.
    monkeypatch.setattr("translator.cli.begin_in_large_pages", lambda: None)
    path, plan = tiny_plan(tmp_path)
    assert quality.main(["--config", str(path)], here) == 0
    said = capsys.readouterr().out
    assert "| first | 15 | translator |" in said and "| second | 15 | translator |" in said
    config = RunFolder.open(plan.folder / "translator" / "training").config()
    trained = json.loads((plan.folder / "translator" / "trained.json").read_text(encoding="utf-8"))
    assert config.training.max_minutes == plan.minutes and 0 < trained["steps"] <= config.training.max_steps
    assert trained["weights"] > 5000 and trained["target_tokens"] > 0
    assert {"last", "averaged"} <= set(trained["candidates"])
    translations = read_lines(plan.folder / "translator" / "test.txt")
    assert len(translations) == 30
    assert quality.main(["--config", str(path)], never) == 0


def test_all_that_is_counted_in_steps_goes_with_the_budget(tmp_path: Path) -> None:
    _, plan = tiny_plan(tmp_path, minutes=2.0)
    ours = Ours(plan, ContestText(tmp_path), never)
    settings = dict(one.split("=", 1) for one in ours.settings({"processes": 1, "threads": 1}, Trained(10.0, 20, 100)))
    # 2 steps a second, 120 seconds, 95% of them: the recipe has 20 steps, 4 of warm-up, and validates every 10.
    assert settings["training.max_steps"] == "228" and settings["training.warmup_steps"] == "46"
    assert settings["training.validate_every"] == "114" and settings["training.max_minutes"] == "2.0"
