"""One function loads a run or an export for either engine; it rejects anything else."""

import logging
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tests.support.export_stand_ins import TEXT, small_run
from translator import Translator
from translator.checkpoint.retention import mark_best
from translator.checkpoint.state import PinnedCheckpoint, pin_checkpoint
from translator.errors import InputError, RunError, StorageError
from translator.inference.engines.ctranslate2_library import fastest_precision
from translator.run.folder import RunFolder

TRANSLATION = "در باز است."
FLOAT32 = "search.precision=float32"


def test_a_run_is_exported_once_and_a_damaged_export_is_refused_until_it_is_deleted(run: RunFolder) -> None:
    written = set()
    for _ in range(2):
        translator = Translator.load(run.path, engine="ctranslate2")
        assert (translator.label, translator.checkpoint_name) == ("run", "step-000005")
        (export,) = (run.path / "export").iterdir()
        written.add((export / "model.bin").stat().st_ino)
    assert len(written) == 1

    (export / "model.bin").write_bytes(b"")
    with pytest.raises(RunError, match=f"damaged export: .*model.bin does not match its checksum; delete {export}"):
        Translator.load(run.path)
    shutil.rmtree(export)
    Translator.load(run.path, engine="ctranslate2").translate("The door is open.")


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_best_may_move_while_its_checkpoint_is_loaded(
    engine: str, run: RunFolder, subword_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_run(tmp_path, subword_folder, step=9)
    (expected,) = Translator.load(run.path, engine="torch").score([TEXT], [TRANSLATION])

    monkeypatch.setattr("translator.inference.engines.engine.pin_checkpoint", pin_and_move_best)
    translator = Translator.load(run.path, engine=engine, overrides=[FLOAT32])
    assert (run.checkpoints_folder / "best").readlink().name == "step-000005"
    assert translator.checkpoint_name == "step-000009"
    (scored,) = translator.score([TEXT], [TRANSLATION])
    assert scored.score == pytest.approx(expected.score, rel=1e-4)


def pin_and_move_best(folder: Path, name: str) -> PinnedCheckpoint:
    """Return the checkpoint, after a training has chosen that of step 5 as `best`."""
    pinned = pin_checkpoint(folder, name)
    mark_best(folder, 5)
    return pinned


def test_ctranslate2_translates_without_importing_torch(run: RunFolder) -> None:
    Translator.load(run.path, engine="ctranslate2")
    code = "import sys; from translator.cli import main; main(sys.argv[1:]); assert 'torch' not in sys.modules"
    arguments = ["translate", "--run", str(run.path), "--device", "cpu", TEXT]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{Translator.load(run.path).translate(TEXT)}\n"


def reason_for_torch(caplog: pytest.LogCaptureFixture, *folders: Path, overrides: Any = ()) -> str:
    """Return why the engine `auto` is torch, as the log tells it."""
    with caplog.at_level(logging.INFO, logger="translator"):
        assert Translator.load(folders, overrides=overrides).searcher.name == "torch"
    (message,) = [message for message in caplog.messages if "torch" in message]
    return message.removeprefix("translating with the torch engine: ")


def test_an_export_that_cannot_be_written_falls_back_to_torch(
    run: RunFolder, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Mock(side_effect=StorageError("cannot write export: no space left"))
    monkeypatch.setattr("translator.inference.engines.engine.exported_beside", full)
    assert reason_for_torch(caplog, run.path) == "cannot write export: no space left"


def test_a_missing_ctranslate2_is_refused_with_advice_or_falls_back_to_torch(
    run: RunFolder, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(InputError, match=r"ctranslate2 cannot be imported .*pip install"):
        Translator.load(run.path, engine="ctranslate2")
    assert reason_for_torch(caplog, run.path).startswith("ctranslate2 cannot be imported")


# --- search.precision: auto ---


@pytest.mark.parametrize(
    ("device", "machine", "types", "precision"),
    [
        ("cpu", "x86_64", {"float32", "int8"}, "int8"),
        ("cpu", "x86_64", {"float32"}, "float32"),
        ("cpu", "aarch64", {"float32", "int8"}, "float32"),  # not measured
        ("cuda:0", "x86_64", {"float32", "int8"}, "float32"),
    ],
)
def test_auto_is_int8_where_it_gains(
    device: str, machine: str, types: set[str], precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr("ctranslate2.get_supported_compute_types", lambda device: types)
    assert fastest_precision(device) == precision


def test_the_precision_of_auto_is_told(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("translator.inference.engines.engine.fastest_precision", lambda device: "int8")
    with caplog.at_level(logging.INFO, logger="translator"):
        translator = Translator.load(run.path)
    assert caplog.messages == ["translating in int8 (search.precision: auto)"]
    ((translation,),) = translator.translations([TEXT])
    assert translation.to_json()["precision"] == translator.search.precision == "int8"
    assert "int8" in translator.searcher.arithmetic, "a continued file must not mix precisions"
