"""One function loads a run or an export for either engine; it rejects anything else and never opens a pickle."""

import logging
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from tests.support.export_stand_ins import TEXTS, small_run
from translator import Translator
from translator.checkpoint.retention import mark_best
from translator.checkpoint.state import PinnedCheckpoint, pin_checkpoint
from translator.errors import InputError, RunError, StorageError
from translator.export.package import export_run
from translator.run.folder import RunFolder

TRANSLATION = "در باز است."
FLOAT32 = "search.precision=float32"


def exports_of(run: RunFolder) -> list[Path]:
    return list((run.path / "export").glob("ctranslate2-*"))


def test_a_run_is_exported_once(run: RunFolder, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="translator"):
        for _ in range(2):
            translator = Translator.load(run.path, engine="ctranslate2")
            assert translator.label == "run"
            assert translator.checkpoint_name == "step-000005"
    exportings = [message for message in caplog.messages if "exporting step-000005 for ctranslate2" in message]
    assert len(exportings) == 1


def test_a_damaged_cached_export_is_refused_until_it_is_deleted(run: RunFolder) -> None:
    Translator.load(run.path, engine="ctranslate2")
    (export,) = exports_of(run)
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
    (expected,) = Translator.load(run.path, engine="torch").score([TEXTS[0]], [TRANSLATION])

    monkeypatch.setattr("translator.inference.engines.engine.pin_checkpoint", pin_and_move_best)
    translator = Translator.load(run.path, engine=engine, overrides=[FLOAT32])
    assert (run.checkpoints_folder / "best").readlink().name == "step-000005"
    assert translator.checkpoint_name == "step-000009"
    (scored,) = translator.score([TEXTS[0]], [TRANSLATION])
    assert scored.score == pytest.approx(expected.score, rel=1e-4)


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
    folder = export_run(run.path, "safetensors", tmp_path / "out")
    (checkpoint,) = (folder / "checkpoints").iterdir()
    assert checkpoint.name == "step-000009"
    weights = run.checkpoints_folder / "step-000009" / "model.safetensors"
    assert (checkpoint / "model.safetensors").read_bytes() == weights.read_bytes()


def test_ctranslate2_translates_without_importing_torch(run: RunFolder) -> None:
    Translator.load(run.path, engine="ctranslate2")
    code = "import sys; from translator.cli import main; main(sys.argv[1:]); assert 'torch' not in sys.modules"
    arguments = ["translate", "--run", str(run.path), "--device", "cpu", TEXTS[0]]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{Translator.load(run.path).translate(TEXTS[0])}\n"


@pytest.fixture(scope="module")
def out(shared_run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export for CTranslate2; to be read only."""
    return export_run(shared_run.path, "ctranslate2", tmp_path_factory.mktemp("export") / "out")


@pytest.mark.parametrize(
    ("folders", "arguments", "message"),
    [
        (["out"], {"engine": "torch"}, r"out is an export for CTranslate2, and torch cannot use it; use --engine"),
        (["run", "out"], {}, r"out is an export for CTranslate2, and torch cannot use it"),
        (["out"], {"checkpoint": "averaged"}, r"an export of checkpoint step-000005 only; it has no `averaged`"),
        (["run"] * 2, {"engine": "ctranslate2"}, r"only the torch engine supports an ensemble of several runs"),
        (["run"], {"engine": "onnx"}, r"unknown engine `onnx`; choose one of: auto, torch, ctranslate2"),
    ],
)
def test_an_engine_that_does_not_fit_is_refused(
    folders: list[str], arguments: dict[str, Any], message: str, run: RunFolder, out: Path
) -> None:
    paths = {"run": run.path, "out": out}
    with pytest.raises(InputError, match=message):
        Translator.load([paths[name] for name in folders], **arguments)


@pytest.fixture
def int8_translator(run: RunFolder, tmp_path: Path) -> Translator:
    return Translator.load(export_run(run.path, "ctranslate2", tmp_path / "out", quantization="int8"))


def test_an_int8_export_computes_in_int8(run: RunFolder, int8_translator: Translator) -> None:
    (rounded,) = int8_translator.score([TEXTS[0]], [TRANSLATION])
    reference = Translator.load(run.path, overrides=[FLOAT32])
    (exact,) = reference.score([TEXTS[0]], [TRANSLATION])
    assert int8_translator.identity != reference.identity
    assert (rounded.precision, exact.precision) == ("int8", "float32")
    assert rounded.score == pytest.approx(exact.score, rel=0.05)
    assert rounded.score != pytest.approx(exact.score, rel=1e-6)


def test_an_export_for_another_program_is_refused(run: RunFolder, tmp_path: Path) -> None:
    marian = export_run(run.path, "marian", tmp_path / "marian")
    with pytest.raises(RunError, match=r"no run at .*marian \(it has no config\.yaml\); runs there: .*run"):
        Translator.load(marian)


def test_a_missing_engine_is_refused_with_advice(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(InputError, match=r"ctranslate2 cannot be imported .*pip install"):
        Translator.load(run.path, engine="ctranslate2")


class Trap:
    """An object that writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return (open, (str(self.path), "w"))


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path / "sprung")


