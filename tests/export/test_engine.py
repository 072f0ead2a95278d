"""One function loads a run or an export for either engine; it rejects anything else and never opens a pickle."""

import fcntl
import logging
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from export.stand_ins import TEXTS, small_run

from translator import Translator
from translator.checkpoint.retention import mark_best
from translator.checkpoint.state import PinnedCheckpoint, pin_checkpoint
from translator.errors import InputError, RunError, StorageError
from translator.export.package import export_run
from translator.inference import export_cache
from translator.run.folder import RunFolder


def test_a_run_is_exported_once_for_each_checkpoint(
    run: RunFolder, subword_folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = Translator.load(run.path, engine="torch").translate_lines(TEXTS)
    with caplog.at_level(logging.DEBUG, logger="translator"):
        for _ in range(2):
            translator = Translator.load(run.path, engine="ctranslate2")
            assert (translator.label, translator.checkpoint_name) == ("run", "step-000005")
            found = translator.translate_lines(TEXTS)
            assert sum(one == own for one, own in zip(found, expected, strict=True)) >= 5, "a beam may end otherwise"
    assert sum("exporting step-000005 for ctranslate2" in text for text in caplog.messages) == 1
    assert translator.identity == f"{Translator.load(run.path, engine='torch').identity} in float32"
    (first,) = (run.path / "export").glob("ctranslate2-*")
    small_run(tmp_path, subword_folder, step=9)
    assert Translator.load(run.path, engine="ctranslate2").checkpoint_name == "step-000009"
    assert len(list((run.path / "export").glob("ctranslate2-*"))) == 2
    (first / "model.bin").write_bytes(b"")
    Translator.load(run.path, engine="ctranslate2", checkpoint="5").translate("The door is open.")
    assert any("damaged export: " in text and text.endswith("exporting again") for text in caplog.messages)


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_best_may_move_while_its_checkpoint_is_loaded(
    engine: str, run: RunFolder, subword_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_run(tmp_path, subword_folder, step=9)
    pairs = [TEXTS[0]], ["در باز است."]
    (expected,) = Translator.load(run.path, engine="torch").score(*pairs)
    monkeypatch.setattr("translator.inference.engine.pin_checkpoint", pin_and_move_best)
    translator = Translator.load(run.path, engine=engine)
    assert (run.checkpoints_folder / "best").readlink().name == "step-000005"
    assert translator.checkpoint_name == "step-000009"
    assert translator.score(*pairs)[0].score == pytest.approx(expected.score, rel=1e-4)


def pin_and_move_best(folder: Path, name: str) -> PinnedCheckpoint:
    """Return the checkpoint, after a training has chosen that of step 5 as `best`."""
    pinned = pin_checkpoint(folder, name)
    mark_best(folder, 5)
    return pinned


def test_an_export_has_the_weights_of_the_checkpoint_it_names(
    run: RunFolder, subword_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_run(tmp_path, subword_folder, step=9)
    monkeypatch.setattr("translator.export.package.pin_checkpoint", pin_and_move_best)
    exported = export_run(run.path, "safetensors", tmp_path / "out")
    (checkpoint,) = (exported / "checkpoints").iterdir()
    assert checkpoint.name == "step-000009"
    weights = run.checkpoints_folder / "step-000009" / "model.safetensors"
    assert (checkpoint / "model.safetensors").read_bytes() == weights.read_bytes()


def test_ctranslate2_translates_without_importing_torch(run: RunFolder) -> None:
    Translator.load(run.path, engine="ctranslate2")
    code = "import sys; from translator.cli import main; main(sys.argv[1:]); assert 'torch' not in sys.modules"
    arguments = ["translate", "--run", str(run.path), "--device", "cpu", TEXTS[0]]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{Translator.load(run.path).translate(TEXTS[0])}\n"


def test_export_translates_like_its_run_and_misuse_is_rejected(run: RunFolder, tmp_path: Path) -> None:
    expected = Translator.load(run.path, engine="ctranslate2").translate_lines(TEXTS)
    folder = export_run(run.path, "ctranslate2", tmp_path / "out")
    for engine in ("auto", "ctranslate2"):
        assert Translator.load(folder, engine=engine, checkpoint="5").translate_lines(TEXTS) == expected
    assert Translator.load(folder, overrides=["search.method=greedy"]).search.method == "greedy"
    plain = export_run(run.path, "safetensors", tmp_path / "plain")
    assert Translator.load(plain).translate_lines(TEXTS) == Translator.load(run.path).translate_lines(TEXTS)
    assert Translator.load(plain, engine="ctranslate2").translate_lines(TEXTS) == expected
    assert Translator.load([run.path, run.path]).label == "run+run"
    mistakes: list[tuple[list[Path], dict[str, Any], str]] = [
        ([folder], {"engine": "torch"}, r"out is an export for CTranslate2, and torch cannot use it; use --engine"),
        ([run.path, folder], {}, r"out is an export for CTranslate2, and torch cannot use it"),
        ([folder], {"checkpoint": "averaged"}, r"an export of checkpoint step-000005 only; it has no `averaged`"),
        ([run.path] * 2, {"engine": "ctranslate2"}, r"only the torch engine supports an ensemble of several runs"),
        ([run.path], {"engine": "onnx"}, r"unknown engine `onnx`; choose one of: auto, torch, ctranslate2"),
    ]
    for folders, asked, message in mistakes:
        with pytest.raises(InputError, match=message):
            Translator.load(folders, **asked)


def test_an_int8_export_computes_in_int8(run: RunFolder, tmp_path: Path) -> None:
    translator = Translator.load(export_run(run.path, "ctranslate2", tmp_path / "out", quantization="int8"))
    assert translator.search.precision == "int8"
    assert translator.identity == f"{Translator.load(run.path, engine='torch').identity} in int8", (
        "other weights than those of float32"
    )
    (score,) = translator.score([TEXTS[0]], ["در باز است."])
    (exact,) = Translator.load(run.path).score([TEXTS[0]], ["در باز است."])
    assert score.score == pytest.approx(exact.score, rel=0.05)
    assert score.score != pytest.approx(exact.score, rel=1e-6)


def test_unusable_export_or_engine_is_rejected(run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marian = export_run(run.path, "marian", tmp_path / "marian")
    with pytest.raises(RunError, match=r"marian is not a run, but an export for Hugging Face, .* give a run folder"):
        Translator.load(marian)
    monkeypatch.setitem(__import__("sys").modules, "ctranslate2", None)
    with pytest.raises(InputError, match=r"ctranslate2 cannot be imported .*pip install"):
        Translator.load(run.path, engine="ctranslate2")


class Trap:
    """An object that writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return (open, (str(self.path), "w"))


def test_pickles_are_never_loaded(run: RunFolder, tmp_path: Path) -> None:
    sprung, file = tmp_path / "sprung", tmp_path / "model.pt"
    pickled = pickle.dumps(Trap(sprung))
    exported = export_run(run.path, "ctranslate2", tmp_path / "out")
    weights = run.checkpoints_folder / "step-000005" / "model.safetensors"
    for victim in (file, weights, exported / "model.bin"):
        victim.write_bytes(pickled)
    for engine in ("auto", "ctranslate2"):
        with pytest.raises(RunError, match=r"pickles like model\.pt are never loaded"):
            Translator.load(file, engine=engine)
        for victim, folder in ((weights, run.path), (exported / "model.bin", exported)):
            with pytest.raises(RunError, match=rf"damaged .*{victim.name} (is missing|does not match)"):
                Translator.load(folder, engine=engine)
    assert not sprung.exists()
    pickle.loads(pickled)  # noqa: S301 - the trap works
    assert sprung.exists()


def test_read_only_run_falls_back_to_torch_unless_exported(
    run: RunFolder, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = Mock(side_effect=PermissionError(13, "Permission denied"))
    monkeypatch.setattr("translator.inference.export_cache.filelock.FileLock", refused)
    with caplog.at_level(logging.INFO, logger="translator"):
        assert Translator.load(run.path).searcher.name == "torch"
    assert "translating with the torch engine: cannot write" in caplog.text
    with pytest.raises(StorageError, match="cannot write"):
        Translator.load(run.path, engine="ctranslate2")
    monkeypatch.undo()
    Translator.load(run.path)
    monkeypatch.setattr("translator.inference.export_cache.filelock.FileLock", refused)
    assert Translator.load(run.path).searcher.name == "ctranslate2", "an existing export needs no lock"


def test_auto_engine_prefers_ctranslate2_and_logs_any_fallback(
    run: RunFolder, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    greedy = ["search.method=greedy"]
    best, ours = (Translator.load(run.path, engine=name, overrides=greedy) for name in ("auto", "torch"))
    assert (best.searcher.name, ours.searcher.name) == ("ctranslate2", "torch")
    for one, own in zip(*(made.translations(TEXTS, attention=True) for made in (best, ours)), strict=True):
        assert one[0].text == own[0].text and one[0].alignment == own[0].alignment
        assert one[0].score == pytest.approx(own[0].score, abs=1e-3)
    refused: list[tuple[list[Path], list[str], str]] = [
        ([run.path] * 2, [], "several runs make an ensemble"),
        ([run.path], ["search.method=sampling"], "sampling with CTranslate2 is not reproducible"),
    ]
    with caplog.at_level(logging.INFO, logger="translator"):
        for folders, overrides, _ in refused:
            assert Translator.load(folders, overrides=overrides).searcher.name == "torch"
        full = Mock(side_effect=StorageError("cannot write export: no space left"))
        monkeypatch.setattr("translator.inference.engine.exported_beside", full)
        assert Translator.load(run.path).searcher.name == "torch"
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        assert Translator.load(run.path).searcher.name == "torch"
    reasons = [*(reason for _, _, reason in refused), "cannot write export: no space left"]
    reasons.append("ctranslate2, which is faster, is not installed")
    assert [text for text in caplog.messages if "torch" in text] == [
        f"translating with the torch engine: {reason}" for reason in reasons
    ]


def test_waiting_for_another_export_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_cache, "_SILENT_SECONDS", 0.01)
    other = (tmp_path / ".lock").open("w")  # as another process would hold it
    fcntl.flock(other, fcntl.LOCK_EX)
    threading.Timer(0.3, other.close).start()
    with caplog.at_level(logging.INFO, logger="translator"), export_cache._export_lock(tmp_path / ".lock"):
        pass
    assert [text for text in caplog.messages if "waiting for another process that exports this run" in text]
