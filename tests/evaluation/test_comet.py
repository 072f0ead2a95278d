"""COMET is a program beside us: what it is given, what it says, and what is said where it is missing."""

import os
import shlex
import sys
from pathlib import Path

import pytest

from translator.config import EvaluationConfig
from translator.errors import InputError
from translator.evaluation.comet import comet_lacks, count_comet, named_model

PROGRAM = """import json, os, sys
values = dict(zip(sys.argv[1::1], sys.argv[2::1]))
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
    path = tmp_path / "model.ckpt"
    path.write_bytes(b"weights")
    return path


def install(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, then: str = "") -> None:
    program = tmp_path / "bin" / "comet-score"
    program.parent.mkdir()
    script = tmp_path / "comet.py"
    script.write_text(PROGRAM.format(model=model, then=then), encoding="utf-8")
    # The first line of a script cannot name a Python whose path has a space in it.
    program.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(script))} "$@"\n', encoding="utf-8"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def test_what_is_missing_is_said(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "evaluation.comet_model=FILE.ckpt" in str(comet_lacks(None))
    assert "there is no such file" in str(comet_lacks(str(tmp_path / "nowhere.ckpt")))
    other = tmp_path / "model.bin"
    other.write_bytes(b"")
    assert "ends with .ckpt" in str(comet_lacks(str(other)))
    assert "pip install unbabel-comet" in str(comet_lacks(str(model)))


def test_it_scores_each_sentence_without_a_network(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, model, monkeypatch)
    assert comet_lacks(str(model)) is None
    found = count_comet(str(model), ["four", "a\nb"], ["در", "باز\u2028است"], [("در", "x"), ("است", "y")])
    assert found.counts.tolist() == [[0.4, 1], [0.0, 1]]
    assert found.score() == 0.2
    assert "model:model" in found.signature


@pytest.mark.parametrize("then", ["sys.exit(3)", "open('scores.json', 'w').write('[]'); sys.exit(0)", "rows = []"])
def test_a_failure_is_one_message(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, then: str) -> None:
    install(tmp_path, model, monkeypatch, then)
    with pytest.raises(InputError, match="comet-score did not score the translations") as caught:
        count_comet(str(model), ["a"], ["آ"], [("آ",)])
    assert "no such layer" in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "taken"),
    [
        ([], False),
        (["evaluation.bootstrap_samples=0", "search.beam_size=3"], False),
        (["evaluation.comet_model=model.ckpt"], True),
        (["evaluation={comet_model: model.ckpt}"], True),
    ],
)
def test_a_model_is_taken_only_from_whoever_evaluates(overrides: list[str], taken: bool) -> None:
    config = EvaluationConfig(comet_model="model.ckpt")
    assert named_model(config, overrides) == ("model.ckpt" if taken else None)
