"""The notebooks run from top to bottom, on the embedded sample and without a GPU."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.support.tiny_recipe import draw_nothing
from translator.cli import main

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
QUICK = """
run.threads=1 subword.model_type=char subword.vocabulary_size=90 subword.byte_fallback=false corpus.workers=1
corpus.sources.0.max_pairs=300 corpus.sources.1.max_pairs=20 corpus.sources.2.max_pairs=20
model.d_model=16 model.feed_forward=16 model.encoder_layers=1 model.decoder_layers=1
training.max_steps=6 training.validate_every=6 training.validation_sentences=4
search.method=greedy search.max_length_ratio=0.1 evaluation.metrics=[chrf]
"""


def cells_of(notebook: Path, kind: str) -> list[dict[str, Any]]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == kind]


def as_python(source: str) -> str:
    """Return the code of a cell in which `%` commands do nothing and each `!command` is a call of `shell`."""
    source = re.sub(r"^%.*", "pass", source, flags=re.MULTILINE)
    return re.sub(r"^( *)!(.*)", r"\1shell(r'''\2''')", source, flags=re.MULTILINE)


def run_cells(notebook: Path, **quick: Any) -> dict[str, Any]:
    """Run every cell of the notebook, and return its variables.

    After the first cell, `QUICK` is added to `SETTINGS`, and `quick` replaces other variables.
    """
    names: dict[str, Any] = {}

    def shell(command: str) -> None:
        """Run a command of `translator` in this process, with the variables of the notebook filled in."""
        program, *words = shlex.split(command.format_map(names))
        assert program == "translator"
        assert main(words) == 0, command

    names["shell"] = shell
    first, *others = [as_python("".join(cell["source"])) for cell in cells_of(notebook, "code")]
    exec(first, names)  # noqa: S102 - it is ours
    assert quick.keys() <= names.keys()
    names |= quick
    names["SETTINGS"] = " ".join([*names["SETTINGS"].split(), *QUICK.split()])
    for cell in others:
        exec(cell, names)  # noqa: S102
    return names


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder below `tmp_path`, as a notebook runs in one below the checkout."""
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    draw_nothing(monkeypatch)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_no_output_is_stored_and_links_lead_somewhere(notebook: Path) -> None:
    code_cells = cells_of(notebook, "code")
    assert code_cells
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code_cells)
    for cell in cells_of(notebook, "markdown"):
        for page, heading in re.findall(r"\]\(([^)#:]+)(?:#([^)]*))?\)", "".join(cell["source"])):
            text = (notebook.parent / page).read_text(encoding="utf-8")
            anchors = [anchor_of(title) for title in re.findall(r"^#+ (.*)", text, flags=re.MULTILINE)]
            assert not heading or heading in anchors, heading


def anchor_of(title: str) -> str:
    """Return the anchor of a heading on a page of the documentation."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def test_training_on_a_free_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    run_cells(ROOT / "notebooks" / "mizan_on_a_free_gpu.ipynb", RECIPE="sample")
    assert Path("exports/notebook/model.bin").is_file()
    printed = capsys.readouterr().out
    assert "The run is in runs/notebook" in printed
    assert "CPU" in printed


def test_exercises_of_the_first_hour(capsys: pytest.CaptureFixture[str]) -> None:
    names = run_cells(ROOT / "notebooks" / "first-hour.ipynb", UPDATES=16, SENTENCES=4)
    assert capsys.readouterr().out.count(", BLEU ") == 4 + 3  # of four trainings and three beams

    # Some of what the exercises show needs no long training.
    assert names["by_hand"] == names["counted"]
    first, second = names["translations"]
    assert first == second, "without positions, a sentence is a set of words"