def test_a_pickled_model_is_never_loaded(trap: Trap, tmp_path: Path) -> None:
    file = tmp_path / "model.pt"
    file.write_bytes(pickle.dumps(trap))
    with pytest.raises(RunError, match=r"model\.pt is a single file; give a run folder"):
        Translator.load(file)
    assert not trap.path.exists()


def test_a_pickle_in_place_of_weights_is_never_loaded(run: RunFolder, trap: Trap) -> None:
    weights = run.checkpoints_folder / "step-000005" / "model.safetensors"
    weights.write_bytes(pickle.dumps(trap))
    with pytest.raises(RunError, match=r"damaged .*model\.safetensors (is missing|does not match)"):
        Translator.load(run.path)
    assert not trap.path.exists()


def test_a_pickle_in_an_export_is_never_loaded(out: Path, trap: Trap, tmp_path: Path) -> None:
    folder = shutil.copytree(out, tmp_path / "copy")
    (folder / "model.bin").write_bytes(pickle.dumps(trap))
    with pytest.raises(RunError, match=r"damaged .*model\.bin (is missing|does not match)"):
        Translator.load(folder)
    assert not trap.path.exists()


def test_auto_engine_prefers_ctranslate2_with_the_same_results(run: RunFolder) -> None:
    greedy = ["search.method=greedy", FLOAT32]
    automatic = Translator.load(run.path, engine="auto", overrides=greedy)
    reference = Translator.load(run.path, engine="torch", overrides=greedy)
    assert automatic.searcher.name == "ctranslate2"
    assert reference.searcher.name == "torch"

    translated = automatic.translations(TEXTS, attention=True)
    expected = reference.translations(TEXTS, attention=True)
    for (translation,), (expected_translation,) in zip(translated, expected, strict=True):
        assert translation.text == expected_translation.text
        assert translation.alignment == expected_translation.alignment
        assert translation.score == pytest.approx(expected_translation.score, abs=1e-3)


def assert_falls_back(caplog: pytest.LogCaptureFixture, reason: str, *folders: Path, overrides: Any = ()) -> None:
    with caplog.at_level(logging.INFO, logger="translator"):
        assert Translator.load(folders, overrides=overrides).searcher.name == "torch"
    (message,) = [message for message in caplog.messages if "torch" in message]
    assert message.startswith(f"translating with the torch engine: {reason}")


def test_an_ensemble_falls_back_to_torch(run: RunFolder, caplog: pytest.LogCaptureFixture) -> None:
    assert_falls_back(caplog, "several runs make an ensemble", run.path, run.path)


def test_sampling_falls_back_to_torch(run: RunFolder, caplog: pytest.LogCaptureFixture) -> None:
    reason = "sampling with CTranslate2 is not reproducible"
    assert_falls_back(caplog, reason, run.path, overrides=["search.method=sampling"])


def test_an_export_that_cannot_be_written_falls_back_to_torch(
    run: RunFolder, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Mock(side_effect=StorageError("cannot write export: no space left"))
    monkeypatch.setattr("translator.inference.engines.engine.exported_beside", full)
    assert_falls_back(caplog, "cannot write export: no space left", run.path)


def test_a_missing_ctranslate2_falls_back_to_torch(
    run: RunFolder, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    assert_falls_back(caplog, "ctranslate2 cannot be imported", run.path)


# --- search.precision: auto ---


def supporting(monkeypatch: pytest.MonkeyPatch, machine: str, types: set[str]) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr("ctranslate2.get_supported_compute_types", lambda device: types)


@pytest.mark.parametrize(
    ("machine", "types", "precision"),
    [
        ("x86_64", {"float32", "int8"}, "int8"),
        ("AMD64", {"float32", "int8"}, "int8"),
        ("x86_64", {"float32"}, "float32"),
        ("aarch64", {"float32", "int8"}, "float32"),  # not measured
    ],
)
def test_auto_is_int8_where_it_gains(
    machine: str,
    types: set[str],
    precision: str,
    run: RunFolder,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    supporting(monkeypatch, machine, types)
    with caplog.at_level(logging.INFO, logger="translator"):
        translator = Translator.load(run.path)
    assert translator.search.precision == precision
    assert caplog.messages == [f"translating in {precision} (search.precision: auto)"]
    ((translation,),) = translator.translations([TEXTS[0]])
    assert translation.to_json()["precision"] == precision
    # A continued file must not mix precisions.
    assert ("int8" in translator.searcher.arithmetic) == (precision == "int8")
