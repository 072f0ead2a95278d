"""The notebook runs from top to bottom, on the embedded sample and without a GPU."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "mizan_on_a_free_gpu.ipynb"
QUICK = "training.max_steps=6 training.validate_every=6 model.d_model=16 model.feed_forward=16 run.threads=1 "
QUICK += "search.method=greedy search.max_length_ratio=0.1 evaluation.metrics=[chrf] evaluation.bootstrap_samples=40"


def test_every_cell_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert len(cells) == 7 and not any(cell["outputs"] for cell in cells)
    names: dict[str, Any] = {}

    def shell(command: str) -> None:
        subprocess.run(command.format_map(names), shell=True, check=True, env=environment)

    names["shell"] = shell
    for number, cell in enumerate(cells):
        lines = [re.sub(r"^%.*", "pass", line) for line in "".join(cell["source"]).split("\n")]
        python = "\n".join(re.sub(r"^( *)!(.*)", r"\1shell(r'''\2''')", line) for line in lines)
        exec(python, names)  # noqa: S102 - it is ours
        if number == 0:
            names |= {"RECIPE": "sample", "SETTINGS": QUICK}
    assert (tmp_path / "exports" / "notebook" / "model.bin").is_file()
    told = capfd.readouterr()
    assert "The run is in runs/notebook" in told.out and "CPU" in told.out
