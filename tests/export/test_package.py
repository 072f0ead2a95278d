"""An export is self-contained, its card states where it comes from, and damage to it is detected."""

import contextlib
import io
import json
import re
import shutil
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.export_stand_ins import small_run
from translator import Translator
from translator.corpus.normalizer.normalizer_file import read_rules, rules_of_run
from translator.errors import RunError
from translator.evaluation.metrics import Score
from translator.evaluation.results import add_scores
from translator.export.model_card import licence_warnings
from translator.export.package import QUANTIZATIONS, export_run
from translator.inference.engines.exported import INDEX_FILE, read_index
from translator.run.folder import RunFolder

SENTENCE = "The children are at school."


def card_of(export: Path) -> str:
    return (export / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def exports(subword_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An export in each format, of a run that is gone; to be read only."""
    place = tmp_path_factory.mktemp("exports")
    run = small_run(place, subword_folder)
    folders = {}
    for name in QUANTIZATIONS:
        (place / name).mkdir()  # exporting into an empty folder is allowed
        folders[name] = export_run(run.path, name, place / name)
    shutil.rmtree(run.path)
    return folders


@pytest.mark.parametrize("name", QUANTIZATIONS)
def test_each_format_names_its_origin_and_no_local_path(
    name: str, exports: dict[str, Path], shared_run: RunFolder
) -> None:
    folder = exports[name]
    index = read_index(folder)
    assert (index.format, index.quantization, index.run, index.state.step) == (name, "float32", "run", 5)
    (rules_file,) = folder.rglob("normalizer.json")
    assert read_rules(rules_file) == rules_of_run(shared_run)
    for file in folder.rglob("*"):
        if file.suffix in (".yaml", ".json", ".md"):
            assert str(folder.parent) not in file.read_text(encoding="utf-8"), file


@pytest.fixture(scope="module")
def first_words(shared_run: RunFolder) -> str:
    """The beginning of a translation by the run; each program stops an untrained model at a different length."""
    translation = Translator.load(shared_run.path, engine="torch").translate(SENTENCE)
    assert translation != ""
    return translation[:4]


@pytest.mark.parametrize("name", QUANTIZATIONS)
def test_each_format_is_self_contained_and_its_card_code_works(
    name: str, exports: dict[str, Path], first_words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", card_of(exports[name]), flags=re.DOTALL)
    assert SENTENCE in code
    monkeypatch.chdir(exports[name])
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own words
    (line,) = printed.getvalue().splitlines()
    assert line[:4] == first_words


@pytest.mark.parametrize(("weights", "precision"), [("int8", "int8"), ("bfloat16", "bf16"), ("float16", "float32")])
def test_an_export_is_searched_in_the_type_of_its_weights_where_a_search_has_it(
    weights: str, precision: str, shared_run: RunFolder, tmp_path: Path
) -> None:
    export = export_run(shared_run.path, "ctranslate2", tmp_path / "out", quantization=weights)
    assert RunFolder(export).config().search.precision == precision


def test_exports_whose_weights_are_rounded_differently_do_not_continue_each_others_files(
    shared_run: RunFolder, tmp_path: Path
) -> None:
    identities = set()
    for weights in ("float16", "int16"):
        export = export_run(shared_run.path, "ctranslate2", tmp_path / weights, quantization=weights)
        identities.add(Translator.load(export).identity)
    assert len(identities) == 2


@pytest.fixture
def export(exports: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the export for CTranslate2."""
    return shutil.copytree(exports["ctranslate2"], tmp_path / "out")


def test_damage_to_any_file_except_the_card_is_detected(export: Path) -> None:
    (export / "README.md").write_text("my own words", encoding="utf-8")
    files = [path for path in export.rglob("*") if path.is_file() and path.name not in ("README.md", INDEX_FILE)]
    assert len(files) == 8
    for file in files:
        content = file.read_bytes()
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(RunError, match=rf"damaged export: .*{file.name} does not match .* export the run"):
            read_index(export)
        file.unlink()
        with pytest.raises(RunError, match=rf"damaged export: .*{file.name} is missing"):
            read_index(export)
        file.write_bytes(content)
    assert read_index(export).quantization == "float32", "all is as it was"


def test_a_changed_index_is_reported_as_damage(export: Path) -> None:
    index = export / INDEX_FILE
    edited = json.dumps(json.loads(index.read_bytes()) | {"quantization": "int8"})  # under its old checksum
    for content in ("[" * 100_000, edited):
        index.write_text(content, encoding="utf-8")
        with pytest.raises(RunError, match=r"damaged export: .*export\.json is damaged"):
            read_index(export)


def bleu_score(value: float, checkpoint: str) -> Score:
    return Score(
        test_set="tatoeba",
        metric="bleu",
        signature="nrefs:1|tok:13a",
        sentences=7,
        normalization="raw",
        search="beam-5",
        left_out=(3, 9),
        score=value,
        checkpoint=checkpoint,
        interval=(value - 1.0, value + 1.0),
    )


@pytest.fixture(scope="module")
def evaluated(subword_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of a run with rules of its own, of which this checkpoint and another one were evaluated."""
    folder = tmp_path_factory.mktemp("card")
    run = small_run(folder, subword_folder, rules="normalization: {mojibake: false, digits: ascii}")
    add_scores(run.evaluation_folder, [bleu_score(12.34, "step-000005"), bleu_score(98.76, "step-000001")])
    return export_run(run.path, "safetensors", folder / "out")


CARD = (
    "| sample | train | not stated | It comes with translator, Apache 2.0. |",
    "| tatoeba | test | not stated | not stated |",
    "| tatoeba | 7, 2 of 9 left out (lines 3, 9) | bleu |",
    "12.34 (11.34–13.34)",
    r"`nrefs:1\|tok:13a`",
    "subword/normalizer.json",
    "digits: ascii",
    "up to 60 tokens",
    "NormalizationConfig(mojibake=False, digits='ascii')",
)


def test_card_states_data_licence_rules_and_the_scores_of_its_own_weights(
    evaluated: Path, exports: dict[str, Path]
) -> None:
    card = card_of(evaluated)
    assert [words for words in CARD if words not in card] == []
    assert "98.76" not in card
    assert "step-000005 was not evaluated before it was exported." in card_of(exports["safetensors"])


def test_the_card_begins_with_metadata_for_the_hub(evaluated: Path) -> None:
    metadata = yaml.safe_load(card_of(evaluated).split("---\n")[1])
    assert metadata["license"] == "other"
    assert metadata["datasets"] == ["sample", "tatoeba"]
    (model,) = metadata["model-index"]
    (result,) = model["results"]
    assert result["dataset"]["name"] == "tatoeba"
    assert result["metrics"] == [{"type": "bleu", "value": 12.34}]


def test_an_export_warns_of_a_licence_that_is_missing_or_not_commercial(shared_run: RunFolder) -> None:
    config = shared_run.config()
    (source, *_) = config.corpus.sources
    warnings = []
    for licence in (None, "CC BY-NC 4.0", "CC-BY-4.0"):
        sources = (source.model_copy(update={"licence": licence, "use": "train"}),)
        corpus = config.corpus.model_copy(update={"sources": sources})
        warnings += licence_warnings(config.model_copy(update={"corpus": corpus}))
    assert warnings == [
        "the licence of `sample` is not stated (corpus.sources.licence)",
        "the licence of `sample` forbids commercial use: CC BY-NC 4.0",
    ]


def test_code_of_the_card_makes_the_normalizer_of_the_model(evaluated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = card_of(evaluated)
    (code,) = re.findall(r"^(    from pathlib .*?normalize = .*?)$", card, flags=re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(evaluated)
    names: dict[str, Any] = {}
    exec(compile(textwrap.dedent(code), "README.md", "exec"), names)  # noqa: S102 - our own words
    assert names["normalize"]("“yes” .") == '"yes".'
