"""Export a run in three formats, and load each: in this program, in CTranslate2 itself, and in transformers."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from tests.fence.conftest import write_small_recipe
from tests.fence.damage import let_diverge
from tests.fence.short_runs import short
from tests.fence.small_language import question, seen, statement
from tests.support.command_line import refusal, succeed
from translator import Translator
from translator.errors import InputError

PAIRS = [statement("book", "old"), question("tree", "new"), seen("letter", "white")]
SOURCES = [english for english, _ in PAIRS]
TRANSLATIONS = [persian for _, persian in PAIRS]


def export(run: Path, kind: str, folder: Path, *options: str) -> tuple[str | Path, ...]:
    """Return the command that exports a run."""
    return ("export", "--run", run, "--to", kind, *options, folder)


@pytest.fixture(scope="module")
def exports(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the small run in the formats `ctranslate2` and `safetensors`, and in int8."""
    folder = tmp_path_factory.mktemp("exports")
    for kind in ("ctranslate2", "safetensors"):
        succeed(*export(small_run, kind, folder / kind))
    succeed(*export(small_run, "ctranslate2", folder / "int8", "--quantization", "int8"))
    return folder


@pytest.mark.parametrize("name", ["ctranslate2", "safetensors", "int8"])
def test_an_export_translates_like_its_run(name: str, exports: Path) -> None:
    assert succeed("translate", "--run", exports / name, *SOURCES).lines == TRANSLATIONS


def test_safetensors_translate_on_torch_too(exports: Path) -> None:
    assert Translator.load(exports / "safetensors", engine="torch").translate_lines(SOURCES) == TRANSLATIONS


@pytest.mark.parametrize("name", ["ctranslate2", "safetensors"])
def test_an_export_is_as_sure_as_its_run(name: str, small_run: Path, exports: Path) -> None:
    confidences: list[float] = []
    for model in (small_run, exports / name):
        result = succeed("translate", "--run", model, "--format", "jsonl", "--scores", SOURCES[0])
        confidences.append(json.loads(result.out)["translations"][0]["confidence"])
    assert confidences[1] == pytest.approx(confidences[0], abs=0.1)


def test_an_export_for_ctranslate2_gives_no_attention(exports: Path) -> None:
    model = Translator.load(exports / "ctranslate2")
    for asked in (lambda: model.attention(SOURCES[0]), lambda: model.align(SOURCES[0], TRANSLATIONS[0])):
        with pytest.raises(InputError, match=r"gives no attention, .* use --engine torch"):
            asked()


def test_an_int8_export_has_less_than_half_the_size(exports: Path) -> None:
    sizes = {name: (exports / name / "model.bin").stat().st_size for name in ("ctranslate2", "int8")}
    assert 2 * sizes["int8"] < sizes["ctranslate2"]


def test_ctranslate2_itself_translates_with_an_export(exports: Path) -> None:
    ctranslate2: Any = importlib.import_module("ctranslate2")
    model = ctranslate2.Translator(str(exports / "ctranslate2"))
    folder = str(exports / "ctranslate2" / "subword")
    source = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/source.model")
    target = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/target.model")
    (result,) = model.translate_batch([source.encode(SOURCES[0], out_type=str)])
    assert target.decode(result.hypotheses[0]) == TRANSLATIONS[0]


@pytest.mark.parametrize("kind", ["ctranslate2", "safetensors"])
def test_a_model_that_has_diverged_is_not_exported(kind: str, small_copy: Path, tmp_path: Path) -> None:
    let_diverge(small_copy, float("nan"))
    message = refusal(*export(small_copy, kind, tmp_path / "export"))
    assert "training has diverged; use an earlier checkpoint" in message
    assert not (tmp_path / "export").exists()


def test_transformers_translates_with_a_marian_export(tmp_path: Path) -> None:
    run = write_small_recipe(tmp_path).with_name("run")
    succeed(*short(run, "model.norm=post", "search.method=greedy", "search.avoid_loops=false"))
    succeed(*export(run, "marian", tmp_path / "marian"))

    transformers: Any = importlib.import_module("transformers")
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "marian")
    model = transformers.MarianMTModel.from_pretrained(tmp_path / "marian").eval()
    output = model.generate(**tokenizer(SOURCES, return_tensors="pt", padding=True), max_new_tokens=12)
    expected = Translator.load(run, engine="torch").translate_lines(SOURCES)
    for text, line in zip(tokenizer.batch_decode(output, skip_special_tokens=True), expected, strict=True):
        assert line[:10] == text[:10]
