"""COMET, an external program: what it lacks is named, its scores are saved, its failures are reported."""

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.tiny_runs import run as train
from translator.errors import InputError
from translator.evaluation import evaluate_run, saved_scores
from translator.evaluation.comet import comet_lacks, comet_score
from translator.run.folder import RunFolder

PROGRAM = """import json, os, sys
values = dict(zip(sys.argv[1:], sys.argv[2:]))
assert os.environ["HF_HUB_OFFLINE"] == os.environ["TRANSFORMERS_OFFLINE"] == "1"
assert values["--model"] == "{model}" and values["--gpus"] == "0"
rows = zip(*(open(values[flag], encoding="utf-8").read().splitlines() for flag in ("-s", "-t", "-r")))
print("no such layer", file=sys.stderr)
{then}
json.dump({{values["-t"]: [{{"COMET": len(src) / 10 if mt == ref else 0.0}} for src, mt, ref in rows]}},
          open(values["--to_json"], "w"))
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "models [wmt22]" / "model.ckpt"
    path.parent.mkdir()
    path.write_bytes(b"weights")
    return path


def install(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, then: str = "") -> None:
    program, script = tmp_path / "bin" / "comet-score", tmp_path / "comet.py"
    program.parent.mkdir()
    script.write_text(PROGRAM.format(model=model, then=then), encoding="utf-8")
    # The first line of a script cannot name a Python whose path has a space in it.
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(script))} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def test_the_reason_why_comet_cannot_run_is_named(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    run = RunFolder(tmp_path / "run")
    assert "evaluation.comet_model=FILE.ckpt" in str(comet_lacks(None, run))
    assert "COMET needs a checkpoint" in str(comet_lacks(str(tmp_path / "nowhere.ckpt"), run))
    assert "is inside a run folder" in str(comet_lacks(str(model), RunFolder(model.parent)))
    assert "environment of its own" in str(comet_lacks(str(model), run))


def test_recipe_comet_model_is_used_after_training_and_in_later_evaluation(
    tiny: Any, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, model, monkeypatch)
    run = train(tiny("evaluation.metrics=[bleu, comet]", f"evaluation.comet_model='{model}'")).run
    (trained,) = (score for score in saved_scores(run) if score.metric == "comet")
    (run.evaluation_folder / "scores.json").unlink()
    (again,) = (score for score in evaluate_run(run).scores if score.metric == "comet")
    assert again == trained
    assert "model:model" in again.signature
    assert again.interval is not None
    assert again.interval[0] <= again.score <= again.interval[1]


@pytest.mark.parametrize("then", ["sys.exit(3)", "rows = []"])
def test_a_comet_failure_is_reported_with_its_error_output(
    tiny: Any, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    install(tmp_path, model, monkeypatch, then)
    with pytest.raises(InputError, match="comet-score did not score the translations") as caught:
        comet_score(tiny(f"evaluation.comet_model='{model}'"), ["a"], ["آ"], [("آ",)])
    assert "no such layer" in str(caught.value)
