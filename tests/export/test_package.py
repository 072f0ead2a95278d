"""An export is self-contained, written completely or not at all, and overwrites nothing; damage is detected."""

import contextlib
import io
import json
import re
import shutil
import textwrap
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from export.stand_ins import small_run

from translator import Translator
from translator.corpus.normalizer_file import read_rules, rules_of_run
from translator.errors import CheckpointError, InputError, RunError, StorageError
from translator.evaluation.metrics import Score
from translator.evaluation.results import add_scores
from translator.export.package import FORMATS, export_run
from translator.inference.exported import INDEX_FILE, read_index
from translator.run.folder import RunFolder
from translator.run.records import sign
from translator.run.storage import write_json

FILES = {
    "ctranslate2": {"model.bin", "config.json", "source_vocabulary.json", "target_vocabulary.json", "config.yaml"},
    "marian": {"model.safetensors", "config.json", "source.spm", "target.spm", "vocab.json", "target_vocab.json"},
    "safetensors": {"checkpoints", "config.yaml"},
}
SENTENCE = "The children are at school."


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_self_contained_and_its_card_code_works(
    name: str, run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()  # exporting into an empty folder is allowed
    path = export_run(run.path, name, tmp_path / "out")
    assert FILES[name] | {"README.md", "export.json"} <= {entry.name for entry in path.iterdir()}
    index = read_index(path)
    assert (index.format, index.quantization, index.run, index.state.step) == (name, "float32", "run", 5)
    for file in path.rglob("*"):
        if file.suffix in (".yaml", ".json", ".md"):
            assert str(tmp_path) not in file.read_text(encoding="utf-8"), f"{file} contains a local path"
    (code,) = re.findall(r"```python\n(.*?)```", (path / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert SENTENCE in code
    monkeypatch.chdir(path)
    (rules_file,) = path.rglob("normalizer.json")
    assert read_rules(rules_file) == rules_of_run(run)
    expected = Translator.load(run.path).translate(SENTENCE)
    shutil.rmtree(run.path)  # the export must work without its run
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own words
    (line,) = printed.getvalue().splitlines()
    # An untrained model rarely produces EOS, and each program stops at a different maximum length.
    assert line[:4] == expected[:4] != ""


def test_nothing_is_ever_overwritten(run: RunFolder, tmp_path: Path) -> None:
    thesis = tmp_path / "full" / "thesis.txt"
    thesis.parent.mkdir()
    thesis.write_text("years of work", encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot export to .*full: the folder is not empty; .* never overwri"):
        export_run(run.path, "safetensors", thesis.parent)
    with pytest.raises(InputError, match=r"thesis\.txt: it is a file; choose a folder that does not exist yet"):
        export_run(run.path, "safetensors", thesis)
    assert thesis.read_text(encoding="utf-8") == "years of work"


def test_invalid_exports_are_rejected_before_anything_is_written(subword_folder: Path, tmp_path: Path) -> None:
    run, out = small_run(tmp_path, subword_folder, norm="pre"), tmp_path / "out"
    for name, quantization, message in (
        ("marian", None, r"the Marian format .* model\.norm is `pre`"),
        ("onnx", None, r"cannot export to `onnx`; choose one of: ctranslate2, marian, safetensors"),
        ("marian", "int8", r"marian cannot hold weights as `int8`; .* is a type of: ctranslate2"),
    ):
        with pytest.raises(InputError, match=message):
            export_run(run.path, name, out, quantization=quantization)
    with pytest.raises(CheckpointError, match="no checkpoint `7`"):
        export_run(run.path, "safetensors", out, checkpoint="7")
    exported = export_run(run.path, "ctranslate2", tmp_path / "exported")
    with pytest.raises(RunError, match="exported is an export for CTranslate2 and has no checkpoint to export"):
        export_run(exported, "safetensors", out)
    assert not out.exists()


def test_full_disk_or_interruption_leaves_no_partial_export(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full: Any = type("Usage", (), {"total": 10**9, "free": 1000})()
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: full)
        for name in FORMATS:
            with pytest.raises(StorageError, match=r"cannot write the export .*out: it needs about"):
                export_run(run.path, name, tmp_path / "out")

    full_disk, anything = OSError(28, "No space left on device"), KeyboardInterrupt()
    for error, expected in ((full_disk, StorageError), (anything, KeyboardInterrupt)):
        monkeypatch.setattr("translator.export.package.write_index", Mock(side_effect=error))
        with pytest.raises(expected, match=None if error is anything else "out: the disk is full; free some space"):
            export_run(run.path, "ctranslate2", tmp_path / "place" / "out")
        assert list((tmp_path / "place").iterdir()) == []


def test_damage_to_any_file_except_the_card_is_detected(run: RunFolder, tmp_path: Path) -> None:
    folder = export_run(run.path, "ctranslate2", tmp_path / "out")
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in ("README.md", INDEX_FILE)]
    assert len(files) == 9
    for file in files:
        content = file.read_bytes()
        middle = len(content) // 2
        file.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        with pytest.raises(RunError, match=rf"damaged export: .*{file.name} does not match .* export the run"):
            read_index(folder)
        file.unlink()
        with pytest.raises(RunError, match=rf"damaged export: .*{file.name} is missing"):
            read_index(folder)
        file.write_bytes(content)
    (folder / "README.md").write_text("my own words", encoding="utf-8")
    index = folder / INDEX_FILE
    assert read_index(folder).quantization == "float32"
    written = index.read_bytes()
    changed = json.dumps(json.loads(written) | {"quantization": "int8"}).encode()
    for content in (b"", b"[]", b"[" * 100_000, b"\xff", changed):
        index.write_bytes(content)
        with pytest.raises(RunError, match=r"damaged export: cannot read .*export\.json"):
            read_index(folder)
    values = json.loads(written)
    del values["own_sha256"]
    write_json(index, sign(values | {"colour": 1}))
    with pytest.raises(RunError, match=r"export\.json was made by a newer version .*colour: unknown key"):
        read_index(folder)


def test_card_states_data_licence_scores_and_normalization_rules(subword_folder: Path, tmp_path: Path) -> None:
    run = small_run(tmp_path, subword_folder, rules="normalization: {quotes: false, digits: ascii}")
    text = (export_run(run.path, "safetensors", tmp_path / "bare") / "README.md").read_text(encoding="utf-8")
    assert "Checkpoint step-000005 was not evaluated before it was exported." in text
    common: dict[str, Any] = {"test_set": "tatoeba", "metric": "bleu", "signature": "nrefs:1|tok:13a", "sentences": 7}
    common |= {"normalization": "raw", "search": "beam-5", "left_out": (3, 9)}
    scores = [
        Score(**common, score=value, checkpoint=checkpoint, interval=(value - 1.0, value + 1.0))
        for value, checkpoint in ((12.34, "step-000005"), (98.76, "step-000001"))
    ]
    add_scores(run.evaluation_folder, scores)
    card = (export_run(run.path, "safetensors", tmp_path / "out") / "README.md").read_text(encoding="utf-8")
    for words in (
        "| sample | train | It comes with translator, Apache 2.0. |",
        "| tatoeba | test | not stated; a public corpus of this name is Tatoeba",
        "CC BY 2.0 FR",
        "| tatoeba | 7, 2 of 9 left out (lines 3, 9) | bleu |",
        *("12.34 (11.34–13.34)", r"`nrefs:1\|tok:13a`", "subword/normalizer.json", "digits: ascii", "up to 60 tokens"),
        "NormalizationConfig(digits='ascii', quotes=False)",
    ):
        assert words in card
    assert "98.76" not in card, "a score of other weights"


def test_code_of_the_card_makes_the_normalizer_of_the_model(
    subword_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_run(tmp_path, subword_folder, rules="normalization: {quotes: false}")
    folder = export_run(run.path, "safetensors", tmp_path / "out")
    card = (folder / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^(    from pathlib .*?normalize = .*?)$", card, flags=re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(compile(textwrap.dedent(code), "README.md", "exec"), names)  # noqa: S102 - our own words
    assert names["normalize"]("“yes” .") == "“yes”."
