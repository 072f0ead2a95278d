"""Persian to English: data, translations, pages and exports follow the direction; directions cannot be mixed."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tiny_runs import run
from toy import letters, write_pairs

from translator.cli import main
from translator.config import Config, parse_config
from translator.data import DataHandler, DataPosition
from translator.errors import ConfigError, InputError, RunError
from translator.evaluation import System, evaluate_systems
from translator.export.package import export_run
from translator.inference.translator import Translator
from translator.run.folder import RunFolder
from translator.serve import Limits
from translator.serve.app import make_app

RECIPE = """
run: {{directory: "{folder}/{direction}", threads: 1, device: cpu}}
corpus:
  direction: {direction}
  sources: [{{name: toy, path: "{folder}/toy.tsv"}}]
  prepared_directory: "{folder}/prepared"
subword: {{vocabulary_size: 60, model_type: char, byte_fallback: false, placeholders: 2}}
model: {{d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 32, max_positions: 64}}
batching: {{max_length: 32, tokens_per_batch: 512}}
training:
  {{max_steps: 4, warmup_steps: 2, validate_every: 4, checkpoint_every: 4, log_every: 2, sample_translations: 1,
  augmentation: {{copies: 0.2}}}}
search: {{method: greedy}}
evaluation: {{bootstrap_samples: 40}}
"""
TO_PERSIAN = str.maketrans("abcdefgh0123456789", "ابپتجچحخ۰۱۲۳۴۵۶۷۸۹") | {ord("h"): "خخخ"}
"""A letter that becomes three gives the two sides different ids."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("directions")
    words = [f"{word} {number}" for number, word in enumerate(letters(150, seed=3), 10)]
    write_pairs(folder / "toy.tsv", [(text, text.translate(TO_PERSIAN)) for text in words])
    for direction in ("en-fa", "fa-en"):
        run(recipe(folder, direction))
    return folder


def recipe(folder: Path, direction: str, *overrides: str) -> Config:
    return parse_config(RECIPE.format(folder=folder, direction=direction), "toy.yaml", overrides)


def test_reversed_direction_swaps_source_and_target_in_all_data(folder: Path) -> None:
    forth, back = (DataHandler(recipe(folder, direction)).prepare() for direction in ("en-fa", "fa-en"))
    assert forth.corpus.fingerprint == back.corpus.fingerprint, "the text is prepared once"
    assert forth.fingerprint != back.fingerprint
    for batch in (next(back.train_batches(DataPosition()))[0], next(iter(back.validation_batches()))):
        source = back.subword.source.decode_ids(batch.source.tolist())
        target = back.subword.target.decode_ids(batch.labels.tolist())
        assert source == [text.translate(TO_PERSIAN) for text in target] and any(source)
    (held_out,) = back.held_out("test")
    assert held_out.sources[0] == held_out.references[0][0].translate(TO_PERSIAN)
    assert back.subword.source.normalized("ABC") == "ABC", "only English as a source is folded"
    assert back.subword.correct_spelling("whree") == "whree"


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_the_translator_reads_persian_and_writes_english(folder: Path, engine: str) -> None:
    translator = Translator.load(folder / "fa-en", engine=engine)
    assert translator.normalizer.source("كتاب ي") == "کتاب ی"
    (translation,) = translator.translate_lines(["ابپ ۴۷٫۵"])
    assert "47.5" in translation, "a number is copied in English digits"
    assert translator.translate_lines(["…۱۲"]) == ["…12"]


def test_reports_and_exports_follow_direction(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    back = RunFolder(folder / "fa-en")
    evaluation = evaluate_systems([System((back,))], test_sets=[f"mine={folder / 'toy.tsv'}"], output=tmp_path)
    assert evaluation.sets[0].references[0][0].startswith(letters(150, seed=3)[0])
    assert {"latin_words", "english_punctuation"} <= {
        name for name, of in evaluation.diagnoses[0].possible.items() if not of
    }
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<p class="text" lang="fa" dir="rtl">' in page and '<p class="text" lang="en" dir="ltr">' in page
    with TestClient(make_app(Translator.load(back.path), Limits()), base_url="http://localhost") as api:
        page = api.get("/").text
    assert "Translate Persian into English" in page and '<textarea id="text" lang="fa" dir="rtl"' in page
    export_run(back.path, "safetensors", tmp_path / "export")
    card = (tmp_path / "export" / "README.md").read_text(encoding="utf-8")
    assert ": Persian→English" in card and "بچه‌ها در مدرسه هستند." in card and "language: [fa, en]" in card
    assert main(["translate", "--run", str(tmp_path / "export"), "ابپ ۴۷"]) == 0
    assert "47" in capsys.readouterr().out


def test_mixing_directions_is_rejected(folder: Path) -> None:
    runs = [RunFolder(folder / name) for name in ("en-fa", "fa-en")]
    with pytest.raises(InputError, match="evaluate them one after the other"):
        evaluate_systems([System((run_folder,)) for run_folder in runs])
    with pytest.raises(RunError, match="cannot be combined"):
        Translator.load([run_folder.path for run_folder in runs])
    with pytest.raises(RunError, match=r"corpus\.direction"):
        run(recipe(folder, "fa-en", f"run.directory={folder}/en-fa", "training.max_steps=6"))
    with pytest.raises(ConfigError, match="cannot be combined with changes to English"):
        recipe(folder, "fa-en", "training.augmentation.typos=0.1")
    (folder / "more.en").write_text("ab\n", encoding="utf-8")
    (folder / "more.fa").write_text("اب\n", encoding="utf-8")
    test_set = f"x={folder}/more.en:{folder}/more.fa:{folder}/more.fa"
    with pytest.raises(InputError, match="has several Persian sides"):
        evaluate_systems([System((runs[1],))], test_sets=[test_set])
