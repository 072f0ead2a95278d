"""A run becomes a folder that stands by itself: whole or not at all, and never over something else."""

import shutil
from pathlib import Path

import pytest
from export.runs import TEXTS, small_run

from translator import Translator
from translator.errors import CheckpointError, InputError, RunError, StorageError
from translator.export import FORMATS, export_run
from translator.export.index import read_index

FILES = {
    "ctranslate2": {"model.bin", "config.json", "source_vocabulary.json", "target_vocabulary.json", "config.yaml"},
    "marian": {
        *("model.safetensors", "config.json", "generation_config.json", "tokenizer_config.json"),
        *("source.spm", "target.spm", "vocab.json", "target_vocab.json"),
    },
    "safetensors": {"checkpoints", "config.yaml"},
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_folder_of_each_format(name: str, subword_folder: Path, tmp_path: Path) -> None:
    run = small_run(tmp_path, subword_folder)
    (tmp_path / "out").mkdir()  # an empty folder may be there
    path = export_run(run.path, name, tmp_path / "out")
    own = FILES[name] | ({"subword"} if name != "marian" else set()) | {"README.md", "export.json"}
    assert {entry.name for entry in path.iterdir()} == own
    index = read_index(path)
    assert (index.format, index.quantization, index.run, index.state.step) == (name, "float32", "run", 5)
    for file in path.rglob("*"):
        if file.suffix in (".yaml", ".json", ".md"):
            assert str(tmp_path) not in file.read_text(encoding="utf-8"), f"{file} tells of the machine it comes from"


def test_safetensors_are_a_run_by_themselves(subword_folder: Path, tmp_path: Path) -> None:
    run = small_run(tmp_path, subword_folder, norm="pre")
    expected = Translator.load(run.path).translate_lines(TEXTS)
    path = export_run(run.path, "safetensors", tmp_path / "out")
    again = export_run(path, "safetensors", tmp_path / "again")
    shutil.rmtree(run.path)
    assert Translator.load(path).translate_lines(TEXTS) == expected
    assert Translator.load(again).translate_lines(TEXTS) == expected
    assert len(set(expected)) == len(TEXTS)


def test_the_checkpoint_that_is_asked_for(subword_folder: Path, tmp_path: Path) -> None:
    run = small_run(tmp_path, subword_folder, step=5)
    small_run(tmp_path, subword_folder, step=9)
    steps = {
        name: read_index(export_run(run.path, "safetensors", tmp_path / name, checkpoint=name)).state.step
        for name in ("best", "5")
    }
    assert steps == {"best": 9, "5": 5}
    with pytest.raises(CheckpointError, match="no checkpoint `7`"):
        export_run(run.path, "safetensors", tmp_path / "seven", checkpoint="7")


def test_nothing_is_ever_overwritten(subword_folder: Path, tmp_path: Path) -> None:
    run = small_run(tmp_path, subword_folder)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"cannot export to .*full: the folder is not empty, and nothing .* overwritten"
    ):
        export_run(run.path, "safetensors", tmp_path / "full")
    assert (tmp_path / "full" / "thesis.txt").read_text(encoding="utf-8") == "years of work"
    with pytest.raises(InputError, match=r"thesis\.txt: it is a file; name a folder that is not there yet"):
        export_run(run.path, "safetensors", tmp_path / "full" / "thesis.txt")


def test_a_place_that_means_nothing_is_said(subword_folder: Path, tmp_path: Path) -> None:
    run = small_run(tmp_path, subword_folder)
    (tmp_path / "circle").symlink_to("circle")
    for place in (tmp_path / "circle", Path("~nobody-is-called-so/export")):
        with pytest.raises((InputError, StorageError), match=r"circle|nobody-is-called-so"):
            export_run(run.path, "safetensors", place)


def test_a_failure_leaves_nothing(subword_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = small_run(tmp_path, subword_folder)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("translator.export.export.write_index", fail)
    with pytest.raises(KeyboardInterrupt):
        export_run(run.path, "safetensors", tmp_path / "place" / "out")
    assert list((tmp_path / "place").iterdir()) == []


def test_what_cannot_be_exported_is_said_before_anything_is_written(subword_folder: Path, tmp_path: Path) -> None:
    run = small_run(tmp_path, subword_folder, norm="pre")
    with pytest.raises(InputError, match=r"the Marian format .* model\.norm is `pre`"):
        export_run(run.path, "marian", tmp_path / "out")
    with pytest.raises(RunError, match="no run at"):
        export_run(tmp_path / "nowhere", "marian", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    exported = export_run(run.path, "ctranslate2", tmp_path / "exported")
    with pytest.raises(RunError, match="exported is an export for CTranslate2, which has no checkpoint to export"):
        export_run(exported, "safetensors", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_the_library(subword_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = small_run(tmp_path, subword_folder)
    monkeypatch.setitem(__import__("sys").modules, "ctranslate2.specs", None)
    with pytest.raises(InputError, match=r'ctranslate2 cannot be imported .* pip install "ctranslate2>='):
        export_run(run.path, "ctranslate2", tmp_path / "out")
    assert not (tmp_path / "out").exists()
