"""The notebook runs from top to bottom, on the embedded sample and without a GPU."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.support.tiny_recipe import draw_nothing
from translator.cli import main

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "mizan_on_a_free_gpu.ipynb"
QUICK = """
run.threads=1 subword.model_type=char subword.vocabulary_size=90 subword.byte_fallback=false corpus.workers=1
corpus.sources.0.max_pairs=300 corpus.sources.1.max_pairs=20 corpus.sources.2.max_pairs=20
model.d_model=16 model.feed_forward=16 model.encoder_layers=1 model.decoder_layers=1
training.max_steps=6 training.validate_every=6 training.validation_sentences=4
search.method=greedy search.max_length_ratio=0.1 evaluation.metrics=[chrf] evaluation.bootstrap_samples=40
"""


def code_cells() -> list[dict[str, Any]]:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def as_python(source: str) -> str:
    """Return the code of a cell in which `%` commands do nothing and each `!command` is a call of `shell`."""
    source = re.sub(r"^%.*", "pass", source, flags=re.MULTILINE)
    return re.sub(r"^( *)!(.*)", r"\1shell(r'''\2''')", source, flags=re.MULTILINE)


def test_no_output_is_stored() -> None:
    cells = code_cells()
    assert len(cells) == 7
    assert not any(cell["outputs"] for cell in cells)


def test_every_cell_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    draw_nothing(monkeypatch)
    names: dict[str, Any] = {}

    def shell(command: str) -> None:
        """Run a command of `translator` in this process, with the variables of the notebook filled in."""
        program, *words = shlex.split(command.format_map(names))
        assert program == "translator"
        assert main(words) == 0, command

    names["shell"] = shell
    first, *others = [as_python("".join(cell["source"])) for cell in code_cells()]
    exec(first, names)  # noqa: S102 - it is ours
    names |= {"RECIPE": "sample", "SETTINGS": " ".join(QUICK.split())}
    for cell in others:
        exec(cell, names)  # noqa: S102
    assert (tmp_path / "exports" / "notebook" / "model.bin").is_file()
    printed = capsys.readouterr().out
    assert "The run is in runs/notebook" in printed
    assert "CPU" in printed
