"""Persian to English: data, translations, pages and exports follow the direction; directions cannot be mixed."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.support.tiny_runs import run
from tests.support.toy_corpora import letters, write_pairs
from tests.support.untrained import untrained_run
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
  {{max_steps: 4, warmup_steps: 2, validate_every: 4, checkpoint_every: 4, log_every: 2,
  augmentation: {{copies: 0.2}}}}
search: {{method: greedy}}
"""
TO_PERSIAN = str.maketrans("abcdefgh0123456789", "ابپتجچحخ۰۱۲۳۴۵۶۷۸۹") | {ord("h"): "خخخ"}
"""A letter that becomes three gives the two sides different ids."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("directions")
    texts = [f"{word} {number}" for number, word in enumerate(letters(150, seed=3), 10)]
    pairs = [(text, text.translate(TO_PERSIAN)) for text in texts]
    write_pairs(folder / "toy.tsv", pairs)
    for direction in ("en-fa", "fa-en"):
        untrained_run(recipe(folder, direction))
    return folder


def recipe(folder: Path, direction: str, *overrides: str) -> Config:
    return parse_config(RECIPE.format(folder=folder, direction=direction), "toy.yaml", overrides)


@pytest.fixture(scope="module")
def back_data(folder: Path) -> DataHandler:
    return DataHandler(recipe(folder, "fa-en"))


def test_the_text_is_prepared_once_for_both_directions(folder: Path, back_data: DataHandler) -> None:
    forth = DataHandler(recipe(folder, "en-fa"))
    assert forth.corpus.report.fingerprint == back_data.corpus.report.fingerprint
    assert forth.fingerprint != back_data.fingerprint


@pytest.mark.parametrize("split", ["train", "validation"])
def test_reversed_direction_swaps_the_sides_of_batches(back_data: DataHandler, split: str) -> None:
    if split == "train":
        batch, _ = next(back_data.train_batches(DataPosition()))
    else:
        batch = next(iter(back_data.validation_batches()))
    sources = back_data.subword.source.decode_ids(batch.source.tolist())
    targets = back_data.subword.target.decode_ids(batch.labels.tolist())
    assert any(sources)
    assert sources == [text.translate(TO_PERSIAN) for text in targets]


def test_reversed_direction_swaps_the_sides_of_held_out_text(back_data: DataHandler) -> None:
    (held_out,) = back_data.held_out("test")
    assert held_out.sources[0] == held_out.references[0][0].translate(TO_PERSIAN)


def test_only_english_as_a_source_is_folded_and_corrected(back_data: DataHandler) -> None:
    assert back_data.subword.source.normalized("ABC") == "ABC"
    assert back_data.subword.correct_spelling("whree") == "whree"


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_the_translator_reads_persian_and_writes_english(folder: Path, engine: str) -> None:
    translator = Translator.load(folder / "fa-en", engine=engine)
    assert translator.normalizer.source("كتاب ي") == "کتاب ی"
    (translation,) = translator.translate_lines(["ابپ ۴۷٫۵"])
    assert "47.5" in translation, "a number is copied in English digits"
    assert translator.translate_lines(["…۱۲"]) == ["…12"]


@pytest.fixture(scope="module")
def back(folder: Path) -> RunFolder:
    """The run from Persian to English."""
    return RunFolder(folder / "fa-en")


def test_an_evaluation_page_follows_the_direction(folder: Path, back: RunFolder, tmp_path: Path) -> None:
    test_set = f"mine={folder / 'toy.tsv'}"
    evaluation = evaluate_systems([System((back,))], test_sets=[test_set], output=tmp_path)
    first_reference = evaluation.sets[0].text.references[0][0]
    first_word = letters(150, seed=3)[0]
    assert first_reference.startswith(first_word)

    # This is a mistake in Persian alone.
    assert evaluation.sets[0].mistake_counts["latin_words"]["of"] == 0

    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<p class="text" lang="fa" dir="rtl">' in page
    assert '<p class="text" lang="en" dir="ltr">' in page


def test_the_served_page_follows_the_direction(back: RunFolder) -> None:
    app = make_app(Translator.load(back.path), Limits())
    with TestClient(app, base_url="http://localhost") as api:
        page = api.get("/").text
    assert "Translate Persian into English" in page
    assert '<textarea id="text" lang="fa" dir="rtl"' in page


def test_the_model_card_follows_the_direction(back: RunFolder, tmp_path: Path) -> None:
    export_run(back.path, "safetensors", tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert ": Persian→English" in card
    assert "بچه‌ها در مدرسه هستند." in card
    assert "language: [fa, en]\n" in card


def test_runs_of_two_directions_are_not_evaluated_together(folder: Path) -> None:
    systems = [System((RunFolder(folder / direction),)) for direction in ("en-fa", "fa-en")]
    with pytest.raises(InputError, match="evaluate them one after the other"):
        evaluate_systems(systems)


def test_runs_of_two_directions_make_no_ensemble(folder: Path) -> None:
    with pytest.raises(RunError, match="cannot be combined"):
        Translator.load([folder / "en-fa", folder / "fa-en"])


def test_a_run_is_not_continued_in_the_other_direction(folder: Path) -> None:
    with pytest.raises(RunError, match=r"corpus\.direction"):
        run(recipe(folder, "fa-en", f"run.directory={folder}/en-fa", "training.max_steps=6"))


def test_changes_to_english_make_no_sense_for_a_persian_source(folder: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be combined with changes to English"):
        recipe(folder, "fa-en", "training.augmentation.typos=0.1")


def test_a_source_side_has_one_text(back: RunFolder, tmp_path: Path) -> None:
    english, persian = tmp_path / "more.en", tmp_path / "more.fa"
    english.write_text("ab\n", encoding="utf-8")
    persian.write_text("اب\n", encoding="utf-8")
    with pytest.raises(InputError, match="has several Persian sides"):
        evaluate_systems([System((back,))], test_sets=[f"x={english}:{persian}:{persian}"])
