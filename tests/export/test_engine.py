"""One function loads a run or an export for either engine, and refuses what is neither, opening no pickle."""

import logging
import pickle
from pathlib import Path

import pytest
import torch
from export.runs import TEXTS, small_run

from translator import Translator
from translator.errors import ConfigError, InputError, RunError
from translator.export import export_run, load_translator


def test_a_run_is_exported_once_for_each_checkpoint(
    subword_folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = small_run(tmp_path, subword_folder)
    expected = Translator.load(run.path).translations(TEXTS)
    with caplog.at_level(logging.INFO, logger="translator"):
        for _ in range(2):
            translator = load_translator(run.path, "ctranslate2")
            assert translator.searcher.name == "ctranslate2"
            assert (translator.label, translator.checkpoint_name) == ("run", "step-000005")
            found = translator.translations(TEXTS)
            same = [one[0].text == own[0].text for one, own in zip(found, expected, strict=True)]
            assert sum(same) >= 5, "a beam may end otherwise"
    assert sum("exporting step-000005 for ctranslate2" in text for text in caplog.messages) == 1
    assert translator.identity == f"{Translator.load(run.path).identity} in float32"
    assert translator.arithmetic == "cpu"
    (first,) = (run.path / "export").iterdir()
    small_run(tmp_path, subword_folder, step=9)
    assert load_translator(run.path, "ctranslate2").checkpoint_name == "step-000009"
    assert len(list((run.path / "export").iterdir())) == 2
    (first / "model.bin").write_bytes(b"")
    load_translator(run.path, "ctranslate2", checkpoint="5").translate("The door is open.")
    assert any("damaged export: " in text and text.endswith("it is made again") for text in caplog.messages)


def test_an_export_is_used_as_it_is(subword_folder: Path, tmp_path: Path) -> None:
    run = small_run(tmp_path, subword_folder)
    expected = load_translator(run.path, "ctranslate2").translate_lines(TEXTS)
    folder = export_run(run.path, "ctranslate2", tmp_path / "out")
    for engine in (None, "ctranslate2"):
        translator = load_translator(folder, engine, checkpoint="5")
        assert translator.translate_lines(TEXTS) == expected
    assert not (folder / "export").exists()
    assert load_translator(folder, overrides=["search.method=greedy"]).search.method == "greedy"
    with pytest.raises(InputError, match=r"out is an export for CTranslate2, and torch cannot use it; take --engine"):
        load_translator(folder, "torch")
    with pytest.raises(InputError, match=r"out is an export of checkpoint step-000005, and holds no `averaged`"):
        load_translator(folder, checkpoint="averaged")
    plain = export_run(run.path, "safetensors", tmp_path / "plain")
    assert load_translator(plain).translate_lines(TEXTS) == Translator.load(run.path).translate_lines(TEXTS)
    assert load_translator(plain, "ctranslate2").translate_lines(TEXTS) == expected


def test_an_int8_export_computes_in_int8(subword_folder: Path, tmp_path: Path) -> None:
    run = small_run(tmp_path, subword_folder)
    folder = export_run(run.path, "ctranslate2", tmp_path / "out", quantization="int8")
    translator = load_translator(folder)
    assert translator.search.precision == "int8"
    assert translator.identity == f"{Translator.load(run.path).identity} in int8", "other weights than those of float32"
    (score,) = translator.score([TEXTS[0]], ["در باز است."])
    (exact,) = load_translator(run.path).score([TEXTS[0]], ["در باز است."])
    assert score.score == pytest.approx(exact.score, rel=0.05)
    assert score.score != pytest.approx(exact.score, rel=1e-6)
    again = load_translator(run.path, "ctranslate2", overrides=["search.precision=int8"])
    assert again.score([TEXTS[0]], ["در باز است."])[0].score == pytest.approx(score.score, rel=1e-4)


def test_several_runs(subword_folder: Path, tmp_path: Path) -> None:
    run = small_run(tmp_path, subword_folder)
    folder = export_run(run.path, "ctranslate2", tmp_path / "out")
    assert load_translator([run.path, run.path]).label == "run+run"
    with pytest.raises(InputError, match="several runs make an ensemble with the engine torch only"):
        load_translator([run.path, run.path], "ctranslate2")
    with pytest.raises(InputError, match="is an export for CTranslate2, and torch cannot use it"):
        load_translator([run.path, folder])


def test_what_no_engine_can_use(subword_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = small_run(tmp_path, subword_folder)
    marian = export_run(run.path, "marian", tmp_path / "marian")
    with pytest.raises(RunError, match=r"marian is no run, but an export for Hugging Face, .* name a run folder"):
        load_translator(marian)
    with pytest.raises(InputError, match="there is no engine `onnx`; choose one of: torch, ctranslate2"):
        load_translator(run.path, "onnx")
    with pytest.raises(ConfigError, match="cuda"):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        load_translator(run.path, "ctranslate2", device="cuda")
    monkeypatch.setitem(__import__("sys").modules, "ctranslate2", None)
    with pytest.raises(InputError, match=r"ctranslate2 cannot be imported .*pip install"):
        load_translator(small_run(tmp_path / "other", subword_folder).path, "ctranslate2")


def test_what_is_neither_run_nor_export(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"{}")
    with pytest.raises(RunError, match=r"is no run, but holds weights alone"):
        load_translator(tmp_path)
    with pytest.raises(RunError, match="no run at"):
        load_translator(tmp_path / "nowhere")


class Trap:
    """What writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("engine", [None, "ctranslate2"])
def test_pickles_are_never_loaded(engine: str | None, subword_folder: Path, tmp_path: Path) -> None:
    sprung = tmp_path / "sprung"
    pickled = pickle.dumps(Trap(sprung))
    file = tmp_path / "model.pt"
    file.write_bytes(pickled)
    with pytest.raises(RunError, match=r"model\.pt is named like a pickle, which is never loaded"):
        load_translator(file, engine)
    run = small_run(tmp_path, subword_folder)
    exported = export_run(run.path, "ctranslate2", tmp_path / "out")
    weights = run.checkpoints_folder / "step-000005" / "model.safetensors"
    for victim, folder in ((weights, run.path), (exported / "model.bin", exported)):
        victim.write_bytes(pickled)
        with pytest.raises(RunError, match=rf"damaged .*{victim.name} is not what was written"):
            load_translator(folder, engine)
    assert not sprung.exists()
    pickle.loads(pickled)  # noqa: S301 - the trap works
    assert sprung.exists()
